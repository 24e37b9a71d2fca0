"""`gblock explain`: the page of a rule or a blocker."""

from __future__ import annotations

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Print the page of one name."""
    from gblock import explain

    return console.write(explain.page(options.name))
