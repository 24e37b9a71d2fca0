"""Judging: whether a process runs on gevent, by its server, its patches and its imports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from gblock.project.processes.apart import HubsApart
from gblock.project.processes.loading import Loading
from gblock.project.processes.mentions import SERVES, Mentions
from gblock.project.processes.patching import PATCHED, Patch, Patching
from gblock.project.processes.process import Process
from gblock.project.processes.servers import (
    BY_CODE,
    DEFAULT_WORKER,
    NO,
    UNKNOWN,
    YES,
    Server,
)
from gblock.project.reading.requirements import Requirements

_STAYS = re.compile(SERVES.pattern + rb"|\bwhile\b")
"""Words in a management command that may run for long."""
_WITH_WORKERS = ("gunicorn", "uwsgi")
"""Kinds of servers whose options say whether requests run in greenlets."""
_SEVERAL = 20
"""Modules: a project of as many is no sketch."""
_WAITS = frozenset(PATCHED).difference(("os", "queue", "signal", "ssl"))
"""The modules whose patch lets greenlets run while others wait."""
_SERVES = re.compile(rb"^\w[^#\n]*\.serve_forever\(", re.MULTILINE)
"""A statement of a module that serves, outside of its functions and its main guard."""


_IN_TURN = frozenset(("celery beat", "rq"))
"""The kinds of processes that run one task at a time."""
_PLAIN_POOLS = frozenset(("prefork", "processes", "solo"))
"""Pools of Celery whose processes run one task at a time each."""


class Judgement(NamedTuple):
    """The answer to whether a process runs on gevent, and why."""

    gevent: str
    """`YES`, `NO`, `UNKNOWN`; or `BY_CODE` if imports must decide."""
    why: str
    by_gunicorn: bool = False
    """True if the process starts gunicorn, whose workers patch."""
    by_library: bool = False
    """True if a library patches that it imports."""
    in_turn: bool = False
    """True if it handles requests outside of greenlets: another one waits for them."""
    pool: str = ""
    """The pool that the settings of a Celery worker name."""


class Judging:
    """Finds out which processes run on gevent.

    Args:
        loading: Finds the modules of processes.
        patching: Finds the patches of files.
        mentions: Finds mentions of gevent in files.
        apart: Finds servers on gevent that run in native threads alone.
        requirements: The distributions that the project requires.
        root: The directory that was searched for files that start processes.
    """

    def __init__(
        self,
        loading: Loading,
        patching: Patching,
        mentions: Mentions,
        apart: HubsApart,
        requirements: Requirements,
        root: str,
    ) -> None:
        self.modules = loading.modules
        self.root = root
        self._loading = loading
        self._patching = patching
        self._mentions = mentions
        self._apart = apart
        self._requirements = requirements

    # -- by the server and by patches

    def with_worker(self, server: Server, drivers: tuple[Patch, ...]) -> Server:
        """Return gunicorn on gevent where its settings make a driver cooperative with gevent.

        The environment names the worker class, in ``GUNICORN_CMD_ARGS``, if nothing else does:
        with another class, a settings file that calls such a patch in any case makes no sense.

        Args:
            server: The server.
            drivers: The patches of drivers in its process.
        """
        if server.kind != "gunicorn" or server.gevent != NO or server.why != DEFAULT_WORKER:
            return server
        for patch in drivers:
            is_certain = "conditional" not in patch.kinds and not patch.condition
            if is_certain and patch.path == server.by_path and ".gevent." in patch.symbol:
                where = self._place(patch.path, patch.row)
                return server._replace(
                    gevent=YES,
                    patches=True,
                    why=f"{patch.symbol} in {where}, without a worker class",
                )
        return server

    def of_server(self, server: Server, patches: list[Patch]) -> Judgement:
        """Return the judgement on what a server runs.

        Args:
            server: The server.
            patches: The patches of the standard library that its process runs.
        """
        if server.ends:
            return Judgement(NO, server.why)
        if server.gevent not in (BY_CODE, NO):
            by_library = server.gevent == YES and self._by_library(server) is not None
            return Judgement(server.gevent, server.why, by_library=by_library)
        if server.kind == "tests":
            return Judgement(UNKNOWN if patches else NO, "tests")
        return (
            self._by_patches(server, patches)
            or self._by_library(server)
            or self._by_settings(server)
            or Judgement(server.gevent, server.why)
        )

    def _by_patches(self, server: Server, patches: list[Patch]) -> Judgement | None:
        if all(_WAITS.isdisjoint(one.patched) for one in patches):
            return None  # such as ``patch_ssl()`` alone, for a client's sake
        where = f"{patches[0].text} in {self._place(patches[0].path, patches[0].row)}"
        if server.kind == "gunicorn" and server.gevent == NO:
            return self._by_patches_of_worker(server, patches, where)
        if server.kind in _IN_TURN or (server.kind == "celery" and server.pool in _PLAIN_POOLS):
            return self._by_patches_of_tasks(server, where)
        return Judgement(YES, where)

    def _by_patches_of_tasks(self, server: Server, where: str) -> Judgement | None:
        """Return the judgement on a worker that runs one task at a time, and whose code patches.

        No other task waits for the hub, so that only greenlets that the code itself starts matter.
        None leaves it to the settings, which may choose another pool.

        Args:
            server: The server.
            where: The first of the patches and its place.
        """
        if server.kind == "celery" and self._sets_pool(server):
            return None
        return self._in_turn(server, where)

    def _in_turn(self, server: Server, where: str) -> Judgement:
        """Return the judgement on a process that patches and runs one request or task at a time.

        Only greenlets that its code starts beside it matter.
        """
        if self._mentions.may_start_others(self._loading.of(server)):
            return Judgement(YES, f"{where}, but {server.why}", in_turn=True)
        return Judgement(NO, server.why)

    def _by_patches_of_worker(self, server: Server, patches: list[Patch], where: str) -> Judgement:
        """Return the judgement on gunicorn without gevent whose code patches.

        The worker class decides who handles requests; other greenlets may run beside them. A
        settings file patches for a worker class that is named elsewhere.

        Args:
            server: The server.
            patches: The patches.
            where: The first of them and its place.
        """
        if all(_asks_for_worker(server, one) for one in patches):
            return Judgement(NO, f"{where} is for another worker class")
        if server.why == DEFAULT_WORKER and any(one.path == server.by_path for one in patches):
            return Judgement(YES, where)
        serving = [x for x in server.entries if _SERVES.search(self._loading.modules.data(x))]
        if serving:  # gunicorn never handles a request: the import does not end
            place = os.path.basename(serving[0])
            return Judgement(YES, f"{where}, and {place} serves when it is imported")
        return self._in_turn(server, where)

    def _by_library(self, server: Server) -> Judgement | None:
        """Return the judgement on a process that imports a library which patches everything."""
        for path in sorted(self._loading.of(server, eager=True)):
            library = self._mentions.of(path).patched_by
            if library:
                why = f"{self._name(path)} imports {library}, which patches"
                return Judgement(YES, why, by_library=True)
        return None

    def _by_settings(self, server: Server) -> Judgement | None:
        """Return the judgement on a process whose code sets Celery's pool, or starts gunicorn."""
        if server.gevent == NO:
            return None
        reached = self._loading.of(server)
        if server.kind == "celery":
            if self._sets_pool(server):
                return Judgement(YES, "the settings say pool gevent", pool="gevent")
            return Judgement(NO, server.why)
        for path in sorted(reached):
            worker = self._mentions.of(path).worker
            if worker is not None and "gevent" in worker.name:
                if path in self._loading.of(server, eager=True) or path in server.entries:
                    where = self._place(path, worker.row)
                    why = f"starts gunicorn with worker class {worker.name} in {where}"
                    return Judgement(YES, why, by_gunicorn=True)
        return None

    def _sets_pool(self, server: Server) -> bool:
        """Return whether the code of Celery's workers sets a pool on gevent."""
        return any(self._mentions.of(path).pool for path in self._loading.of(server))

    # -- by imports

    def by_imports(self, process: Process, shared: frozenset[str]) -> Process:
        """Return a process without patches and without a gevent server, as its imports judge it.

        Args:
            process: The process to judge.
            shared: The modules of processes that surely run on gevent; an import of gevent in
                these is no evidence.
        """
        reached = self._loading.of(process) - shared
        eager = [
            path
            for path in sorted(self._loading.of(process, eager=True))
            if path in reached or path in process.entries
            if not self._is_brief_command(process, path)
        ]
        is_sketch = process.kind not in _WITH_WORKERS and not self._starts_greenlets
        starts = (
            not process.is_deployed
            or is_sketch
            or self._mentions.may_start_greenlets(self._loading.of(process))
        )
        if self._apart.where:
            judged = Judgement(NO, f"only a thread or a child of {self._apart.where} has a hub")
        else:
            judged = self._at_import(process, eager, starts=starts, is_alone=not shared)
            if judged.gevent == NO:
                judged = (
                    self._by_socketio(eager)
                    or self._later(process, sorted(reached), starts=starts)
                    or judged
                )
        if judged.gevent == NO:
            return process._replace(runs_on_gevent=NO, why=judged.why, missing=())
        gathers = self._mentions.gathers(self._loading.of(process), process.entries)
        return process._replace(runs_on_gevent=judged.gevent, why=judged.why, gathers=gathers)

    def _at_import(
        self, process: Process, eager: list[str], *, starts: bool, is_alone: bool
    ) -> Judgement:
        """Return the judgement by what a process imports when it starts.

        Args:
            process: The process.
            eager: The modules that it runs then.
            starts: True if its code may start greenlets.
            is_alone: True if no other process surely runs on gevent; if one does, a distant import
                may be meant for it.
        """
        why = process.why or "nothing of its own imports gevent"
        for path in eager:
            mention = self._mentions.of(path)
            if mention.imports and not starts and not mention.async_mode:
                why = f"{self._name(path)} imports gevent and starts no greenlet"
            elif mention.imports or mention.async_mode:
                is_certain = path in process.entries or is_alone
                why = f"{self._name(path)} imports gevent"
                return Judgement(YES if is_certain else UNKNOWN, why)
        return Judgement(NO, why)

    def _by_socketio(self, eager: list[str]) -> Judgement | None:
        """Return the judgement on a process whose mode Flask-SocketIO chooses."""
        path = next((path for path in eager if self._mentions.of(path).any_mode), None)
        if path is None or "gevent" not in self._requirements or "eventlet" in self._requirements:
            return None
        why = f"Flask-SocketIO in {self._name(path)} takes gevent, which is required"
        return Judgement(YES, why)

    def _later(self, process: Process, reached: list[str], *, starts: bool) -> Judgement | None:
        """Return the judgement by the patches and imports in functions that a process can run."""
        found = None
        for path in reached:
            if self._is_brief_command(process, path):
                continue
            patch = self._waiting(p for p in self._patching.of(path) if process.runs(p))
            if patch is not None:
                where = self._place(path, patch.row)
                return Judgement(UNKNOWN, f"{patch.text} in a function, {where}")
            mention = self._mentions.of(path)
            imports = mention.imports or mention.imports_later
            if (imports and starts) or mention.async_mode:
                found = Judgement(UNKNOWN, f"{self._name(path)} can import gevent")
        return found

    def _waiting(self, patches: Iterable[Patch]) -> Patch | None:
        """Return the first patch that lets greenlets run while others wait."""
        return next(
            (p for p in patches if not p.of_driver and not _WAITS.isdisjoint(p.patched)), None
        )

    def _is_brief_command(self, process: Process, path: str) -> bool:
        """Return whether management commands do their work and end, as far as a file shows.

        What a command does with greenlets is no reason to take all that other commands load for a
        service, and neither is a module that is loaded and only configures gevent for a server.
        """
        if process.kind != "management command":
            return False
        if path not in process.entries or not process.main:
            return not self._mentions.starts_greenlets(path)
        return path != process.main and not self._mentions.is_in(_STAYS, path)

    @cached_property
    def _starts_greenlets(self) -> bool:
        """True if the project starts greenlets; what only sleeps with gevent may be a sketch.

        A project of many modules is none.
        """
        if len(self.modules.serving) >= _SEVERAL:
            return True
        importing = [path for path in self.modules.serving if self._mentions.of(path).imports]
        return self._mentions.may_start_greenlets(importing)

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.root)

    def _place(self, path: str, row: int) -> str:
        return f"{self._name(path)}:{row}"


def _asks_for_worker(server: Server, patch: Patch) -> bool:
    """Return whether gunicorn's settings patch in a hook, under a condition, for another worker.

    A settings file that patches in any case does so for the worker class that the command names.
    """
    is_hook = "in_function" in patch.kinds and "conditional" in patch.kinds
    return server.kind == "gunicorn" and server.gevent == NO and is_hook
