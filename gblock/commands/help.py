"""`gblock help`: the help of a command."""

from __future__ import annotations

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Print the help of one command, or of all."""
    from gblock.commandline import parser

    return console.write(parser.helped(options.name or None))
