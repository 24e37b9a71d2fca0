"""``invalid-syntax``: a file that cannot be checked."""

from __future__ import annotations

import sys

from gblock.diagnostics import Diagnostic, Location, Severity
from gblock.rule import Rule


class InvalidSyntax(Rule):
    """A file cannot be read as Python, so nothing in it is checked.

    ## What it does

    Reports files with syntax errors, null bytes, or bytes that are not in the declared encoding, as
    errors. Files that Python may accept, but that gblock does not check because they are too large
    or nest too deep, are warnings. Files with the same error, such as those written for Python 2,
    are one cause.

    ## Why it blocks the hub

    It does not, but the calls in such a file are not checked, and other files lose the types that
    the file declares.

    ## Use instead

    Correct the file. List it in `exclude` if it is not meant to be valid, such as a template or the
    input of a test, or in `per-file-ignores` to keep it in the list of files.

    ## Limits

    gblock reads files with the grammar of the Python that runs it: run it with the version that
    the project requires, or a newer one. The rule is on whatever `select` contains; `ignore`
    and `per-file-ignores` turn it off.
    """

    name = "invalid-syntax"
    since = "0.1.0"

    VALID = {
        "a file that can be parsed": """
            print("sent")
            """,
    }
    INVALID = {
        "a statement of Python 2": """
            print "sent"  # expect: invalid-syntax
            """,
        "a name without a value": """
            retries =  # expect: invalid-syntax
            """,
    }

    @classmethod
    def reported(
        cls, filename: str, message: str, place: tuple[int, int] | None, *, is_limit: bool
    ) -> Diagnostic:
        """Return the diagnostic of one file.

        Args:
            filename: The name to report.
            message: Why the file cannot be checked.
            place: The row and the column, None if they are unknown.
            is_limit: True if the file may be valid nevertheless.
        """
        row, column = place or (1, 1)
        running = f"{sys.version_info.major}.{sys.version_info.minor}"
        why = "" if is_limit else f"The file was read as Python {running}."
        return Diagnostic(
            filename=filename,
            location=Location(row, column),
            end_location=Location(row, column + 1),
            code=cls.name,
            severity=Severity.WARNING if is_limit else Severity.ERROR,
            message=f"the file {message}",
            help="Exclude the file if it is generated." if is_limit else "Correct the file.",
            why=why,
            cause=f"{cls.name}:{message}",
        )
