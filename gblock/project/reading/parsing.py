"""Parsing: the ``ast`` and the comments of a file, without Python's warnings about its code."""

from __future__ import annotations

import io
import warnings

from gblock.decoding import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from tokenize import TokenInfo

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""The errors that Python raises for code that it cannot parse."""


_ONLY_PARSE = 0x400  # ast.PyCF_ONLY_AST, without importing ast


class Quiet(warnings.catch_warnings):
    """A block without warnings, and without the errors that ``-W error`` makes of them."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


def parse(text: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """Return the tree of a file, whose syntax may be of a newer Python.

    Raises:
        SyntaxError: if it cannot be parsed, also after newer syntax is replaced.
        ValueError: if it contains null bytes.
        RecursionError: if it nests deeper than the interpreter allows.
        MemoryError: if the parser's own stack overflows.
    """
    import ast  # a run without anything to report parses nothing

    with Quiet():
        try:
            return ast.parse(text, filename)
        except SyntaxError as error:
            from gblock.project.reading.newer_syntax import older

            try:
                written = decode(text) if isinstance(text, bytes) else text
                replaced = older(written)
                if replaced != written:
                    return ast.parse(replaced, filename)
            except UNPARSABLE:
                pass
            raise error from None


def verify(text: str | bytes, filename: str = "<unknown>") -> None:
    """Raise the error of `parse` for a file that cannot be parsed; make no tree of Python objects.

    Raises:
        SyntaxError: as `parse`, and so the other errors.
    """
    try:
        with Quiet():
            compile(text, filename, "exec", _ONLY_PARSE, dont_inherit=True)
    except SyntaxError:
        parse(text, filename)


def parsed(text: str | bytes) -> ast.Module | None:
    """Return the tree of a file, None if it cannot be parsed."""
    try:
        return parse(text)
    except UNPARSABLE:
        return None


def parsed_as_either(text: str | bytes) -> ast.Module | None:
    """Return the tree of a file that may be in Python 2, None if it cannot be parsed."""
    tree = parsed(text)
    if tree is None:
        from gblock.project.reading.python_2 import as_python_3

        try:
            written = decode(text) if isinstance(text, bytes) else text
        except (SyntaxError, UnicodeDecodeError):
            return None
        tree = parsed(as_python_3(written))
    return tree


def comments(text: str) -> tuple[list[TokenInfo], bool]:
    """Return the comments of a text, and whether all of it could be tokenized."""
    import tokenize

    found = []
    # All kinds of line ends become one character, as for the parsers.
    lines = io.StringIO(text.removeprefix("\ufeff"), newline=None)
    with Quiet():
        try:
            for token in tokenize.generate_tokens(lines.readline):
                if token.type == tokenize.COMMENT:
                    found.append(token)
        except (tokenize.TokenError, SyntaxError, SystemError):
            # CPython 3.12.1 raises SystemError for null bytes.
            return found, False
    return found, True
