"""Standard output and standard error, which may be closed or no terminal; and the exit codes."""

from __future__ import annotations

import os
import sys

CLEAN, DIAGNOSTICS, FAILED = 0, 1, 2
INTERRUPTED = 130
"""The exit code of a command that SIGINT ended: 128 plus the signal's number."""


def write(text: str) -> int:
    """Write to stdout; a closed pipe, as with `head`, is no failure."""
    if sys.stdout is None:  # pythonw, or `>&-`
        return CLEAN
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        say(f"error: the report cannot be written: {error.strerror}")
        return FAILED
    return CLEAN


def write_code(data: bytes) -> int:
    """Write a file's bytes to stdout as they are."""
    if sys.stdout is None:
        return CLEAN
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _silence_stdout()
    return CLEAN


def _silence_stdout() -> None:
    """Discard buffered output, which Python would otherwise fail to flush at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def say(line: str) -> None:
    """Write a line to stderr, if it is open."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        return  # stderr is closed too


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def is_watched() -> bool:
    """Return whether stderr is a terminal, which can show progress."""
    return sys.stderr is not None and sys.stderr.isatty()


def is_coloured(choice: str) -> bool:
    """Return whether stdout gets colours, for a value of ``--color``."""
    if choice != "auto":
        return choice == "always"
    # https://no-color.org and https://force-color.org: set and not empty.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the columns of the terminal."""
    import shutil

    # Python 3.10 returns 0 for a terminal without a size, such as docker's or expect's.
    return shutil.get_terminal_size().columns or 80
