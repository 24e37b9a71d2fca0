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
