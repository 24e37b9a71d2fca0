"""A catalog's text cut into blocks, before anything of it is parsed.

A run needs to know which packages the catalog speaks of, and the blocks of those that the project
imports: searching the text takes a millisecond or two, where parsing and validating the whole
catalog takes a hundred. A test compares what is found so with what the TOML says.
"""

from __future__ import annotations

import os
from functools import cached_property

from gblock.errors import UserError

BUILT_IN = os.path.join(os.path.dirname(__file__), "known_blockers.toml")
_ALWAYS = frozenset({"offload", "handler"})
"""What can matter to any package's blockers."""


class Chunk:
    """The text of one block. What a run does not ask for is not looked for in it."""

    def __init__(self, text: str, rows_before: int) -> None:
        self.text = text
        self.rows_before = rows_before
        self.kind = text[2 : text.find("]")]

    @cached_property
    def id(self) -> str:
        """A blocker's id, an empty string for other blocks."""
        return next(iter(_strings(self._value("id", "\n"))), "") if self.kind == "blocker" else ""

    @cached_property
    def opt_in(self) -> bool:
        """Whether a blocker is off unless selected."""
        return "opt-in" in self._value("level", "\n")

    @cached_property
    def symbols(self) -> list[str]:
        """A blocker's symbols, none for other blocks."""
        return _strings(self._value("symbols", "]")) if self.kind == "blocker" else []

    def _value(self, key: str, end: str) -> str:
        """What stands behind a key, up to a character that ends it."""
        start = self.text.find(f"\n{key}")
        return self.text[start : self.text.find(end, start + 1)] if start >= 0 else ""

    @property
    def names(self) -> list[str]:
        """Every dotted name between quotes."""
        return [name for name in _strings(self.text) if " " not in name and "/" not in name]

    @property
    def aliases(self) -> list[tuple[str, str]]:
        """A library's other names, each with what it stands for."""
        start = self.text.find("[library.aliases]")
        end = "\n["
        if start < 0:
            start, end = self.text.find("\naliases"), "}"
        if start < 0:
            return []
        names = _strings(self.text[start : self.text.find(end, start + 1)])
        return list(zip(names[::2], names[1::2], strict=False))

    @cached_property
    def roots(self) -> frozenset[str]:
        """The top-level packages that it speaks of."""
        names = self.symbols if self.kind == "blocker" else self.names
        return frozenset([name.partition(".")[0] for name in names if "." in name])


class Outline:
    """The blocks of one catalog file."""

    __slots__ = ("chunks", "filename", "head")

    def __init__(self, text: str, filename: str) -> None:
        self.filename = filename
        self.chunks: list[Chunk] = []
        head, *blocks = f"\n{text}".split("\n[[")
        self.head = head[1:]
        rows = head.count("\n")
        for block in blocks:
            self.chunks.append(Chunk(f"[[{block}\n", rows))
            rows += block.count("\n") + 1

    def about(self, roots: frozenset[str]) -> list[Chunk]:
        """The blocks that speak of these packages, and of those that share a library with them."""
        shared = set(roots)
        for chunk in self.chunks:
            if chunk.kind == "library" and chunk.roots & roots:
                shared |= chunk.roots
        return [c for c in self.chunks if c.kind in _ALWAYS or c.roots & shared]


def read(path: str = BUILT_IN) -> Outline:
    """Read a catalog's text.

    Raises:
        UserError: if the file cannot be read or is not UTF-8.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return Outline(file.read(), path)
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(path, "is not UTF-8; save it as UTF-8") from None



def _strings(text: str) -> list[str]:
    """What stands between double quotes; the catalog's names hold none themselves."""
    return text.split('"')[1::2]
