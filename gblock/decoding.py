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


def is_utf_8(content: bytes) -> bool:
    """Whether bytes are what nearly all files are; to look for a declaration takes far longer."""
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
