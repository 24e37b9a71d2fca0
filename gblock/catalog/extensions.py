"""Catalog files of users, in any style of TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from gblock import outline
from gblock.catalog.blockers import Blocker
from gblock.catalog.blocks import HEAD, SHAPES, Head, explained, tables_of
from gblock.errors import UserError
from gblock.suggestion import did_you_mean


def own(path: str) -> outline.Outline:
    """Read and validate a user's catalog, in any style of TOML.

    Raises:
        UserError: with the file, the block, the key and a suggestion, if anything is invalid.
    """
    text = outline.text_of(path)
    blocks = _Own(path, text)
    for kind, tables in tables_of(text, path, lambda: 0).items():
        blocks.add(kind, tables)
    return outline.Outline("\n".join(blocks.written).encode(), path)


class _Own:
    """The validated blocks of one file, in the built-in catalog's style."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._ids: set[tuple[str, str]] = set()
        self.written: list[str] = []

    def add(self, kind: str, tables: Any) -> None:
        if kind in HEAD:
            self._check_head(kind, tables)
            return
        if kind not in SHAPES:
            meant = did_you_mean(kind, SHAPES)
            known = "" if meant else f"; the blocks are {', '.join(SHAPES)}"
            raise self._error(kind, 0, f"[[{kind}]]: unknown block{meant}{known}")
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            message = f"{kind}: each block begins with [[{kind}]], with double brackets"
            raise self._error(kind, 0, message)
        for number, table in enumerate(tables):
            self._check(kind, number, table)
            self.written.append(f"[[{kind}]]")
            self.written += [f"{_key(key)} = {_value(value)}" for key, value in table.items()]

    def _check_head(self, key: str, value: Any) -> None:
        try:
            msgspec.convert({key: value}, Head)
        except msgspec.ValidationError as error:
            raise UserError(self._path, explained(error, Head)) from None
        if not isinstance(value, dict):  # TOML has these above all tables, and so has the text here
            self.written.append(f"{key} = {_value(value)}")

    def _check(self, kind: str, number: int, table: Mapping[str, Any]) -> None:
        name = _name_of(table)
        try:
            block = msgspec.convert(table, SHAPES[kind])
            problem = _mistake(block)
        except msgspec.ValidationError as error:
            problem = explained(error, SHAPES[kind])
        if problem is None and (own_id := getattr(block, "id", None)) is not None:
            if (kind, own_id) in self._ids:
                problem = f"id: {own_id!r} is defined twice in this file"
            self._ids.add((kind, own_id))
        if problem is not None:
            label = f" {name!r}" if name else ""
            raise self._error(kind, number, f"[[{kind}]]{label}: {problem}")

    def _error(self, kind: str, number: int, message: str) -> UserError:
        header = re.compile(rf"^[ \t]*\[\[?[ \t]*[\"']?{re.escape(kind)}\b", re.MULTILINE)
        starts = [match.start() for match in header.finditer(self._text)]
        row = self._text.count("\n", 0, starts[number]) + 1 if number < len(starts) else 0
        return UserError(self._path, message, row)


def _name_of(table: Mapping[str, Any]) -> str:
    keys = ("id", "symbol", "module", "distribution", "framework")
    return next((str(table[key]) for key in keys if table.get(key)), "")


def _mistake(block: Any) -> str | None:
    """Return the error in a block whose types are right, or None."""
    if isinstance(block, Blocker):
        if not block.symbols:
            return "symbols: expected at least one dotted name"
        for symbol in block.symbols:
            if "." not in symbol:
                return f"symbols: {symbol!r} is not a dotted name such as package.{symbol}"
        return _wrong_fix(block)
    for key in ("unless_written", "harmless", "on_gevent"):
        try:
            re.compile(getattr(block, key, None) or "")
        except re.error as error:
            return f"{key}: invalid regular expression: {error}"
    return None


def _wrong_fix(blocker: Blocker) -> str | None:
    """Return why a blocker cannot have its fix, or None."""
    if blocker.fix == "threadpool":
        if blocker.thread_bound:
            return "fix: an object that is bound to its thread cannot be used in the threadpool"
        if blocker.releases_gil is not True:
            return "fix: the threadpool helps only a call with releases_gil = true"
    if blocker.fix == "recipe" and not blocker.cooperative_after:
        return "fix: a recipe is the first symbol of cooperative_after, and there is none"
    return None


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Return a value as TOML: on one line, without a quote inside a string."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        inner = json.dumps(value, ensure_ascii=False)[1:-1]
        return '"' + inner.replace('\\"', "\\u0022").replace("\x7f", "\\u007f") + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)
