"""Syntax of Python 2 in that of Python 3, for what a file declares; its rows stay the same."""

from __future__ import annotations

import re

from gblock.project.reading.newer_syntax import Replacement, edited, literals

_STATEMENT = re.compile(
    r"(?:^[ \t]*|[;:][ \t]*)(print|exec|raise)\b(?![ \t]*(?:[=.,)\]}:]|>>|$))", re.MULTILINE
)
_HANDLER = re.compile(r"^[ \t]*except\b[^\n:]*?(,)[ \t]*[A-Za-z_]\w*[ \t]*:", re.MULTILINE)
_LAMBDA = re.compile(r"\blambda[ \t]*(\()[\w \t,]*(\))[ \t]*:")
_HEADER = re.compile(r"\bdef[ \t]+\w+[ \t]*\(([^:]*)\)[ \t]*:")
_UNPACKED = re.compile(r"(?:(?<=,)|\A)\s*(\()[\w\s,]*(\))(?=\s*(?:,|\Z))")
_OCTAL = re.compile(r"(?<![\w.])(?<![\d.][eE][-+])(0)(?=\d+[lL]?(?![\w.]))")
_LONG = re.compile(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+)([lL])(?!\w)")
_ASYNC = re.compile(r"\basyn(c)\b(?![ \t]+(?:def|for|with)\b)")
_AWAIT = re.compile(r"(?:\.[ \t]*|\bdef[ \t]+)awai(t)\b")
_INDENTED = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)
_REPLACED = (
    (_OCTAL, " "),
    (_LONG, " "),
    (_ASYNC, "C"),
    (_AWAIT, "T"),
    (_HANDLER, " as "),
    (re.compile(r"(<>)"), "!="),
)
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def as_python_3(text: str) -> str:
    """Return the text of a file in Python 2 for Python 3; one in Python 3 may be damaged by it.

    Statements that print, raise and run code get parentheses; exceptions are bound by ``as``;
    parameters are not unpacked; numbers have no ``L`` and no leading zero.
    """
    code, edits = _without_literals(text)
    edits += [*_calls(code), *_parameters(code), *_backticks(code)]
    for pattern, new in _REPLACED:
        edits += [Replacement(*one.span(1), new) for one in pattern.finditer(code)]
    edits += [Replacement(*one.span(), one[0].expandtabs(8)) for one in _INDENTED.finditer(code)]
    return edited(text, edits)


def _without_literals(text: str) -> tuple[str, list[Replacement]]:
    """Return a text with blanks for what is in strings and comments, and edits of prefixes."""
    pieces, edits, end = [], [], 0
    for start, after, prefix in literals(text):
        hidden = re.sub(r"[^\n]", "_", text[start:after])
        is_comment = text[start] == "#"
        pieces += [text[end:start], " " * len(hidden) if is_comment else hidden]
        if prefix.lower() == "ur":
            edits.append(Replacement(start, start + 1, " "))
        end = after
    return "".join([*pieces, text[end:]]), edits


def _calls(code: str) -> list[Replacement]:
    """Return the edits that give parentheses to statements with an expression."""
    edits = []
    for match in _STATEMENT.finditer(code):
        start = match.end(1)
        end = _end(code, start)
        written = code[start:end].strip()
        if match[1] == "raise" and not _has_comma(written):
            continue
        if written.startswith("(") and _closes_at_end(written):
            continue
        is_apart = code[start : start + 1] in (" ", "\t")
        edits += [Replacement(start, start + is_apart, "("), Replacement(end, end, ")")]
    return edits


def _closes_at_end(code: str) -> bool:
    """Return whether the first bracket of an expression closes at its end."""
    depth = 0
    for position, sign in enumerate(code):
        depth += _BRACKETS.get(sign, 0)
        if not depth:
            return position == len(code) - 1
    return False


def _end(code: str, start: int) -> int:
    """Return the end of the simple statement at a place, without what follows it on its row."""
    depth, position = 0, start
    while position < len(code):
        sign = code[position]
        depth += _BRACKETS.get(sign, 0)
        if depth < 0 or (not depth and sign == ";"):
            break
        if not depth and sign == "\n" and not code[start:position].rstrip(" \t").endswith("\\"):
            break
        position += 1
    return start + len(code[start:position].rstrip())


def _has_comma(code: str) -> bool:
    """Return whether a comma stands outside of the brackets of an expression."""
    depth = 0
    for sign in code:
        depth += _BRACKETS.get(sign, 0)
        if sign == "," and not depth:
            return True
    return False


def _parameters(code: str) -> list[Replacement]:
    """Return the edits that leave out the parentheses around parameters."""
    pairs = [match.span(group) for match in _LAMBDA.finditer(code) for group in (1, 2)]
    for match in _HEADER.finditer(code):
        shift = match.start(1)
        pairs += [
            (one.start(group) + shift, one.end(group) + shift)
            for one in _UNPACKED.finditer(match[1])
            for group in (1, 2)
        ]
    return [Replacement(start, end, " ") for start, end in pairs]


def _backticks(code: str) -> list[Replacement]:
    """Return the edits that make a group of each expression in backticks."""
    places = [place for place, sign in enumerate(code) if sign == "`"]
    return [Replacement(place, place + 1, "()"[number % 2]) for number, place in enumerate(places)]
