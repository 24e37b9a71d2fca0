"""``partial-monkey-patch``: a process patches, but not everything that waits."""

from __future__ import annotations

import re

from gblock.diagnostics import Location, Related, Severity
from gblock.project.remarks.places import pointed_at
from gblock.project.remarks.remark import Remark
from gblock.rule import ProcessRule, Wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import NamedTuple

    from gblock.project.processes.patching import Patch
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple


_HARMLESS = frozenset({"os", "queue", "signal"})
"""What may be left as it is: ``queue.Queue`` waits on what ``threading`` gives, and of ``os``
and ``signal`` it matters only for children that are not started through ``subprocess``."""


class Partial(NamedTuple):
    """The facts of one patch that is not all."""

    text: str
    missing: tuple[str, ...]
    """What stays blocking in a process with this patch."""
    others: tuple[tuple[str, int, str], ...]
    """The other patches of the process: file, row and text."""


class PartialMonkeyPatch(ProcessRule):
    """A process on gevent leaves modules of the standard library that wait as they are.

    ## What it does

    Takes all the patches of a process together, `patch_all` with its arguments and single
    functions such as `patch_socket`, and reports the first of them where something that waits is
    left: `dns`, `select`, `selectors`, `socket`, `ssl`, `subprocess`, `threading` or `time`.

    ## Why it blocks the hub

    What is not patched waits in C. With `thread=False` threads are native, and a lock, a queue or
    an event that a greenlet waits for stops the hub.

    ## Use instead

    `monkey.patch_all()`. Where native threads are needed, `gevent.threadpool` has them with
    everything patched.

    ## Limits

    `os`, `queue` and `signal` may be left out: nothing is said of them. What a library patches by
    itself is not known.
    """

    name = "partial-monkey-patch"
    since = "0.1.0"
    marks = re.compile(rb"(?:gevent|monkey|patch_all)\b")

    VALID = {
        "all": """
            from gevent import monkey

            monkey.patch_all()
            """,
        "without what does not wait": """
            from gevent import monkey

            monkey.patch_all(signal=False, sys=False, Event=False)
            """,
        "two that complete one another": """
            from gevent import monkey

            monkey.patch_all(thread=False)
            monkey.patch_thread()
            """,
    }
    INVALID = {
        "an argument": """
            from gevent import monkey

            monkey.patch_all(thread=False)  # expect: partial-monkey-patch
            """,
        "single functions": """
            from gevent.monkey import patch_socket, patch_ssl

            patch_socket()  # expect: partial-monkey-patch
            patch_ssl()
            """,
    }

    @classmethod
    def find(cls, service: Service, _paths: Collection[str]) -> Iterable[Remark]:
        """Yield one remark for each patch that is the first of an incomplete process."""
        processes = service.processes
        found: dict[Patch, tuple[set[str], set[Patch]]] = {}
        for process in processes.all():
            if not process.is_gevent_service or process.by_server:
                continue
            missing = set(process.missing) - _HARMLESS
            if not missing or not process.patches:
                continue
            patch = service.first_patch(process) or process.patches[0]
            known = found.setdefault(patch, (set(), set()))
            known[0].update(missing)
            known[1].update(  # a loop over patch functions is several at one place
                one for one in process.patches if (one.path, one.row) != (patch.path, patch.row)
            )
        for patch, (names, others) in found.items():
            facts = Partial(
                patch.text,
                tuple(sorted(names)),
                tuple(sorted((other.path, other.row, other.text) for other in others)),
            )
            span, statement = pointed_at(
                processes.modules, patch.path, patch.row, patch.symbol.rpartition(".")[2]
            )
            yield Remark(patch.path, span, facts, statement)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Name what stays blocking."""
        facts: Partial = remark.facts
        missing = ", ".join(f"`{name}`" for name in facts.missing)
        verb = "stay" if len(facts.missing) > 1 else "stays"
        with_others = " and the process's other patches" if facts.others else ""
        return Wording(
            Severity.WARNING,
            f"{missing} {verb} blocking after `{facts.text}`{with_others}",
            "Call `monkey.patch_all()` without arguments, as the first thing of the process.",
            "What is not patched waits in C, and with it every greenlet of the process.",
            tuple(
                Related(name_of(path), Location(row, 1), f"`{text}` does not complete it")
                for path, row, text in facts.others
            ),
            cause=f"patching:{name_of(remark.path)}:{remark.span.row}",
        )
