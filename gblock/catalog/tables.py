"""Tables of the catalog: what all its types have in common."""

from __future__ import annotations

import msgspec


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table of the catalog: an unknown key is an error."""
