"""`gblock check --watch`: check again whenever something that the check was read from changes.

Each check runs in a process of its own where that is possible, so none finds what another has left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from gblock import opened
from gblock.cache import manifest
from gblock.commandline import console
from gblock.commandline.options import Options
from gblock.engine.jobs import apart
from gblock.errors import UserError

_PAUSE = 0.5
"""Seconds between two comparisons, at least."""
_SHARE = 10
"""Comparisons take at most one part in this many of the time."""
_NEVER = 1 << 63
"""A time that no file has."""
_ONCE = ("add_ignore", "fix", "diff", "show_files", "show_settings", "since", "write_baseline")


def watch(options: Options, check: Callable[[Options], int]) -> int:
    """Check until SIGINT.

    Args:
        options: The options of the check.
        check: Checks once, writes the report and returns the exit code.

    Raises:
        UserError: for an option that a repeated check cannot have.
        KeyboardInterrupt: in the end.
    """
    for name in _ONCE:
        if getattr(options, name):
            flag = name.replace("_", "-")
            raise UserError("gblock check", f"--watch cannot be combined with --{flag}")
    if options.stdin_filename is not None or "-" in options.paths:
        raise UserError("gblock check", "--watch reads files, not standard input")
    options.watch = False
    options.no_cache = True  # an answer from the cache does not show what it was read from
    while True:
        began = time.time_ns()
        begun = opened.begin()
        apart(lambda: _checked(options, check))
        console.say("Watching for changes; press Ctrl-C to stop.")
        _wait(begun, began)
        console.say("\nChange detected; checking again.")


def _checked(options: Options, check: Callable[[Options], int]) -> int:
    try:
        return check(options)
    except UserError as error:
        console.say(f"error: {error}")
        return console.FAILED


def _wait(begun: opened.Opened, began: int) -> None:
    """Return when something that a check has asked for is not what it was when the check began.

    Args:
        begun: What it asked for.
        began: When it began, in nanoseconds since the epoch.
    """
    known = manifest.taken(begun, _NEVER, lambda _: None)
    now = time.time_ns()
    if any(began <= time_of <= now for time_of in map(_changed, begun.paths)):
        return  # during the check, which may have read what was there before
    while known is not None:
        start = time.monotonic()
        try:
            known = manifest.renewed(known)
        except manifest.Changed:
            return
        time.sleep(max(_PAUSE, _SHARE * (time.monotonic() - start)))


def _changed(path: str) -> int:
    """Return when a file or a directory has changed, in nanoseconds since the epoch."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
