"""Arguments become a run, the run a report on paper and an exit code; nothing is decided here."""

from __future__ import annotations

import gc
import os
import sys

from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.catalog import Catalog
    from gblock.commandline.options import Options
    from gblock.config import Config
    from gblock.diagnostics import Report
    from gblock.engine import Check
    from gblock.observations import Observations

CLEAN, DIAGNOSTICS, FAILED = 0, 1, 2
INTERRUPTED = 130
"""What a shell reports of a command that SIGINT ended: 128 and the number of the signal."""
_MANY = 300
"""Files: after a larger check the memory is left to the system."""
_COUNTED = ("text", "concise", "json")
"""Formats that statistics are written in."""
_RULE_COLUMNS = ("name", "default", "summary")
_BLOCKER_COLUMNS = ("id", "distribution", "kind", "level", "why")


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; a traceback is never shown."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the locale cannot write must not stop a report.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    from gblock.commandline.depth import Depth

    try:
        with Depth():
            return _run(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        _say(f"error: {error}")
    except KeyboardInterrupt:
        _say("gblock was interrupted")
        return INTERRUPTED
    except SystemExit as end:  # argparse, after --help and --version
        return end.code if isinstance(end.code, int) else CLEAN
    except Exception as error:  # noqa: BLE001 - the last line of defence
        _say(_internal(error))
    return FAILED


def _run(argv: list[str]) -> int:
    from gblock.commandline.argv import parse

    options = parse(argv)
    try:
        os.getcwd()
    except OSError as error:
        message = f"the current directory cannot be used: {error.strerror}"
        raise UserError("gblock", message) from None
    if options.command == "check":
        return _check(options)
    if options.command == "report":
        return _observations(options)
    if options.command == "processes":
        return _processes(options)
    if options.command == "deps":
        return _dependencies(options)
    if options.command == "run":
        return _launch(options)
    if options.command == "trial":
        return _trial(options)
    if options.command == "init":
        return _init(options)
    if options.command in ("completion", "help"):
        return _described(options)
    from gblock import explain
    from gblock.output.listing import listing

    if options.command == "explain":
        return _write(explain.page(options.name))
    if options.command == "rules":
        return _write(listing(_RULE_COLUMNS, explain.listed_rules(), options.output_format))
    return _write(listing(_BLOCKER_COLUMNS, explain.listed_blockers(), options.output_format))


def _check(options: Options) -> int:
    targets, shown = _outputs(options)
    if options.statistics and (targets or shown not in _COUNTED):
        raise UserError("gblock check", "--statistics is written as text, concise or json")
    stdin = _stdin(options)
    config = _config(options)
    if options.show_settings:
        from gblock.commandline import settings

        select = (*(options.select or config.select), *options.extend_select)
        return _write(settings.shown(config, select, (*options.ignore, *config.ignore)))
    if options.show_files:
        return _list_files(options, config)
    checked, report = _report(options, config, stdin)
    if options.add_ignore:
        return _add_ignores(options, checked, report)
    source_of = _source_of(stdin)
    for name, file in targets:
        from gblock.writing import write

        write(file, _rendered(name, report, source_of, None))
    failed = CLEAN
    if options.statistics:
        from gblock.output.statistics import statistics

        failed = _write(statistics(report, shown or "text"))
    elif shown is not None:
        width = _width() if report.diagnostics and _is_coloured(options.color) else None
        page = _rendered(shown, report, source_of, width)
        failed = _write(page) if page else CLEAN
    _tell(options, report)
    if failed or report.problems:
        return FAILED
    return DIAGNOSTICS if report.diagnostics and not options.exit_zero else CLEAN


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


def _rendered(
    name: str, report: Report, source_of: Callable[[str], str | None], width: int | None
) -> str:
    from gblock.output import FORMATS, render

    if FORMATS[name].is_documented:
        from gblock import explain

        report = report._replace(pages=explain.rule_pages())
    return render(name, report, source_of, width)


def _list_files(options: Options, config: Config) -> int:
    from gblock.codebase import Codebase
    from gblock.files import relative_name
    from gblock.output.place import place, printable

    found = Codebase(options.paths or ["."], config, force_exclude=options.force_exclude)
    names = sorted(relative_name(path) for path in found.reported)
    failed = _write("".join(f"{printable(name)}\n" for name in names))
    problems = found.problems()
    for problem in problems:
        _say(f"{place(problem.filename)}: error: {printable(problem.message)}")
    return FAILED if failed or problems else CLEAN


def _add_ignores(options: Options, checked: Check, report: Report) -> int:
    from gblock.engine import ignores
    from gblock.output.place import place
    from gblock.output.summary import counted

    if options.stdin_filename is not None or "-" in options.paths:
        raise UserError("gblock check", "--add-ignore changes files, not standard input")
    added, left = ignores.add(report.diagnostics, checked.rows)
    for diagnostic in left:
        where = place(diagnostic.filename, diagnostic.location)
        _say(f"{where}: warning: no comment can hide {diagnostic.code} here")
    _tell(options, report._replace(diagnostics=tuple(left)))
    if not options.quiet:
        _say(f"{counted(added, 'diagnostic')} suppressed by new comments.")
    if report.problems:
        return FAILED
    return DIAGNOSTICS if left and not options.exit_zero else CLEAN


def _processes(options: Options) -> int:
    from gblock import config, engine
    from gblock.files import relative_name
    from gblock.output import processes as process_table
    from gblock.output.place import printable

    path = options.directory
    if not os.path.isdir(path):
        raise UserError(path, "this is no directory; name the project's directory")
    processes = engine.processes(path, config.find(path))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = _width() if terminal else None
    failed = _write(process_table.table(processes, options.output_format, width))
    for note in processes.notes:
        row = f":{note.row}" if note.row else ""
        _say(printable(f"{relative_name(note.filename)}{row}: {note.message}"))
    return failed


def _dependencies(options: Options) -> int:
    if options.wheels is not None:
        return _compared(options, *options.wheels)
    if options.native is not None:
        return _machine_code(options, options.native)
    from gblock.output import dependencies as dependency_table
    from gblock.output.place import place, printable
    from gblock.packages import dependencies

    found = dependencies.read(options.paths or ["."], _config(options), options.python)
    shown = [one for one in found.all if options.all or one.is_of_interest]
    width = _width() if _is_coloured(options.color) else None
    failed = _write(dependency_table.render(options.output_format, shown, width))
    for problem in found.problems:
        _say(f"{place(problem.filename, problem.location)}: error: {printable(problem.message)}")
    if not options.quiet:
        for note in found.notes:
            _say(f"warning: {printable(note)}")
        _say(dependency_table.summary(found, shown))
    if failed or found.problems:
        return FAILED
    matters = any(one.matters for one in found.all)
    return DIAGNOSTICS if matters and not options.exit_zero else CLEAN


def _machine_code(options: Options, names: Sequence[str]) -> int:
    from gblock import catalog
    from gblock.engine.jobs import Jobs
    from gblock.native.store import Store
    from gblock.output import machine_code as page
    from gblock.packages import environment, machine_code

    config = _config(options)
    found = environment.chosen(options.python, config)
    known = catalog.load(config.extend_catalog)
    store = None if options.no_cache else Store()
    read = machine_code.read(found, known, names, store, Jobs())
    if options.suggest:
        from gblock.packages.drafts import drafts

        return _write(drafts(read, known))
    failed = _write(page.render(options.output_format, read, everything=options.all))
    if not options.quiet:
        _say(page.summary(read))
    return failed


def _sayings(python: str | None, known: Catalog) -> Callable[[str], str]:
    """Return what answers for the symbols of installed packages by their machine code."""
    from gblock.native.store import Store
    from gblock.packages import environment
    from gblock.packages.machine_code import Sayings

    return Sayings(environment.read(python), known, Store())


def _compared(options: Options, old: str, new: str) -> int:
    from gblock import catalog
    from gblock.output import machine_code as page
    from gblock.packages import comparison

    known = catalog.load(_config(options).extend_catalog)
    found = comparison.compare(old, new, known)
    return _write(page.compared(options.output_format, found))


def _launch(options: Options) -> int:
    """Become the command; there is no way back from here but an error."""
    from gblock import launch

    command = launch.prepared(options.words, options.records, options.threshold, dict(os.environ))
    if command.note:
        _say(f"warning: {command.note}")
    return launch.become(command)


def _trial(options: Options) -> int:
    from gblock import trial
    from gblock.output import trial_json, trial_text

    plan = trial.Plan(
        statement=options.statement,
        setup="\n".join(options.setup),
        patch=None if options.patch is None else tuple(options.patch),
        timeout=options.timeout,
        repeat=options.repeat,
        python=options.python or sys.executable,
    )
    measured = trial.trial(plan)
    against = None
    if options.against is not None:
        setup = "\n".join([*options.against_setup, *options.setup])
        remedy = plan._replace(statement=options.against, setup=setup)
        against = trial.trial(remedy, threadpool=False)
    render = trial_json.render if options.as_json else trial_text.render
    failed = _write(render(plan, measured, against))
    if failed:
        return FAILED
    if measured.typical.is_uncertain or not measured.is_agreed:
        return FAILED
    return CLEAN if measured.verdict in ("cooperative", "immediate") else DIAGNOSTICS


def _described(options: Options) -> int:
    """Print what the parser knows of the commands."""
    from gblock.commandline import completion, parser

    if options.command == "help":
        return _write(parser.helped(options.name or None))
    choices = {
        command: {
            name: tuple(map(str, one.choices or ()))
            for one in actions
            for name in one.option_strings
        }
        for command, actions in parser.arguments().items()
    }
    return _write(completion.script(options.name, choices, parser.descriptions()))


def _init(options: Options) -> int:
    from gblock import config, engine
    from gblock.commandline.setup import Setup
    from gblock.files import relative_name
    from gblock.output.place import printable
    from gblock.output.summary import counted, summary

    setup = Setup(options.directory, force=options.force)
    baseline = setup.baseline if setup.writes_baseline else None
    for step in (setup.settings(), setup.hook(), setup.pipeline()):
        failed = _write(f"{printable(relative_name(step.path))}: {step.done}\n")
    settings = config.changed(config.find(options.directory), baseline=None)
    request = engine.Request([options.directory], settings, write_baseline=baseline, jobs=0)
    report = engine.check(request)
    name = printable(relative_name(setup.baseline))
    if baseline is None:
        failed = _write(f"{name}: exists already; --force replaces it\n")
    else:
        failed = _write(f"{name}: {counted(report.baselined, 'diagnostic')} to hide for now\n")
    _say(summary(report))
    return failed or (FAILED if report.problems else CLEAN)


def _stdin(options: Options) -> tuple[str, bytes] | None:
    if options.stdin_filename is None and "-" not in options.paths:
        return None
    if len(options.paths) > 1 or not set(options.paths) <= {"-"}:
        raise UserError("gblock check", "standard input is checked alone, without other paths")
    if sys.stdin is None:
        raise UserError("gblock check", "standard input is closed")
    return options.stdin_filename or "-", sys.stdin.buffer.read()


def _config(options: Options) -> Config:
    if options.command == "check" and _has_changes(options):
        from gblock.commandline import settings

        return settings.of(options)
    from gblock import config

    if options.isolated:
        return config.Config()
    if options.config is not None:
        return config.load(options.config)
    named = [path for path in options.paths if path != "-"]
    return config.find(options.stdin_filename or (named[0] if named else "."))


def _has_changes(options: Options) -> bool:
    return bool(options.exclude is not None or options.extend_exclude or options.per_file_ignores)


def _report(
    options: Options, config: Config, stdin: tuple[str, bytes] | None
) -> tuple[Check, Report]:
    from gblock import engine

    progress = None
    if not options.quiet and sys.stderr is not None and sys.stderr.isatty():
        from gblock.commandline.progress import Progress

        progress = Progress(sys.stderr)
    request = engine.Request(
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
        observed=_observed(options.observed, config) if options.observed else None,
        all_processes=options.all_processes,
        assume_gevent=options.assume_gevent,
        all_contexts=options.all_contexts,
        show_paths=options.show_paths,
        by_path=options.sort == "path",
        python=options.python,
        jobs=options.jobs,
    )
    collecting = gc.isenabled()
    gc.disable()  # a check keeps what it makes: looking for garbage takes a fifth of its time
    try:
        checked = engine.Check(request, progress)
        report = checked.report()
    finally:
        if collecting:
            gc.enable()
        if progress is not None:
            progress.clear()
    if report.files_checked > _MANY:
        _leave_to_the_system(checked)
    return checked, report


def _leave_to_the_system(checked: object) -> None:
    """Keep an object until the process has ended: to free it takes a tenth of a long run."""
    kept = [checked]
    kept.append(kept)  # a cycle, which the collector no longer looks for
    gc.freeze()


def _observed(
    paths: Sequence[str], config: Config, since: str | None = None, until: str | None = None
) -> Observations:
    """Return what probes wrote under some paths, of which each has to exist."""
    import time

    from gblock import catalog, observations

    for path in paths:
        if not os.path.exists(path):
            raise UserError(path, "there are no records: the probe writes to $GBLOCK_PROBE_DIR")
    from gblock.observations.moments import moment

    now = time.time()
    return observations.read(
        paths,
        catalog.load(config.extend_catalog),
        now,
        since=moment(since, now) if since else None,
        until=moment(until, now) if until else None,
    )


def _observations(options: Options) -> int:
    from gblock import catalog, engine
    from gblock.output.report import facts, render

    paths = options.paths or [os.environ.get("GBLOCK_PROBE_DIR", "")]
    if paths == [""]:
        raise UserError("gblock report", "name the probe's directory, or set GBLOCK_PROBE_DIR")
    config = _project_config(options)
    observed = _observed(paths, config, options.since, options.until)
    if not options.suggest and not options.compare:
        groups = [[options.project]] if options.project else _projects(_sources(observed))
        for sources in groups:
            own = not options.project and not options.config and not options.isolated
            observed = engine.confirmed(
                observed, sources, _config_of(sources[0]) if own else config
            )
    if options.suggest:
        from gblock.observations.drafts import drafts

        known = catalog.load(config.extend_catalog)
        page = drafts(observed, known, _sayings(options.python, known))
    elif options.compare:
        from gblock.observations.comparing import compared
        from gblock.output.report import changes

        changed = compared(_observed([options.compare], config), observed)
        page = (
            changes.as_json(changed) if options.output_format == "json" else changes.text(changed)
        )
    else:
        coloured = _is_coloured(options.color) and options.output is None
        page = render(options.output_format, observed, _width() if coloured else None)
        if options.by and options.output_format == "text":
            page += "\n" + facts.by(observed, options.by)
    if options.output:
        from gblock.writing import write

        write(options.output, page)
        failed = CLEAN
    else:
        failed = _write(page)
    if not options.quiet:
        for line in facts.silences(observed):
            _say(f"warning: {line}")
        if options.output:
            _say(f"{facts.verdict(observed)} Written to {options.output}.")
    if failed or any(missed.error for missed in observed.unread):
        return FAILED
    return _answer(options, observed)


def _projects(sources: Sequence[str]) -> list[list[str]]:
    """Return files by the project that each belongs to.

    Two services that were probed on one machine have nothing in common but the root of its file
    system, and that is no project to read.
    """
    from gblock.codebase import project_root

    groups: dict[str, list[str]] = {}
    for source in sources:
        if "/site-packages/" not in source and "/lib/python" not in source:
            groups.setdefault(project_root([source]), []).append(source)
    return list(groups.values())


def _answer(options: Options, observed: Observations) -> int:
    """The exit code of what probes say; that they cannot tell is no success."""
    if observed.verdict in ("off", "died"):
        return FAILED
    blocked = observed.verdict == "blocked"
    return DIAGNOSTICS if blocked and not options.exit_zero and not options.suggest else CLEAN


def _project_config(options: Options) -> Config:
    from gblock import config

    if options.isolated:
        return config.Config()
    if options.config is not None:
        return config.load(options.config)
    return config.find(options.project or ".")


def _config_of(path: str) -> Config:
    from gblock import config

    return config.find(path)


def _sources(observed: Observations) -> list[str]:
    """The files of the user's own code that exist here, as where the service itself runs."""
    names = {site.filename for site in observed.sites if site.filename and site.is_blamed}
    found = (name for name in names if os.path.isabs(name) and os.path.isfile(name))
    return sorted(name for name in found if name.endswith(".py"))


def _is_coloured(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    # https://no-color.org and https://force-color.org: set and not empty.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return terminal and os.environ.get("TERM") != "dumb"


def _width() -> int:
    import shutil

    # Python 3.10 hands on the 0 of a terminal that has no size, such as docker's or expect's.
    return shutil.get_terminal_size().columns or 80


def _source_of(stdin: tuple[str, bytes] | None) -> Callable[[str], str | None]:
    """Return a reader of reported files; a file that changed or went away meanwhile is None."""
    from gblock.decoding import decoded
    from gblock.files import relative_name

    def source_of(filename: str) -> str | None:
        if stdin is not None and filename in (stdin[0], relative_name(stdin[0])):
            return decoded(stdin[1])
        try:
            with open(filename, "rb") as file:
                return decoded(file.read())
        except OSError:
            return None

    return source_of


def _tell(options: Options, report: Report) -> None:
    """Everything that is not a diagnostic, to stderr."""
    from gblock.output.place import place, printable
    from gblock.output.summary import summary

    if options.show_unresolved:
        for call in report.unresolved_calls:
            _say(f"{place(call.filename, call.location)}: unresolved: {printable(call.message)}")
    for seen in report.unexplained:
        _say(f"{place(seen.filename, seen.location)}: observed: {printable(seen.message)}")
    for problem in report.problems:
        _say(f"{place(problem.filename, problem.location)}: error: {printable(problem.message)}")
    if not options.quiet:
        for note in report.notes:
            _say(f"warning: {printable(note)}")
        if report.observed_elsewhere:
            from gblock.output.summary import counted

            sites = counted(report.observed_elsewhere, "observed call site")
            _say(f"{sites} in files that were not checked")
        _say(summary(report))


def _write(text: str) -> int:
    """Write to stdout; a reader that has seen enough, such as `head`, is no failure."""
    if sys.stdout is None:  # pythonw, or `>&-`
        return CLEAN
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        _say(f"error: the report cannot be written: {error.strerror}")
        return FAILED
    return CLEAN


def _silence_stdout() -> None:
    """Send what is still buffered nowhere, or Python complains about it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _say(line: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        return  # there is nobody left to tell


def _internal(error: Exception) -> str:
    """Return one line for a fault of gblock's own, with what a report of it needs."""
    import traceback

    from gblock.errors import FaultError
    from gblock.output.place import printable

    if os.environ.get("GBLOCK_TRACEBACK"):
        _say("".join(traceback.format_exception(error)).rstrip())
    checked = ""
    if isinstance(error, FaultError) and isinstance(error.__cause__, Exception):
        checked = f" while it checked {printable(error.filename)}"
        error = error.__cause__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    text = printable(" ".join(str(error).split()))
    return (
        f"error: gblock itself failed{checked} at {place}: {type(error).__name__}: {text}; "
        "GBLOCK_TRACEBACK=1 shows a traceback: please report it with the file that was checked"
    )
