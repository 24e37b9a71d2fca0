"""The entry point: one command, its exit code, and one line for each error."""

from __future__ import annotations

import gc
import os
import sys

from gblock.commandline import console
from gblock.commandline.console import CLEAN, FAILED, INTERRUPTED
from gblock.errors import UserError


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; a traceback is never shown.

    Args:
        argv: The arguments. None stands for those of this process, which ends afterwards.
    """
    for stream in (sys.stdout, sys.stderr):
        # A name that the locale cannot write must not stop a report.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    from gblock.commandline.depth import Depth

    try:
        with Depth():
            return _run(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        console.say(f"error: {error}")
    except KeyboardInterrupt:
        console.say("gblock was interrupted")
        return INTERRUPTED
    except SystemExit as end:  # argparse, after --help and --version
        return end.code if isinstance(end.code, int) else CLEAN
    except Exception as error:  # noqa: BLE001 - the last line of defence
        console.say(_missing(error) or _internal(error))
    finally:
        if argv is None:
            gc.freeze()  # Python looks for garbage before it ends: a tenth of a clean run
    return FAILED


def _run(argv: list[str]) -> int:
    from gblock import commands
    from gblock.commandline.argv import parse

    options = parse(argv)
    try:
        os.getcwd()
    except OSError as error:
        message = f"the current directory cannot be used: {error.strerror}"
        raise UserError("gblock", message) from None
    return commands.run_command(options)


def _missing(error: Exception) -> str | None:
    """Return one line for a package that the command needs, and None for any other fault."""
    cause = error.__cause__ if error.__cause__ is not None else error
    if not isinstance(cause, ModuleNotFoundError):
        return None
    from gblock.extras import remedy

    missing = remedy(cause.name)
    return None if missing is None else f"error: this command needs a package: {missing}"


def _internal(error: Exception) -> str:
    """Return one line for an internal error, with the facts that a bug report needs."""
    import traceback

    from gblock.errors import FaultError
    from gblock.output.place import printable

    if os.environ.get("GBLOCK_TRACEBACK"):
        console.say("".join(traceback.format_exception(error)).rstrip())
    checked = ""
    if isinstance(error, FaultError) and isinstance(error.__cause__, Exception):
        checked = f" while it checked {printable(error.filename)}"
        error = error.__cause__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    text = printable(" ".join(str(error).split()))
    return (
        f"error: gblock itself failed{checked} at {place}: {type(error).__name__}: {text}; "
        "GBLOCK_TRACEBACK=1 shows a traceback: please report it with the file that was checked"
    )
