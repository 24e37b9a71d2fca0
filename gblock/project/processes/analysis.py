"""Analysis: turns the starts of servers and scripts into processes with modules and patches."""

from __future__ import annotations

import os
import re
from functools import cached_property

from gblock.project.processes.confinement import Confinement
from gblock.project.processes.django_settings import VARIABLE, DjangoSettings
from gblock.project.processes.judging import Judging
from gblock.project.processes.loading import Loading
from gblock.project.processes.patching import PATCHED, Patch, Patching
from gblock.project.processes.process import (
    COMPLETE,
    NONE,
    PARTIAL,
    SERVER,
    Process,
    may_be_given,
    reaches,
)
from gblock.project.processes.production import Production
from gblock.project.processes.server_start import ProcessEvidence, ServerStart
from gblock.project.processes.servers import BY_CODE, NO, UNKNOWN, YES, Server
from gblock.project.processes.starts import Starts

_RUNS_TESTS = re.compile(
    rb"\b(?:pytest|py\.test|unittest|nose|nose2|testtools)\.(?:console_)?(?:main|run_exit)\("
    rb"|\bpytest\.cmdline\.main\(|\bTextTestRunner\("
)
"""Calls that run tests."""

_CUSTOMIZING = ("sitecustomize.py", "usercustomize.py")
"""The files of modules that Python imports before a program starts."""


class Analysis:
    """Finds the processes of the starts, and those that nothing is known to start.

    Args:
        starts: Finds what starts processes.
        loading: Finds the modules of processes.
        patching: Finds the patches of files.
        settings: Finds the settings of Django's processes.
        judging: Finds out which processes run on gevent.
        production: Distinguishes what is deployed from demos.
    """

    def __init__(
        self,
        starts: Starts,
        loading: Loading,
        patching: Patching,
        settings: DjangoSettings,
        judging: Judging,
        production: Production,
    ) -> None:
        self.modules = starts.modules
        self.graph = starts.graph
        self.root = starts.root
        self._found = starts
        self._loading = loading
        self._patching = patching
        self._settings = settings
        self._judging = judging
        self._production = production
        self._confinement = Confinement(patching.inference)

    @cached_property
    def _starts(self) -> list[ServerStart]:
        return self._found.all()

    @cached_property
    def _customizing(self) -> list[str]:
        """The modules that Python imports at its start and that patch: ``sitecustomize``."""
        return [
            path
            for path in self.modules.serving
            if os.path.basename(path) in _CUSTOMIZING
            and any(not patch.of_driver for patch in self._patching.of(path))
        ]

    def all(self) -> list[Process]:
        """Return all processes, those on gevent first."""
        processes = [self._process(start) for start in self._starts]
        processes += [self._process(start) for start in self._unclaimed(processes)]
        shared = frozenset[str]().union(
            *(
                self._loading.of(p).difference(p.entries)
                for p in processes
                if p.runs_on_gevent == YES and p.kind != "tests"
            )
        )
        judged = [
            process if process.runs_on_gevent else self._judging.by_imports(process, shared)
            for process in processes
        ]
        order = {YES: 0, UNKNOWN: 1, NO: 2}
        return sorted(
            self._production.marked(_merged(judged)),
            key=lambda p: (not p.is_deployed, order[p.runs_on_gevent], p.kind, p.name),
        )

    def _unclaimed(self, processes: list[Process]) -> list[ServerStart]:
        """Return a start for each module that patches and that no known process runs.

        Where another module imports the one that patches, the importer is started.
        """
        reached = frozenset[str]().union(
            *(self._loading.of(process) for process in processes if process.kind != "tests")
        )
        found: dict[str, ServerStart] = {}
        for path in self.modules.serving:
            if path in reached or not self._patching.mentions(path):
                continue
            for patch in self._patching.of(path):
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

    # -- one process

    def _is_unavailable(self, patch: Patch) -> bool:
        """Return whether a driver is a fallback for another one, and the project lacks it.

        ``except ImportError: pymysql.install_as_MySQLdb()`` runs where PyMySQL is installed.
        """
        required = self._found.deployment.requirements
        package = patch.symbol.partition(".")[0]
        is_lacking = required.is_listed and not required.may_bring(package)
        return is_lacking and "fallback" in patch.kinds

    def _process(self, start: ServerStart) -> Process:
        server = start.server
        if server.kind == "script" and self._runs_tests(server.main):
            server = server._replace(kind="tests")
        entries = self._settings.added_to(server.entries, start.variables, start.homes)
        is_named = bool(start.variables.get(VARIABLE))
        assumed = () if is_named else tuple(one for one in entries if one not in server.entries)
        entries = tuple(dict.fromkeys((*self._customizing, *entries)))
        server = server._replace(entries=entries)
        patches = self._patches(server, start)
        drivers = tuple(
            p for p in patches if p.of_driver and not p.undone and not self._is_unavailable(p)
        )
        server = self._judging.with_worker(server, drivers)
        effective = [p for p in patches if not p.of_driver and self._is_run(p, server)]
        judged = self._judging.of_server(server, effective)
        pool = judged.pool or server.pool
        drivers = tuple(
            p for p in drivers if self._confinement.may_run(p.path, p.scope, server.kind, pool)
        )
        by_server = server.patches or judged.by_gunicorn
        by_other = by_server or judged.by_library
        patched, missing = _completeness(effective, by_other, server.leaves)
        evidence = (start.evidence, *(ProcessEvidence(p.path, p.row, p.text) for p in effective))
        return Process(
            name=server.name or server.kind,
            kind=server.kind,
            evidence=tuple(dict.fromkeys(evidence)),
            runs_on_gevent=judged.gevent,
            why=judged.why,
            patched=patched,
            missing=missing if judged.gevent != NO else (),
            entries=entries,
            patches=tuple(effective),
            drivers=drivers,
            preload=server.preload,
            before=server.before if by_server else (),
            by_server=by_server,
            open=server.open,
            main=server.main,
            as_file=server.as_file,
            by_path=server.by_path,
            assumed=assumed,
            queues=server.queues,
            application=server.application,
            pool=pool,
            served=server.served,
            in_turn=judged.in_turn,
            words=start.words,
        )

    def _is_run(self, patch: Patch, server: Server) -> bool:
        """Return whether a process runs a patch when it begins.

        Of the functions in a file that is started some may be other commands: what calls a
        function that patches by way of others is the one that a console script names.
        """
        if patch.at_import or patch.path not in server.entries:
            return patch.at_import
        if "through_functions" not in patch.kinds:
            return True
        scopes = self.modules.summary(patch.path).scopes
        return bool(server.function) and scopes[patch.scope].name == server.function

    def _runs_tests(self, path: str) -> bool:
        """Return whether a script runs tests, judging by its calls."""
        return self.modules.is_module(path) and bool(_RUNS_TESTS.search(self.modules.data(path)))

    def _patches(self, server: Server, start: ServerStart) -> list[Patch]:
        """Return the patches that a server's process can reach.

        Args:
            server: The server.
            start: Its start, with the environment and the command line as far as they are known.
        """
        patches = [
            patch
            for patch in self._patching.among(self._loading.of(server))
            if reaches(server, patch)
            and self._is_chosen(patch, start.variables)
            and may_be_given(patch, server.kind, server.main, start.words)
        ]
        if any(not patch.of_driver for patch in patches):
            sure = self._loading.of(server, data=False)
            patches = [patch for patch in patches if patch.of_driver or patch.path in sure]
        return patches

    def _is_chosen(self, patch: Patch, variables: dict[str, str]) -> bool:
        """Return whether the environment of a program lets a patch run, as far as that is known.

        Where one command sets the variable that a patch needs, others that do not are without it.
        """
        if patch.variable is None:
            return True
        sets = any(_gives(start.variables, *patch.variable) for start in self._starts)
        return not sets or _gives(variables, *patch.variable)


def _gives(variables: dict[str, str], name: str, value: str | None) -> bool:
    """Return whether an environment has a variable, with some value or with a given one."""
    return name in variables if value is None else variables.get(name) == value


def _merged(processes: list[Process]) -> list[Process]:
    """Return the processes; those that several places start are merged into one."""
    merged: dict[tuple[object, ...], Process] = {}
    for process in processes:
        key: tuple[object, ...] = (process.kind, process.name, process.entries)
        if process.entries and process.is_by_file:
            key = (process.kind, process.main or process.entries[0])
        key = (*key, process.runs_on_gevent)
        merged[key] = merged[key].together(process) if key in merged else process
    return list(merged.values())


def _completeness(
    patches: list[Patch], by_server: bool, leaves: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    patched = frozenset[str]().union(*(patch.patched for patch in patches))
    if by_server:
        missing = tuple(name for name in leaves if name not in patched)
        return (PARTIAL if missing else SERVER), missing
    missing = tuple(name for name in PATCHED if name not in patched)
    if not patched:
        return NONE, missing
    return (PARTIAL if missing else COMPLETE), missing
