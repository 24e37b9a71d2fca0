"""Which processes the project starts, which of them run on gevent, and what each can run.

From the text of a file to a process: a `Command` is what a deployment file writes; a `Launch` is a
command that the project's own code starts; a `Program` is what a command runs once ``exec``,
``env`` and scripts are followed; a `Server` is what its arguments and settings say; a `Start` is a
server with the place that starts it; a `Process` adds what its modules import and patch.
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
from gblock.project.processes.mentions import Mentions
from gblock.project.processes.patching import PATCHED, Patch, Patching
from gblock.project.processes.servers import BY_CODE, NO, UNKNOWN, YES, Server, Servers
from gblock.project.processes.starts import Evidence, Start, Starts
from gblock.project.processes.surroundings import Surroundings
from gblock.project.reading.import_graph import ImportGraph

COMPLETE, PARTIAL, NONE, SERVER = "complete", "partial", "none", "by the server"

_BY_FILE = ("script", "console script", "management command")
"""Kinds of processes that are told apart by the file in which they begin."""
_SERVERS = ("gunicorn", "celery", "uwsgi", "server")
_STARTS_GUNICORN = "starts gunicorn"
_PATCHES = ", which patches"
_SERVES = re.compile(rb"serve_forever|WSGIServer|StreamServer|(?i:socketio)\b")
"""What a script names that is made to serve."""
_DJANGO_SETTINGS = re.compile(rb"""DJANGO_SETTINGS_MODULE["']\s*[\],]\s*=?\s*["']([\w.]+)["']""")
_DJANGO = re.compile(rb"^[ \t]*(?:from|import)[ \t]+django\b", re.MULTILINE)


class Process(NamedTuple):
    """A process that the project starts, judged: on gevent or not, patched how, running what.

    It is made of one or more `Start` values that begin in the same files.
    """

    name: str
    kind: str
    """``gunicorn``, ``celery``, ``uwsgi``, ``locust``, ``script``, ``console script``,
    ``management command``, ``rq``, ``server`` or ``tests``."""
    evidence: tuple[Evidence, ...]
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
    """What makes drivers cooperative in it."""
    preload: bool = False
    """Whether the application is imported before the workers patch: gunicorn's ``preload_app``."""
    before: tuple[str, ...] = ()
    """Of the entries those that run before the server patches."""
    by_server: bool = False
    """Whether the server patches."""
    open: bool = False
    """Whether the application that a server runs is not known: then it may run anything."""
    main: str = ""
    """Of the entries the one that is started and not imported: its ``__name__`` is ``__main__``."""
    as_file: bool = False
    """Whether that is started by its path: then the packages around it do not run."""
    demo: bool = False
    """Whether it is nothing but the main guard of a module that is made to be imported: nothing
    deploys it."""

    def runs(self, patch: Patch) -> bool:
        """Return whether a patch in a module that the process can run is one that it reaches."""
        return _runs(self, patch)

    @property
    def started(self) -> tuple[str, int] | None:
        """The file and the row of the first evidence."""
        return self.evidence[0][:2] if self.evidence else None

    @property
    def is_gevent_service(self) -> bool:
        """Whether it surely runs on gevent, and is neither a test nor a demo."""
        return self.runs_on_gevent == YES and self.is_deployed

    @property
    def is_deployed(self) -> bool:
        """Whether it may run in production: it is neither a test nor a demo."""
        return self.kind != "tests" and not self.demo


class Processes:
    """Answers about the processes of one project.

    Args:
        inference: What the project's expressions can be.
        root: The directory in which the files that start processes are looked for; by default
            the project's.
        exclude: Patterns as in `.gitignore`.
        around: What was read already of the files that start processes.
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
        self.graph = ImportGraph(
            self.modules, self._around.imports, surroundings.plugins(self.deployment)
        )
        self.servers = Servers(inference, self.graph, self.deployment.tree)
        patching = [name for name, one in inference.catalog.imports.items() if one.patches]
        self.mentions = Mentions(self.modules, patching)
        self._reached: dict[tuple[object, ...], frozenset[str]] = {}

    @property
    def notes(self) -> list[Note]:
        """The files that could not be understood."""
        return self.deployment.notes

    def all(self) -> list[Process]:
        """Every process, those on gevent first."""
        return self._all

    @property
    def has_gevent(self) -> bool:
        """Whether some process of the project, its tests aside, runs on gevent."""
        return self._around.speaks_of_gevent and any(
            process.is_gevent_service for process in self._all
        )

    @property
    def may_have_gevent(self) -> bool:
        """Whether some process of the project runs on gevent, or may."""
        return any(p.is_deployed and p.runs_on_gevent != NO for p in self._all)

    def reaching(self, path: str) -> list[Process]:
        """The processes that can run a module."""
        return [process for process in self._all if path in self.modules_of(process)]

    def modules_of(self, process: Process) -> frozenset[str]:
        """The files that a process can run."""
        return self._modules_from(process)

    def _modules_from(self, begun: Process | Server, *, eager: bool = False) -> frozenset[str]:
        key = (begun.entries, begun.main, begun.as_file, eager)
        if key not in self._reached:
            self._reached[key] = self.graph.of(
                begun.entries, eager=eager, main=begun.main, as_file=begun.as_file
            )
        return self._reached[key]

    def on_gevent(self, path: str) -> list[Process]:
        """The processes of the service that can run a module and surely run on gevent.

        A script that nothing starts, as far as anybody knows, counts only where it is all there is.
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
        """What stays unpatched whichever functions run of those that the process can reach."""
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
        """Return whether a process is known from a script's own main guard alone."""
        return process.kind == "script" and all(
            evidence.path in process.entries
            or any(evidence.path == p.path for p in process.patches)
            for evidence in process.evidence
        )

    @cached_property
    def incomplete(self) -> list[Process]:
        """The processes of the service that run on gevent and leave something unpatched."""
        return [process for process in self._on_gevent if process.missing]

    def has_native_threads(self, path: str) -> bool:
        """Whether every process on gevent that can run a module leaves ``threading`` unpatched."""
        if not self.has_gevent or not any("threading" in p.missing for p in self.incomplete):
            return False
        found = self.on_gevent(path)
        return bool(found) and all("threading" in process.missing for process in found)

    def only_without_gevent(self, path: str) -> bool:
        """Whether a module surely never runs on gevent.

        Some process must reach it, none of these may run on gevent, and the project must have one
        that does. Where a module that no process is known to reach imports it, nothing is sure.
        """
        found = [process for process in self.reaching(path) if process.is_deployed]
        if any(process.runs_on_gevent != NO for process in found):
            return False
        if not self.has_gevent:  # then what only a main guard starts may be started elsewhere, too
            found = [process for process in found if not self.is_casual(process)]
        if not found:
            return False
        if self._any_open:
            leading = self.graph.leading_to(path)
            return path in self._beginnings or (bool(leading) and leading <= self._beginnings)
        return path not in self._uncertain

    @cached_property
    def _uncertain(self) -> frozenset[str]:
        """What modules lead to that no process is known to reach: nobody knows who runs them."""
        known = frozenset[str]().union(
            *(self.modules_of(process) for process in self._all if process.kind != "tests")
        )
        unknown = (path for path in self.modules.serving if path not in known)
        return self.graph.of(unknown, main=None)

    @cached_property
    def _any_open(self) -> bool:
        """Whether some process on gevent may run anything.

        A settings file that no command names counts only where nothing else tells of an
        application: it is often one more of several for the same.
        """
        servers = [p for p in self._all if p.kind in _SERVERS and p.runs_on_gevent != NO]
        told = any(not process.open for process in servers)
        return any(p.open and not (told and p.name.startswith("gunicorn -c")) for p in servers)

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """The files in which scripts without gevent begin."""
        return frozenset(
            path
            for process in self._all
            if process.kind in _BY_FILE and process.runs_on_gevent == NO
            for path in process.entries
        )

    # -- every process

    @cached_property
    def _all(self) -> list[Process]:
        starts = Starts(self.modules, self._around, self.servers, self.graph, self.mentions).all()
        processes = [self._process(start) for start in starts]
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
            self._with_demos(list(merged.values())),
            key=lambda p: (not p.is_deployed, order[p.runs_on_gevent], p.kind, p.name),
        )

    def _with_demos(self, processes: list[Process]) -> list[Process]:
        """Mark the demos among the processes.

        A module is made to be imported if it patches nothing when it is imported, and another
        process runs it, or it is part of a package in which something imports it or which leaves
        patching to others. Its main guard shows what it can do; a script that is not imported, and
        a file that something starts, are what they seem.
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

    def _is_in_library(self, process: Process) -> bool:
        if not self.graph.packages(process.main):
            return False
        if self.graph.importers.get(process.main):
            return True
        return process.patched == NONE and not _SERVES.search(self.modules.data(process.main))

    def _unclaimed(self, processes: list[Process]) -> list[Start]:
        """Modules that patch, or import one that does, and that nothing imports or starts."""
        reached = frozenset[str]().union(
            *(self.modules_of(process) for process in processes if process.kind != "tests")
        )
        found: dict[str, Start] = {}
        for path in self.modules.serving:
            if path in reached or not self.patching.mentions(path):
                continue
            for patch in self.patching.of(path):
                if patch.of_driver or not patch.at_import:
                    continue
                leading = sorted({path, *self.graph.leading_to(path)} - reached)
                tops = [one for one in leading if not self.graph.importers.get(one, set()) - {one}]
                for top in tops or [path]:  # where imports go round in a circle there is no top
                    name = f"python {os.path.relpath(top, self.root)}"
                    evidence = Evidence(patch.path, patch.row, patch.text)
                    server = Server("script", BY_CODE, "", (top,), name, main=top, as_file=True)
                    found.setdefault(top, Start(server, evidence, {}))
        return list(found.values())

    def _process(self, start: Start) -> Process:
        server = start.server
        entries = self._with_settings(server.entries, start.variables)
        server = server._replace(entries=entries)
        reached = self._modules_from(server)
        patches = [patch for patch in self.patching.among(reached) if _runs(server, patch)]
        drivers = tuple(p for p in patches if p.of_driver and not p.undone)
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
        )

    def _evidence(self, patches: list[Patch]) -> Iterable[Evidence]:
        return (Evidence(p.path, p.row, p.text) for p in patches)

    def _with_settings(
        self, entries: tuple[str, ...], variables: dict[str, str]
    ) -> tuple[str, ...]:
        """The entries, and Django's settings where the environment names them."""
        if not self._settings and "DJANGO_SETTINGS_MODULE" not in variables:
            return entries
        if not any(_DJANGO.search(self.modules.data(path)) for path in entries):
            if "DJANGO_SETTINGS_MODULE" not in variables:
                return entries
        named = variables.get("DJANGO_SETTINGS_MODULE")
        path = self.servers.module(named, self.root) if named else None
        more = [path] if path is not None else self._settings
        if any(b"DJANGO_SETTINGS_MODULE" in self.modules.data(one) for one in entries):
            more = [path] if path is not None else []
        return tuple(dict.fromkeys((*entries, *more)))

    @cached_property
    def _settings(self) -> list[str]:
        """The modules that are named as Django's settings somewhere."""
        found: list[str] = []
        for path in self.modules.mentioning("DJANGO_SETTINGS_MODULE"):
            for match in _DJANGO_SETTINGS.finditer(self.modules.data(path)):
                target = self.graph.named(match[1].decode(), path)
                if target is not None and target not in found:
                    found.append(target)
        return found

    def _effective(self, patches: list[Patch], entries: tuple[str, ...]) -> list[Patch]:
        """The patches that happen: at import, or in a function of an entry module."""
        return [p for p in patches if p.at_import or p.path in entries]

    def _judged(
        self,
        server: Server,
        reached: frozenset[str],
        effective: list[Patch],
    ) -> tuple[str, str]:
        """Whether a process runs on gevent, and why; `BY_CODE` where only imports can tell."""
        if server.gevent not in (BY_CODE, NO):
            return server.gevent, server.why
        if server.kind == "tests":
            return (UNKNOWN if effective else NO), "tests"
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
        """Whether the project's own list of requirements names a distribution."""
        return distribution in self.deployment.requirements

    def _by_imports(self, process: Process, shared: frozenset[str]) -> Process:
        """Judge a process that neither patches nor has a server that is gevent's.

        Args:
            process: It.
            shared: What processes that surely run on gevent can run: that such a module imports
                gevent is for their sake.
        """
        reached = self.modules_of(process) - shared
        eager = self._modules_from(process, eager=True) & (reached | {*process.entries})
        gevent, why = NO, process.why or "nothing of its own imports gevent"
        for path in sorted(eager):
            mention = self.mentions.of(path)
            if mention.imports or mention.async_mode:
                # Where others surely run on gevent, an import far away may be for their sake.
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
                patches = (p for p in self.patching.of(path) if process.runs(p))
                later = next((p for p in patches if not p.of_driver), None)
                if later is not None:
                    where = f"{os.path.relpath(path, self.root)}:{later.row}"
                    gevent, why = UNKNOWN, f"{later.text} in a function, {where}"
                    break
                if mention.imports or mention.imports_later or mention.async_mode:
                    gevent, why = UNKNOWN, f"{os.path.relpath(path, self.root)} can import gevent"
        missing = () if gevent == NO else process.missing
        return process._replace(runs_on_gevent=gevent, why=why, missing=missing)


def _runs(begun: Process | Server, patch: Patch) -> bool:
    """Return whether a patch in a module that a process can run is one that it reaches."""
    if not patch.in_main or patch.path == begun.main:
        return True
    return not patch.at_import and patch.path in begun.entries  # a console script calls a function


def _together(one: Process, other: Process) -> Process:
    """Two processes that begin in the same file, started from two places."""
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
    )


def _completeness(patches: list[Patch], by_server: bool) -> tuple[str, tuple[str, ...]]:
    if by_server:
        return SERVER, ()
    patched = frozenset[str]().union(*(patch.patched for patch in patches))
    missing = tuple(name for name in PATCHED if name not in patched)
    if not patched:
        return NONE, missing
    return (PARTIAL if missing else COMPLETE), missing
