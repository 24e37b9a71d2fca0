"""The processes that the project starts: on gevent or not, with the modules that each can run.

From the text of a file to a process: a `Command` is a line of a deployment file; a `Launch` is a
command that the project's own code starts; a `Program` is what a command runs once ``exec``,
``env`` and scripts are followed; a `Server` has its arguments and settings interpreted; a
`ServerStart` is a server with the place that starts it; a `Process` adds its modules' imports and
patches.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from gblock.project.names.inference import Inference
from gblock.project.processes import surroundings
from gblock.project.processes.deployment import Note
from gblock.project.processes.deployment.shell_functions import functions
from gblock.project.processes.mentions import Mentions
from gblock.project.processes.patching import PATCHED, Patch, Patching
from gblock.project.processes.servers import (
    BY_CODE,
    DEFAULT_WORKER,
    NO,
    UNKNOWN,
    YES,
    Server,
    Servers,
)
from gblock.project.processes.starts import ProcessEvidence, ServerStart, Starts
from gblock.project.processes.surroundings import Surroundings
from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.specifications import named_in
from gblock.project.reading.testcode import is_stand_in

COMPLETE, PARTIAL, NONE, SERVER = "complete", "partial", "none", "by the server"

_BY_FILE = ("script", "console script", "management command")
"""Kinds of processes that are distinguished by their entry file."""
_SERVERS = ("gunicorn", "celery", "uwsgi", "server")
_STARTS_GUNICORN = "starts gunicorn"
_PATCHES = ", which patches"
_RUNS_TESTS = re.compile(
    rb"\b(?:pytest|py\.test|unittest|nose|nose2|testtools)\.(?:console_)?(?:main|run_exit)\("
    rb"|\bpytest\.cmdline\.main\(|\bTextTestRunner\("
)
"""Calls that run tests."""
_APART = frozenset(
    ("setup.py", "asgi.py", "noxfile.py", "fabfile.py", "conftest.py", "wscript", "conf.py")
)
"""Files that start no service on gevent: packaging, documentation, servers on asyncio."""
_NEEDS_PYTEST = re.compile(rb"^(?:import|from)[ \t]+_?pytest\b", re.MULTILINE)
"""A module that only runs where pytest is installed, such as one with fixtures for tests."""
_SERVES = re.compile(rb"serve_forever|WSGIServer|StreamServer|(?i:socketio)\b")
"""Names in a script that serves."""
_STAYS = re.compile(_SERVES.pattern + rb"|\bwhile\b")
"""Words in a management command that may run for long."""
_DEVELOPMENT = re.compile(
    r"(?:^|[^A-Za-z])(?:dev|devel|develop|development|debug|(?<!usr/)local)(?:[^A-Za-z]|$)"
)
"""A file, directory or function for development."""
_DJANGO_SETTINGS = re.compile(rb"""DJANGO_SETTINGS_MODULE["']\s*[\],]\s*=?\s*["']([\w.]+)["']""")
_HANDLERS = (
    b"get_asgi_application",
    b"get_wsgi_application",
    b"ASGIHandler",
    b"WSGIHandler",
    b"execute_from_command_line",
)
"""Names in a program that makes Django's handler."""
_DJANGO = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+django\b|[\"']DJANGO_SETTINGS_MODULE[\"']", re.MULTILINE
)
"""A library may wrap Django's ``get_wsgi_application()``, and names the settings nevertheless."""

_WAITS = frozenset(PATCHED).difference(("os", "queue", "signal", "ssl"))
"""The modules whose patch lets greenlets run while others wait."""


class Process(NamedTuple):
    """A process that the project starts: on gevent or not, with its patches and modules.

    A process has one or more `ServerStart` values with the same entry files.
    """

    name: str
    kind: str
    """``gunicorn``, ``celery``, ``uwsgi``, ``locust``, ``script``, ``console script``,
    ``management command``, ``rq``, ``server`` or ``tests``."""
    evidence: tuple[ProcessEvidence, ...]
    runs_on_gevent: str
    """``yes``, ``no`` or ``unknown``."""
    why: str
    patched: str
    """`COMPLETE`, `PARTIAL`, `NONE` or `SERVER`."""
    missing: tuple[str, ...]
    """Modules of the standard library that stay as they are although it runs on gevent."""
    entries: tuple[str, ...]
    """The files where it begins, in the order in which they run."""
    patches: tuple[Patch, ...] = ()
    """The patches of the standard library on its way."""
    drivers: tuple[Patch, ...] = ()
    """The patches that make drivers cooperative in the process."""
    preload: bool = False
    """True if the application is imported before the workers patch: gunicorn's ``preload_app``."""
    before: tuple[str, ...] = ()
    """Of the entries those that run before the server patches."""
    by_server: bool = False
    """True if the server patches."""
    open: bool = False
    """True if the application that a server runs is not known: then it may run anything."""
    main: str = ""
    """Of the entries the one that is started and not imported: its ``__name__`` is ``__main__``."""
    as_file: bool = False
    """True if that is started by its path: then the packages around it do not run."""
    by_path: str = ""
    """Of the entries the settings file that a server runs by its path, without its packages."""
    demo: bool = False
    """True if it is nothing but the main guard of a module that is made to be imported: nothing
    deploys it."""
    assumed: tuple[str, ...] = ()
    """Of the entries those that nothing but their being the only ones of their kind leads to:
    settings that the environment chooses."""
    queues: tuple[str, ...] = ()
    """The queues whose tasks its Celery workers run, if their commands name them all."""
    of_development: bool = False
    """True if it is on gevent for developers alone: another server deploys the application."""

    def runs(self, patch: Patch) -> bool:
        """Return whether the process can reach a patch in one of its modules."""
        return _runs(self, patch)

    @property
    def started(self) -> tuple[str, int] | None:
        """The path and the row of the first evidence."""
        return self.evidence[0][:2] if self.evidence else None

    @property
    def is_gevent_service(self) -> bool:
        """True if the process surely runs on gevent, and is neither a test nor a demo."""
        return self.runs_on_gevent == YES and self.is_deployed

    @property
    def is_load_test(self) -> bool:
        """True if the process is locust, or a program that imports it."""
        return self.kind == "locust" or "imports locust" in self.why

    @property
    def is_known_server(self) -> bool:
        """True if it serves requests or tasks, and the application that it runs is known."""
        return self.kind in _SERVERS and not self.open

    @property
    def is_deployed(self) -> bool:
        """True if the process may run in production: it is neither a test nor a demo."""
        return self.kind != "tests" and not self.demo


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
        self._around = around or surroundings.read(self.modules, self.root, exclude)
        self.deployment = self._around.deployment
        self.patching = Patching(inference)
        self.graph = self._graph()
        self.servers = Servers(inference, self.graph, self.deployment.tree)
        patching = [name for name, one in inference.catalog.imports.items() if one.patches]
        self.mentions = Mentions(self.modules, patching)
        self._reached: dict[tuple[object, ...], frozenset[str]] = {}
        self._handling: dict[tuple[object, ...], frozenset[str]] = {}
        self._makers: dict[str, bool] = {}

    def _graph(self) -> ImportGraph:
        """Return the import graph, with the modules that specifications name for a framework.

        ``app.add_api("openapi.yaml")`` imports what the file names.
        """
        named, known = surroundings.plugins(self.deployment), self._around.imports
        for entry in self.inference.catalog.entries:
            if entry.named_by is None or not self.modules.mentioning(entry.framework):
                continue
            for path in self.deployment.tree.files:
                name = os.path.basename(path)
                naming = (
                    self.modules.mentioning(name) if path.endswith(entry.named_by.files) else ()
                )
                if naming:
                    known = {one: edges for one, edges in known.items() if one not in naming}
                    found = named_in([path], entry.named_by).values()
                    named[name] = sorted(frozenset[str]().union(*found))
        return ImportGraph(self.modules, known, named)

    @property
    def notes(self) -> list[Note]:
        """The files that could not be parsed."""
        return self.deployment.notes

    def all(self) -> list[Process]:
        """All processes, those on gevent first."""
        return self._all

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

    def reaching(self, path: str) -> list[Process]:
        """Return the processes that can run a module."""
        return [process for process in self._all if path in self.modules_of(process)]

    def modules_of(self, process: Process) -> frozenset[str]:
        """Return the files that a process can run."""
        return self._modules_from(process)

    def handling(self, process: Process) -> frozenset[str]:
        """Return the files whose handlers of requests a process can run.

        A program that only sets Django up loads its settings, and serves none of the views.
        """
        if process.kind not in _BY_FILE:
            return self.modules_of(process)
        key = (process.entries, process.main, process.as_file)
        found = self._handling.get(key)
        if found is None:
            found = self.graph.of(
                process.entries, main=process.main, as_file=process.as_file, handler=False
            )
            if any(map(self._makes_handler, found)):
                found = self.modules_of(process)
            self._handling[key] = found
        return found

    def _makes_handler(self, path: str) -> bool:
        """Return whether a file makes Django's handler, which loads the table of URLs."""
        if path not in self._makers:
            data = self.modules.data(path)
            self._makers[path] = any(name in data for name in _HANDLERS)
        return self._makers[path]

    def _modules_from(
        self, begun: Process | Server, *, eager: bool = False, data: bool = True
    ) -> frozenset[str]:
        key = (begun.entries, begun.main, begun.as_file, eager, data)
        if key not in self._reached:
            self._reached[key] = self.graph.of(
                begun.entries, eager=eager, main=begun.main, as_file=begun.as_file, data=data
            )
        return self._reached[key]

    def on_gevent(self, path: str) -> list[Process]:
        """Return the processes of the service that can run a module and surely run on gevent.

        A script that nothing is known to start counts only if there is no other process.
        """
        found = [p for p in self._on_gevent if path in self.modules_of(p)]
        return [process for process in found if not self.is_casual(process)] or found

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

    def is_casual(self, process: Process) -> bool:
        """Return whether a script's own main guard is the only evidence of a process."""
        return process.kind == "script" and all(
            evidence.path in process.entries
            or any(evidence.path == p.path for p in process.patches)
            for evidence in process.evidence
        )

    def runs_development_server(self, process: Process) -> bool:
        """Return whether a deployment serves Django's views with ``manage.py runserver``."""
        return (
            process.kind == "management command"
            and process.runs_on_gevent == NO
            and any(
                "runserver" in one.text and self._is_of_deployment(one) for one in process.evidence
            )
        )

    def is_of_service(self, process: Process) -> bool:
        """Return whether a process serves on gevent.

        A script that nothing is known to start is a tool, where something starts other processes.
        """
        if not process.is_gevent_service:
            return False
        return not (self.is_casual(process) and self._has_started)

    @cached_property
    def _has_started(self) -> bool:
        """True if something starts a process on gevent: neither its main guard nor locust alone."""
        started = (p for p in self._all if p.is_gevent_service and not p.is_load_test)
        return any(not self.is_casual(process) for process in started)

    @cached_property
    def incomplete(self) -> list[Process]:
        """The processes of the service that run on gevent and leave something unpatched."""
        return [process for process in self._on_gevent if process.missing]

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
        found = [process for process in self.reaching(path) if process.is_deployed]
        if any(process.runs_on_gevent != NO for process in found):
            return False
        if self._only_load_tests_on_gevent or self._only_development_on_gevent:
            return True
        if not self.has_gevent:  # a script with a main guard may be started elsewhere too
            found = [process for process in found if not self.is_casual(process)]
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
            self._has_known_service
            and not self._any_open
            and not importers.isdisjoint(self.modules.serving)
            and not any(
                process.is_deployed and process.runs_on_gevent != NO
                for process in self.reaching(path)
            )
        )

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

    @cached_property
    def _uncertain(self) -> frozenset[str]:
        """The modules that are reached only from modules without a known process."""
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
        )
        return self.graph.of(unknown, main=None)

    @cached_property
    def _any_open(self) -> bool:
        """Return whether some process on gevent may run anything.

        A settings file that no command names counts only if no other application is known: it is
        often one of several for the same application.
        """
        servers = [p for p in self._all if p.kind in _SERVERS and p.runs_on_gevent != NO]
        told = any(not process.open for process in servers)
        return any(p.open and not (told and p.name.startswith("gunicorn -c")) for p in servers)

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """The entry files of scripts without gevent."""
        return frozenset(
            path
            for process in self._all
            if process.kind in _BY_FILE and process.runs_on_gevent == NO
            for path in process.entries
        )

    # -- all processes

    @cached_property
    def _starts(self) -> list[ServerStart]:
        return Starts(self.modules, self._around, self.servers, self.graph, self.mentions).all()

    @cached_property
    def _all(self) -> list[Process]:
        processes = [self._process(start) for start in self._starts]
        processes += [self._process(start) for start in self._unclaimed(processes)]
        shared = frozenset[str]().union(
            *(
                self.modules_of(p).difference(p.entries)
                for p in processes
                if p.runs_on_gevent == YES and p.kind != "tests"
            )
        )
        merged: dict[tuple[object, ...], Process] = {}
        for process in processes:
            if not process.runs_on_gevent:
                process = self._by_imports(process, shared)
            key: tuple[object, ...] = (process.kind, process.name, process.entries)
            if process.entries and process.kind in _BY_FILE:
                key = (process.kind, process.entries[0])
            key = (*key, process.runs_on_gevent)
            merged[key] = _together(merged[key], process) if key in merged else process
        order = {YES: 0, UNKNOWN: 1, NO: 2}
        return sorted(
            self._with_development(self._with_demos(list(merged.values()))),
            key=lambda p: (not p.is_deployed, order[p.runs_on_gevent], p.kind, p.name),
        )

    def _with_demos(self, processes: list[Process]) -> list[Process]:
        """Return the processes with the demos among them marked.

        A module is a library if it patches nothing at import, and another process runs it, or it is
        part of a package in which something imports it or which leaves patching to others. The main
        guard of a library is a demo. A script that is not imported, and a file that something
        starts, are no demos.
        """
        casual = [
            process
            for process in processes
            if process.runs_on_gevent != NO
            and self.is_casual(process)
            and os.path.basename(process.main) != "__main__.py"
            and not any(
                patch.at_import and not patch.in_main and not patch.of_driver
                for patch in self.patching.of(process.main)
            )
        ]
        if not casual:
            return processes
        firm = frozenset[str]().union(
            *(
                self.modules_of(process).difference(process.entries[:1])
                for process in processes
                if process.runs_on_gevent != NO and process.kind != "tests"
            )
        )
        demos = {p.main for p in casual if p.main in firm or self._is_in_library(p)}
        return [
            process._replace(demo=True) if process in casual and process.main in demos else process
            for process in processes
        ]

    def _with_development(self, processes: list[Process]) -> list[Process]:
        """Return the processes, without gevent for those that only serve developers on it.

        They do so if a server without gevent serves the same application elsewhere.
        """
        deployed = {
            process.entries[-1]
            for process in processes
            if process.kind in _SERVERS and process.entries and process.runs_on_gevent == NO
            if any(self._is_of_deployment(one) for one in process.evidence)
        }
        return [
            process._replace(
                runs_on_gevent=NO,
                of_development=True,
                why=f"{process.why}, for development",
                missing=(),
            )
            if process.kind in _SERVERS
            and process.runs_on_gevent != NO
            and process.entries[-1:]
            and process.entries[-1] in deployed
            and self._is_for_development(process)
            else process
            for process in processes
        ]

    def _is_for_development(self, process: Process) -> bool:
        """Return whether every file or shell function that starts a process is for development."""
        return bool(process.evidence) and all(map(self._is_of_development, process.evidence))

    def _is_of_deployment(self, evidence: ProcessEvidence) -> bool:
        """Return whether a place starts a process in production; a Makefile leaves it open."""
        is_makefile = evidence.path.lower().endswith("makefile")
        return not is_makefile and not self._is_of_development(evidence)

    def _is_of_development(self, evidence: ProcessEvidence) -> bool:
        if _DEVELOPMENT.search(os.path.relpath(evidence.path, self.root)):
            return True
        if evidence.path.endswith(".py"):
            return False
        around = functions(self.deployment.text(evidence.path) or "").items()
        return any(
            one.head <= evidence.row <= one.last and _DEVELOPMENT.search(name)
            for name, one in around
        )

    def _is_in_library(self, process: Process) -> bool:
        if not self.graph.packages(process.main) and not self._is_in_namespace(process.main):
            return False
        if self.graph.importers.get(process.main):
            return True
        return process.patched == NONE and not _SERVES.search(self.modules.data(process.main))

    def _is_in_namespace(self, path: str) -> bool:
        """Return whether a file imports a neighbour by the name of their directory.

        Then the directory is a package without an ``__init__.py``.
        """
        directory = os.path.dirname(path)
        name = re.escape(os.path.basename(directory).encode())
        pattern = rb"^[ \t]*(?:from|import)[ \t]+(?:\w+\.)*" + name + rb"(?:\.\w|[ \t]+import\b)"
        return re.search(pattern, self.modules.data(path), re.MULTILINE) is not None and any(
            os.path.dirname(edge.target) == directory for edge in self.graph.imports(path)
        )

    def _unclaimed(self, processes: list[Process]) -> list[ServerStart]:
        """Yield modules that patch, directly or by import, and that nothing imports or starts."""
        reached = frozenset[str]().union(
            *(self.modules_of(process) for process in processes if process.kind != "tests")
        )
        found: dict[str, ServerStart] = {}
        for path in self.modules.serving:
            if path in reached or not self.patching.mentions(path):
                continue
            for patch in self.patching.of(path):
                if patch.of_driver or not patch.at_import:
                    continue
                leading = sorted({path, *self.graph.leading_to(path)} - reached)
                tops = [one for one in leading if not self.graph.importers.get(one, set()) - {one}]
                for top in tops or [path]:  # a cycle of imports has no top
                    name = f"python {os.path.relpath(top, self.root)}"
                    evidence = ProcessEvidence(patch.path, patch.row, patch.text)
                    server = Server("script", BY_CODE, "", (top,), name, main=top, as_file=True)
                    found.setdefault(top, ServerStart(server, evidence, {}))
        return list(found.values())

    def _process(self, start: ServerStart) -> Process:
        server = start.server
        if server.kind == "script" and self._runs_tests(server.main):
            server = server._replace(kind="tests")
        entries = self._with_settings(server.entries, start.variables)
        named = start.variables.get("DJANGO_SETTINGS_MODULE")
        assumed = () if named else tuple(one for one in entries if one not in server.entries)
        server = server._replace(entries=entries)
        reached = self._modules_from(server)
        patches = [
            patch
            for patch in self.patching.among(reached)
            if _runs(server, patch) and self._is_chosen(patch, start.variables)
        ]
        if any(not patch.of_driver for patch in patches):
            sure = self._modules_from(server, data=False)
            patches = [patch for patch in patches if patch.of_driver or patch.path in sure]
        drivers = tuple(p for p in patches if p.of_driver and not p.undone)
        server = self._with_worker(server, drivers)
        effective = self._effective([p for p in patches if not p.of_driver], entries)
        gevent, why = self._judged(server, reached, effective)
        by_server = server.patches or (gevent == YES and why.startswith(_STARTS_GUNICORN))
        patched, missing = _completeness(effective, by_server or why.endswith(_PATCHES))
        evidence = (start.evidence, *self._evidence(effective))
        name = server.name or server.kind
        return Process(
            name,
            server.kind,
            tuple(dict.fromkeys(evidence)),
            gevent,
            why,
            patched,
            missing if gevent != NO else (),
            entries,
            tuple(effective),
            drivers,
            server.preload,
            server.before if by_server else (),
            by_server,
            server.open,
            server.main,
            server.as_file,
            by_path=server.by_path,
            assumed=assumed,
            queues=server.queues,
        )

    def _with_worker(self, server: Server, drivers: tuple[Patch, ...]) -> Server:
        """Return gunicorn on gevent where its settings make a driver cooperative with gevent.

        The environment names the worker class, in ``GUNICORN_CMD_ARGS``, if nothing else does:
        with another class, a settings file that calls such a patch in any case makes no sense.
        """
        if server.kind != "gunicorn" or server.gevent != NO or server.why != DEFAULT_WORKER:
            return server
        for patch in drivers:
            is_certain = "conditional" not in patch.kinds and not patch.condition
            if is_certain and patch.path == server.by_path and ".gevent." in patch.symbol:
                where = f"{os.path.relpath(patch.path, self.root)}:{patch.row}"
                return server._replace(
                    gevent=YES,
                    patches=True,
                    why=f"{patch.symbol} in {where}, without a worker class",
                )
        return server

    def _is_chosen(self, patch: Patch, variables: dict[str, str]) -> bool:
        """Return whether the environment of a program lets a patch run, as far as that is known.

        Where one command sets the variable that a patch needs, others that do not are without it.
        """
        if patch.variable is None:
            return True
        name, value = patch.variable
        sets = any(start.variables.get(name) == value for start in self._starts)
        return not sets or variables.get(name) == value

    def _runs_tests(self, path: str) -> bool:
        """Return whether a script does nothing but to run tests."""
        return self.modules.is_module(path) and bool(_RUNS_TESTS.search(self.modules.data(path)))

    def _evidence(self, patches: list[Patch]) -> Iterable[ProcessEvidence]:
        return (ProcessEvidence(p.path, p.row, p.text) for p in patches)

    def _with_settings(
        self, entries: tuple[str, ...], variables: dict[str, str]
    ) -> tuple[str, ...]:
        """Return the entries, and Django's settings if the environment names them."""
        if not self._settings and "DJANGO_SETTINGS_MODULE" not in variables:
            return entries
        if not any(_DJANGO.search(self.modules.data(path)) for path in entries):
            if "DJANGO_SETTINGS_MODULE" not in variables:
                return entries
        named = variables.get("DJANGO_SETTINGS_MODULE")
        path = self.servers.module(named, self.root) if named else None
        if path is not None:
            more = [path]
        elif any(_DJANGO_SETTINGS.search(self.modules.data(one)) for one in entries):
            more = self._settings_in(entries)
        else:
            more = self._settings
        return tuple(dict.fromkeys((*entries, *more)))

    @cached_property
    def _settings(self) -> list[str]:
        """The modules that code, or else the deployment, names as Django's settings."""
        found = self._settings_in(self.modules.mentioning("DJANGO_SETTINGS_MODULE"))
        real = [one for one in found if not is_stand_in(one, self.modules.root)]
        # Settings for development import those that they change.
        return real or found or self._deployed_settings()

    def _deployed_settings(self) -> list[str]:
        """Return the modules that only the environment of some process names as the settings."""
        found = (
            self.servers.module(name, os.path.dirname(path), self.root)
            for name, path in self.deployment.values_of("DJANGO_SETTINGS_MODULE")
        )
        named = dict.fromkeys(path for path in found if path is not None)
        return [path for path in named if not is_stand_in(path, self.modules.root)]

    def _settings_in(self, paths: Iterable[str]) -> list[str]:
        """Return the modules that some files name as Django's settings."""
        found: list[str] = []
        for path in paths:
            for match in _DJANGO_SETTINGS.finditer(self.modules.data(path)):
                name = match[1].decode()
                target = self.graph.named(name, path)
                named = [target] if target is not None else self._variants(name, path)
                found += [one for one in named if one not in found]
        return found

    def _variants(self, name: str, path: str) -> list[str]:
        """Return the modules from which a missing settings module is copied at deployment.

        They are beside it and begin with its name: ``settings_prod.py``. Those for tests and
        development are left out.
        """
        package, _, stem = name.rpartition(".")
        folder = self.modules.resolve(package, 0, path) if package else os.path.dirname(path)
        if folder is not None and self.modules.is_module(folder):
            folder = os.path.dirname(folder)
        start = os.path.join(folder, f"{stem}_") if folder is not None else None
        return [
            one
            for one in self.modules.serving
            if start is not None
            and one.startswith(start)
            and os.path.dirname(one) == folder
            and not is_stand_in(one, self.modules.root)
        ]

    def _effective(self, patches: list[Patch], entries: tuple[str, ...]) -> list[Patch]:
        """Return the patches that run: at import, or in a function of an entry module."""
        return [p for p in patches if p.at_import or p.path in entries]

    def _judged(
        self,
        server: Server,
        reached: frozenset[str],
        effective: list[Patch],
    ) -> tuple[str, str]:
        """Return whether a process runs on gevent, and why; `BY_CODE` if imports must decide."""
        if server.gevent not in (BY_CODE, NO):
            return server.gevent, server.why
        if server.kind == "tests":
            return (UNKNOWN if effective else NO), "tests"
        if all(_WAITS.isdisjoint(one.patched) for one in effective):
            effective = []  # such as ``patch_ssl()`` alone, for a client's sake
        sure = [one for one in effective if not _asks_for_worker(server, one)]
        if effective and not sure:
            first = effective[0]
            where = os.path.relpath(first.path, self.root)
            return NO, f"{first.text} in {where}:{first.row} is for another worker class"
        if effective:
            first = effective[0]
            return YES, f"{first.text} in {os.path.relpath(first.path, self.root)}:{first.row}"
        entries = server.entries
        eager = self._modules_from(server, eager=True)
        for path in sorted(eager):
            library = self.mentions.of(path).patched_by
            if library:
                where = os.path.relpath(path, self.root)
                return YES, f"{where} imports {library}{_PATCHES}"
        if server.gevent == NO:
            return NO, server.why
        if server.kind == "celery":
            if any(self.mentions.of(path).pool for path in reached):
                return YES, "the settings say pool gevent"
            return NO, server.why
        for path in sorted(reached):
            worker = self.mentions.of(path).worker
            if worker is not None and "gevent" in worker[0]:
                if path in eager or path in entries:
                    where = f"{os.path.relpath(path, self.root)}:{worker[1]}"
                    return YES, f"{_STARTS_GUNICORN} with worker class {worker[0]} in {where}"
        return BY_CODE, server.why

    def _installs(self, distribution: str) -> bool:
        """Return whether the project's requirements name a distribution."""
        return distribution in self.deployment.requirements

    @cached_property
    def _starts_greenlets(self) -> bool:
        """True if the project starts greenlets; what only sleeps with gevent may be a sketch."""
        importing = [path for path in self.modules.serving if self.mentions.of(path).imports]
        return self.mentions.may_start_greenlets(importing)

    def _is_brief_command(self, process: Process, path: str) -> bool:
        """Return whether a file is a management command that does its work and ends.

        What it does with greenlets is no reason to take all that other commands load for a service.
        """
        is_command = process.kind == "management command" and path in process.entries
        return is_command and path != process.main and not _STAYS.search(self.modules.data(path))

    def _by_imports(self, process: Process, shared: frozenset[str]) -> Process:
        """Return the verdict on a process without patches and without a gevent server.

        Args:
            process: The process to judge.
            shared: The modules of processes that surely run on gevent; an import of gevent in
                these is no evidence.
        """
        reached = self.modules_of(process) - shared
        eager = self._modules_from(process, eager=True) & (reached | {*process.entries})
        gevent, why = NO, process.why or "nothing of its own imports gevent"
        starts = (
            not process.is_deployed
            or not self._starts_greenlets
            or self.mentions.may_start_greenlets(self.modules_of(process))
        )
        for path in sorted(eager):
            mention = self.mentions.of(path)
            if self._is_brief_command(process, path):
                continue
            if mention.imports and not starts and not mention.async_mode:
                why = f"{os.path.relpath(path, self.root)} imports gevent and starts no greenlet"
                continue
            if mention.imports or mention.async_mode:
                # If other processes surely run on gevent, a distant import may be meant for them.
                certain = path in process.entries or not shared
                gevent = YES if certain else UNKNOWN
                why = f"{os.path.relpath(path, self.root)} imports gevent"
                break
        else:
            chooser = next(
                (path for path in sorted(eager) if self.mentions.of(path).any_mode), None
            )
            if chooser is not None and self._installs("gevent") and not self._installs("eventlet"):
                where = f"Flask-SocketIO in {os.path.relpath(chooser, self.root)}"
                sure = self._installs("gevent-websocket")
                gevent, why = (
                    YES if sure else UNKNOWN,
                    f"{where} takes gevent where it is installed",
                )
                return process._replace(runs_on_gevent=gevent, why=why)
            for path in sorted(reached):
                mention = self.mentions.of(path)
                if self._is_brief_command(process, path):
                    continue
                patches = (p for p in self.patching.of(path) if process.runs(p))
                later = next(
                    (p for p in patches if not p.of_driver and not _WAITS.isdisjoint(p.patched)),
                    None,
                )
                if later is not None:
                    where = f"{os.path.relpath(path, self.root)}:{later.row}"
                    gevent, why = UNKNOWN, f"{later.text} in a function, {where}"
                    break
                imports = mention.imports or mention.imports_later
                if (imports and starts) or mention.async_mode:
                    gevent, why = UNKNOWN, f"{os.path.relpath(path, self.root)} can import gevent"
        missing = () if gevent == NO else process.missing
        return process._replace(runs_on_gevent=gevent, why=why, missing=missing)


def _runs(begun: Process | Server, patch: Patch) -> bool:
    """Return whether a process can reach a patch in one of its modules."""
    if not patch.in_main or patch.path == begun.main:
        return True
    return not patch.at_import and patch.path in begun.entries  # a console script calls a function


def _asks_for_worker(server: Server, patch: Patch) -> bool:
    """Return whether gunicorn's settings patch in a hook, under a condition, for another worker.

    A settings file that patches in any case does so for the worker class that the command names.
    """
    is_hook = "in_function" in patch.kinds and "conditional" in patch.kinds
    return server.kind == "gunicorn" and server.gevent == NO and is_hook


def _together(one: Process, other: Process) -> Process:
    """Return one process for two with the same entry file, started from two places."""
    return one._replace(
        evidence=tuple(dict.fromkeys((*one.evidence, *other.evidence))),
        entries=tuple(dict.fromkeys((*one.entries, *other.entries))),
        patches=tuple(dict.fromkeys((*one.patches, *other.patches))),
        drivers=tuple(dict.fromkeys((*one.drivers, *other.drivers))),
        preload=one.preload or other.preload,
        before=tuple(dict.fromkeys((*one.before, *other.before))),
        by_server=one.by_server and other.by_server,
        open=one.open and other.open,
        as_file=one.as_file and other.as_file,
        by_path=one.by_path if one.by_path == other.by_path else "",
        assumed=tuple(path for path in one.assumed if path in other.assumed),
        queues=tuple(dict.fromkeys((*one.queues, *other.queues)))
        if one.queues and other.queues
        else (),
    )


def _completeness(patches: list[Patch], by_server: bool) -> tuple[str, tuple[str, ...]]:
    if by_server:
        return SERVER, ()
    patched = frozenset[str]().union(*(patch.patched for patch in patches))
    missing = tuple(name for name in PATCHED if name not in patched)
    if not patched:
        return NONE, missing
    return (PARTIAL if missing else COMPLETE), missing
