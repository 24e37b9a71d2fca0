"""HCL: tasks of Nomad, and containers in Terraform, also as JSON in a text or a call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, Union

from gblock.project.processes.deployment.command import Command, Fact, commands_of
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell import Script

EXAMPLE = (
    "web.nomad",
    'config {\n  command = "gunicorn"\n  args = ["-k", "gevent", "shop.wsgi"]\n}\n',
)
_TOKEN = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<skipped>/\*.*?\*/|(?:#|//)[^\n]*|<<[-~]?\w+)'
    r"|(?P<word>[\w.-]+)|(?P<sign>[{}\[\]()=:,])",
    re.DOTALL,
)
_INTERPOLATED = re.compile(r"\$\{[^}]*\}")
_ESCAPED = re.compile(r"\\(.)")
_ENTRY_POINTS = {"entryPoint": "entrypoint", "entry_point": "entrypoint"}
"""Other spellings of a setting."""
_PARTS = ("entrypoint", "command", "cmd", "args")
"""The settings of a container, in the order in which they make its command."""
_DEEP = 40

_Value: TypeAlias = Union[str, "list[_Value]", "_Body"]


class _Token(NamedTuple):
    kind: str
    written: str
    row: int


class _Body:
    """The settings between two braces, with the row of each; a block is a setting of its type."""

    def __init__(self) -> None:
        self.settings: dict[str, tuple[_Value, int]] = {}
        self.inner: list[_Value] = []

    def add(self, name: str, value: _Value, row: int) -> None:
        """Keep a setting; of several with one name, the last."""
        self.settings[_ENTRY_POINTS.get(name, name)] = (value, row)
        self.inner.append(value)

    def text(self, name: str) -> str:
        """Return a setting that is a text; empty if there is none."""
        value, _ = self.settings.get(name, ("", 0))
        return value if isinstance(value, str) else ""


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the commands of all blocks and objects."""
    body = _Settings(text).body(0)
    return [fact for one, given in _bodies(body, {}) for fact in _commands(one, given, filename)]


class _Settings:
    """Reads what it understands, and skips the rest."""

    def __init__(self, text: str) -> None:
        self._tokens: list[_Token] = []
        row, last = 1, 0
        for match in _TOKEN.finditer(text):
            row, last = row + text.count("\n", last, match.start()), match.start()
            kind = match.lastgroup or ""
            if kind != "skipped":
                self._tokens.append(_Token(kind, match[0], row))
        self._next = 0

    def body(self, depth: int) -> _Body:
        """Return the settings up to the closing brace."""
        found, names = _Body(), list[_Token]()
        while self._next < len(self._tokens):
            token = self._taken()
            if token.written == "}":
                break
            if token.kind == "sign" and token.written in "=:{[" and names:
                self._next -= token.written in "{["
                found.add(_plain(names[0].written), self._value(depth), names[0].row)
                names = []
            elif token.kind == "sign" and token.written in "{[":  # a list in a text
                self._next -= 1
                found.inner.append(self._value(depth))
            elif token.kind == "sign":
                names = []
            else:
                names.append(token)
        return found

    def _value(self, depth: int) -> _Value:
        token = self._taken() if self._next < len(self._tokens) else _Token("word", "", 0)
        if token.kind == "text":
            return _plain(token.written)
        if depth < _DEEP and token.written == "{":
            return self.body(depth + 1)
        if depth < _DEEP and token.written in ("[", "("):
            return self._values(depth + 1)
        if token.kind == "word" and self._is_next("("):  # ``jsonencode([…])``
            return self._value(depth)
        return "$x"

    def _values(self, depth: int) -> list[_Value]:
        found: list[_Value] = []
        while self._next < len(self._tokens) and not (self._is_next("]") or self._is_next(")")):
            if self._is_next(","):
                self._next += 1
            else:
                found.append(self._value(depth))
        self._next += 1
        return found

    def _taken(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _is_next(self, sign: str) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next].written == sign


def _plain(written: str) -> str:
    if not written.startswith('"'):
        return written
    return _ESCAPED.sub(r"\1", _INTERPOLATED.sub("$x", written[1:-1]))


def _bodies(value: _Value, above: dict[str, str]) -> Iterator[tuple[_Body, dict[str, str]]]:
    """Yield a body and those in it, each with the variables that are set for it."""
    inner = value if isinstance(value, list) else []
    if isinstance(value, _Body):
        above = {**above, **dict(_environment(value))}
        yield value, above
        inner = value.inner
    for one in inner:
        yield from _bodies(one, above)


def _commands(body: _Body, environment: dict[str, str], filename: str) -> list[Fact]:
    """Return the command of a container, or what a shell runs."""
    given = [body.settings[part] for part in _PARTS if part in body.settings]
    words = [
        word
        for value, _ in given
        for word in (value if isinstance(value, list) else [value])
        if isinstance(word, str)
    ]
    if not words:
        return []
    row, label = given[0][1], body.text("name")
    if len(given) == 1 and isinstance(given[0][0], str):
        return [*commands_of(Script(words[0], environment), filename, row, label)]
    return [Command(tuple(words), filename, row, label, tuple(environment.items()))]


def _environment(body: _Body) -> Iterator[tuple[str, str]]:
    """Yield the variables that a body sets: in a block, or in a list of names and values."""
    for name in ("env", "environment"):
        value, _ = body.settings.get(name, ("", 0))
        if isinstance(value, _Body):
            pairs = ((key, one) for key, (one, _) in value.settings.items())
            yield from ((key, one) for key, one in pairs if isinstance(one, str))
        for one in value if isinstance(value, list) else ():
            if isinstance(one, _Body) and one.text("name"):
                yield one.text("name"), one.text("value")
