"""The processes that the project starts: on gevent or not, with the modules that each can run.

From the text of a file to a process: a `Command` is a line of a deployment file; a `Launch` is a
command that the project's own code starts; a `Program` is what a command runs once ``exec``,
``env`` and scripts are followed; a `Server` has its arguments and settings interpreted; a
`ServerStart` is a server with the place that starts it; a `Process` adds its modules' imports and
patches. `Analysis` makes the processes; `Processes` answers what rules and contexts ask of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeAlias

from gblock.catalog.entries import Entry
from gblock.project.names.inference import Inference
from gblock.project.processes import surroundings
from gblock.project.processes.activity import Activity
from gblock.project.processes.analysis import Analysis
from gblock.project.processes.apart import HubsApart
from gblock.project.processes.deployment import Note
from gblock.project.processes.deployment.kept_scripts import KIND as SCRIPTS
from gblock.project.processes.django_settings import DjangoSettings
from gblock.project.processes.judging import Judging
from gblock.project.processes.loading import Loading
from gblock.project.processes.mentions import Mentions
from gblock.project.processes.patching import Patching
from gblock.project.processes.process import NONE, Process
from gblock.project.processes.production import Production
from gblock.project.processes.servers import NO, Servers
from gblock.project.processes.starts import Starts
from gblock.project.processes.surroundings import Surroundings
from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.kept_imports import OF_SERVICE, REST, KeptImports
from gblock.project.reading.specifications import is_inside, named_in

_APART = frozenset(
    ("setup.py", "asgi.py", "noxfile.py", "fabfile.py", "conftest.py", "wscript", "conf.py")
)
"""Files that start no service on gevent: packaging, documentation, servers on asyncio."""
_NEEDS_PYTEST = re.compile(rb"^(?:import|from)[ \t]+_?pytest\b", re.MULTILINE)
"""A module that only runs where pytest is installed, such as one with fixtures for tests."""

_MIGRATES = re.compile(
    rb"^from[ \t]+alembic[ \t]+import[ \t]+[^\n]*\b(?:context|op)\b", re.MULTILINE
)
"""A module that only Alembic's command runs: its environment, and migrations."""
_APPLICATIONS = frozenset(["module", "wsgi", "wsgi-file", "file", "mount"])
"""uWSGI's settings that name an application."""
_Named: TypeAlias = tuple[str, Iterable[str], Iterable[str]]
"""A string, the modules that it imports, and the files that contain it."""


class Processes:
    """The processes of one project.

    Args:
        inference: Type inference over the project.
        root: The directory that is searched for files that start processes; by default the
            project's.
        exclude: Patterns as in `.gitignore`.
        around: The deployment files and imports, if they were read already.
    """

    def __init__(
        self,
        inference: Inference,
        root: str | None = None,
        exclude: tuple[str, ...] = (),
        around: Surroundings | None = None,
    ) -> None:
        self.inference = inference
        self.modules = inference.modules
        self.root = self.modules.root if root is None else root
        self._around = around or surroundings.read(
            self.modules, self.root, inference.catalog.worker_commands, exclude
        )
        self.deployment = self._around.deployment
        self.patching = Patching(inference)
        self.graph = self._graph()
        self.servers = Servers(inference, self.graph, self.deployment.tree)
        self._loading = Loading(self.graph)
        self._without_gevent: dict[str, bool] = {}
        """By file, whether it surely never runs on gevent."""
        self._production = Production(self._loading, self.patching, self.deployment, self.root)

    def _graph(self) -> ImportGraph:
        """Return the import graph, with the modules that frameworks import by other names.

        ``app.add_api("openapi.yaml")`` imports what the file names, and ``call_command("rebuild")``
        a module of that name.
        """
        named, known = surroundings.plugins(self.deployment), self._around.imports
        importing: set[str] = set()
        for entry in self.inference.catalog.entries_by_name:
            for name, modules, files in (
                *self._specified(entry),
                *self._run_by_name(entry),
                *self._within(entry),
            ):
                named[name] = sorted({*named.get(name, ()), *modules})
                importing.update(files)
        self._kept = KeptImports(self.modules, named, REST)
        known = {path: edges for path, edges in known.items() if path not in importing}
        self._read_elsewhere = frozenset(known)
        return ImportGraph(self.modules, {**self._kept.known(), **known}, named)

    def keep(self) -> None:
        """Keep the imports and the scripts that have been read, for later runs."""
        facts, root = self.modules.facts, self.modules.root
        if facts is None:
            return
        read = self.graph.read
        own = {path: read[path] for path in read if path not in self._read_elsewhere}
        for kind, found in (
            (OF_SERVICE, self._around.kept),
            (REST, self._kept.to_keep(own)),
            (SCRIPTS, self.deployment.scripts_to_keep),
        ):
            if found is not None:
                facts.put(kind, root, found)

    def _specified(self, entry: Entry) -> Iterator[_Named]:
        """Yield the specifications that name the functions of an entry."""
        if entry.named_by is None or not self.modules.mentioning(entry.framework):
            return
        for path in self.deployment.tree.files:
            name = os.path.basename(path)
            naming = self.modules.mentioning(name) if path.endswith(entry.named_by.files) else ()
            if naming:
                found = named_in([path], entry.named_by).values()
                yield name, frozenset[str]().union(*found), naming

    def _run_by_name(self, entry: Entry) -> Iterator[_Named]:
        """Yield the modules that functions of an entry's framework import by their last name."""
        functions = {one.symbol.rpartition(".")[2] for one in entry.run_by}
        naming = [path for one in functions for path in self.modules.mentioning(one, whole=True)]
        for path in self.modules.files if naming else ():
            relative = os.path.relpath(path, self.modules.root)
            if entry.has_file(relative.replace(os.sep, "/")):
                module = _dotted(relative)
                yield module.rpartition(".")[2], (module,), naming

    def _within(self, entry: Entry) -> Iterator[_Named]:
        """Yield the modules of the packages that code gives to functions of an entry's framework.

        ``RestyResolver("api")``
        """
        named_by = entry.named_by.within if entry.named_by is not None else ()
        for function in sorted(
            {one.symbol.rpartition(".")[2] for one in (*entry.within, *named_by)}
        ):
            naming = self.modules.mentioning(function, whole=True)
            given = re.compile(rb"\b%s\(\s*[\"']([\w.]+)[\"']" % function.encode())
            texts = (given.findall(self.modules.data(path)) for path in naming)
            for package in sorted({one.decode() for found in texts for one in found}):
                inside = (path for path in self.modules.files if is_inside(path, package))
                modules = [_dotted(os.path.relpath(path, self.modules.root)) for path in inside]
                yield package, modules, naming

    @property
    def notes(self) -> list[Note]:
        """The files that could not be parsed."""
        return self.deployment.notes

    def all(self) -> list[Process]:
        """All processes, those on gevent first."""
        return self._all

    @cached_property
    def _mentions(self) -> Mentions:
        catalog = self.inference.catalog
        patching = [name for name, one in catalog.imports.items() if one.patches]
        hubs = {name: one.hub for name, one in catalog.imports.items() if one.hub}
        return Mentions(self.modules, patching, hubs)

    @cached_property
    def _apart(self) -> HubsApart:
        return HubsApart(self.modules, self._mentions)

    @property
    def apart(self) -> str:
        """The file whose server has the only hub, in a thread or a child process; else empty."""
        return self._apart.where

    @cached_property
    def _all(self) -> list[Process]:
        deployment = self.deployment
        mentions, required = self._mentions, deployment.requirements
        return Analysis(
            Starts(self.modules, self._around, self.servers, self.graph, mentions),
            self._loading,
            self.patching,
            DjangoSettings(self.servers, deployment, self.root),
            Judging(self._loading, self.patching, mentions, self._apart, required, self.root),
            self._production,
        ).all()

    @property
    def has_gevent(self) -> bool:
        """True if some process of the project, tests aside, runs on gevent."""
        return self._around.speaks_of_gevent and any(
            process.is_gevent_service or process.of_development for process in self._all
        )

    @property
    def may_have_gevent(self) -> bool:
        """True if some process of the project runs, or may run, on gevent."""
        return any(p.is_deployed and p.runs_on_gevent != NO for p in self._all)

    @cached_property
    def only_gather(self) -> bool:
        """True if each process on gevent waits for its greenlets where it starts them."""
        green = [process for process in self._all if process.is_gevent_service]
        return bool(green) and all(process.gathers for process in green)

    def reaching(self, path: str) -> list[Process]:
        """Return the processes that can run a module."""
        return [process for process, files in self._reached if path in files]

    @cached_property
    def _reached(self) -> list[tuple[Process, frozenset[str]]]:
        """Each process with the files that it can run."""
        return [(process, self.modules_of(process)) for process in self._all]

    def modules_of(self, process: Process) -> frozenset[str]:
        """Return the files that a process can run."""
        return self._loading.of(process)

    def handling(self, process: Process) -> frozenset[str]:
        """Return the files whose handlers of requests a process can run."""
        return self._loading.handling(process)

    @cached_property
    def activity(self) -> Activity:
        """The greenlets and servers that programs start."""
        return Activity(self.modules, self.modules_of)

    def runs_python_2(self, process: Process) -> bool:
        """Return whether a file that a process can run is in Python 2."""
        return any(map(self.modules.is_in_python_2, self.modules_of(process)))

    def on_gevent(self, path: str) -> list[Process]:
        """Return the processes of the service that can run a module and surely run on gevent.

        A script that nothing is known to start counts only if there is no other process.
        """
        found = [p for p in self._on_gevent if path in self.modules_of(p)]
        return [process for process in found if not process.is_casual] or found

    @cached_property
    def _on_gevent(self) -> list[Process]:
        served = frozenset(self.modules.serving)
        return [
            process._replace(missing=self._surely_missing(process))
            for process in self._all
            if process.is_gevent_service and served.issuperset(process.entries)
        ]

    def _surely_missing(self, process: Process) -> tuple[str, ...]:
        """Return the modules that stay unpatched, whichever reachable functions run."""
        if not process.missing:
            return ()
        patched = frozenset[str]().union(
            *(
                patch.patched
                for path in self.modules_of(process)
                for patch in self.patching.of(path)
                if process.runs(patch)
            )
        )
        return tuple(name for name in process.missing if name not in patched)

    def runs_development_server(self, process: Process) -> bool:
        """Return whether a deployment serves Django's views with ``manage.py runserver``."""
        return (
            process.kind == "management command"
            and process.runs_on_gevent == NO
            and any(
                "runserver" in one.text and self._production.is_of_production(one)
                for one in process.evidence
            )
        )

    def serves_on_gevent(self, process: Process) -> bool:
        """Return whether the code of a process names a server of gevent, or one on it."""
        return any(map(self._mentions.serves, self.modules_of(process)))

    @cached_property
    def served(self) -> frozenset[str]:
        """The files that services on gevent can run."""
        return frozenset().union(*map(self.modules_of, self._on_gevent))

    def is_of_service(self, process: Process) -> bool:
        """Return whether a process serves on gevent.

        A script that nothing is known to start is a tool, where something starts other processes.
        """
        if not process.is_gevent_service:
            return False
        return not (process.is_casual and self.has_started)

    @cached_property
    def has_started(self) -> bool:
        """True if something starts a process on gevent: neither its main guard nor locust alone."""
        started = (p for p in self._all if p.is_gevent_service and not p.is_load_test)
        return any(not process.is_casual for process in started)

    @cached_property
    def incomplete(self) -> list[Process]:
        """The processes of the service that run on gevent and leave something unpatched."""
        return [process for process in self._on_gevent if process.missing]

    def keeps_threads(self, process: Process) -> bool:
        """Return whether threads surely stay native in a process."""
        if process.runs_on_gevent == NO:
            return process.patched == NONE
        is_judged = process.is_gevent_service or (process.is_by_file and process.is_deployed)
        return is_judged and "threading" in self._surely_missing(process)

    def has_native_threads(self, path: str) -> bool:
        """Return whether all processes on gevent that run a module have native threads."""
        if not self.has_gevent or not any("threading" in p.missing for p in self.incomplete):
            return False
        found = self.on_gevent(path)
        return bool(found) and all("threading" in process.missing for process in found)

    def only_without_gevent(self, path: str) -> bool:
        """Return whether a module surely never runs on gevent.

        Some process must reach the module, none of these may run on gevent, and another process
        must. If a module that no process is known to reach imports it, the answer is no.
        """
        known = self._without_gevent.get(path)
        if known is None:
            known = self._without_gevent[path] = self._is_only_without_gevent(path)
        return known

    def _is_only_without_gevent(self, path: str) -> bool:
        found = [process for process in self.reaching(path) if process.is_deployed]
        if any(process.runs_on_gevent != NO for process in found):
            return False
        if self._only_load_tests_on_gevent or self._only_development_on_gevent:
            return True
        if not self.has_gevent:  # a script with a main guard may be started elsewhere too
            found = [process for process in found if not process.is_casual]
        if not found:
            return False
        if self._any_open:
            leading = self.graph.leading_to(path)
            return path in self._beginnings or (bool(leading) and leading <= self._beginnings)
        return path not in self._uncertain

    def no_service_imports(self, path: str) -> bool:
        """Return whether the services on gevent are known, and a module is for something else.

        Something imports it, and none of them does. What nothing imports may be a plug-in, which a
        service imports by a name that its settings hold.
        """
        importers = self.graph.importers.get(path, set()) - {path}
        return (
            self.knows_services
            and not importers.isdisjoint(self.modules.serving)
            and not any(
                process.is_deployed and process.runs_on_gevent != NO
                for process in self.reaching(path)
            )
        )

    def only_served_without(self, path: str) -> bool:
        """Return whether a known server without gevent runs a module, and nothing is on gevent.

        Something else of the project may import the module, too, of which no start is known.
        """
        return not self.may_have_gevent and any(
            process.is_deployed and process.is_known_server and process.runs_on_gevent == NO
            for process in self.reaching(path)
        )

    @property
    def knows_services(self) -> bool:
        """True if the applications of all services on gevent are in the project."""
        return self._has_known_service and not self._any_open

    @cached_property
    def _has_known_service(self) -> bool:
        """True if something starts a service on gevent whose application is in the project."""
        return any(
            self.is_of_service(process)
            and not process.is_load_test
            and (process.is_known_server or len(self.modules_of(process)) > 1)
            for process in self._all
        )

    @cached_property
    def _only_development_on_gevent(self) -> bool:
        """Return whether nothing but servers for developers runs on gevent."""
        return not self.may_have_gevent and any(p.of_development for p in self._all)

    @cached_property
    def _only_load_tests_on_gevent(self) -> bool:
        """Return whether load tests alone run on gevent, beside a server that is known not to.

        A load test runs what it imports, and no code of the service that it tests.
        """
        green = [p for p in self._all if p.is_deployed and p.runs_on_gevent != NO]
        return (
            bool(green)
            and all(process.is_load_test for process in green)
            and any(p.is_known_server for p in self._all)
        )

    def is_left_over(self, process: Process) -> bool:
        """Return whether a process is settings of uWSGI that nothing uses any more.

        No command names them, their application is not in the project, and another server runs one
        that is.
        """
        if process.kind != "uwsgi" or not process.open or process.name == "uwsgi":
            return False
        files = {evidence.path for evidence in process.evidence}
        commands = self.deployment.commands
        named = {
            key
            for command in commands
            if command.filename in files
            for key, _, _ in command.options
        }
        return (
            not named.isdisjoint(_APPLICATIONS)
            and any(one.is_known_server and one.is_deployed for one in self._all)
            and not any(
                os.path.basename(path) in command.text
                for path in files
                for command in commands
                if command.filename not in files
            )
        )

    @cached_property
    def _uncertain(self) -> frozenset[str]:
        """The modules that are reached from modules without a known process.

        What settings name for a server of ASGI is no evidence: such a server has an event loop.
        """
        known = frozenset[str]().union(
            *(self.modules_of(process) for process in self._all if process.kind != "tests")
        )
        unknown = (
            path
            for path in self.modules.serving
            if path not in known
            and os.path.basename(path) not in _APART
            and self.modules.data(path).strip()
            and not _NEEDS_PYTEST.search(self.modules.data(path))
            and not _MIGRATES.search(self.modules.data(path))
        )
        return self.graph.of(unknown, main=None, asgi=False)

    @cached_property
    def _any_open(self) -> bool:
        """Return whether some process on gevent may run anything.

        A settings file that no command names counts only if no other application is known: it is
        often one of several for the same application.
        """
        green = [p for p in self._all if p.is_server and p.runs_on_gevent != NO]
        servers = [process for process in green if not self.is_left_over(process)]
        told = any(not process.open for process in servers)
        return any(p.open and not (told and p.name.startswith("gunicorn -c")) for p in servers)

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """The entry files of scripts without gevent."""
        return frozenset(
            path
            for process in self._all
            if process.is_by_file and process.runs_on_gevent == NO
            for path in process.entries
        )


def _dotted(relative: str) -> str:
    """Return the dotted name of a module by its path in the project."""
    return relative.removesuffix(".py").replace(os.sep, ".")
