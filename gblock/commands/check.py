"""`gblock check`: the report on some paths."""

from __future__ import annotations

import gc
import os
import sys

from gblock import collecting
from gblock.commandline import console
from gblock.commandline.console import CLEAN, DIAGNOSTICS, FAILED
from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.cache.answers import Answers
    from gblock.commandline.options import Options
    from gblock.commandline.progress import Progress
    from gblock.config import Config
    from gblock.engine import Request
    from gblock.observations import Observations

_LARGE_PROJECT = 100
"""Files: after a check in a larger project the memory is left to the system."""
_COUNTED = ("text", "concise", "json")
"""Formats that statistics are written in."""
_FIXABLE = frozenset({"json", "sarif", "text", "concise"})
"""Formats that show fixes."""


def run(options: Options) -> int:
    """Check some paths, or what an option does instead: list, fix, hide or repeat."""
    if options.watch:
        from gblock.commandline import watching

        return watching.watch(options, run)
    targets, shown = _outputs(options)
    if options.statistics and (targets or shown not in _COUNTED):
        raise UserError("gblock check", "--statistics is written as text, concise or json")
    stdin = _stdin(options)
    answers = _answers(options)
    known = answers.known() if answers is not None else None
    if known is not None:
        return _give(known.out, known.err, known.code)
    config = _config(options)
    if options.show_settings:
        from gblock.commandline import settings

        select = (*(options.select or config.select), *options.extend_select)
        return console.write(settings.shown(config, select, (*options.ignore, *config.ignore)))
    if options.show_files:
        return _list_files(options, config)
    request = _request(options, config, stdin)
    if options.fix or options.diff:
        from gblock.commandline import fixing

        with _CheckProgress(options) as progress:
            return fixing.fix(options, request, progress)
    return _checked(options, request, targets, shown, answers)


def _checked(
    options: Options,
    request: Request,
    targets: list[tuple[str, str]],
    shown: str | None,
    answers: Answers | None,
) -> int:
    """Run a check, write its report and return the exit code.

    Args:
        options: The options.
        request: The paths and the settings.
        targets: Formats with the files that they are written to.
        shown: The format of standard output, if it gets one.
        answers: The cache of answers, if it is used.
    """
    from gblock import engine
    from gblock.commandline import reporting

    with _CheckProgress(options) as progress:
        facts = answers.facts() if answers is not None else None
        checked = engine.Check(request, progress, facts=facts)
        report = checked.report()
        # Before the collector is on again, which would look at all of it.
        if len(checked.codebase.modules.files) > _LARGE_PROJECT:
            _leave_to_the_system(checked)
    if options.add_ignore:
        from gblock.commandline import ignoring

        return ignoring.add(options, checked, report)
    source_of = reporting.source_of(request.stdin)
    if not options.quiet or not _FIXABLE.isdisjoint((shown, *(name for name, _ in targets))):
        report = reporting.with_fixes(options, report, source_of)
    for name, file in targets:
        from gblock.writing import write

        write(file, reporting.rendered(name, report, source_of, None))
    page = ""
    if options.statistics:
        from gblock.output.statistics import statistics

        page = statistics(report, shown or "text")
    elif shown is not None:
        coloured = bool(report.diagnostics) and console.is_coloured(options.color)
        page = reporting.rendered(shown, report, source_of, console.width() if coloured else None)
    lines = "".join(f"{line}\n" for line in reporting.lines(options, report))
    code = DIAGNOSTICS if report.diagnostics and not options.exit_zero else CLEAN
    if report.problems:
        return max(_give(page, lines, code), FAILED)
    if answers is not None:
        from gblock.cache.answers import Answer

        modules = checked.codebase.modules
        if answers.keep(Answer(page, lines, code), modules.files, modules.read):
            checked.keep()
    return _give(page, lines, code)


def _give(out: str, err: str, code: int) -> int:
    """Write the output of a check, and return its exit code."""
    failed = console.write(out) if out else CLEAN
    if err:
        console.say(err[:-1])
    return failed or code


def _answers(options: Options) -> Answers | None:
    """Return the cache of answers, None where a run does more than to answer, or must not."""
    if options.no_cache or os.environ.get("GBLOCK_NO_CACHE"):
        return None
    once = (
        *(options.show_settings, options.show_files, options.add_ignore, options.write_baseline),
        *(options.since, options.observed, options.python, options.stdin_filename),
        *(options.fix, options.diff, any(file is not None for _, file in options.outputs)),
        "-" in options.paths,
    )
    if any(once):
        return None
    from gblock.cache.answers import Answers

    first = options.paths[0] if options.paths else "."
    directory = options.cache_dir
    if directory is None and not options.isolated:
        from gblock import config

        if options.config is not None or config.speaks_of(first, b"cache-dir"):
            directory = _config(options).cache_dir
    asked = (f"{name}={value!r}" for name, value in sorted(vars(options).items()))
    width = str(console.width()) if console.is_coloured(options.color) else ""
    return Answers((width, *asked), first, directory, is_own=options.cache_dir is not None)


def _outputs(options: Options) -> tuple[list[tuple[str, str]], str | None]:
    """Return the formats with their files, and the format of standard output, if it gets one."""
    if not options.outputs:
        return [], options.output_format
    targets = [(name, file) for name, file in options.outputs if file is not None]
    files = [file for _, file in targets]
    if len(files) != len(set(files)):
        raise UserError("gblock check", "two outputs have the same --output-file")
    rest = [name for name, file in options.outputs if file is None]
    return targets, rest[-1] if rest else None


def _list_files(options: Options, config: Config) -> int:
    from gblock.codebase import Codebase
    from gblock.files import relative_name
    from gblock.output.place import place, printable

    found = Codebase(options.paths or ["."], config, force_exclude=options.force_exclude)
    names = sorted(relative_name(path) for path in found.reported)
    failed = console.write("".join(f"{printable(name)}\n" for name in names))
    problems = found.problems()
    for problem in problems:
        console.say(f"{place(problem.filename)}: error: {printable(problem.message)}")
    return FAILED if failed or problems else CLEAN


def _stdin(options: Options) -> tuple[str, bytes] | None:
    if options.stdin_filename is None and "-" not in options.paths:
        return None
    if len(options.paths) > 1 or not set(options.paths) <= {"-"}:
        raise UserError("gblock check", "standard input is checked alone, without other paths")
    if sys.stdin is None:
        raise UserError("gblock check", "standard input is closed")
    return options.stdin_filename or "-", sys.stdin.buffer.read()


def _config(options: Options) -> Config:
    from gblock.commandline import settings

    return settings.of(options)


def _observed(paths: Sequence[str], config: Config) -> Observations | None:
    """Return the observations that probes wrote under some paths, None if there are none."""
    if not paths:
        return None
    from gblock.commandline.records import recorded

    return recorded(paths, config)


def _request(options: Options, config: Config, stdin: tuple[str, bytes] | None) -> Request:
    from gblock.commandline import settings
    from gblock.engine import Request

    return Request(
        [] if stdin else options.paths or ["."],
        config,
        stdin=stdin,
        select=options.select,
        extend_select=options.extend_select,
        ignore=options.ignore,
        min_severity=options.min_severity,
        baseline=options.baseline,
        write_baseline=options.write_baseline,
        since=options.since,
        force_exclude=options.force_exclude,
        observed=_observed(options.observed, config),
        all_processes=options.all_processes,
        assume_gevent=options.assume_gevent,
        all_contexts=options.all_contexts,
        show_paths=options.show_paths,
        by_path=options.sort == "path",
        python=options.python,
        own_settings=not (options.isolated or options.config or settings.are_changed(options)),
        jobs=options.jobs,
    )


class _CheckProgress:
    """Shows the progress on a terminal and disables the garbage collector during a check."""

    def __init__(self, options: Options) -> None:
        self._shown: Progress | None = None
        if not options.quiet and console.is_watched():
            from gblock.commandline.progress import Progress

            self._shown = Progress(sys.stderr)
        self._pause = collecting.Paused()

    def __enter__(self) -> Progress | None:
        self._pause.__enter__()
        return self._shown

    def __exit__(self, *_: object) -> None:
        self._pause.__exit__()
        if self._shown is not None:
            self._shown.clear()


def _leave_to_the_system(checked: object) -> None:
    """Keep an object until the process ends: freeing it takes 10 % of a long run."""
    kept = [checked]
    kept.append(kept)  # a cycle is never freed, since the collector is off
    gc.freeze()
