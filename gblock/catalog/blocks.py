"""Blocks: the parsed tables of a catalog file, each checked against its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import tomli

from gblock import outline
from gblock.catalog.blockers import Belief, Blocker, Harmless
from gblock.catalog.drivers import Chooser, Driver, Query
from gblock.catalog.entries import Entry, Signal, TaskWorker
from gblock.catalog.libraries import Handler, Library, Offload
from gblock.catalog.patching import Import, Original, Waiter
from gblock.catalog.tables import Table
from gblock.errors import UserError, toml_place
from gblock.suggestion import did_you_mean


class Head(Table, frozen=True, rename={"measured_on": "measured-on", "never_wait": "never-wait"}):
    """The keys and tables before the first block."""

    measured_on: dict[str, str] = msgspec.field(default_factory=dict)
    never_wait: tuple[str, ...] = ()
    """Top-level packages that wait for nothing: no process needs monkey patching for them."""


HEAD = frozenset(field.encode_name for field in msgspec.structs.fields(Head))
"""The keys before the first block."""


def head_of(text: outline.Outline) -> Head:
    """Return what a file says before its first block.

    Raises:
        UserError: with the place, if that is not TOML or has a wrong key.
    """
    head = tables_of(text.head, text.filename, lambda: 0)
    try:
        return msgspec.convert(head, Head)
    except msgspec.ValidationError as error:
        raise UserError(text.filename, explained(error, Head)) from None


SHAPES: dict[str, Any] = {
    "library": Library,
    "offload": Offload,
    "handler": Handler,
    "entry": Entry,
    "blocker": Blocker,
    "original": Original,
    "import": Import,
    "belief": Belief,
    "harmless": Harmless,
    "driver": Driver,
    "chooser": Chooser,
    "waiter": Waiter,
    "query": Query,
    "worker": TaskWorker,
    "signal": Signal,
}


def tables_of(text: str, filename: str, rows_before: Callable[[], int]) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        UserError: with the row and the column, if the text is not TOML.
    """
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        message, row, column = toml_place(error, text)
        message = f"invalid TOML: {message}"
        raise UserError(filename, message, rows_before() + row, column) from None


def block_of(
    chunk: outline.Chunk, filename: str, figures: Mapping[str, Mapping[str, Any]] | None = None
) -> Any:
    """Parse one block and return it as its type.

    Args:
        chunk: The block.
        filename: The file.
        figures: Evidence to add to it, by its id or distribution.

    Raises:
        UserError: with the block and the key, if it is invalid.
    """
    if chunk.parsed is None or figures:
        parsed = _parsed(chunk, filename, figures or {})
        if figures:
            return parsed
        chunk.parsed = parsed
    return chunk.parsed


def _parsed(
    chunk: outline.Chunk, filename: str, figures: Mapping[str, Mapping[str, Any]]
) -> object:
    # Counting the keys takes as long as parsing the block.
    block = tables_of(chunk.text, filename, lambda: chunk.rows_before)[chunk.kind][0]
    measured = figures.get(block.get("id") or block.get("distribution"))
    if measured is not None:
        block["evidence"] = {**block.get("evidence", {}), **measured}
    shape = SHAPES[chunk.kind]
    try:
        return msgspec.convert(block, shape)
    except msgspec.ValidationError as error:
        keys = ("id", "symbol", "module", "distribution", "framework")
        label = next((block[key] for key in keys if block.get(key)), "?")
        message = f"[[{chunk.kind}]] {label!r}: {explained(error, shape)}"
        raise UserError(filename, message, chunk.rows_before + 1) from None


def explained(error: msgspec.ValidationError, shape: Any) -> str:
    """Return msgspec's message with the key first, and a suggestion for an unknown key."""
    message = str(error)
    text, _, place = message.partition(" - at `$")
    key = place.rstrip("`").lstrip(".")
    unknown = re.search(r"unknown field `([^`]*)`", text)
    if unknown:
        for part in key.split("."):  # the nested table that has the key
            inner = {f.encode_name: f.type for f in msgspec.structs.fields(shape)}.get(
                part.partition("[")[0]
            )
            shape = next((t for t in _structs(inner)), shape)
        names = [field.encode_name for field in msgspec.structs.fields(shape)]
        hint = did_you_mean(unknown[1], names) or f"; known keys: {', '.join(names)}"
        where = f" in {key}" if key else ""
        return f"unknown key {unknown[1]!r}{where}{hint}"
    missing = re.search(r"missing required field `([^`]*)`", text)
    if missing:
        where = f" in {key}" if key else ""
        return f"the key {missing[1]!r} is missing{where}"
    return f"{key}: {text}" if key else text


def _structs(annotation: Any) -> list[type[msgspec.Struct]]:
    """Return the structs that an annotation names, through unions and tuples."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    return [s for part in getattr(annotation, "__args__", ()) for s in _structs(part)]
