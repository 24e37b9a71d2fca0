"""The commands: one module each, with the command's name, whose `run` returns the exit code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run_command(options: Options) -> int:
    """Run the command that the options name, and return its exit code.

    Raises:
        UserError: for options that do not fit together, or what cannot be read or written.
    """
    module = __import__(f"{__package__}.{options.command}", fromlist=["run"])
    code: int = module.run(options)
    return code
