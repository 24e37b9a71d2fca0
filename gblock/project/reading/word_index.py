"""Searches for words in files, and the index from words to files that repeated searches use."""

from __future__ import annotations

from bisect import insort

from gblock.decoding import encoded
from gblock.project.reading import former_names

SPACED = bytes(c if c >= 128 or c == 95 or bytes([c]).isalnum() else 32 for c in range(256))
"""Translates all characters outside words to blanks."""

_SCANS = 25
"""After this many searches, an index of the words of all files is cheaper than more searches.

Both find the same files.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class WordSearch:
    """The files that contain a word, each answer kept.

    Args:
        files: The files; a longer list is another search.
        read: Returns a file's bytes.
    """

    def __init__(self, files: list[str], read: Callable[[str], bytes]) -> None:
        self._files = files
        self._read = read
        self._found: dict[tuple[str, bool], list[str]] = {}
        self._index: WordIndex | None = None

    def mentioning(self, word: str, *, whole: bool) -> list[str]:
        """Return the files whose bytes contain a word, in their order.

        Args:
            word: The word.
            whole: True to exclude parts of longer words, if it is a word.
        """
        key = (word, whole)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(encoded(word), whole)
        return found

    def mentioned(self, words: Iterable[str]) -> frozenset[str]:
        """Return those of some words that `mentioning` finds, whole, in any of the files."""
        if self._index is None:
            self._index = WordIndex(self._files, self._read)
        has = self._index.has
        return frozenset(
            word
            for word in words
            if has(encoded(word))
            or (not _is_word(encoded(word)) and self.mentioning(word, whole=True))
        )

    def change(self, path: str, before: bytes | None, data: bytes) -> None:
        """Take in that one of the files has other bytes.

        Args:
            path: The file.
            before: Its bytes so far; None if they have not been read.
            data: Its bytes from now on.
        """
        words = words_of(data)
        for (text, whole), found in list(self._found.items()):
            word = encoded(text)
            is_in = word in (words if whole and _is_word(word) else data) or word in words
            if is_in != (path in found):
                del self._found[text, whole]
        if before is None:
            self._index = None
        elif self._index is not None:
            self._index.change(path, words_of(before), words)

    def _find(self, word: bytes, whole: bool) -> list[str]:
        is_there = not former_names.may_be_implied(word)
        if not _is_word(word) or (is_there and not whole and len(self._found) <= _SCANS):
            return [path for path in self._files if word in self._read(path)]
        if self._index is None:
            self._index = WordIndex(self._files, self._read)
        return self._index.whole(word) if whole else self._index.part(word)


def listed(words: Iterable[bytes]) -> bytes:
    """Return words as one text, which takes a tenth of the memory of a set."""
    return b" %s " % b" ".join(sorted(words))


def is_listed(word: str, among: bytes) -> bool:
    """Return whether a word is one of those in a text that `listed` made."""
    return b" %s " % encoded(word) in among


def _is_word(word: bytes) -> bool:
    return bool(word) and word == word.translate(SPACED)


def words_of(data: bytes) -> set[bytes]:
    """Return the words of a file, those of former names included."""
    return {*data.translate(SPACED).split(), *former_names.implied(data)}


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
            for word in words_of(read(path)):
                if word in known:
                    known[word].append(number)
                else:
                    known[word] = [number]
        self._text = b" %s " % b" ".join(known)

    def change(self, path: str, before: set[bytes], words: set[bytes]) -> None:
        """Take in that a file has other words."""
        number = self._files.index(path)
        for word in before - words:
            self._numbers[word].remove(number)
        for word in sorted(words - before):
            if word not in self._numbers:
                self._numbers[word] = []
                self._text += word + b" "
            insort(self._numbers[word], number)

    def has(self, word: bytes) -> bool:
        """Return whether some file contains a word."""
        return bool(self._numbers.get(word))

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
