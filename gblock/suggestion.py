"""What a misspelt word was meant to be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error line: the nearest choice as a question, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(choices), n=1)
    return f"; did you mean {close[0]}?" if close else ""
