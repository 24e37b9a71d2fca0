"""The changes of a run as one unified diff, which ``patch`` and ``git apply`` can apply."""

from __future__ import annotations

import difflib
import re

from gblock.output.place import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_END = "\\ No newline at end of file\n"


def diff(filename: str, before: str, after: str) -> str:
    """Return the difference of a file's text; carriage returns stay in the lines."""
    name = printable(filename)
    lines = difflib.unified_diff(_LINE.findall(before), _LINE.findall(after), name, name)
    return "".join(_ended(lines))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if not line.endswith("\n"):
            yield f"\n{_NO_END}"
