"""``original-call``: an original of the standard library is called in a greenlet."""

from __future__ import annotations

import re

from gblock.diagnostics import Severity
from gblock.project.calls.unpatched import ORIGINALS
from gblock.project.remarks.places import written
from gblock.project.remarks.remark import Remark
from gblock.rule import ProcessRule, Wording, effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import NamedTuple

    from gblock.project.calls.sites import Found
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple


class CalledOriginal(NamedTuple):
    """A call of an original."""

    code: str
    found: Found


class OriginalCall(ProcessRule):
    """An original is fetched with `get_original` and called in a greenlet.

    ## What it does

    Reports calls of `gevent.monkey.get_original("time", "sleep")` and of other originals that wait,
    also under another name, in another module, or through `gevent.monkey.saved`.

    ## Why it blocks the hub

    The original is the blocking function of the operating system: the hub's thread calls it and
    waits.

    ## Use instead

    The patched function. Where the original is needed, call it in a native thread:
    `gevent.get_hub().threadpool.apply(original, arguments)`.

    ## Limits

    Only originals that the catalog lists as waiting are reported. An original that only waits on
    patched objects, such as `threading.Event`, is cooperative.
    """

    name = "original-call"
    since = "0.1.0"
    marks = re.compile(rb"get_original\b|monkey\.saved\b|import\s+saved\b")
    scattered = True
    in_processes = False

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
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the remarks on some files."""
        processes, unpatched, modules = service.processes, service.unpatched, service.modules
        marked = [path for path in modules.serving if cls.marks.search(modules.data(path))]
        if not marked:
            return
        near = set(marked).union(*map(processes.graph.leading_to, marked))
        for path in paths:
            if path not in near or processes.only_without_gevent(path):
                continue
            for site in unpatched.originals(path):
                code, span = written(modules.data(path), site)
                yield Remark(
                    path, span, CalledOriginal(code, site.found[0]), site.call.statement, site.place
                )

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:  # noqa: ARG003
        """Return the message for one call."""
        facts = remark.facts
        assert isinstance(facts, CalledOriginal)
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
