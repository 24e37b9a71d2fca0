"""The measured part of a page of the documentation, between two marks."""

from __future__ import annotations

from pathlib import Path

START, END = "<!-- measured -->\n", "<!-- end of what was measured -->\n"


def write(page: Path, shown: str) -> None:
    """Replace the measured part of a page.

    Args:
        page: The page, with both marks.
        shown: The new part, with a line break at its end.
    """
    before, rest = page.read_text(encoding="utf-8").split(START)
    _, after = rest.split(END)
    page.write_text(f"{before}{START}{shown}{END}{after}", encoding="utf-8")
