"""locust's settings file, which names the files with the users of a load test."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Command, Fact
from gblock.project.processes.deployment.repository import NONE, Repository

EXAMPLE = ("locust.conf", "locustfile = gevent_load.py\nheadless = true\n")
_FILE = re.compile(r"^[ \t]*(?:locustfile|f)[ \t]*[=:][ \t]*(\S+)", re.MULTILINE)


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the load test that a settings file describes."""
    return [
        Command(("locust", "-f", match[1]), filename, text.count("\n", 0, match.start(1)) + 1)
        for match in _FILE.finditer(text)
    ]
