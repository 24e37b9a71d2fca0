"""Syntax of a newer Python than the one that runs, in older syntax of the same width.

libcst parses the grammar of newer versions on each interpreter, ``ast`` that of its own alone. What
a file says stays at its place, but for what follows an ``except`` with several types on its row.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_QUOTES = (b'"', b"'")


class _Edit(NamedTuple):
    start: int
    end: int
    """In bytes of UTF-8."""
    text: bytes


def older(text: str | bytes) -> str | None:
    """Return a file's text for an older Python; None if nothing in it is newer.

    Type parameters are left out (Python 3.12), a ``type`` statement is an assignment (3.12), texts
    in an f-string have other quotes (3.12), a template is an f-string (3.14), several types of an
    ``except`` get parentheses (3.14), and ``except*`` is ``except`` (3.11).
    """
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        code = wrapper.module.code.encode()
        finder = _Newer(code)
        wrapper.visit(finder)
    except (cst.ParserSyntaxError, UnicodeError, RecursionError):
        return None
    for edit in sorted(finder.edits, reverse=True):
        code = code[: edit.start] + edit.text + code[edit.end :]
    return code.decode() if finder.edits else None


class _Newer(cst.CSTVisitor):
    """Finds what an older Python does not parse."""

    METADATA_DEPENDENCIES = (ByteSpanPositionProvider,)

    def __init__(self, code: bytes) -> None:
        super().__init__()
        self._code = code
        self.edits: list[_Edit] = []
        self._around: list[bytes] = []
        """The quotes of the f-strings around, outermost first."""

    def visit_TypeParameters(self, node: cst.TypeParameters) -> bool:
        start, end = self._span(node)
        blank = bytearray(b" " * (end - start))
        for index, byte in enumerate(self._code[start:end]):
            if byte in b"\r\n":
                blank[index] = byte
                if index and blank[index - 1] == ord(" "):
                    blank[index - 1] = ord("\\")
        self.edits.append(_Edit(start, end, bytes(blank)))
        return False

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        start, _ = self._span(node)
        end, _ = self._span(node.value)
        head = self._code[start:end]
        sign = head.rindex(b"=")
        self.edits.append(_Edit(start, start + sign, node.name.value.encode().ljust(sign)))
        return False

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        if isinstance(node.type, cst.Tuple) and not node.type.lpar:
            start, end = self._span(node.type)
            self.edits.append(_Edit(start - 1, start, b"("))
            self.edits.append(_Edit(end, end, b")"))

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        start, _ = self._span(node)
        star = self._code.index(b"*", start)
        self.edits.append(_Edit(star, star + 1, b" "))

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        if not self._around:
            return
        quote = node.quote.encode()
        start, end = self._span(node)
        if self._other(quote) == quote and self._code[end : end + 1] != b".":
            self.edits.append(_Edit(start, end, b"0" * (end - start)))  # no quotes are left
        else:
            self.edits += self._requoted(node, len(node.prefix), quote, inside=True)

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        quote = node.start[len(node.prefix) :].encode()
        if self._around:
            self.edits += self._requoted(node, len(node.prefix), quote, inside=False)
            quote = self._other(quote)
        self._around.append(quote)

    def leave_FormattedString(self, original_node: cst.FormattedString) -> None:
        self._around.pop()

    def visit_TemplatedString(self, node: cst.TemplatedString) -> None:
        start, _ = self._span(node)
        prefix = node.start.rstrip("\"'")
        self.edits.append(
            _Edit(start, start + len(prefix), prefix.replace("t", "f").replace("T", "F").encode())
        )
        self._around.append(node.start[len(prefix) :].encode())

    def leave_TemplatedString(self, original_node: cst.TemplatedString) -> None:
        self._around.pop()

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        found = self.get_metadata(ByteSpanPositionProvider, node)
        return found.start, found.start + found.length

    def _other(self, quote: bytes) -> bytes:
        """Return quotes of the same length that no f-string around has."""
        for one in _QUOTES:
            if one not in b"".join(self._around):
                return one * len(quote)
        return quote

    def _requoted(
        self, node: cst.CSTNode, prefix: int, quote: bytes, *, inside: bool
    ) -> Iterator[_Edit]:
        """Yield the edits by which a text may stand in an f-string.

        Args:
            node: The text.
            prefix: The length of its prefix.
            quote: Its quotes.
            inside: True to change what is between the quotes, too.
        """
        start, end = self._span(node)
        first, last = start + prefix + len(quote), end - len(quote)
        other = self._other(quote)
        if other != quote:
            yield _Edit(first - len(quote), first, other)
            yield _Edit(last, end, other)
        between = self._code[first:last]
        if inside and (b"\\" in between or any(one in between for one in _QUOTES)):
            for sign in (b"\\", *_QUOTES):
                between = between.replace(sign, b"x")
            yield _Edit(first, last, between)
