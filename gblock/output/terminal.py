"""A page for a terminal: rich draws it in memory, and whoever asked for it prints it."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

# A terminal that says less is taken to be wrong: rich leaves out what does not fit.
_NARROWEST = 40


class Page:
    """Text in colour that is to be printed on a terminal.

    Args:
        width: The terminal's columns.
    """

    def __init__(self, width: int) -> None:
        self._written = io.StringIO()
        # That there is colour has been decided; the eight standard ones follow the user's theme.
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
        """The columns that there are."""
        return self.console.width

    def line(self, text: Text | str = "") -> None:
        """Add a line that is as long as it is."""
        self.console.print(text, soft_wrap=True)

    def wrapped(self, text: Text, head: str) -> None:
        """Add lines that are filled, the first of them behind a head."""
        for index, part in enumerate(text.wrap(self.console, self.width - len(head))):
            part.rstrip()
            first = head if index == 0 else " " * len(head)
            self.line(Text.assemble((first, "green"), part))

    @property
    def text(self) -> str:
        """All that was added, with the terminal's codes."""
        return self._written.getvalue()
