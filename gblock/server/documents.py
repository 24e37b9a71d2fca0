"""The documents that are open in the editor, and the text of any other file."""

from __future__ import annotations

import io
import tokenize
from typing import NamedTuple

from gblock.decoding import decoded


class Document(NamedTuple):
    """An open document, with its unsaved text."""

    uri: str
    path: str
    version: int | None
    text: str
    data: bytes
    """The text as Python would read it from a file."""


class Documents:
    """The open documents by path."""

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}

    def put(self, uri: str, path: str, version: int | None, text: str) -> Document:
        """Open a document, or replace its text, and return it."""
        document = Document(uri, path, version, text, encoded(text))
        self._open.pop(path, None)  # the last one that changed is the last one listed
        self._open[path] = document
        return document

    def close(self, path: str) -> None:
        """Forget the unsaved text of a document."""
        self._open.pop(path, None)

    def get(self, path: str) -> Document | None:
        """Return an open document, None if the file is not open."""
        return self._open.get(path)

    def all(self) -> list[Document]:
        """Return all open documents, the one that changed last at the end."""
        return list(self._open.values())

    def text(self, path: str) -> str | None:
        """Return the text of a file, open or not, with line feeds only."""
        document = self._open.get(path)
        data = document.data if document is not None else read(path)
        return None if data is None else decoded(data)

    def line_end(self, path: str) -> str:
        """Return the end of the lines of a file."""
        document = self._open.get(path)
        data = document.data if document is not None else read(path)
        return "\r\n" if data is not None and b"\r\n" in data else "\n"


def read(path: str) -> bytes | None:
    """Return a file's bytes, None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def encoded(text: str) -> bytes:
    """Return the bytes of a text, in the encoding that its first lines declare."""
    data = text.encode(errors="replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return data
