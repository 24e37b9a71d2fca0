"""``unpatched-call``: what gevent's patch would make cooperative, in a process that lacks it."""

from __future__ import annotations

import re

from gblock.project.remarks import Remark, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import NamedTuple

    from gblock.project.processes import Process, Processes
    from gblock.project.sites import Found, Site
else:
    from gblock.diagnostics import NamedTuple

MARKS = re.compile(rb"(?:from|import)[ \t]+gevent\b|\basync_mode\b")
SCATTERED = True
"""A process that runs on gevent, and that no server patches, imports it somewhere."""
IN_PROCESSES = True


class Lack(NamedTuple):
    """A call, and the processes in which it blocks."""

    code: str
    found: Found
    lacking: tuple[Process, ...]
    """The processes that leave unpatched what the call needs."""
    others: tuple[Process, ...]
    """The processes on gevent in which it is cooperative."""


def find(processes: Processes, paths: Collection[str]) -> Iterable[Remark]:
    """The remarks on some files."""
    unpatched = processes.unpatched
    if unpatched is None or not processes.incomplete:
        return
    reached = frozenset[str]().union(*map(processes.modules_of, processes.incomplete))
    for path in unpatched.chosen([path for path in paths if path in reached]):
        running = processes.on_gevent(path)
        incomplete = [process for process in running if process.missing]
        found: dict[Site, tuple[Found, list[Process]]] = {}
        for native in (False, True):
            group = [p for p in incomplete if ("threading" in p.missing) is native]
            for site in unpatched.of(path, native_threads=native) if group else ():
                one, lacking = _blocking(site, group)
                if one is not None:
                    found.setdefault(site._replace(native=False), (one, []))[1].extend(lacking)
        for site, (one, lacking) in sorted(found.items(), key=lambda item: item[0].call[3:7]):
            others = tuple(p for p in running if p not in lacking)
            if others:  # whose code it is, is no longer plain
                lacking = [p for p in lacking if _is_meant(p, path, site, processes)]
            if not lacking:
                continue
            code, span = written(processes.modules.data(path), site)
            facts = Lack(code, one, tuple(lacking), others)
            yield Remark(path, span, facts, site.call.statement)


def _blocking(site: Site, group: list[Process]) -> tuple[Found | None, list[Process]]:
    """The first blocker of a site that blocks in some processes, and these."""
    for one in site.found:
        lacking = [process for process in group if leaves(process, one.blocker.patched_by)]
        if lacking:
            return one, lacking
    return None, []


def _is_meant(process: Process, path: str, site: Site, processes: Processes) -> bool:
    """Whether a process, and not only another one, may run a call in a file that both can run.

    It imports the module. What surrounds the call has to be named once more in what it can run.
    """
    summary = processes.modules.summary(path)
    if summary is None or processes.is_casual(process):
        return False
    scope, name = site.call.scope, b""
    while scope > 0:
        name = summary.scopes[scope].name.encode()
        scope = summary.scopes[scope].parent
    if not name.decode().isidentifier():
        return True
    written = re.compile(rb"\b%s\b" % name)
    return any(
        len(written.findall(processes.modules.data(one))) > (one == path)
        for one in processes.modules_of(process)
    )


def leaves(process: Process, wanted: tuple[str, ...]) -> bool:
    """Whether a process leaves unpatched something that has to be patched.

    Args:
        process: It.
        wanted: What has to be; ``queue or threading`` where one of several is enough.
    """
    return any(
        all(name in process.missing for name in alternatives.split(" or "))
        for alternatives in wanted
    )


def written(data: bytes, site: Site) -> tuple[str, Span]:
    """How a call is written, on one line, and where: columns of a summary count bytes."""
    call = site.call
    lines = data.splitlines()[call.row - 1 : call.end_row]
    start = len(lines[0][: call.column].decode(errors="replace"))
    end = len(lines[-1][: call.end_column].decode(errors="replace"))
    lines[-1] = lines[-1][: call.end_column]
    lines[0] = lines[0][call.column :]
    text = " ".join(line.decode(errors="replace").strip() for line in lines)
    text = text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
    return text, Span(call.row, start + 1, call.end_row, end + 1)


_SHORT = 60
"""So many characters of a call are shown in a message."""
