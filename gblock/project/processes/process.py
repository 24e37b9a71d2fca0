"""A process that the project starts, with its patches and the files where it begins."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.processes.confinement import is_among
from gblock.project.processes.patching import Patch
from gblock.project.processes.queues import ALL, Taken
from gblock.project.processes.server_start import ProcessEvidence
from gblock.project.processes.servers import YES, Served, Server

COMPLETE, PARTIAL, NONE, SERVER = "complete", "partial", "none", "by the server"

_BY_FILE = ("script", "console script", "management command")
_SERVERS = ("gunicorn", "celery", "uwsgi", "server")


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
    """Of the entries the settings that the environment chooses: nothing names them, and the project
    has no others."""
    queues: Taken = ALL
    """The queues from which its workers take tasks."""
    application: str = ""
    """The name of the object whose tasks alone its workers run, if the command names one."""
    pool: str = ""
    """The pool of Celery's workers; empty if there is none, or if it is not known."""
    served: tuple[Served, ...] = ()
    """The WSGI applications that its server names."""
    in_turn: bool = False
    """True if it handles requests outside of greenlets, as synchronous workers of gunicorn do."""
    gathers: bool = False
    """True if its only greenlets are those that a function starts and waits for: it handles nothing
    beside them."""
    of_development: bool = False
    """True if it is on gevent for developers alone: another server deploys the application."""

    words: tuple[str, ...] | None = None
    """The words that its program sees as ``sys.argv``; None if nothing shows its arguments."""

    def runs(self, patch: Patch) -> bool:
        """Return whether the process can reach a patch in one of its modules."""
        return reaches(self, patch) and may_be_given(patch, self.kind, self.main, self.words)

    def makes_sure(self, driver: Patch) -> bool:
        """Return whether a driver is patched wherever the process patches the standard library.

        It is so without a condition, and where every monkey patch is below the same tests.
        """
        if not driver.condition:
            return True
        return (
            not self.by_server
            and bool(self.patches)
            and all(
                one.path == driver.path and one.scope == driver.scope and driver.tests <= one.tests
                for one in self.patches
            )
        )

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
        return self.is_server and not self.open

    @property
    def is_server(self) -> bool:
        """True if a server starts it, which runs an application."""
        return self.kind in _SERVERS

    @property
    def is_by_file(self) -> bool:
        """True if it is distinguished by its entry file: a script, a management command."""
        return self.kind in _BY_FILE

    def is_among(self, only_in: tuple[str, ...]) -> bool:
        """Return whether the process may be one of some kinds: ``celery:prefork``."""
        return is_among(self.kind, self.pool, only_in)

    @property
    def is_casual(self) -> bool:
        """True if a script's own main guard is the only evidence of it."""
        return self.kind == "script" and all(
            evidence.path in self.entries or any(evidence.path == p.path for p in self.patches)
            for evidence in self.evidence
        )

    @property
    def is_deployed(self) -> bool:
        """True if the process may run in production: it is neither a test nor a demo."""
        return self.kind != "tests" and not self.demo

    def together(self, other: Process) -> Process:
        """Return one process for two with the same entry file, started from two places."""
        return self._replace(
            evidence=tuple(dict.fromkeys((*self.evidence, *other.evidence))),
            entries=tuple(dict.fromkeys((*self.entries, *other.entries))),
            patches=tuple(dict.fromkeys((*self.patches, *other.patches))),
            drivers=tuple(dict.fromkeys((*self.drivers, *other.drivers))),
            preload=self.preload or other.preload,
            before=tuple(dict.fromkeys((*self.before, *other.before))),
            by_server=self.by_server and other.by_server,
            open=self.open and other.open,
            as_file=self.as_file and other.as_file,
            by_path=self.by_path if self.by_path == other.by_path else "",
            assumed=tuple(path for path in self.assumed if path in other.assumed),
            served=tuple(dict.fromkeys((*self.served, *other.served))),
            in_turn=self.in_turn and other.in_turn,
            gathers=self.gathers and other.gathers,
            words=(
                (*self.words, *other.words)
                if self.words is not None and other.words is not None
                else None
            ),
            queues=self.queues.together(other.queues),
            application=self.application if self.application == other.application else "",
        )


def reaches(begun: Process | Server, patch: Patch) -> bool:
    """Return whether a process can reach a patch in one of its modules."""
    if not patch.in_main or patch.path == begun.main:
        return True
    return not patch.at_import and patch.path in begun.entries  # a console script calls a function


def may_be_given(patch: Patch, kind: str, main: str, words: tuple[str, ...] | None) -> bool:
    """Return whether the command line of a program may have what a patch demands of it.

    Arguments that nothing shows are those that the file with the patch expects, if it is the one
    that is started: another program that imports it has arguments of its own. Celery's name a pool.

    Args:
        patch: The patch.
        kind: The kind of the program's process.
        main: The file that is started and not imported; empty if there is none.
        words: Its command line; None if nothing shows it.
    """
    if patch.argument is None or patch.argument.is_given(words or ()):
        return True
    is_known = words is not None and not any("$" in word for word in words)
    return not is_known and (patch.path == main or kind in ("console script", "celery"))
