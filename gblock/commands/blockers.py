"""`gblock blockers`: the list of blockers."""

from __future__ import annotations

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


_COLUMNS = ("id", "distribution", "kind", "level", "why")


def run(options: Options) -> int:
    """Print the list."""
    from gblock import explain
    from gblock.output.listing import listing

    return console.write(listing(_COLUMNS, explain.listed_blockers(), options.output_format))
