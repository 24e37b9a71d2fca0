"""Deployment files, launches and imports: evidence of processes that needs no inference."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, NamedTuple

from gblock.config import Config
from gblock.project.processes.deployment import Command, Deployment, Note, readme
from gblock.project.processes.deployment.kept_scripts import KIND as SCRIPTS
from gblock.project.processes.deployment.shell import Script
from gblock.project.processes.launches import Launch, launches
from gblock.project.processes.program import Programs, option
from gblock.project.reading.import_graph import Edge, ImportGraph
from gblock.project.reading.kept_imports import KeptImports
from gblock.project.reading.modules import CHOOSING, STARTING, WORDS, Modules


class Surroundings(NamedTuple):
    """The deployment of a project, its launches and its import graph."""

    programs: Programs
    speaks_of_gevent: bool
    """True if code or a command mentions gevent; if not, no process counts as one on gevent."""
    imports: dict[str, tuple[Edge, ...]]
    """The imports of each file other than tests, if something mentions gevent."""
    launches: list[Launch] | None = None
    """The launches of the project's own code, under the same condition."""
    kept: dict[str, Any] | None = None
    """The imports in the form that is kept for later runs, where some of them are new."""

    @property
    def deployment(self) -> Deployment:
        """The files that start processes."""
        return self.programs.deployment


def of_project(modules: Modules, config: Config, workers: Collection[str]) -> Surroundings:
    """Read a project's surroundings, including the processes that its settings declare.

    Args:
        modules: The project's files.
        config: The project's settings.
        workers: The commands that run workers of tasks.
    """
    declared = Declared(config.processes, config.filename or "", config.root)
    base = config.root if config.filename else ""
    return read(modules, modules.root, workers, config.exclude, declared, base)


class Declared(NamedTuple):
    """The commands that a project's settings declare, for processes started from elsewhere."""

    commands: tuple[str, ...] = ()
    filename: str = ""
    directory: str = ""
    """The place where they are started."""


def read(
    modules: Modules,
    root: str,
    workers: Collection[str],
    exclude: tuple[str, ...] = (),
    declared: Declared | None = None,
    base: str = "",
) -> Surroundings:
    """Read a project's surroundings.

    Args:
        modules: The project's files.
        root: The directory that is searched for files that start processes.
        workers: The commands that run workers of tasks.
        exclude: Patterns as in `.gitignore`.
        declared: The commands that the settings declare.
        base: The directory that the patterns are relative to; by default `root`.
    """
    facts = modules.facts
    scripts = facts.get(SCRIPTS, root) if facts is not None else None
    deployment = Deployment(root, exclude, base, scripts)
    if declared is not None:
        _declare(deployment, declared, workers)
    # Following every start of a large tree takes seconds, searching for words does not.
    speaks = _speaks_of_gevent(modules, deployment, workers)
    documented = readme.commands(deployment.tree, deployment.text)
    named = any("gevent" in command.text for command in documented)
    programs = Programs(deployment, workers)
    if not (speaks or named or (documented and "gevent" in deployment.requirements)):
        return Surroundings(programs, False, {})
    started = launches(modules)
    if documented and not _starts_server(programs, started):
        deployment.commands += documented
        programs = Programs(deployment, workers)
        speaks = speaks or named
    if not speaks:
        return Surroundings(programs, False, {})
    _ = programs.all  # cached
    declared_plugins = plugins(deployment)
    kept = KeptImports(modules, declared_plugins)
    graph = ImportGraph(modules, kept.known(), declared_plugins)
    imports = {path: graph.imports(path) for path in modules.serving}
    return Surroundings(programs, True, imports, started, kept.to_keep(imports))


def _starts_server(programs: Programs, started: list[Launch]) -> bool:
    """Return whether a command of a repository, or its code, starts a server."""
    inner = (one for launch in started for one in programs.of(launch.command))
    return any(programs.is_server(one) for one in (*programs.all, *inner))


def _declare(deployment: Deployment, declared: Declared, workers: Collection[str]) -> None:
    """Add the declared commands to a repository's; note those that start nothing."""
    text = deployment.text(declared.filename) if declared.filename else None
    for written in declared.commands:
        place = (text or "").find(written)
        row = (text or "").count("\n", 0, place) + 1 if place >= 0 else 1
        commands = [
            Command.of(simple, declared.filename, row, "", declared.directory)
            for simple in Script(written).commands()
        ]
        if not any(Programs(deployment, workers).of(command) for command in commands):
            message = f"processes: `{written}` starts nothing that gblock knows"
            deployment.notes.append(Note(declared.filename, message, row))
        deployment.commands += commands


def plugins(deployment: Deployment) -> dict[str, list[str]]:
    """Return the modules of the plug-ins that the project declares, by their group."""
    return {
        group: [point.module for point in points] for group, points in deployment.plugins.items()
    }


def _speaks_of_gevent(modules: Modules, deployment: Deployment, workers: Collection[str]) -> bool:
    if any(modules.mentioning(word) for word in WORDS):
        return True
    if any(map(modules.mentioning, CHOOSING)) and "gevent" in deployment.requirements:
        return True
    if any(
        word in text
        for command in deployment.commands
        for text in (*command.words, *chain.from_iterable(command.environment))
        for word in STARTING
    ):
        return True
    return any("gevent" in text for text in _settings(deployment, workers))


def _settings(deployment: Deployment, workers: Collection[str]) -> Iterator[str]:
    """Yield the texts of gunicorn's settings files that commands name and that are no modules."""
    programs = Programs(deployment, workers)
    for command in deployment.commands:
        if not any("gunicorn" in word for word in command.words):
            continue
        for program in programs.of(command):
            for names in (("-c", "--config"), ("--paste", "--paster")):
                written = option(program.arguments, *names) or ""
                path = deployment.tree.find(written.removeprefix("file:"), program.command.home)
                if path is not None and not path.endswith(".py"):
                    yield deployment.text(path) or ""
