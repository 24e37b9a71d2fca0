"""The sentences that all formats of `gblock report` share."""

from __future__ import annotations

from gblock.output.place import printable
from gblock.output.seconds import moment, seconds
from gblock.output.summary import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic
    from gblock.observations import Observations, ObservedSite, WatchedProcess

_PATCHED = (
    "The process is patched: call the module's own function, not an original that was kept from "
    "before or comes from `get_original`."
)
_NO_TIME = "without a time"
"""The row of the blocks that are known by totals alone."""
_BLAMELESS = {
    "starved": (
        "Compare the CPU limit (`nr_throttled` in cpu.stat) and the number of processes with the "
        "CPUs. A stopped process (SIGSTOP, a paused container, a suspended machine) looks the same."
    ),
    "thread": (
        "Find the native thread that keeps the GIL, such as a task of the threadpool or a "
        "library's own: GBLOCK_PROBE_WATCHDOG=0.5 writes the stacks of all threads. Run its work "
        "in another process."
    ),
}
"""The remedies of classes for which no call site is to blame."""
KINDS = {
    "waits": "waits in native code or in a system call",
    "cpu": "works on the CPU",
    "gil": "holds the GIL in native code",
    "gc": "garbage collection",
    "thread": "another thread held the GIL",
    "starved": "the host gave the process no CPU",
    "unknown": "its end was not seen",
}


def verdict(observed: Observations) -> str:
    """Return the answer in one or two sentences."""
    if observed.verdict == "off":
        return (
            "The probe was off: there are no records. "
            "Set GBLOCK_PROBE=1 for the service, and GBLOCK_PROBE_DIR to the directory read here."
        )
    watched = _watched(observed)
    if observed.verdict == "died":
        return f"The probe died: no block was recorded, but {watched}, and none to its end."
    if observed.verdict == "nothing":
        return f"Nothing blocked the hub: {watched}."
    blamed = observed.blamed
    total = sum(site.total for site in blamed)
    longest = max(site.longest for site in blamed)
    blocks = sum(site.times for site in blamed)
    return (
        f"The hub was blocked {_times(blocks)} at {counted(len(blamed), 'call site')}, "
        f"{seconds(total)} in all, the longest {seconds(longest)}: {watched}."
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _watched(observed: Observations) -> str:
    processes = observed.processes
    time = sum(process.last - process.started for process in processes)
    verb = "was" if len(processes) == 1 else "were"
    noun = "process" if len(processes) == 1 else "processes"
    return f"{len(processes):,} {noun} {verb} watched for {seconds(time)}"


def silences(observed: Observations) -> list[str]:
    """Return the gaps of the observations, one line each."""
    lines = []
    known = {(process.host, process.pid) for process in observed.processes}
    children: dict[tuple[str, int], int] = {}
    for process in observed.processes:
        parent = (process.host, process.parent)
        if process.is_brief and parent in known:
            children[parent] = children.get(parent, 0) + 1
        elif process.is_lost:
            word = "failed" if process.state == "failed" else "fell silent"
            reason = printable(process.reason)
            lines.append(f"{label(process)}: its probe {word} at {moment(process.last)}: {reason}")
    for (host, pid), number in children.items():
        noun = "a forked child" if number == 1 else f"{number:,} forked children"
        lines.append(
            f"{printable(host)}:{pid}: {noun} without a block left no end: os._exit, as after a "
            "fork, or killed"
        )
    for process in observed.processes:
        if process.uncounted:
            noun = "more block was" if process.uncounted == 1 else "more blocks were"
            lines.append(
                f"{label(process)}: {process.uncounted:,} {noun} counted but not recorded "
                "(the probe's limits, or rotated files)"
            )
    for missed in observed.unread:
        name = printable(missed.filename)
        if missed.error:
            lines.append(f"{name}: cannot be read: {missed.error}")
        if missed.garbage:
            verb = "is no record" if missed.garbage == 1 else "are no records"
            lines.append(f"{name}: {counted(missed.garbage, 'line')} {verb}")
        if missed.truncated:
            lines.append(f"{name}: the last line is cut off")
    return lines


def by(observed: Observations, what: str) -> str:
    """Return a table of blocked seconds.

    Args:
        observed: The observations.
        what: ``hour`` (blocks with a call site to blame), ``host`` or ``version`` (all blocks).
    """
    rows: dict[str, tuple[int, float]] = {}
    if what == "hour":
        rows = {moment(hour)[:16]: (times, total) for hour, times, total in observed.hours}
        blamed = [site for site in observed.sites if site.is_blamed]
        missing = sum(site.times for site in blamed) - sum(times for times, _ in rows.values())
        if missing > 0:
            known = sum(total for _, total in rows.values())
            rest = max(0.0, sum(site.total for site in blamed) - known)
            rows[_NO_TIME] = missing, rest
    else:
        for process in observed.processes:
            name = process.host if what == "host" else version(process)
            times, total = rows.get(name, (0, 0.0))
            rows[name] = times + process.blocks, total + process.blocked
    if not rows:
        return ""
    width = max(map(len, (what, *rows)))
    lines = [f"{what:{width}}  {'count':>9}  {'total':>10}"]
    for name, (times, total) in sorted(rows.items()):
        lines.append(f"{printable(name):{width}}  {times:>9,}  {seconds(total):>10}")
    return "\n".join(lines) + "\n"


def version(process: WatchedProcess) -> str:
    """Return the service's release, or without one the versions of Python and gevent."""
    if process.release:
        return process.release
    return f"Python {process.python or '?'}, gevent {process.gevent or '?'}"


def label(process: WatchedProcess) -> str:
    """Return the process's display name."""
    if not process.pid:
        return printable(process.name)
    return printable(f"{process.host}:{process.pid}" if process.host else f"pid {process.pid}")


def where(site: ObservedSite) -> str:
    """Return the line of the user's code."""
    if site.is_other:
        return "other call sites, above the probe's limit"
    if site.filename is None:
        if not site.is_blamed:
            return KINDS[site.kind]
        if site.is_frameless:
            return "C code that gevent calls itself: a callback of the loop, or a greenlet's target"
        return "an unknown call site"
    line = f":{site.line}" if site.line is not None else ""
    function = f" in {site.function}" if site.function else ""
    return printable(f"{site.filename}{line}{function}")


def called(site: ObservedSite) -> str:
    """Return what was called, and its place in native code; empty if unknown."""
    inside = ", ".join((*site.native, *site.syscalls)[:4])
    what = site.symbol or ""
    return printable(f"{what} ({inside})" if what and inside else what or inside)


def classes(site: ObservedSite) -> str:
    """Return the classes with their counts, if there are several."""
    if len(site.kinds) == 1:
        return printable(site.kinds[0][0])
    return printable(", ".join(f"{kind} {count}" for kind, count in site.kinds))


def facts(site: ObservedSite) -> list[tuple[str, str]]:
    """Return the facts about a site besides its figures: labels and sentences."""
    lines = []
    if called(site):
        lines.append(("calls", called(site)))
    elif site.kind == "cpu" and site.filename:
        lines.append(("calls", "nothing with a name: Python code of its own, or an operator"))
    if site.candidates and site.is_blamed and not site.symbol:
        lines.append(("nearly", printable(", ".join(site.candidates[:4]))))
    if site.routes:
        shown = ", ".join(site.routes[:3])
        more = f" and {len(site.routes) - 3} more" if len(site.routes) > 3 else ""
        lines.append(("serves", printable(shown + more)))
    if site.is_spawned:
        lines.append(("spawned", "on this line, as the greenlet's target"))
    if site.blockers:
        lines.append(("catalog", ", ".join(blocker.id for blocker in site.blockers)))
    elif site.is_cooperative:
        reason = "an original was called" if site.is_original else "here it did not"
        lines.append(("catalog", f"known to cooperate once gevent has patched; {reason}"))
    elif site.symbol and site.is_blamed:
        lines.append(("catalog", "not known; --suggest drafts an entry"))
    if site.checked:
        reported = [_reported(diagnostic) for diagnostic in site.diagnostics]
        lines.append(("check", "; ".join(reported) or _silent(site)))
    if site.unfinished:
        ends = f"{site.unfinished:,} of {site.times:,}: their ends were not seen"
        lines.append(("unfinished", ends))
    if site.kind in _BLAMELESS:
        lines.append(("instead", _BLAMELESS[site.kind]))
    elif site.is_original:
        lines.append(("instead", _PATCHED))
    elif site.blockers:
        lines.append(("instead", site.blockers[0].remedy(site.symbol)))
    return lines


def _silent(site: ObservedSite) -> str:
    """Return why nothing is reported, if the catalog shows it."""
    opt_in = [blocker.id for blocker in site.blockers if blocker.level == "opt-in"]
    if opt_in:
        return f"reports {opt_in[0]} only if it is selected"
    return "reports nothing of this line"


def _reported(diagnostic: Diagnostic) -> str:
    place = f"{diagnostic.filename}:{diagnostic.location.row}:{diagnostic.location.column}"
    return printable(f"{diagnostic.severity.label}[{diagnostic.code}] {place}")
