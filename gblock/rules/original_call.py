"""``original-call``: an original of the standard library is called in a greenlet."""

from __future__ import annotations

from collections.abc import Callable

from gblock.diagnostics import Severity
from gblock.project.remarks import Remark
from gblock.project.remarks.original_call import Original
from gblock.project.unpatched import ORIGINALS
from gblock.rule import ProcessRule, Wording, effect


class OriginalCall(ProcessRule):
    """What gevent has replaced is fetched back with `get_original`, and called in a greenlet.

    ## What it does

    Reports calls of `gevent.monkey.get_original("time", "sleep")` and of other originals that wait,
    also under another name, in another module, or through `gevent.monkey.saved`.

    ## Why it blocks the hub

    The original is the function of the operating system again: it stops the thread that calls it,
    which is the hub's, for as long as it waits.

    ## Use instead

    The patched function. Where the original is wanted, call it in a native thread:
    `gevent.get_hub().threadpool.apply(original, arguments)`.

    ## Limits

    Speaks of originals that are known to wait: of functions and objects that the catalog lists as
    such. An original that only waits on patched objects, such as `threading.Event`, is cooperative.
    """

    name = "original-call"
    since = "0.1.0"

    VALID = {
        "the patched function": """
            import time

            from gevent import monkey

            monkey.patch_all()
            time.sleep(1)
            """,
        "an original that does not wait": """
            from gevent import monkey

            monkey.patch_all()
            get_ident = monkey.get_original("threading", "get_ident")
            print(get_ident())
            """,
        "in a native thread": """
            import gevent
            from gevent import monkey

            monkey.patch_all()
            sleep = monkey.get_original("time", "sleep")
            gevent.get_hub().threadpool.apply(sleep, (1,))
            """,
    }
    INVALID = {
        "called at once": """
            from gevent import monkey

            monkey.patch_all()
            monkey.get_original("time", "sleep")(1)  # expect: original-call
            """,
        "under a name": """
            from gevent import monkey

            monkey.patch_all()
            select = monkey.get_original("select", "select")

            def wait(connection):
                select([connection], [], [])  # expect: original-call
            """,
        "an original lock": """
            from gevent import monkey

            monkey.patch_all()
            lock = monkey.get_original("threading", "Lock")()
            lock.acquire()  # expect: original-call
            """,
    }

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:  # noqa: ARG003
        """What is said of one call."""
        facts = remark.facts
        assert isinstance(facts, Original)
        found = facts.found
        name = found.symbol.removeprefix(ORIGINALS)
        return Wording(
            Severity.ERROR if found.blocker.level == "error" else Severity.WARNING,
            f"`{facts.code}` {effect(found)}; it calls the original {name}",
            f"Call {name} as gevent has patched it, or run the original in the hub's threadpool.",
            found.blocker.why,
            blocker=found.blocker.id,
            symbol=found.symbol,
        )
