"""The page of what was found at a place, with the blocks that probes recorded there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gblock.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.diagnostics import Diagnostic, Observed
    from gblock.server.checking import Shown
    from gblock.server.positions import Lines


def hover(found: Iterable[Shown], lines: Lines, position: types.Position) -> types.Hover | None:
    """Return what an editor shows at a position, None if nothing was found there.

    Args:
        found: What was found in the document.
        lines: The lines of the document.
        position: The position.
    """
    place = lines.location(position)
    here = [
        s.diagnostic for s in found if s.diagnostic.location <= place < s.diagnostic.end_location
    ]
    if not here:
        return None
    pages = dict.fromkeys(map(_page, here))
    seen = [_recorded(one.observed) for one in here if one.observed is not None]
    text = "\n\n---\n\n".join(filter(None, [*seen, *pages]))
    span = lines.range(here[0].location, here[0].end_location)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), span)


def _page(one: Diagnostic) -> str:
    from gblock import explain

    for name in (one.blocker, one.code):
        if name is not None:
            try:
                return explain.page(name)
            except UserError:  # a blocker of the project's own catalog has no page
                continue
    return ""


def _recorded(seen: Observed) -> str:
    times = "one block" if seen.times == 1 else f"{seen.times} blocks"
    return (
        f"**Probes recorded {times} here**: {seen.seconds:.3g} s in all, "
        f"the longest {seen.longest:.3g} s."
    )
