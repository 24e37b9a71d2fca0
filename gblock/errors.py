"""What the user can put right: one line with place and remedy, and exit code 2."""

from __future__ import annotations


class UserError(Exception):
    """Something the user wrote or named stops the job.

    Args:
        filename: The file, or what was named on the command line.
        message: What is wrong and what to do about it, one line.
        row: Where in the file, from 1; 0 where no row is known.
        column: From 1; 0 where no column is known.
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
    """gblock itself failed while it looked at a file; ``__cause__`` says how.

    Args:
        filename: The file, as reports name it.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self.filename = filename


def toml_place(error: Exception, text: str) -> tuple[str, int, int]:
    """What a TOML reader says, without the place, and the row and column that it means.

    Positions as attributes came with Python 3.14 only; the message carried them from the start.
    """
    import re

    message, _, place = str(error).partition(" (at ")
    match = re.fullmatch(r"line (\d+), column (\d+)\)", place)
    row, column = (int(match[1]), int(match[2])) if match else end_of(text)
    return message, row, column


def end_of(text: str) -> tuple[int, int]:
    """The row and column behind a text."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")
