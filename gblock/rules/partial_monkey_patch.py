"""``partial-monkey-patch``: a process patches, but not everything that waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gblock.diagnostics import Location, Related, Severity
from gblock.rule import ProcessRule, Wording

if TYPE_CHECKING:
    from gblock.project.remarks import Remark
    from gblock.project.remarks.partial_monkey_patch import Partial


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
        )
