"""Errors that the user can correct: one line with place and remedy, and exit code 2."""

from __future__ import annotations


class UserError(Exception):
    """An error in the user's input that stops the command.

    Args:
        filename: The file, or the argument of the command line.
        message: The problem and the remedy, one line.
        row: The row, from 1; 0 if unknown.
        column: The column, from 1; 0 if unknown.
    """

    def __init__(self, filename: str, message: str, row: int = 0, column: int = 0) -> None:
        super().__init__(filename, message, row, column)
        self.filename = filename
        self.message = message
        self.row = row
        self.column = column

    def __str__(self) -> str:
        place = f"{self.filename}:{self.row}" if self.row else self.filename
        place = f"{place}:{self.column}" if self.row and self.column else place
        return f"{place}: {self.message}"


class FaultError(Exception):
    """An internal error during the inspection of a file; ``__cause__`` is the exception.

    Args:
        filename: The file's display name.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self.filename = filename


def toml_place(error: Exception, text: str) -> tuple[str, int, int]:
    """Return a TOML parser's message without its place, and the row and column.

    Only Python 3.14 and newer have attributes for the place; all versions have it in the message.
    """
    import re

    message, _, place = str(error).partition(" (at ")
    match = re.fullmatch(r"line (\d+), column (\d+)\)", place)
    row, column = (int(match[1]), int(match[2])) if match else end_of(text)
    return message, row, column


def end_of(text: str) -> tuple[int, int]:
    """Return the row and column after the end of a text."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")
