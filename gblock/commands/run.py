"""`gblock run`: a command with the probe on."""

from __future__ import annotations

import os

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Replace this process by the command; returns only on an error."""
    from gblock import launch

    command = launch.prepared(options.words, options.records, options.threshold, dict(os.environ))
    if command.note:
        console.say(f"warning: {command.note}")
    return launch.become(command)
