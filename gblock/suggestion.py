"""Suggestions for unknown words, by spelling or by meaning."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_CANDIDATES = 8
"""Of the choices that look similar, as many are compared letter by letter."""


def did_you_mean(word: str, choices: Iterable[str], meanings: Mapping[str, str] = {}) -> str:
    """Return the end of an error line: the choice that was meant as a question, or nothing.

    A choice is offered if the word is a slip or two away from it, abbreviates it, or consists of
    parts of it. Similar letters alone are not enough: ``--fix`` does not mean ``--config``.

    Args:
        word: What the user wrote.
        choices: What is known.
        meanings: Names that other tools have, and what they mean here.
    """
    known = list(choices)
    meant = meanings.get(word)
    if meant is None or meant not in known:
        meant = _mistyped(word, known) or _abbreviated(word, known)
    return f"; did you mean {meant}?" if meant else ""


def _mistyped(word: str, known: Sequence[str]) -> str | None:
    """Return the choice that is fewest slips away, if these are few for its length."""
    import difflib

    folded = {choice.lower(): choice for choice in reversed(known)}
    near = difflib.get_close_matches(word.lower(), list(folded), n=_CANDIDATES)
    slips = {choice: _slips(word.lower(), choice) for choice in near}
    allowed = [one for one in near if slips[one] <= max(1, _letters(one) // 4)]
    return folded[min(allowed, key=slips.__getitem__)] if allowed else None


def _letters(word: str) -> int:
    return sum(map(str.isalnum, word))


def _abbreviated(word: str, known: Sequence[str]) -> str | None:
    """Return the shortest choice that begins with the word or has all of its parts."""
    if _letters(word) < 3:
        return None
    parts = set(_parts(word))
    found = [one for one in known if one.startswith(word) or parts <= set(_parts(one))]
    return min(found, key=len, default=None)


def _parts(name: str) -> list[str]:
    import re

    return re.split(r"[^a-z0-9]+", name.lower().strip("-"))


def _slips(word: str, other: str) -> int:
    """Return how many letters are wrong, missing, added, or swapped with the next one."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, counterpart in enumerate(other, 1):
            above = rows[-1]
            slips = min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != counterpart))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == counterpart:
                slips = min(slips, rows[-2][j - 2] + 1)
            row.append(slips)
        rows.append(row)
    return rows[-1][-1]
