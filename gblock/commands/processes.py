"""`gblock processes`: the processes that a project starts."""

from __future__ import annotations

import os

from gblock.commandline import console
from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Print the processes that a project starts."""
    from gblock import config, engine
    from gblock.files import relative_name
    from gblock.output import processes as process_table
    from gblock.output.place import printable

    path = options.directory
    if not os.path.isdir(path):
        raise UserError(path, "not a directory; pass the project's directory")
    processes = engine.processes(path, config.find(path))
    width = console.width() if console.is_terminal() else None
    failed = console.write(process_table.table(processes, options.output_format, width))
    for note in processes.notes:
        row = f":{note.row}" if note.row else ""
        console.say(printable(f"{relative_name(note.filename)}{row}: {note.message}"))
    return failed
