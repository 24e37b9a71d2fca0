"""Observations for other programs: one object."""

from __future__ import annotations

import json

from gblock.output.report import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.observations import Observations, ObservedSite, WatchedProcess
    from gblock.observations.records import Frame


def render(observed: Observations, _width: int | None = None) -> str:
    """Return one JSON object and a line feed; times are epoch seconds."""
    page = {
        "version": 1,
        "verdict": observed.verdict,
        "message": facts.verdict(observed),
        "silences": facts.silences(observed),
        "processes": [_process(process) for process in observed.processes],
        "sites": [_site(site) for site in observed.sites],
        "hours": [
            {"start": hour, "count": times, "seconds": total}
            for hour, times, total in observed.hours
        ],
        "files": observed.files,
        "unread": [missed._asdict() for missed in observed.unread],
    }
    # ASCII only: it is the same in every locale, and a file's name may not be Unicode.
    return json.dumps(page, indent=2) + "\n"


def _process(process: WatchedProcess) -> dict[str, object]:
    return {**process._asdict(), "command": list(process.command)}


def _site(site: ObservedSite) -> dict[str, object]:
    return {
        "filename": site.filename,
        "line": site.line,
        "function": site.function,
        "symbol": site.symbol,
        "blockers": [blocker.id for blocker in site.blockers],
        "class": site.kind,
        "classes": dict(site.kinds),
        "blamed": site.is_blamed,
        "count": site.times,
        "seconds": site.total,
        "median": site.median,
        "p95": site.p95,
        "max": site.longest,
        "first": site.first,
        "last": site.last,
        "processes": site.processes,
        "unfinished": site.unfinished,
        "native": list(site.native),
        "syscalls": list(site.syscalls),
        "greenlets": list(site.greenlets),
        "checked": site.checked,
        "diagnostics": [
            {
                "code": diagnostic.code,
                "severity": diagnostic.severity.label,
                "filename": diagnostic.filename,
                "location": {
                    "row": diagnostic.location.row,
                    "column": diagnostic.location.column,
                },
            }
            for diagnostic in site.diagnostics
        ],
        "spawned": site.is_spawned,
        "exact": site.exact,
        "routes": list(site.routes),
        "candidates": list(site.candidates),
        "patched": site.is_patched,
        "original": site.is_original,
        "stack": [_frame(frame) for frame in site.stack],
    }


def _frame(frame: Frame) -> dict[str, object]:
    return {
        "filename": frame.file,
        "line": frame.line,
        "function": frame.function,
        "user": bool(frame.user),
    }
