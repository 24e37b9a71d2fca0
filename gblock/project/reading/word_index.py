"""An index from words to files, built once for repeated searches."""

from __future__ import annotations

SPACED = bytes(c if c >= 128 or c == 95 or bytes([c]).isalnum() else 32 for c in range(256))
"""Translates all characters outside words to blanks."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class WordIndex:
    """The words of some files.

    Args:
        files: The files.
        read: Returns a file's bytes.
    """

    def __init__(self, files: list[str], read: Callable[[str], bytes]) -> None:
        self._files = files
        self._numbers: dict[bytes, list[int]] = {}
        known = self._numbers
        for number, path in enumerate(files):
            for word in set(read(path).translate(SPACED).split()):
                if word in known:
                    known[word].append(number)
                else:
                    known[word] = [number]
        self._text = b" %s " % b" ".join(known)

    def whole(self, word: bytes) -> list[str]:
        """Return the files that contain a word, in their order."""
        return [self._files[number] for number in self._numbers.get(word, ())]

    def part(self, letters: bytes) -> list[str]:
        """Return the files that contain letters as part of any word, in their order."""
        found: set[int] = set()
        text = self._text
        at = text.find(letters)
        while at >= 0:
            end = text.index(b" ", at)
            found.update(self._numbers[text[text.rindex(b" ", 0, at) + 1 : end]])
            at = text.find(letters, end)
        return [self._files[number] for number in sorted(found)]
