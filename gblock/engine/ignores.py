"""Add `# gblock: ignore` comments to files, for `--add-ignore`."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from gblock.engine import suppressions
from gblock.errors import UserError
from gblock.project.reading.parsing import parsed
from gblock.rules import OF_COMMENTS, OF_FILES
from gblock.writing import write_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gblock.diagnostics import Diagnostic

    Rows = tuple[int, int]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
UNSUPPRESSED = frozenset({OF_COMMENTS, OF_FILES})
"""The rules whose diagnostics get no comment: it would be reported itself, or cannot be read."""
_BRACKET = re.compile(r"(#[ \t]*gblock:[ \t]*ignore[ \t]*\[[^\]]*)\]", re.IGNORECASE)


def add(
    diagnostics: Iterable[Diagnostic], rows_of: Callable[[Diagnostic], Rows | None]
) -> tuple[int, list[Diagnostic]]:
    """Add a comment to each statement with a diagnostic.

    Args:
        diagnostics: The diagnostics to suppress.
        rows_of: Returns the first and the last row of a diagnostic's statement.

    Returns:
        The number of suppressed diagnostics, and those for which no comment can be written.

    Raises:
        UserError: if a file cannot be written; it is unchanged then.
    """
    by_file: dict[str, list[tuple[Rows, Diagnostic]]] = {}
    left = []
    for diagnostic in diagnostics:
        rows = rows_of(diagnostic)
        if rows is None or diagnostic.code in UNSUPPRESSED:
            left.append(diagnostic)
        else:
            by_file.setdefault(diagnostic.filename, []).append((rows, diagnostic))
    hidden = 0
    for filename, wanted in by_file.items():
        missed = _added(filename, wanted)
        hidden += len(wanted) - len(missed)
        left += missed
    return hidden, left


def _added(filename: str, wanted: list[tuple[Rows, Diagnostic]]) -> list[Diagnostic]:
    """Write the comments of one file, and return the diagnostics without a comment."""
    try:
        with open(filename, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(filename, f"cannot be read: {error.strerror}") from None
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    before = text = data.decode(encoding)
    missed = []
    for rows, diagnostic in wanted:
        changed = commented(text, rows, diagnostic)
        if changed is None:
            missed.append(diagnostic)
        else:
            text = changed
    if text != before:
        write_bytes(filename, text.encode(encoding))
    return missed


def commented(text: str, rows: Rows, diagnostic: Diagnostic) -> str | None:
    """Return a file's text with a comment that suppresses a diagnostic.

    The comment is on the last row of the statement, or on its first row if the last one cannot have
    one: inside a string, or after a backslash. Returns None if neither row can. The result is
    parsed, to verify that only comments differ.
    """
    if _hides(text, rows, diagnostic):  # by a comment for the same statement
        return text
    for row in dict.fromkeys(reversed(rows)):
        changed = _with_comment(text, row, diagnostic.code)
        if changed is not None and _hides(changed, rows, diagnostic) and _same(text, changed):
            return changed
    return None


def _with_comment(text: str, row: int, name: str) -> str | None:
    lines = _LINE.findall(text)
    if row > len(lines):
        return None
    line = lines[row - 1]
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    bracket = _BRACKET.search(body)
    if bracket:
        changed = f"{body[: bracket.end(1)]}, {name}{body[bracket.end(1) :]}"
    else:
        changed = f"{body.rstrip()}  # gblock: ignore[{name}]"
    lines[row - 1] = changed + end
    return "".join(lines)


def _hides(text: str, rows: Rows, diagnostic: Diagnostic) -> bool:
    return suppressions.read(text).hides(diagnostic, *rows)


def _same(before: str, after: str) -> bool:
    trees = parsed(before), parsed(after)
    return (
        trees[0] is not None and trees[1] is not None and ast.dump(trees[0]) == ast.dump(trees[1])
    )
