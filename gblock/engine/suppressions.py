"""The comments ``# gblock: ignore`` and ``# gblock: ignore[name, blocker-id]`` of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gblock.diagnostics import Location
from gblock.project.reading.parsing import comments
from gblock.rules import OF_COMMENTS, OF_FILES
from gblock.suggestion import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gblock.diagnostics import Diagnostic

_MARK = "gblock:"
# Another comment may precede it in the same line, such as a `type: ignore`.
_COMMENT = re.compile(r"#[ \t]*gblock:[ \t]*([^#]*)", re.IGNORECASE)
# The instruction, and the first character after it. A reason may follow the instruction and the
# brackets: `# gblock: ignore[blocking-call] runs before the hub starts`.
_INSTRUCTION = re.compile(r"([\w-]*)[ \t]*(.?)")


class Unused(NamedTuple):
    """A comment, or some of its names, that suppress nothing."""

    location: Location
    end_location: Location
    names: tuple[str, ...]
    """The names that hid nothing; empty for the whole comment."""
    message: str
    help: str
    is_idle: bool = False
    """True if it is well written; the purpose of a misspelt name is unknown."""


class _Comment:
    """One comment, and the names of it that were used."""

    __slots__ = ("end_location", "error", "location", "names", "used")

    def __init__(self, location: Location, end_location: Location, instruction: str) -> None:
        self.location = location
        self.end_location = end_location
        # None: every name. A comment with an error suppresses nothing.
        self.names, self.error = _names(instruction)
        self.used: set[str | None] = set()

    def hides(self, diagnostic: Diagnostic) -> bool:
        if self.error:
            return False
        if self.names is None:
            # A comment for every rule, or for a whole file, must not hide its own diagnostic.
            if diagnostic.code in (OF_COMMENTS, OF_FILES):
                return False
            self.used.add(None)
            return True
        hiding = {diagnostic.code, diagnostic.blocker}.intersection(self.names)
        self.used |= hiding
        return bool(hiding)

    def unused(self, known: Collection[str], judged: Collection[str] | None) -> Iterator[Unused]:
        if self.error:
            yield self._report((), self.error, "Write # gblock: ignore[name] with a rule's name.")
        elif self.names is None:
            if not self.used and judged is None:
                yield self._report((), "this comment hides nothing", "Delete it.", is_idle=True)
        else:
            idle = []
            for name in self.names:
                if name not in known:
                    message = f"unknown rule or blocker {name}{did_you_mean(name, known)}"
                    yield self._report((name,), message, "Correct the name or delete it.")
                elif name in self.used or name == OF_COMMENTS:
                    continue
                elif judged is None or name in judged:
                    idle.append(name)
            if idle:
                which = "the comment" if len(idle) == len(self.names) else "what hides nothing"
                message = f"ignore[{', '.join(idle)}] hides nothing"
                yield self._report(tuple(idle), message, f"Delete {which}.", is_idle=True)

    def _report(
        self, names: tuple[str, ...], message: str, advice: str, *, is_idle: bool = False
    ) -> Unused:
        return Unused(self.location, self.end_location, names, message, advice, is_idle)


class Suppressions:
    """The comments of one file, and the ones that were used."""

    def __init__(self, comments: Iterator[_Comment]) -> None:
        self._comments: dict[int, list[_Comment]] = {}
        for comment in comments:
            self._comments.setdefault(comment.location.row, []).append(comment)

    def __bool__(self) -> bool:
        """Return whether there is any comment."""
        return bool(self._comments)

    def hides(self, diagnostic: Diagnostic, first_row: int, last_row: int) -> bool:
        """Return whether a comment on the first or last row of the statement hides a diagnostic.

        If so, mark the comment as used.
        """
        hidden = False
        for row in {first_row, last_row}:
            for comment in self._comments.get(row, ()):
                hidden |= comment.hides(diagnostic)
        return hidden

    def unused(
        self, known: Collection[str], judged: Collection[str] | None = None
    ) -> Iterator[Unused]:
        """Yield every unused comment; call it after all diagnostics are checked.

        Args:
            known: The names of all rules and the ids of all blockers.
            judged: The names that the run checked, None for all: a comment for a rule that is off
                is not unused, and neither is a comment for all rules in such a run.
        """
        for row in sorted(self._comments):
            for comment in self._comments[row]:
                yield from comment.unused(known, judged)


def read(text: str) -> Suppressions:
    """Read the comments of a file, as far as it can be tokenized."""
    return Suppressions(_comments(text) if _MARK in text.lower() else iter(()))


def _comments(text: str) -> Iterator[_Comment]:
    # The parser reports the place of what cannot be tokenized; the comments before it are read.
    for token in comments(text)[0]:
        row, start = token.start
        for match in _COMMENT.finditer(token.string):
            column = start + match.start() + 1
            end_column = column + len(match[0].rstrip())
            place = Location(row, column), Location(row, end_column)
            yield _Comment(*place, match[1].rstrip())


def _names(instruction: str) -> tuple[list[str] | None, str]:
    """Return the names in the brackets, None for all, and the error in them."""
    match = _INSTRUCTION.match(instruction)
    assert match is not None, "every part of the expression may be empty"
    word, following = match.groups()
    if not word:
        return None, "nothing stands after gblock:"
    if word.lower() != "ignore":
        return None, f"{word} is not a gblock instruction{did_you_mean(word, ['ignore'])}"
    if following == "[":
        inside, closed, _ = instruction[match.end() :].partition("]")
        names = [name.strip() for name in inside.split(",") if name.strip()]
        if not closed:
            return None, "the bracket after ignore is not closed"
        return names, "" if names else "the brackets are empty"
    if following and following in "({<=:":
        return None, f"{following} after ignore: names belong in square brackets"
    return None, ""
