"""`gblock rules`: the list of rules."""

from __future__ import annotations

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


_COLUMNS = ("name", "default", "summary")


def run(options: Options) -> int:
    """Print the list."""
    from gblock import explain
    from gblock.output.listing import listing

    return console.write(listing(_COLUMNS, explain.listed_rules(), options.output_format))
