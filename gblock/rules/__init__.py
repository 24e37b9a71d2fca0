"""The registry of rules, in the order of the documentation.

A rule's name is that of its file and its class. The registry holds names instead of classes, so
that a run with nothing to report does not import libcst.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import cast

    from gblock.call_rule import CallRule
    from gblock.rule import ProcessRule, Rule
else:

    def cast(_: object, rule: type) -> type:
        """Replace `typing.cast`, whose import takes a tenth of a clean run."""
        return rule


OF_DRIVERS = "blocking-driver"
"""The rule that reports the drivers of the catalog."""
OF_UNPATCHED = ("unpatched-call", "original-call")
"""Rules that report the blockers that block only without gevent's patch."""
OF_PATCHING = ("missing-monkey-patch", "partial-monkey-patch")
"""Rules about patches that are absent: they matter for the calls under them."""
OF_PROCESSES = (
    "blocking-driver",
    "captured-before-patch",
    "late-monkey-patch",
    "missing-monkey-patch",
    "partial-monkey-patch",
    "unpatched-call",
    "original-call",
    "busy-wait",
    "cpu-bound-loop",
)
"""Rules about processes; a class of each derives from `gblock.rule.ProcessRule`. All but that of
drivers report nothing where neither code nor what starts it names gevent."""
OF_CALLS = (
    "blocking-call",
    "false-offload",
    "spinning-loop",
    "cpu-bound-call",
    "uuid-heavy-path",
    "uuid-per-request",
    "task-sending-loop",
    "foreign-call",
    "unknown-native-call",
)
"""Rules about calls; a class of each derives from `gblock.call_rule.CallRule`."""
OF_COMMENTS = "unused-ignore"
"""The rule about suppressions that hide nothing."""
OF_FILES = "invalid-syntax"
"""The rule about files that cannot be checked; no selection turns it off, only ``--ignore``."""
NAMES = (*OF_PROCESSES, *OF_CALLS, OF_COMMENTS, OF_FILES)
OF_PACKAGES = "unknown-native-call"
"""The rule that looks at what is installed, which costs time."""


def load(name: str) -> type[Rule]:
    """Return a rule's class: `BlockingCall` of `gblock.rules.blocking_call` for `blocking-call`."""
    # Not importlib: its import takes 1 % of a clean run.
    module = __import__(f"{__package__}.{name.replace('-', '_')}", fromlist=["__doc__"])
    rule: type[Rule] = getattr(module, "".join(word.capitalize() for word in name.split("-")))
    return rule


def load_all() -> tuple[type[Rule], ...]:
    """Return all rules, in the table's order."""
    return tuple(load(name) for name in NAMES)


def load_call_rules() -> tuple[type[CallRule], ...]:
    """Return the rules about calls, in the table's order."""
    return tuple(cast("type[CallRule]", load(name)) for name in OF_CALLS)


def load_process_rules(names: Iterable[str]) -> tuple[type[ProcessRule], ...]:
    """Return some of the rules about processes."""
    return tuple(cast("type[ProcessRule]", load(name)) for name in names)
