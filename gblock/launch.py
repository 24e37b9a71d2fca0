"""Run `gblock run -- COMMAND`: replace this process with the command, with the probe on.

Three variables of the environment are set: `GBLOCK_PROBE`, which gevent's plug-in reads when the
process patches; `GEVENT_MONITOR_THREAD_ENABLE`, by which gevent starts its monitor thread, and with
it the other plug-in, in a process that never patches; and `PYTHONWARNINGS`, which silences gevent's
warning about a missing psutil.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

from gblock.errors import UserError

_VISIBLE = """
import sys
try:
    import gevent
except ImportError:
    sys.exit("gevent")
from importlib import metadata
group = "gevent.plugins.monkey.did_patch_all"
names = [point.value for point in metadata.entry_points(group=group)]
sys.exit(0 if any(name.startswith("gblock.") for name in names) else "gblock")
"""
_INSTALLS = {
    "gevent": "{} -m pip install gevent",
    "gblock": "{} -m pip install --no-deps gblock",
}
_QUIET = "ignore:Unable to monitor memory usage:RuntimeWarning"


class PreparedCommand(NamedTuple):
    """The command to run, and a note for the user."""

    path: str
    words: list[str]
    environment: dict[str, str]
    note: str


def prepared(
    words: list[str],
    directory: str | None,
    threshold: float | None,
    environment: dict[str, str],
) -> PreparedCommand:
    """Return the command with its environment.

    Args:
        words: The command and its arguments.
        directory: The directory for the records.
        threshold: The shortest block to record, in seconds.
        environment: The command's environment without the probe.

    Raises:
        UserError: if there is no such command, or its Python would not find the probe.
    """
    if not words:
        raise UserError("gblock run", "no command given: gblock run -- COMMAND [ARGUMENTS]")
    path = shutil.which(words[0], path=environment.get("PATH"))
    if path is None:
        raise UserError("gblock run", f"command not found: {words[0]}")
    note = ""
    python = _interpreter(path)
    if python is None:
        note = f"{words[0]} names no Python, so it is unknown whether it finds the probe"
    else:
        _check(python, environment)
    environment = {**environment, "GBLOCK_PROBE": "1"}
    if directory is not None:
        environment["GBLOCK_PROBE_DIR"] = os.path.abspath(directory)
    if threshold is not None:
        environment["GBLOCK_PROBE_THRESHOLD"] = f"{threshold:g}"
    if not environment.get("GEVENT_MONITOR_THREAD_ENABLE"):
        environment["GEVENT_MONITOR_THREAD_ENABLE"] = "1"
        environment["GBLOCK_PROBE_OWNS_MONITOR"] = "1"
    filters = [environment[name] for name in ("PYTHONWARNINGS",) if environment.get(name)]
    environment["PYTHONWARNINGS"] = ",".join([*filters, _QUIET])
    return PreparedCommand(path, words, environment, note)


def become(command: PreparedCommand) -> int:
    """Replace this process with the command, which keeps signals and its own exit code.

    Raises:
        UserError: if the system cannot run it.
    """
    try:
        os.execve(command.path, command.words, command.environment)  # noqa: S606 - a shell would not
    except OSError as error:
        raise UserError(command.path, f"cannot be run: {error.strerror}") from None


def _interpreter(path: str) -> str | None:
    """Return the interpreter that a command is, or that its first line names; None if unknown."""
    if os.path.basename(os.path.realpath(path)).startswith(("python", "pypy")):
        return path
    try:
        with open(path, "rb") as file:
            first = file.readline(500)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = os.fsdecode(first[2:]).split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words or not os.path.basename(words[0]).startswith(("python", "pypy")):
        return None
    return words[0]


def _check(python: str, environment: dict[str, str]) -> None:
    """Raise a UserError if an interpreter finds no gevent, or not this probe."""
    try:
        run = subprocess.run(  # noqa: S603 - the user's own command
            [python, "-c", _VISIBLE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return  # the command itself will report the error
    missing = run.stderr.strip().rpartition("\n")[2]
    if run.returncode and missing in ("gevent", "gblock"):
        command = _INSTALLS[missing].format(python)
        raise UserError(python, f"{missing} is not installed for this Python: {command}")
