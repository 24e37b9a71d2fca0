"""The base classes of the catalog's types."""

from __future__ import annotations

import msgspec


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of the catalog: an unknown key is an error."""


class CallArgument(Table, frozen=True):
    """One argument of a call: its position, its keyword, or both."""

    position: int | None = None
    """Counted from 0, without ``self``; None for a keyword-only argument."""
    keyword: str | None = None
    """None for a positional-only argument."""
