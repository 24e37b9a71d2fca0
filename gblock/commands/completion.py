"""`gblock completion`: a shell's completions."""

from __future__ import annotations

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Print the completions of one shell."""
    from gblock.commandline import completion, parser

    choices = {
        command: {
            name: tuple(map(str, one.choices or ()))
            for one in actions
            for name in one.option_strings
        }
        for command, actions in parser.arguments().items()
    }
    return console.write(completion.script(options.name, choices, parser.descriptions()))
