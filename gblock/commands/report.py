"""`gblock report`: what the probes of a service recorded."""

from __future__ import annotations

import os

from gblock.commandline import console, settings
from gblock.commandline.console import CLEAN, DIAGNOSTICS, FAILED
from gblock.commandline.records import recorded
from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.catalog.lookup import Catalog
    from gblock.commandline.options import Options
    from gblock.config import Config
    from gblock.observations import Observations


def run(options: Options) -> int:
    """Print what was recorded, or what an option makes of it."""
    paths = options.paths or [os.environ.get("GBLOCK_PROBE_DIR", "")]
    if options.schema:
        from gblock.observations import schema

        return console.write(schema.text())
    if options.sql:
        return _query(options.sql, paths)
    if paths == [""]:
        raise UserError("gblock report", "name the probe's directory, or set GBLOCK_PROBE_DIR")
    config = settings.of_project(options)
    draws = options.output_format == "html"
    observed = recorded(paths, config, options.since, options.until, draws=draws)
    if not options.suggest and not options.compare:
        observed = _confirmed(options, config, observed)
    page = _page(options, config, observed)
    if options.output:
        from gblock.writing import write

        write(options.output, page)
        failed = CLEAN
    else:
        failed = console.write(page)
    if not options.quiet:
        from gblock.output.report import facts

        for line in facts.silences(observed):
            console.say(f"warning: {line}")
        if options.output:
            console.say(f"{facts.verdict(observed)} Written to {options.output}.")
    if failed or any(missed.error for missed in observed.unread):
        return FAILED
    return _answer(options, observed)


def _query(name: str, paths: Sequence[str]) -> int:
    """Print a query for the records in SQL."""
    from gblock.observations import queries

    if len(paths) != 1 or not paths[0]:
        raise UserError("gblock report --sql", "name one directory, or one pattern of files")
    is_directory = os.path.isdir(paths[0])
    return console.write(queries.script(name, paths[0], is_directory=is_directory))


def _confirmed(options: Options, config: Config, observed: Observations) -> Observations:
    """Return the observations beside what a check of their files reports."""
    from gblock import config as configuration
    from gblock import engine

    groups = [[options.project]] if options.project else _projects(_sources(observed))
    is_named = options.project or options.config or options.isolated
    for sources in groups:
        own = config if is_named else configuration.find(sources[0])
        observed = engine.confirmed(observed, sources, own)
    return observed


def _page(options: Options, config: Config, observed: Observations) -> str:
    """Return what is printed: drafts of entries, a comparison, or the report."""
    from gblock.output.report import changes, facts, render

    if options.suggest:
        from gblock import catalog
        from gblock.observations.drafts import drafts

        known = catalog.load(config.extend_catalog)
        return drafts(observed, known, _descriptions(options.python, known))
    if options.compare:
        from gblock.observations.comparing import compared

        changed = compared(recorded([options.compare], config), observed)
        is_json = options.output_format == "json"
        return changes.as_json(changed) if is_json else changes.text(changed)
    coloured = console.is_coloured(options.color) and options.output is None
    page = render(options.output_format, observed, console.width() if coloured else None)
    if options.by and options.output_format == "text":
        page += "\n" + facts.by(observed, options.by)
    return page


def _descriptions(python: str | None, known: Catalog) -> Callable[[str], str]:
    """Return a lookup of installed packages' symbols in their machine code."""
    from gblock.native.store import Store
    from gblock.packages import environment
    from gblock.packages.machine_code import Descriptions

    return Descriptions(environment.read(python), known, Store())


def _projects(sources: Sequence[str]) -> list[list[str]]:
    """Return the files grouped by project.

    Two services that were probed on one machine may share only the root of the file system, which
    is no project.
    """
    from gblock.codebase import project_root

    groups: dict[str, list[str]] = {}
    for source in sources:
        if "/site-packages/" not in source and "/lib/python" not in source:
            groups.setdefault(project_root([source]), []).append(source)
    return list(groups.values())


def _answer(options: Options, observed: Observations) -> int:
    """Return the exit code for observations; inconclusive ones are no success."""
    if observed.verdict in ("off", "died"):
        return FAILED
    blocked = observed.verdict == "blocked"
    return DIAGNOSTICS if blocked and not options.exit_zero and not options.suggest else CLEAN


def _sources(observed: Observations) -> list[str]:
    """Return the files of the user's own code that exist on this machine."""
    names = {site.filename for site in observed.sites if site.filename and site.is_blamed}
    found = (name for name in names if os.path.isabs(name) and os.path.isfile(name))
    return sorted(name for name in found if name.endswith(".py"))
