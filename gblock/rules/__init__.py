"""The rules, in the order of the documentation: the table of contents of the product.

A rule's name is its file's and its class's; the table holds names, so that a run that has nothing
to report does without libcst.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.rule import Rule

OF_DRIVERS = "blocking-driver"
"""The rule that reports the drivers of the catalog."""
OF_UNPATCHED = ("unpatched-call", "original-call")
"""Rules that report the blockers that block only without gevent's patch."""
OF_PROCESSES: tuple[str, ...] = (
    OF_DRIVERS,
    "captured-before-patch",
    "late-monkey-patch",
    "partial-monkey-patch",
    *OF_UNPATCHED,
)
"""Rules about processes: each has a module of its name in `gblock.project.remarks`. All but that
of drivers report nothing where neither code nor what starts it names gevent."""
OF_CALLS = (
    "blocking-call",
    "false-offload",
    "spinning-loop",
    "cpu-bound-call",
    "uuid-heavy-path",
    "foreign-call",
    "unknown-native-call",
    "unused-ignore",
)
NAMES = (*OF_PROCESSES, *OF_CALLS)
OF_PACKAGES = "unknown-native-call"
"""The rule that looks at what is installed, which costs time."""


def load(name: str) -> type[Rule]:
    """The class of a rule: `BlockingCall` of `gblock.rules.blocking_call` for `blocking-call`."""
    from importlib import import_module

    module = import_module(f"gblock.rules.{name.replace('-', '_')}")
    rule: type[Rule] = getattr(module, "".join(word.capitalize() for word in name.split("-")))
    return rule


def load_all() -> tuple[type[Rule], ...]:
    """All rules, in the table's order."""
    return tuple(load(name) for name in NAMES)
