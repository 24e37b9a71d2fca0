"""`gblock check` with ``--add-ignore``."""

from __future__ import annotations

from gblock.commandline import console, reporting
from gblock.commandline.console import CLEAN, DIAGNOSTICS, FAILED
from gblock.engine import ignores
from gblock.errors import UserError
from gblock.output.place import place
from gblock.output.summary import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options
    from gblock.diagnostics import Report
    from gblock.engine import Check


def add(options: Options, checked: Check, report: Report) -> int:
    """Add comments that hide the diagnostics of a report; return the exit code."""
    if options.stdin_filename is not None or "-" in options.paths:
        raise UserError("gblock check", "--add-ignore changes files, not standard input")
    added, left = ignores.add(report.diagnostics, checked.rows)
    for diagnostic in left:
        where = place(diagnostic.filename, diagnostic.location)
        console.say(f"{where}: warning: no comment can hide {diagnostic.code} here")
    reporting.tell(options, report._replace(diagnostics=tuple(left)))
    if not options.quiet:
        console.say(f"{counted(added, 'diagnostic')} suppressed by new comments.")
    if report.problems:
        return FAILED
    return DIAGNOSTICS if left and not options.exit_zero else CLEAN
