"""The output of a check: its report in one format, and the lines on stderr after it."""

from __future__ import annotations

from gblock.commandline import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gblock.commandline.options import Options
    from gblock.diagnostics import Report


def rendered(
    name: str, report: Report, source_of: Callable[[str], str | None], width: int | None
) -> str:
    """Return a report in one format.

    Args:
        name: The format.
        report: The report.
        source_of: Returns the text of a reported file.
        width: The columns of a coloured terminal, None for plain text.
    """
    from gblock.output import FORMATS, render

    if FORMATS[name].is_documented:
        from gblock import explain

        report = report._replace(pages=explain.rule_pages())
    return render(name, report, source_of, width)


def with_fixes(options: Options, report: Report, source_of: Callable[[str], str | None]) -> Report:
    """Return the report with its fixes, which some formats show and the last line counts."""
    if not report.diagnostics or not any(one.repair for one in report.diagnostics):
        return report
    from gblock import fixes

    diagnostics = fixes.with_fixes(report.diagnostics, source_of)
    return report._replace(diagnostics=diagnostics, unsafe_fixes=options.unsafe_fixes)


def source_of(stdin: tuple[str, bytes] | None) -> Callable[[str], str | None]:
    """Return a reader of reported files; it returns None for changed or deleted files."""
    from gblock.decoding import decoded
    from gblock.files import relative_name

    def read(filename: str) -> str | None:
        if stdin is not None and filename in (stdin[0], relative_name(stdin[0])):
            return decoded(stdin[1])
        try:
            with open(filename, "rb") as file:
                return decoded(file.read())
        except OSError:
            return None

    return read


def tell(options: Options, report: Report) -> None:
    """Write the lines for stderr."""
    for line in lines(options, report):
        console.say(line)


def lines(options: Options, report: Report) -> Iterator[str]:
    """Yield the lines for stderr: everything but the diagnostics."""
    from gblock.output.place import place, printable
    from gblock.output.summary import summary

    if options.show_unresolved:
        for call in report.unresolved_calls:
            yield f"{place(call.filename, call.location)}: unresolved: {printable(call.message)}"
    for seen in report.unexplained:
        yield f"{place(seen.filename, seen.location)}: observed: {printable(seen.message)}"
    for problem in report.problems:
        yield f"{place(problem.filename, problem.location)}: error: {printable(problem.message)}"
    if not options.quiet:
        for note in report.notes:
            yield f"warning: {printable(note)}"
        if report.observed_elsewhere:
            from gblock.output.summary import counted

            sites = counted(report.observed_elsewhere, "observed call site")
            yield f"{sites} in files that were not checked"
        yield summary(report)
        if any(one.fix is not None for one in report.diagnostics):
            from gblock.output.fixable import fixable

            yield fixable(report)
