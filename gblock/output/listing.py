"""Tables of rules and blockers, for people or for programs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def listing(columns: Sequence[str], rows: Sequence[Sequence[object]], name: str) -> str:
    """Return aligned columns or, for the format ``json``, an array of objects."""
    if name == "json":
        import json

        return json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2) + "\n"
    cells = [[_word(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in cells
    )


def _word(cell: object) -> str:
    if isinstance(cell, bool):
        return "on" if cell else "off"
    return str(cell)
