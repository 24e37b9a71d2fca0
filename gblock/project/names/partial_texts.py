"""Texts of which parts may be unknown, and lists of them: the abstract domain of `texts`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

Rows: TypeAlias = tuple[int, int]
"""The first and the last row between which something is written."""
HOLE = "\ufdd0"
"""Stands for an unknown part of a text; no text contains this character."""
_MOST_COMBINED = 16
"""At most this many texts are made of the texts of several parts."""
_LONGEST = 20_000
"""Characters; a longer text is not put together."""


class Text(NamedTuple):
    """One possible text of an expression."""

    spelled: str
    """The text, with a `HOLE` for each unknown part."""
    path: str
    rows: Rows
    """The rows of its statement, or of an enclosing statement."""
    written: str
    """The constant in which it starts; empty if it starts with a hole."""

    @property
    def start(self) -> str:
        """Its start, as far as it is known."""
        return self.spelled.partition(HOLE)[0]

    @property
    def whole(self) -> bool:
        """True if all of it is known."""
        return HOLE not in self.spelled


class WordList(NamedTuple):
    """The texts of one possible list."""

    words: tuple[Text, ...]


Spelled: TypeAlias = "Text | WordList"


def only_texts(values: Iterable[Spelled]) -> Iterator[Text]:
    """Return the texts among some values."""
    return (one for one in values if isinstance(one, Text))


def only_lists(values: Iterable[Spelled]) -> Iterator[WordList]:
    """Return the lists among some values."""
    return (one for one in values if isinstance(one, WordList))


def combined(found: list[Spelled], values: list[Spelled]) -> list[Spelled]:
    """Return the concatenations of each of some values with each of others.

    Above the limit, the first of the latter are combined with all of the former.
    """
    sums = (_sum(one, other) for other in values for one in found)
    return list(dict.fromkeys(islice(sums, _MOST_COMBINED)))


def appended(found: list[Spelled], text: Text) -> list[Spelled]:
    """Return texts with another one at the end of each; that one alone if there are none."""
    return combined(found, [text]) if found else [text]


def _sum(one: Spelled, other: Spelled) -> Spelled:
    if isinstance(one, WordList):
        return WordList((*one.words, *(other.words if isinstance(other, WordList) else (other,))))
    if isinstance(other, WordList):
        return other if one.spelled == HOLE else WordList((one, *other.words))
    origin = one if one.spelled or not other.spelled else other
    return origin._replace(spelled=_limited(one.spelled + other.spelled))


def _limited(spelled: str) -> str:
    """Return a text, with a hole in place of what exceeds the greatest length."""
    return spelled if len(spelled) <= _LONGEST else f"{spelled[:_LONGEST]}{HOLE}"


def joined(listed: WordList, between: str) -> Text:
    """Return the text of a list's words with a separator."""
    first = listed.words[0] if listed.words else Text("", "", (0, 0), "")
    return first._replace(spelled=_limited(between.join(one.spelled for one in listed.words)))


def words(text: Text, spelled: Iterable[str]) -> WordList:
    """Return the list of some words of a text."""
    return WordList(tuple(text._replace(spelled=word) for word in spelled))


def shell_words(text: Text) -> WordList:
    """Return the words into which a shell splits a text."""
    try:
        return words(text, shlex.split(text.spelled))
    except ValueError:  # a quotation mark without another one
        return words(text, text.spelled.split())
