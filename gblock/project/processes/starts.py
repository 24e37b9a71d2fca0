"""Starts of processes: commands, settings files, scripts, tests and load tests."""

from __future__ import annotations

import os
import re

from gblock.project.processes.deployment import Command
from gblock.project.processes.embedded import Embedded
from gblock.project.processes.invocations import Invocations, script
from gblock.project.processes.launches import launches
from gblock.project.processes.mentions import WORKER_CONFIG, Mentions
from gblock.project.processes.program import Program, option
from gblock.project.processes.server_start import EvidenceReader, ProcessEvidence, ServerStart
from gblock.project.processes.servers import BY_CODE, YES, Server, Servers
from gblock.project.processes.surroundings import Surroundings
from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import MAIN_GUARD, statements

_CELERY_APPLICATION = re.compile(rb"\bCelery[ \t]*\(")
_LOCUST = re.compile(rb"^(?:from[ \t]+locust\b|import[ \t]+locust\b)", re.MULTILINE)
_LOCUST_USER = re.compile(
    rb"^class[ \t]+\w+[ \t]*\([^)]*(?:User|Locust|TaskSet|Sequence|Shape)\b"
    rb"|^[ \t]*@(?:\w+\.)?task\b",
    re.MULTILINE,
)
"""Definitions that identify a file for locust, besides the import."""
_DIRECTORY = ("--chdir", "--pythonpath", "--python-path", "--workdir")
"""The options of servers for the directory to import from."""
_LOCUST_NAMES = re.compile(
    rb"^from[ \t]+locust[\w.]*[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)", re.MULTILINE
)
_MARKS_OF_ARGUMENTS = (b"argv", b"parse_args(")
_ARGUMENTS = re.compile(
    rb"^\w[\w, \t]*=[^\n#=]*(?:\bsys\.argv\[|\.parse_args\()(?![^\n]*(?:[=!<>]=|\bin\b))",
    re.MULTILINE,
)
"""Statements of a module that take words of the command line, and do not only compare them."""
_SPAWNS = re.compile(
    rb"^(?:\w+[ \t]*=[ \t]*)?(?:\w[\w.]*\.)?(?:spawn|spawn_later|spawn_raw|joinall)\("
    rb"|^\w[^#\n]*\.serve_forever\(",
    re.MULTILINE,
)
"""Statements of a module that start greenlets or serve."""
_APPLICATION = re.compile(
    rb"^(\w+)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*(?:falcon\.(?:API|App)|connexion\.(?:FlaskApp|App)"
    rb"|(?:\w+\.)*(?:Flask|APIFlask|Bottle|get_wsgi_application|create_app|make_app))\(",
    re.MULTILINE,
)
"""A statement of a module that makes a WSGI application."""
_USUAL = ("wsgi.py", "app.py")
"""The modules, of several in a directory, whose application a server is likely to run."""
_SETTINGS = re.compile(rb"^(?:bind|workers|worker_connections|timeout|accesslog)\b", re.MULTILINE)


def makes_application(data: bytes) -> bool:
    """Return whether a module makes a WSGI application that a server may run."""
    return _APPLICATION.search(data) is not None


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
        self._evidence = EvidenceReader(modules, self.deployment)
        self._invocations = Invocations(servers, self.deployment, self._evidence)
        self._programs = around.programs
        self._launches = launches(modules) if around.launches is None else around.launches

    def all(self) -> list[ServerStart]:
        """Return all starts, those by commands first."""
        found = self._from_commands()
        found += self._from_points()
        found += self._from_configs({path for start in found for path in start.server.entries})
        found += Embedded(self.servers, self.mentions, self._evidence).all()
        if not any(start.server.kind == "celery" for start in found):
            found += self._from_pools()
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
            if self._is_own(program) and program.command.filename in self._invocations.pasted:
                continue
            command = program.command
            for mule in self._invocations.mules(program) if program.name == "uwsgi" else ():
                place = ProcessEvidence(command.filename, command.row, command.text)
                beside = (mule.kind, mule.entries, place.path, place.row)
                found.setdefault(beside, ServerStart(mule, place, command.variables))
            server = self._invocations.server(program)
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
            # uWSGI shows the code that it runs nothing of its own command line.
            words = () if server.kind == "uwsgi" else (*command.words, *program.arguments)
            start = ServerStart(server, evidence, command.variables, homes, words)
            found.setdefault(key, start)
            for path, row in server.evidence:
                more = self._evidence.at(path, row)
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
            server = self._invocations.point(point)
            if server is not None:
                evidence = self._evidence.at(point.filename, point.row)
                found.append(ServerStart(server, evidence, {}))
        return found

    def _from_configs(self, started: set[str]) -> list[ServerStart]:
        """Return the settings files of gunicorn that no command names."""
        found = []
        for path in self.modules.mentioning("worker_class"):
            data = self.modules.data(path)
            if path in self._invocations.configs or not any(statements(WORKER_CONFIG, data)):
                continue
            if not _SETTINGS.search(data) and "gunicorn" not in os.path.basename(path):
                continue
            name = os.path.relpath(path, self.root)
            program = Program("gunicorn", (), Command(("gunicorn", "-c", name), path, 1))
            server = self.servers.gunicorn(program, path)
            if server.open and (application := self._beside(path, started)):
                server = self.servers.gunicorn(program._replace(arguments=(application,)), path)
            for where, row in server.evidence or ((path, 1),):
                evidence = self._evidence.at(where, row)
                found.append(ServerStart(server._replace(name=f"gunicorn -c {name}"), evidence, {}))
        return found

    def _beside(self, config: str, started: set[str]) -> str:
        """Return the application in the directory of a settings file of gunicorn, or nothing.

        Args:
            config: The file.
            started: The files that commands start: they know how.
        """
        home = os.path.dirname(config)
        found: dict[str, str] = {}
        for path in self.modules.serving:
            if os.path.dirname(path) == home and path != config:
                match = _APPLICATION.search(self.modules.data(path))
                if match is not None:
                    module = os.path.splitext(os.path.basename(path))[0]
                    found[os.path.basename(path)] = f"{module}:{match[1].decode()}"
        usual = next((name for name in _USUAL if name in found), None)
        if usual is None and len(found) == 1:
            (usual,) = found
        if usual is None or os.path.join(home, usual) in started:
            return ""
        return found[usual]

    def _from_pools(self) -> list[ServerStart]:
        """Return Celery's workers whose settings choose gevent, where no command starts any."""
        rows = {
            path: self.mentions.pool_setting(path) for path in self.modules.mentioning("gevent")
        }
        found = []
        for path in self.modules.mentioning("Celery", whole=True):
            if not _CELERY_APPLICATION.search(self.modules.data(path)):
                continue
            reached = self.graph.of((path,), main=None)
            for where in sorted(reached.intersection(rows)):
                row = rows[where]
                if row is not None and not self.modules.is_test(where):
                    name = f"celery in {os.path.relpath(path, self.root)}"
                    server = Server("celery", BY_CODE, "", (path,), name)
                    found.append(ServerStart(server, self._evidence.at(where, row), {}))
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
            match = next(statements(_LOCUST, self.modules.data(path)), None)
            if path not in started and match is not None and self._has_locust_user(path):
                row = self.modules.data(path).count(b"\n", 0, match.start()) + 1
                name = f"locust -f {os.path.relpath(path, self.root)}"
                server = Server("locust", YES, "imports locust", (path,), name, patches=True)
                found.append(ServerStart(server, self._evidence.at(path, row), {}))
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
                found.append(self._invocations.management(path, f"python {name}"))
            elif path in started:
                continue
            elif os.path.basename(path) == "__main__.py":
                server = self._invocations.as_module(self._package(path), path)
                found.append(ServerStart(server, self._evidence.at(path, 1), {}))
            elif (guard := next(statements(MAIN_GUARD, data), None)) or "." not in os.path.basename(
                path
            ):
                row = data.count(b"\n", 0, guard.start()) + 1 if guard is not None else 1
                server = script(path, f"python {name}")
                found.append(ServerStart(server, self._evidence.at(path, row), {}))
            elif (begun := self._begun(path, data)) is not None:
                row = data.count(b"\n", 0, begun.start()) + 1
                server = script(path, f"python {name}")
                found.append(ServerStart(server, self._evidence.at(path, row), {}))
        if tests:
            path = tests[0]
            server = Server("tests", BY_CODE, "", tuple(tests), "tests")
            found.append(ServerStart(server, self._evidence.at(path, 1), {}))
        return found

    def _begun(self, path: str, data: bytes) -> re.Match[bytes] | None:
        """Return the statement that shows a module which nothing imports to be a program.

        It starts greenlets, or takes the words of the command line.
        """
        match = next(statements(_SPAWNS, data), None) if b"gevent" in data else None
        if match is None and any(one in data for one in _MARKS_OF_ARGUMENTS):
            match = next(statements(_ARGUMENTS, data), None)
        return match if match is not None and not self.graph.importers.get(path) else None

    def _package(self, path: str) -> str:
        """Return the dotted name of a file's package; parts of it may have no ``__init__.py``."""
        names: list[str] = []
        whole: list[str] = []
        directory = os.path.dirname(path)
        while directory.startswith(self.root + os.sep):
            names.insert(0, os.path.basename(directory))
            if self.modules.is_module(os.path.join(directory, "__init__.py")):
                whole = [*names]
            directory = os.path.dirname(directory)
        return ".".join(whole) or os.path.basename(os.path.dirname(path))
