"""A page for a terminal: rich renders it in memory, and the caller prints it."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

# A smaller width is taken for wrong: rich omits text that does not fit.
_NARROWEST = 40


class Page:
    """Text in colour for a terminal.

    Args:
        width: The terminal's columns.
    """

    def __init__(self, width: int) -> None:
        self._written = io.StringIO()
        # Colour has been decided before; the eight standard colours follow the user's theme.
        self.console = Console(
            file=self._written,
            force_terminal=True,
            no_color=False,
            color_system="standard",
            legacy_windows=False,
            width=max(width, _NARROWEST),
            highlight=False,
        )

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.console.width

    def line(self, text: Text | str = "") -> None:
        """Add a line, without wrapping."""
        self.console.print(text, soft_wrap=True)

    def wrapped(self, text: Text, head: str) -> None:
        """Add wrapped lines, the first of them after a head."""
        for index, part in enumerate(text.wrap(self.console, self.width - len(head))):
            part.rstrip()
            first = head if index == 0 else " " * len(head)
            self.line(Text.assemble((first, "green"), part))

    @property
    def text(self) -> str:
        """The page, with the terminal's escape codes."""
        return self._written.getvalue()
