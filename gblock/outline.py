"""A catalog's text cut into blocks, before anything of it is parsed.

A run needs to know which packages the catalog speaks of, and the blocks of those that the project
imports: with regular expressions this takes a millisecond, where parsing and validating the whole
catalog takes a hundred.
"""

from __future__ import annotations

import os
import re

from gblock.errors import UserError

BUILT_IN = os.path.join(os.path.dirname(__file__), "known_blockers.toml")


class Chunk:
    """The text of one ``[[blocker]]``, ``[[library]]`` or ``[[offload]]`` block."""

    __slots__ = ("id", "kind", "opt_in", "roots", "rows_before", "symbols", "text")

    def __init__(self, text: str, rows_before: int) -> None:
        self.text = text
        self.rows_before = rows_before
        self.kind = text[2 : text.index("]")]
        self.id = ""
        self.opt_in = False
        self.symbols: list[str] = []
        if self.kind == "blocker":
            listed = _SYMBOLS.search(text)
            self.symbols = _QUOTED.findall(listed[1]) if listed else []
            self.opt_in = _OPT_IN.search(text) is not None
            named = _ID.search(text)
            self.id = named[1] if named else ""
            names = self.symbols
        else:
            names = _QUOTED.findall(text)
        self.roots = frozenset([name.partition(".")[0] for name in names])


class Outline:
    """The blocks of one catalog file."""

    __slots__ = ("chunks", "filename", "head")

    def __init__(self, text: str, filename: str) -> None:
        self.filename = filename
        cuts = [match.start() for match in _BLOCK.finditer(text)]
        self.head = text[: cuts[0]] if cuts else text
        rows = 0
        self.chunks = []
        before = 0
        for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
            rows += text.count("\n", before, start)
            before = start
            self.chunks.append(Chunk(text[start:end], rows))

    def enabled(self, opted_in: frozenset[str]) -> list[Chunk]:
        """The blockers that can be reported.

        Args:
            opted_in: Ids of blockers of the level ``opt-in`` that are selected; ``*`` is all.
        """
        return [
            chunk
            for chunk in self.chunks
            if chunk.kind == "blocker"
            and (not chunk.opt_in or "*" in opted_in or chunk.id in opted_in)
        ]

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


_ALWAYS = frozenset({"offload", "handler"})
"""What can matter to any package's blockers."""
_BLOCK = re.compile(r"^\[\[(?:library|offload|handler|blocker)\]\]", re.MULTILINE)
_SYMBOLS = re.compile(r"^symbols\s*=\s*\[([^\]]*)\]", re.MULTILINE)
_QUOTED = re.compile(r"\"([A-Za-z_][\w.*]*)\"")
_ID = re.compile(r"^id\s*=\s*\"([^\"]*)\"", re.MULTILINE)
_OPT_IN = re.compile(r"^level\s*=\s*\"opt-in\"", re.MULTILINE)
