"""Console sessions of pages: read them, run them, compare them, write them anew.

A session is a block of a page behind ``<!-- session -->``. Its commands begin with ``$ ``, and
further lines of a command with ``> ``. All sessions of a page run in one shell, one after another.
``<!-- session: timed -->`` marks one that starts servers and takes time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(
    r"^<!-- session(: timed)? -->\n```console\n(.*?)```\n<!-- end -->$", re.MULTILINE | re.DOTALL
)
_MOST_STOLEN = 0.1
"""Seconds that the host of a virtual machine may take while a page is played."""
_MARK = "--- the output of command "


class Session(NamedTuple):
    """One block of a page."""

    commands: list[str]
    outputs: list[str]
    timed: bool


def read(page: str) -> list[Session]:
    """Return the sessions of a page."""
    found = []
    for timed, text in _BLOCK.findall(page):
        commands: list[str] = []
        outputs: list[str] = []
        for line in text.splitlines(keepends=True):
            if line.startswith("$ "):
                commands.append(line[2:])
                outputs.append("")
            elif line.startswith("> ") or line == ">\n":
                commands[-1] += line[2:] or "\n"
            else:
                outputs[-1] += line
        found.append(Session(commands, outputs, bool(timed)))
    return found


def play(sessions: list[Session], cwd: Path, port: int = 8000, **more: str) -> list[Session]:
    """Run sessions in one shell, and return them with what the commands print.

    Args:
        sessions: The sessions, in their order.
        cwd: The directory to begin in, which pages call ``/srv``.
        port: What is used where commands say 8000.
        more: Variables of the environment.
    """
    script, count = "", 0
    for session in sessions:
        for command in session.commands:
            # The mark is printed by the shell that runs the command before, so the order holds.
            script += f"echo '{_MARK}'{count}\n{command.replace(':8000', f':{port}')}"
            count += 1
    python = Path(sys.executable)
    environment = {
        name: value
        for name, value in os.environ.items()
        if "GBLOCK" not in name and not name.startswith("GIT_")
    } | {
        "PATH": os.pathsep.join((str(python.parent), os.environ["PATH"])),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost",
        "COLUMNS": "80",
        **more,
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    printed = re.split(rf"^{_MARK}\d+\n", done.stdout.replace(str(cwd), "/srv"), flags=re.MULTILINE)
    assert "" == printed[0]
    outputs = iter(printed[1:])
    return [one._replace(outputs=[next(outputs) for _ in one.commands]) for one in sessions]


def written(page: str, played: list[Session]) -> str:
    """Return the page with what the commands printed; sessions that were not run stay."""
    fresh = {tuple(session.commands): session for session in played}

    def block(match: re.Match[str]) -> str:
        (old,) = read(match[0])
        session = fresh.get(tuple(old.commands), old)
        text = "".join(
            re.sub(r"^> $", ">", f"$ {command.rstrip()}".replace("\n", "\n> "), flags=re.MULTILINE)
            + f"\n{output}"
            for command, output in zip(session.commands, session.outputs, strict=True)
        )
        return f"<!-- session{match[1] or ''} -->\n```console\n{text}```\n<!-- end -->"

    return _BLOCK.sub(block, page)


def is_busy(stolen: float) -> bool:
    """Return whether other programs, or other virtual machines, take the cores.

    Args:
        stolen: The seconds that the host of a virtual machine took meanwhile.
    """
    return os.getloadavg()[0] > (os.cpu_count() or 1) or stolen > _MOST_STOLEN


def alike(text: str, busy: bool = False) -> str:
    """Return the text without what differs from run to run: times, figures, builds of Python.

    Args:
        text: The output of commands.
        busy: Also leave out which call the probe proved: it may prove none on a busy machine.
    """
    if busy:
        text = re.sub(r"^ +(?:calls|nearly|catalog|instead): .*\n", "", text, flags=re.MULTILINE)
    # A busy machine starves a process now and then, which blames no call.
    text = re.sub(r"\n\n +\d+ [^\n]* starved\n(?: +[^\n]*\n)+", "\n", text)
    # Whether fcntl is a file of its own depends on how Python was built.
    text = re.sub(r"\.cpython-[\w-]+\.so", ".so", text).replace("(fcntl.so, flock)", "(flock)")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"(?:\d+ (?:h|min) )*[\d.]+ m?s\b", "SECONDS", text)
    return re.sub(r" +", " ", text)
