"""`gblock check` with ``--fix`` or ``--diff``."""

from __future__ import annotations

import os

from gblock.commandline import console, reporting
from gblock.commandline.console import CLEAN, DIAGNOSTICS, FAILED
from gblock.engine import fixing
from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.commandline.options import Options
    from gblock.engine.fixing import Fixed
    from gblock.engine.request import Request


def fix(options: Options, request: Request, on_progress: Callable[[int, int], None] | None) -> int:
    """Apply fixes, or show with ``--diff`` what they would change; return the exit code."""
    for name in ("add_ignore", "write_baseline", "statistics"):
        if getattr(options, name):
            flag = name.replace("_", "-")
            raise UserError(
                "gblock check", f"--{flag} cannot be combined with --fix: run --fix first"
            )
    stdin = request.stdin
    fixed = fixing.fixed(request, unsafe=options.unsafe_fixes, on_progress=on_progress)
    report = fixed.report
    if options.diff:
        return _show_diff(options, fixed)
    if stdin is not None:
        after = {change.path: change.after for change in fixed.changes}
        data = after.get(os.path.abspath(stdin[0]), stdin[1])
        failed = console.write_code(data)
    else:
        failed = CLEAN
        problems = (*report.problems, *fixing.write(fixed.changes))
        report = report._replace(problems=tuple(sorted(problems)))
    source_of = reporting.source_of((stdin[0], data) if stdin is not None else None)
    report = reporting.with_fixes(options, report, source_of)
    width = console.width() if report.diagnostics and console.is_coloured(options.color) else None
    page = reporting.rendered(options.output_format, report, source_of, width)
    if stdin is None:
        failed = console.write(page)
    elif report.diagnostics:
        console.say(page.rstrip("\n"))
    reporting.tell(options, report)
    if failed or report.problems:
        return FAILED
    return DIAGNOSTICS if report.diagnostics and not options.exit_zero else CLEAN


def _show_diff(options: Options, fixed: Fixed) -> int:
    """Print what fixes would change."""
    from gblock.output.diff import diff
    from gblock.output.place import place, printable
    from gblock.output.summary import counted

    pages = [diff(c.filename, _as_written(c.before), _as_written(c.after)) for c in fixed.changes]
    failed = console.write("".join(pages))
    for problem in fixed.report.problems:
        console.say(
            f"{place(problem.filename, problem.location)}: error: {printable(problem.message)}"
        )
    if not options.quiet:
        console.say(f"Would fix {counted(fixed.report.fixed, 'diagnostic')}.")
    if failed or fixed.report.problems:
        return FAILED
    return DIAGNOSTICS if fixed.changes and not options.exit_zero else CLEAN


def _as_written(data: bytes) -> str:
    """Return a file's text with its own line ends."""
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)
