"""Batch files and scripts of PowerShell, as far as a shell has the same statements."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Fact
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell_script import called

EXAMPLE = ("worker.bat", "@echo off\nstart /b celery.exe -A shop worker -P gevent\n")
_BATCH = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), new)
    for pattern, new in (
        (r"^[ \t]*(?:@?rem\b|::|:).*$", ""),
        (r"\^[ \t]*$", "\\\\"),
        (r"^[ \t@]*set[ \t]+\"?(\w+)=([^\"\n]*)\"?[ \t]*$", r'export \1="\2"'),
        (r"%~dp0[\\/]?", ""),
        (r"%(\w+)%", r"${\1}"),
        (r"^[ \t@]*(?:call|start(?:[ \t]+\"[^\"\n]*\")?(?:[ \t]+/\w+)*)[ \t]+", ""),
        (r"^[ \t]*@", ""),
        (r"^([ \t]*cd)[ \t]+/d\b", r"\1"),
    )
)
_POWERSHELL = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), new)
    for pattern, new in (
        (r"`[ \t]*$", "\\\\"),
        (r"^[ \t]*\$env:(\w+)[ \t]*=[ \t]*", r"export \1="),
        (r"^[ \t]*\$(\w+)[ \t]*=[ \t]*", r"\1="),
        (r"\$env:(\w+)", r"${\1}"),
        (r"^[ \t]*&[ \t]*", ""),
    )
)
"""Statements of PowerShell, and what a shell writes for them."""
_EXE = re.compile(r"\.exe\b", re.IGNORECASE)


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the commands of a script."""
    text = text.replace("\r\n", "\n").replace("\\", "/")
    is_batch = not filename.lower().endswith(".ps1")
    if is_batch:
        text = "\n".join(map(_quoted, text.split("\n")))
    for pattern, new in _BATCH if is_batch else _POWERSHELL:
        text = pattern.sub(new, text)
    return called(_EXE.sub("", text), filename)


def _quoted(line: str) -> str:
    """Return a line of a batch file with its quotes as a shell reads them.

    An apostrophe is a letter there, and a quote ends with its line.
    """
    parts = line.split('"')
    if len(parts) % 2 == 0:
        parts.append("")
    parts[::2] = (part.replace("'", r"\'") for part in parts[::2])
    return '"'.join(parts)
