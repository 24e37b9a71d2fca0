"""Starts of processes: commands, settings files, scripts, tests and load tests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from gblock.project.processes.deployment import Command, EntryPoint
from gblock.project.processes.deployment.paste import PasteSettings
from gblock.project.processes.launches import launches
from gblock.project.processes.mentions import WORKER_CONFIG, Mentions
from gblock.project.processes.program import Program, option, subcommand
from gblock.project.processes.servers import (
    BY_CODE,
    NO,
    UNKNOWN,
    YES,
    Served,
    Server,
    Servers,
    names_application,
)
from gblock.project.processes.surroundings import Surroundings
from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import MAIN_GUARD

_CELERY_MAIN = re.compile(rb"\bcelery\.(?:__main__|bin\.celery)\b|\.(?:start|worker_main)\(\)")
"""Hands the script's own arguments to Celery."""
_LOCUST = re.compile(rb"^(?:from[ \t]+locust\b|import[ \t]+locust\b)", re.MULTILINE)
_LOCUST_USER = re.compile(
    rb"^class[ \t]+\w+[ \t]*\([^)]*(?:User|Locust|TaskSet|Sequence|Shape)\b"
    rb"|^[ \t]*@(?:\w+\.)?task\b",
    re.MULTILINE,
)
"""Definitions that identify a file for locust, besides the import."""
_APPLICATION = re.compile(
    rb"^[ \t]*class[ \t]+\w+[ \t]*\([^)]*\b(?:Base|WSGI)?Application[ \t]*\)", re.MULTILINE
)
"""A class of gunicorn's application, which starts its workers."""
_DIRECTORY = ("--chdir", "--pythonpath", "--python-path", "--workdir")
"""The options of servers for the directory to import from."""
_FLASK_OPTIONS = ("-A", "--app", "-e", "--env-file")
"""flask's options before the command that take a value."""
_FLASK_COMMANDS = frozenset("assets babel db fab openapi roles routes shell spec users".split())
"""The commands of Flask and of its extensions that do their work and end."""
_TEST_RUNNERS = ("pytest", "py.test", "tox", "nox", "nosetests", "unittest", "trial")
_LOCUST_NAMES = re.compile(
    rb"^from[ \t]+locust[\w.]*[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)", re.MULTILINE
)
_SPAWNS = re.compile(
    rb"^(?:\w+[ \t]*=[ \t]*)?(?:\w[\w.]*\.)?(?:spawn|spawn_later|spawn_raw|joinall)\("
    rb"|^\w[^#\n]*\.serve_forever\(",
    re.MULTILINE,
)
"""Statements of a module that start greenlets or serve."""
_SETTINGS = re.compile(rb"^(?:bind|workers|worker_connections|timeout|accesslog)\b", re.MULTILINE)


class ProcessEvidence(NamedTuple):
    """One place that starts, configures or patches a process."""

    path: str
    row: int
    text: str


class ServerStart(NamedTuple):
    """A `Server` and the place that starts it; `Processes` analyses the code that it runs."""

    server: Server
    evidence: ProcessEvidence
    variables: dict[str, str]
    homes: tuple[str, ...] = ()
    """The directories that it starts in and imports from, as far as they are known."""


def _script(path: str, name: str) -> Server:
    """Return a server of the kind ``script`` for a file that Python runs."""
    return Server("script", BY_CODE, "", (path,), name, main=path, as_file=True)


class Starts:
    """Finds every start of a process.

    Args:
        modules: The project's files.
        around: The programs of deployment files, and the launches of the code.
        servers: Interprets the arguments and settings of servers.
        graph: The import graph.
        mentions: Finds mentions of gevent in files.
    """

    def __init__(
        self,
        modules: Modules,
        around: Surroundings,
        servers: Servers,
        graph: ImportGraph,
        mentions: Mentions,
    ) -> None:
        self.modules = modules
        self.deployment = around.deployment
        self.servers = servers
        self.graph = graph
        self.mentions = mentions
        self.root = self.deployment.tree.root
        self._programs = around.programs
        self._launches = launches(modules) if around.launches is None else around.launches
        self._configs: set[str] = set()
        """Settings files of gunicorn that some command names."""
        self._pasted: set[str] = set()
        """PasteDeploy's settings files that some command names."""

    def all(self) -> list[ServerStart]:
        """Return all starts, those by commands first."""
        found = self._from_commands()
        found += self._from_points()
        found += self._from_configs()
        found += self._from_embedded()
        found += self._from_locust({path for start in found for path in start.server.entries})
        found += self._from_scripts({path for start in found for path in start.server.entries})
        return found

    def _from_commands(self) -> list[ServerStart]:
        found: dict[tuple[object, ...], ServerStart] = {}
        told = [(program, False) for program in self._programs.all if not self._is_own(program)]
        launched = [
            (program, launch.inside)
            for launch in self._launches
            for program in self._programs.of(launch.command)
        ]
        own = ((program, False) for program in self._programs.all if self._is_own(program))
        for program, inside in (*told, *launched, *own):
            if self._is_own(program) and program.command.filename in self._pasted:
                continue
            command = program.command
            for mule in self._mules(program) if program.name == "uwsgi" else ():
                place = ProcessEvidence(command.filename, command.row, command.text)
                beside = (mule.kind, mule.entries, place.path, place.row)
                found.setdefault(beside, ServerStart(mule, place, command.variables))
            server = self._server(program)
            if server is None:
                continue
            if inside:  # a main function patches nothing that late
                entries = tuple(dict.fromkeys((command.filename, *server.entries)))
                name = f"celery in {os.path.relpath(command.filename, self.root)}"
                server = server._replace(
                    name=name, entries=entries, patches=False, open=False, main=command.filename
                )
            evidence = ProcessEvidence(command.filename, command.row, command.text)
            key = (server.kind, server.gevent, server.entries, evidence.path, evidence.row)
            homes = self.servers.homes(command, option(program.arguments, *_DIRECTORY))
            start = ServerStart(server, evidence, command.variables, homes)
            found.setdefault(key, start)
            for path, row in server.evidence:
                more = ProcessEvidence(path, row, self.line(path, row))
                found.setdefault((*key, path), start._replace(evidence=more))
        return list(found.values())

    def _is_own(self, program: Program) -> bool:
        """Return whether PasteDeploy's settings file, and no command, describes a server."""
        command = program.command
        own = ("gunicorn", "--paste", os.path.basename(command.filename))
        return program.name == "gunicorn" and command.words == own

    def _from_points(self) -> list[ServerStart]:
        found = []
        for point in self.deployment.points:
            server = self._point(point)
            if server is not None:
                evidence = ProcessEvidence(
                    point.filename, point.row, self.line(point.filename, point.row)
                )
                found.append(ServerStart(server, evidence, {}))
        return found

    def _from_configs(self) -> list[ServerStart]:
        """Return the settings files of gunicorn that no command names."""
        found = []
        for path in self.modules.mentioning("worker_class"):
            data = self.modules.data(path)
            if path in self._configs or not WORKER_CONFIG.search(data):
                continue
            if not _SETTINGS.search(data) and "gunicorn" not in os.path.basename(path):
                continue
            name = os.path.relpath(path, self.root)
            program = Program("gunicorn", (), Command(("gunicorn", "-c", name), path, 1))
            server = self.servers.gunicorn(program, path)
            for where, row in server.evidence or ((path, 1),):
                evidence = ProcessEvidence(where, row, self.line(where, row))
                found.append(ServerStart(server._replace(name=f"gunicorn -c {name}"), evidence, {}))
        return found

    def _from_embedded(self) -> list[ServerStart]:
        """Return the starts of gunicorn by the project's own code, with options in a dictionary."""
        found = []
        for path in self.modules.mentioning("worker_class"):
            worker = self.mentions.of(path).worker
            if worker is not None:
                found.append(self._embedded(path, path, worker))
        found += self._from_applications()
        return found

    def _embedded(self, main: str, path: str, worker: tuple[str, int]) -> ServerStart:
        """Return the start of gunicorn by a file, with the worker class that options name.

        Args:
            main: The file.
            path: The file with the options.
            worker: The worker class, and the row.
        """
        gevent, why = self.servers.worker(worker[0], path)
        name = f"gunicorn in {os.path.relpath(main, self.root)}"
        server = Server(
            "gunicorn",
            gevent,
            why,
            (main,),
            name,
            patches=gevent == YES,
            before=(main,),
            main=main,
        )
        return ServerStart(server, ProcessEvidence(path, worker[1], self.line(path, worker[1])), {})

    def _from_applications(self) -> list[ServerStart]:
        """Return the project's own applications of gunicorn that name no worker class.

        The options may be in a module that they import, or in one that imports and starts them.
        """
        found = []
        for path in self.modules.mentioning("gunicorn"):
            data = self.modules.data(path)
            match = _APPLICATION.search(data) if b"gunicorn.app" in data else None
            if match is None or b"worker_class" in data or self.modules.is_test(path):
                continue
            beside = self._options_beside(path)
            if beside:
                found += beside
                continue
            row = data.count(b"\n", 0, match.start()) + 1
            name = f"gunicorn in {os.path.relpath(path, self.root)}"
            why = "worker class sync, gunicorn's own choice"
            server = Server("gunicorn", NO, why, (path,), name, main=path)
            found.append(ServerStart(server, ProcessEvidence(path, row, self.line(path, row)), {}))
        return found

    def _options_beside(self, path: str) -> list[ServerStart]:
        """Return the starts of a file's application with options of its neighbours' by import."""
        found = []
        imported = {edge.target for edge in self.graph.imports(path)}
        for other in self.modules.mentioning("worker_class"):
            if self.mentions.of(other).worker is not None:
                continue
            starts = any(edge.target == path for edge in self.graph.imports(other))
            if starts or other in imported:
                worker = self.mentions.options(other)
                if worker is not None:
                    found.append(self._embedded(other if starts else path, other, worker))
        return found

    def _has_locust_user(self, path: str) -> bool:
        """Return whether a file defines a user, a task or a shape of a load test."""
        data = self.modules.data(path)
        if _LOCUST_USER.search(data):
            return True
        names = b"|".join(
            re.escape(name.split()[-1])
            for match in _LOCUST_NAMES.finditer(data)
            for name in match[1].strip(b"() \t\r\n").split(b",")
            if name.split()
        )
        return bool(names) and bool(
            re.search(rb"^class[ \t]+\w+[ \t]*\([^)]*\b(?:%s)\b" % names, data, re.MULTILINE)
        )

    def _from_locust(self, started: set[str]) -> list[ServerStart]:
        """Return the load tests: locust patches when it is imported."""
        found = []
        for path in self.modules.mentioning("locust", tests=True):
            match = _LOCUST.search(self.modules.data(path))
            if path not in started and match is not None and self._has_locust_user(path):
                row = self.modules.data(path).count(b"\n", 0, match.start()) + 1
                name = f"locust -f {os.path.relpath(path, self.root)}"
                server = Server("locust", YES, "imports locust", (path,), name, patches=True)
                found.append(
                    ServerStart(server, ProcessEvidence(path, row, self.line(path, row)), {})
                )
        return found

    def _from_scripts(self, started: set[str]) -> list[ServerStart]:
        """Return the scripts, the management commands and the tests."""
        found: list[ServerStart] = []
        tests: list[str] = []
        for path in self.modules.files:
            data = self.modules.data(path)
            if self.modules.is_test(path):
                if os.path.basename(path).startswith("test_"):
                    tests.append(path)
                continue
            name = os.path.relpath(path, self.root)
            if os.path.basename(path) == "manage.py" and b"execute_from_command_line" in data:
                found.append(self._management(path, 1, f"python {name}"))
            elif path in started:
                continue
            elif os.path.basename(path) == "__main__.py":
                name = f"python -m {self._package(path)}"
                server = Server("script", BY_CODE, "", (path,), name, main=path)
                found.append(ServerStart(server, ProcessEvidence(path, 1, self.line(path, 1)), {}))
            elif (guard := MAIN_GUARD.search(data)) or "." not in os.path.basename(path):
                row = data.count(b"\n", 0, guard.start()) + 1 if guard is not None else 1
                server = _script(path, f"python {name}")
                found.append(
                    ServerStart(server, ProcessEvidence(path, row, self.line(path, row)), {})
                )
            elif (spawning := self._spawning(path, data)) is not None:
                row = data.count(b"\n", 0, spawning.start()) + 1
                server = _script(path, f"python {name}")
                found.append(
                    ServerStart(server, ProcessEvidence(path, row, self.line(path, row)), {})
                )
        if tests:
            path = tests[0]
            server = Server("tests", BY_CODE, "", tuple(tests), "tests")
            found.append(ServerStart(server, ProcessEvidence(path, 1, self.line(path, 1)), {}))
        return found

    def _spawning(self, path: str, data: bytes) -> re.Match[bytes] | None:
        """Return the statement by which a module that nothing imports starts greenlets."""
        match = _SPAWNS.search(data) if b"gevent" in data else None
        return match if match is not None and not self.graph.importers.get(path) else None

    def _package(self, path: str) -> str:
        """Return the dotted name of a file's package."""
        names: list[str] = []
        directory = os.path.dirname(path)
        while self.modules.is_module(os.path.join(directory, "__init__.py")):
            names.insert(0, os.path.basename(directory))
            directory = os.path.dirname(directory)
        return ".".join(names) or os.path.basename(os.path.dirname(path))

    def line(self, path: str, row: int) -> str:
        """Return one row of a file."""
        if self.modules.is_module(path):
            text = self.modules.data(path).decode(errors="replace")
        else:
            text = self.deployment.text(path) or ""
        lines = text.split("\n")
        return lines[row - 1].strip() if 0 < row <= len(lines) else ""

    # -- one program

    def _server(self, program: Program) -> Server | None:
        name = program.name
        if name == "python":
            return self._python(program)
        if name == "" and program.point is not None:
            return self._point(program.point)
        if name == "gunicorn":
            return self._gunicorn(program)
        if name in ("celery", "celeryd"):
            return self.servers.celery(program)
        if name == "uwsgi":
            return self._uwsgi(program)
        if name == "locust":
            return self._locust(program)
        if name in _TEST_RUNNERS:
            return None  # the test files are evidence enough
        if name in ("rq", "rqworker"):
            gevent = YES if any("gevent" in word for word in program.arguments) else BY_CODE
            if name == "rq" and "worker" not in program.arguments:
                return None
            queues = self.servers.taken(program)
            return Server("rq", gevent, "rq worker", (), "rq worker", queues=queues)
        return self._other(program)

    def _other(self, program: Program) -> Server | None:
        """Return servers whose code decides about gevent, and those named after gevent."""
        name, arguments = program.name, program.arguments
        homes = self.servers.homes(program.command)
        words = (name, *arguments)
        kind = option(arguments, "-k", "--worker-type") if name.startswith("huey") else None
        if name == "dramatiq-gevent" or kind in ("greenlet", "gevent"):
            gevent, why = YES, " ".join(words[:4])
        elif name == "chaussette" and "gevent" in (option(arguments, "--backend") or ""):
            gevent, why = YES, "backend gevent"
        else:
            gevent, why = BY_CODE, ""
        entries = []
        if name == "django-admin":
            settings = program.command.variables.get("DJANGO_SETTINGS_MODULE")
            path = self.servers.module(settings, *homes) if settings else None
            return Server("management command", BY_CODE, "", (path,), name) if path else None
        if name == "flask":
            written = option(arguments, "-A", "--app") or program.command.variables.get("FLASK_APP")
            for candidate in [written] if written else ["app", "wsgi"]:
                path = self.servers.module((candidate or "").removesuffix(".py"), *homes)
                entries += [path] if path is not None else []
            label = subcommand(arguments, _FLASK_OPTIONS)
            kind = "server" if label == "run" else "management command"
            ends = label in _FLASK_COMMANDS
            label = f"flask {label}".strip()
            start = Server(kind, gevent, why, tuple(entries[:1]), label, open=not entries)
            return start._replace(ends=ends, why=f"{label} ends") if ends else start
        if name == "pserve":
            written = next((word for word in arguments if not word.startswith("-")), "")
            read = self._paste(written, program.command.home)
            if read is not None and read[1].is_gunicorn:
                inner = program._replace(name="gunicorn", arguments=("--paste", written))
                return self._gunicorn(inner)
            entries += read[2] if read is not None else ()
        worker, application = self.servers.worker_of(program), ""
        served: list[Served] = []
        for word in arguments:
            if ":" in word or worker is not None:
                path = self.servers.module(word, *homes)
                if path is not None and worker is not None and worker.application:
                    application = application or word.rpartition(".")[2]
                entries += [path] if path is not None else []
                if path is not None and ":" in word:
                    served.append(Served.of(word, path))
        patches = gevent == YES and (
            name == "dramatiq-gevent" or (name == "chaussette" and "--no-monkey" not in arguments)
        )
        return Server(
            "server",
            gevent,
            why,
            tuple(entries),
            name,
            open=not entries,
            patches=patches,
            queues=self.servers.taken(program),
            application=application,
            served=tuple(served),
        )

    def _gunicorn(self, program: Program) -> Server | None:
        arguments = (
            *program.command.variables.get("GUNICORN_CMD_ARGS", "").split(),
            *program.arguments,
        )
        written = option(arguments, "-c", "--config")
        home = program.command.home
        if written is None:
            config = self._file("gunicorn.conf.py", home, near=True) or self._beside(program)
        elif written.startswith("python:"):
            config = self.servers.module(written.removeprefix("python:"), home)
        else:
            config = self._file(written.removeprefix("file:"), home)
        if config is not None:
            self._configs.add(config)
        elif (
            written is None
            and not names_application(arguments)
            and option(arguments, "--paste", "--paster") is None
        ):
            return None  # `--version`, or no arguments
        imported = written is not None and written.startswith("python:")
        server = self.servers.gunicorn(program, config, imported=imported)
        return self._with_paste(server, program)

    def _beside(self, program: Program) -> str | None:
        """Return gunicorn's settings in the directory that its application is imported from.

        A script in another directory starts it there: both are found where gunicorn runs.
        """
        written = self.servers.application(program)
        if written is None:
            return None
        name, path = written
        directory = path.removesuffix(f"{os.sep}__init__.py")
        for _ in name.split("."):
            directory = os.path.dirname(directory)
        is_below = program.command.home.startswith(directory + os.sep)
        return self._file("gunicorn.conf.py", directory, near=True) if is_below else None

    def _with_paste(self, server: Server, program: Program) -> Server:
        """Return gunicorn with the settings of PasteDeploy's file, if it reads one."""
        written = option(program.arguments, "--paste", "--paster")
        found = self._paste(written, program.command.home) if written else None
        if found is None:
            return server
        path, settings, entries = found
        kind = settings.server().get("worker_class")
        if kind and option(program.arguments, "-k", "--worker-class") is None:
            gevent, why = self.servers.worker(kind, path)
            source = f"{why} in {os.path.basename(path)}"
            server = server._replace(gevent=gevent, why=source, patches=gevent == YES)
        name = f"gunicorn --paste {written}"
        entries = tuple(dict.fromkeys((*server.entries, *entries)))
        return server._replace(name=name, entries=entries, open=not entries)

    def _paste(self, written: str, home: str) -> tuple[str, PasteSettings, tuple[str, ...]] | None:
        """Return a settings file of PasteDeploy, and the modules of the application in it."""
        name, _, section = written.removeprefix("config:").partition("#")
        path = self.deployment.tree.find(name, home)
        text = self.deployment.text(path) if path is not None else None
        if path is None or text is None:
            return None
        self._pasted.add(path)
        settings = PasteSettings(text)
        entries = []
        for factory in settings.factories(section or "main"):
            distribution, _, point = factory.removeprefix("egg:").partition("#")
            if factory.startswith("egg:"):
                declared = self.deployment.plugins.get("paste.app_factory", ())
                named = [one.module for one in declared if one.name == (point or "main")]
                factory = named[0] if named else distribution.replace("-", "_").lower()
            found = self.servers.module(factory, home)
            entries += [found] if found is not None else []
        return path, settings, tuple(dict.fromkeys(entries))

    def _file(self, written: str, home: str, *, near: bool = False) -> str | None:
        """Return the project's Python file for a path."""
        if near:
            path = os.path.join(home, written)
            return path if self.modules.is_module(path) else None
        path_ = self.deployment.tree.find(written, home)
        if path_ is None or not (path_.endswith(".py") or self.modules.is_module(path_)):
            return None
        self.modules.add(path_)
        return path_

    def _uwsgi(self, program: Program) -> Server | None:
        for name in ("--ini", "--yaml", "--yml", "--xml", "--json"):
            written = option(program.arguments, name)
            if not written:
                continue
            known = self.deployment.tree.find(written.partition(":")[0], self.root)
            if known or any(command.options for command in self.deployment.commands):
                return None  # `units` reads the file itself
            return Server("uwsgi", UNKNOWN, "its settings stand elsewhere", (), "uwsgi", open=True)
        server = self.servers.uwsgi(program)
        files = [option(program.arguments, name) for name in ("--wsgi-file", "--file", "--mount")]
        entries = [
            path
            for one in files
            if one
            and (path := self._file(one.rpartition("=")[2], program.command.home)) is not None
        ]
        default = option(program.arguments, "--callable") or "application"
        served = (*server.served, *(Served(path, default) for path in entries))
        entries = list(dict.fromkeys((*server.entries, *entries)))
        before = tuple(entries) if server.preload else ()
        return server._replace(
            entries=tuple(entries), before=before, open=not entries, served=served
        )

    def _mules(self, program: Program) -> Iterator[Server]:
        """Yield the processes beside uWSGI's workers, which have none of their loops."""
        for word, following in zip_longest(program.arguments, program.arguments[1:]):
            name, _, written = word.partition("=")
            path = self._file(written or following or "", program.command.home)
            if name == "--mule" and path is not None:
                yield _script(path, f"uwsgi mule {os.path.relpath(path, self.root)}")

    def _locust(self, program: Program) -> Server | None:
        written = (
            option(program.arguments, "-f", "--locustfile")
            or program.command.variables.get("LOCUST_LOCUSTFILE")
            or "locustfile.py"
        )
        entries: list[str] = []
        for one in written.split(","):
            entries += self._locustfiles(one.strip(), program.command.home)
        names = [os.path.relpath(path, self.root) for path in entries] or [written]
        name = f"locust -f {','.join(names)}"
        return Server("locust", YES, "locust", tuple(entries), name, patches=True)

    def _locustfiles(self, written: str, home: str) -> list[str]:
        """Return locust's files: a file, those of a directory, or of a pattern."""
        tree = self.deployment.tree
        path = self._file(written, home)
        if path is not None:
            return [path]
        found = [path for path in tree.matching(written, home) if path.endswith(".py")]
        directory = os.path.normpath(os.path.join(home, written))
        if not found and not written.endswith(".py"):
            found = [
                path
                for path in self.modules.files
                if os.path.dirname(path) == directory and not os.path.basename(path).startswith("_")
            ]
        for one in found:
            self.modules.add(one)
        return found

    def _python(self, program: Program) -> Server | None:
        arguments, home = program.arguments, program.command.home
        path = program.path
        if not path and len(arguments) > 1 and arguments[0] == "-m":
            if arguments[1] == "gevent.monkey":
                return self._monkey(arguments[2:], home)
            found = next(
                (
                    one
                    for where in filter(None, self.servers.homes(program.command))
                    if (one := self.graph.named(arguments[1], os.path.join(where, "_"), short=True))
                ),
                None,
            )
            if found is None or arguments[1].partition(".")[0] in ("pip", "venv"):
                return None
            if found.endswith("__init__.py"):
                inner = self.modules.inside(os.path.dirname(found), "__main__")
                found = inner if inner is not None and self.modules.is_module(inner) else found
            name = f"python -m {arguments[1]}"
            return Server("script", BY_CODE, "", (found,), name, main=found)
        if not path or os.path.basename(path) == "setup.py":
            return None
        self.modules.add(path)
        name = os.path.relpath(path, self.root)
        if b"execute_from_command_line" in self.modules.data(path):
            return self._management(path, 1, f"python {name}").server
        if self.modules.is_test(path):
            return None
        data = self.modules.data(path)
        if "worker" in arguments and _CELERY_MAIN.search(data):
            worker = self.servers.celery(program._replace(name="celery"))
            if worker is not None:  # Celery's options, for a script that calls its main
                early = worker.patches and b"celery.__main__" in data
                entries = tuple(dict.fromkeys((path, *worker.entries)))
                label = f"python {name}"
                return worker._replace(
                    name=label,
                    entries=entries,
                    patches=early,
                    open=False,
                    main=path,
                    as_file=True,
                )
        return _script(path, f"python {name}")

    def _monkey(self, arguments: tuple[str, ...], home: str) -> Server | None:
        """Return the start of ``python -m gevent.monkey SCRIPT``, which patches first."""
        for word in arguments:
            if os.path.basename(word) in _TEST_RUNNERS:
                return None
            if not word.startswith("-"):
                path = self._file(word, home)
                why = "started by python -m gevent.monkey"
                name = f"python -m gevent.monkey {word}"
                if path is None:
                    return Server("script", YES, why, (), name, patches=True)
                return _script(path, name)._replace(gevent=YES, why=why, patches=True)
        return None

    def _point(self, point: EntryPoint) -> Server | None:
        if point.path:
            if not self.modules.is_module(point.path) and not self._is_script(point.path):
                return None
            self.modules.add(point.path)
            return Server("console script", BY_CODE, "", (point.path,), point.name)
        path = self.servers.module(point.module, os.path.dirname(point.filename))
        return Server("console script", BY_CODE, "", (path,), point.name) if path else None

    def _is_script(self, path: str) -> bool:
        if path not in self.deployment.tree:
            return False
        first = (self.deployment.text(path) or "").partition("\n")[0]
        return path.endswith(".py") or (first.startswith("#!") and "python" in first)

    def _management(self, path: str, row: int, name: str) -> ServerStart:
        """Return the start of ``manage.py``: all management commands are one kind of process."""
        directory = os.path.dirname(path)
        commands = [
            other
            for other in self.modules.serving
            if f"{os.sep}management{os.sep}commands{os.sep}" in other
            and other.startswith(os.path.join(directory, ""))
        ]
        entries = (path, *commands)
        server = Server("management command", BY_CODE, "", entries, name, main=path, as_file=True)
        return ServerStart(server, ProcessEvidence(path, row, self.line(path, row)), {})
