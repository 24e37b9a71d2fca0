"""Report what gevent has patched in this process at the time of a block."""

from __future__ import annotations

import sys

from gblock.probing import callee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MUCH = ("socket", "ssl", "select", "subprocess", "time", "threading")
"""Modules that `patch_all` patches in every version: if one is missing, `some` are patched."""


def now(symbol: str | None) -> dict[str, Any]:
    """Return the fields of a block's record about patches.

    Args:
        symbol: The callee's public dotted name; None if unknown.

    Returns:
        ``patched`` is ``all``, ``some`` or ``none``; ``original`` is true where the module of the
        call itself is patched, so that what ran was an original that the process had kept.
    """
    saved = _saved()
    modules = list(saved)
    if not modules:
        return {"patched": "none"}
    wanted = [name for name in _MUCH if name in sys.modules]
    fields: dict[str, Any] = {
        "patched": "all" if all(name in modules for name in wanted) else "some"
    }
    if is_original(symbol):
        fields["original"] = True
    return fields


def is_original(symbol: str | None) -> bool:
    """Return whether gevent has patched a callee's own module: what ran was an original.

    Args:
        symbol: As for `now`.
    """
    if symbol is None:
        return False
    module, _, name = symbol.partition(".")
    names = _saved().get(module)
    return type(names) is dict and name.partition(".")[0] in names


def _saved() -> dict[Any, Any]:
    """Return the originals that gevent keeps, by module; empty if it has patched nothing."""
    monkey = sys.modules.get("gevent.monkey")
    space = callee.own_dict(monkey) if monkey is not None else None
    saved = (space or {}).get("saved")
    return saved if type(saved) is dict else {}
