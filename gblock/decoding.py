"""The text of a Python file, decoded as Python itself does."""

from __future__ import annotations


def decode(content: bytes) -> str:
    """Return the text with one kind of line end and without a BOM.

    Raises:
        SyntaxError: if it declares an encoding that does not exist.
        UnicodeDecodeError: if it is not in its encoding.
    """
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def decoded(content: bytes) -> str | None:
    """Return the same, or None where Python could not decode it either."""
    try:
        return decode(content)
    except (SyntaxError, UnicodeDecodeError):
        return None


def encoded(word: str) -> bytes:
    """Return a word's bytes in a UTF-8 file; the word may come from a path that is not UTF-8."""
    try:
        return word.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate of a string, which no file holds as such
        return word.encode(errors="surrogatepass")


def is_utf_8(content: bytes) -> bool:
    """Return whether a file is plain UTF-8; the search for a declaration takes far longer."""
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
