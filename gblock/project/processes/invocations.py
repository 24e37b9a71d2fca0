"""The servers and scripts that programs start, by their arguments and the files that these name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from gblock.project.processes.deployment import Deployment, EntryPoint
from gblock.project.processes.deployment.paste import PasteSettings
from gblock.project.processes.formats import TEMPLATES
from gblock.project.processes.patching import left_out
from gblock.project.processes.program import Program, option, subcommand
from gblock.project.processes.server_start import EvidenceReader, ServerStart
from gblock.project.processes.servers import (
    BY_CODE,
    DEFAULT_WORKER,
    UNKNOWN,
    YES,
    Served,
    Server,
    Servers,
    names_application,
    uwsgi_arguments,
    uwsgi_variables,
)

_MOST_SETTINGS = 5
"""At most this many settings files of PasteDeploy lead from one to another."""
_GUNICORN_MAIN = re.compile(
    rb"\bWSGIApplication\([^\n]*\)\.run\(|\bwsgiapp\.run\(|\bwsgiapp[ \t]+import[ \t]+run\b"
)
"""Calls of gunicorn's main function, which reads the command's arguments."""
_CELERY_MAIN = re.compile(rb"\bcelery\.(?:__main__|bin\.celery)\b|\.(?:start|worker_main)\(\)")
"""Hands the script's own arguments to Celery."""
_FLASK_OPTIONS = ("-A", "--app", "-e", "--env-file")
"""flask's options before the command that take a value."""
_FLASK_COMMANDS = frozenset("assets babel db fab openapi roles routes shell spec users".split())
"""The commands of Flask and of its extensions that do their work and end."""
_WORKER_CLASS = re.compile(
    r"""^[ \t]*worker_class[ \t]*=[ \t]*["']?((?:\{\{[^}\n]*\}\}|[^"'\s#])+)""", re.MULTILINE
)
"""A setting in a template, which is no Python."""
_VARIABLE = re.compile(
    r"""\{\{-?[ \t]*(\w+)(?:[ \t]*\|[ \t]*default\(["']([\w.]+)["'].*?\))?[^}]*\}\}"""
    r"""|\$\{?(\w+)(?::?-([\w.]+))?\}?"""
)
"""``{{ NAME | default("gevent") }}``, ``${NAME:-gevent}``"""
_UWSGI_FILES = ("--ini", "--yaml", "--yml", "--xml", "--json")
"""uWSGI's options that name a settings file."""
_ELSEWHERE = "its settings stand elsewhere"
"""The reason for a server whose settings are no file of the repository."""
_TEST_RUNNERS = ("pytest", "py.test", "tox", "nox", "nosetests", "unittest", "trial")


def script(path: str, name: str) -> Server:
    """Return a server of the kind ``script`` for a file that Python runs."""
    return Server("script", BY_CODE, "", (path,), name, main=path, as_file=True)


class _Pasted(NamedTuple):
    """A settings file of PasteDeploy."""

    path: str
    settings: PasteSettings
    entries: tuple[str, ...]
    """The modules of the application in it."""


class Invocations:
    """Finds the server of each program.

    Args:
        servers: Interprets the arguments and settings of servers.
        deployment: The files that start processes.
        evidence: Quotes the rows that start processes.
    """

    def __init__(self, servers: Servers, deployment: Deployment, evidence: EvidenceReader) -> None:
        self.modules = servers.modules
        self.graph = servers.graph
        self.servers = servers
        self.deployment = deployment
        self.root = deployment.tree.root
        self._evidence = evidence
        self.configs: set[str] = set()
        """Settings files of gunicorn that some program names."""
        self.pasted: set[str] = set()
        """PasteDeploy's settings files that some program names."""

    def server(self, program: Program) -> Server | None:
        """Return the server or script that a program starts, None if it starts nothing."""
        name = program.name
        if name == "python":
            return self._python(program)
        if name == "" and program.point is not None:
            return self.point(program.point)
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
            return self._rq(program)
        if name == "django-admin":
            return self._django_admin(program)
        if name == "flask":
            return self._flask(program)
        return self._other(program)

    def _rq(self, program: Program) -> Server | None:
        starts = {"worker", "worker-pool"}.intersection(program.arguments)
        if program.name == "rq" and not starts:
            return None
        gevent = YES if any("gevent" in word for word in program.arguments) else BY_CODE
        queues = self.servers.taken(program)
        kind = option(program.arguments, "-w", "--worker-class") or ""
        own = self.servers.module(kind.rpartition(".")[0], *self.servers.homes(program.command))
        why, entries = "rq worker", (own,) if own is not None else ()
        if own is not None and own in self.modules.mentioning("gevent"):
            gevent, why = YES, f"worker class {kind}"
        return Server("rq", gevent, why, entries, "rq worker", queues=queues)

    def _django_admin(self, program: Program) -> Server | None:
        settings = program.command.variables.get("DJANGO_SETTINGS_MODULE")
        homes = self.servers.homes(program.command)
        path = self.servers.module(settings, *homes) if settings else None
        if path is None:
            return None
        return Server("management command", BY_CODE, "", (path,), program.name)

    def _flask(self, program: Program) -> Server:
        """Return flask's development server, or a command of the application."""
        arguments, variables = program.arguments, program.command.variables
        written = option(arguments, "-A", "--app") or variables.get("FLASK_APP")
        homes = self.servers.homes(program.command)
        names = [written] if written else ["app", "wsgi"]
        found = [self.servers.module(one.removesuffix(".py"), *homes) for one in names]
        entries = [path for path in found if path is not None]
        command = subcommand(arguments, _FLASK_OPTIONS)
        kind = "server" if command == "run" else "management command"
        label = f"flask {command}".strip()
        start = Server(kind, BY_CODE, "", tuple(entries[:1]), label, open=not entries)
        if command in _FLASK_COMMANDS:
            return start._replace(ends=True, why=f"{label} ends")
        return start

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
        entries: list[str] = []
        if name == "pserve":
            written = next((word for word in arguments if not word.startswith("-")), "")
            read = self._paste(written, program.command.home)
            if read is not None and read.settings.is_gunicorn:
                inner = program._replace(name="gunicorn", arguments=("--paste", written))
                return self._gunicorn(inner)
            entries += read.entries if read is not None else ()
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
            config = self._file(written.removeprefix("file:"), home) or self._settings(
                written, home
            )
        if config is not None:
            self.configs.add(config)
        elif (
            written is None
            and not names_application(arguments)
            and option(arguments, "--paste", "--paster") is None
        ):
            return None  # `--version`, or no arguments
        imported = written is not None and written.startswith("python:")
        kind, template = ("", "")
        if written is not None and config is None:
            kind, template = self._of_template(written, program)
        if kind and option(arguments, "-k", "--worker-class") is None:
            program = program._replace(arguments=("-k", kind, *program.arguments))
        server = self.servers.gunicorn(program, config, imported=imported)
        if kind:
            server = server._replace(why=f"{server.why} in {os.path.basename(template)}")
        is_elsewhere = written is not None and config is None and server.why == DEFAULT_WORKER
        if is_elsewhere and "gevent" in self.deployment.requirements:
            server = server._replace(gevent=UNKNOWN, why=_ELSEWHERE)
        return self._with_paste(server, program)

    def _settings(self, written: str, home: str) -> str | None:
        """Return gunicorn's settings file of any name, which it runs as Python."""
        path = self.deployment.tree.find(written.removeprefix("file:"), home)
        if path is None or self.modules.syntax_error(path) is not None:
            return None
        self.modules.add(path)
        return path

    def _of_template(self, written: str, program: Program) -> tuple[str, str]:
        """Return the worker class in the template of a settings file, and the template.

        A variable has the value that the command, or a file that starts processes, gives it.
        """
        for ending in TEMPLATES:
            name = f"{written.removeprefix('file:')}{ending}"
            path = self.deployment.tree.find(name, program.command.home)
            text = self.deployment.text(path) if path is not None else None
            match = _WORKER_CLASS.search(text) if text is not None else None
            if path is None or match is None:
                continue
            variable = _VARIABLE.fullmatch(match[1])
            if variable is None:
                return match[1], path
            named, default = variable[1] or variable[3], variable[2] or variable[4] or ""
            given = [value for value, _ in self.deployment.values_of(named)]
            kinds = [program.command.variables.get(named, ""), *given, default]
            return next(filter(None, kinds), ""), path
        return "", ""

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
        kind = found.settings.server().get("worker_class")
        if kind and option(program.arguments, "-k", "--worker-class") is None:
            gevent, why = self.servers.worker(kind, found.path)
            source = f"{why} in {os.path.basename(found.path)}"
            server = server._replace(gevent=gevent, why=source, patches=gevent == YES)
        name = f"gunicorn --paste {written}"
        entries = tuple(dict.fromkeys((*server.entries, *found.entries)))
        return server._replace(name=name, entries=entries, open=not entries)

    def _paste(self, written: str, home: str, depth: int = 0) -> _Pasted | None:
        """Return a settings file of PasteDeploy, and the modules of the application in it.

        Args:
            written: The file, with a section of it.
            home: The directory where it is named.
            depth: The number of files that lead to it: ``use = config:base.ini``.
        """
        name, _, section = written.removeprefix("config:").partition("#")
        found = (self.deployment.tree.find(f"{name}{ending}", home) for ending in ("", *TEMPLATES))
        path = next((one for one in found if one is not None), None)
        text = self.deployment.text(path) if path is not None else None
        if path is None or text is None or depth > _MOST_SETTINGS:
            return None
        self.pasted.add(path)
        settings = PasteSettings(text)
        entries: list[str] = []
        for factory in settings.factories(section or "main"):
            if factory.startswith("config:"):
                inner = self._paste(factory, os.path.dirname(path), depth + 1)
                entries += inner.entries if inner is not None else ()
                continue
            distribution, _, point = factory.removeprefix("egg:").partition("#")
            if factory.startswith("egg:"):
                declared = self.deployment.plugins.get("paste.app_factory", ())
                named = [one.module for one in declared if one.name == (point or "main")]
                factory = named[0] if named else distribution.replace("-", "_").lower()
            module = self.servers.module(factory, home)
            entries += [module] if module is not None else []
        return _Pasted(path, settings, tuple(dict.fromkeys(entries)))

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
        if program.command.options:
            given = self._given_beside(program.command.filename)
            program = program._replace(arguments=(*program.arguments, *given))
        arguments = uwsgi_arguments(program)
        for name in _UWSGI_FILES:
            written = option(arguments, name)
            if not written or program.command.options:
                continue
            known = self.deployment.tree.find(written.partition(":")[0], self.root)
            if known or any(command.options for command in self.deployment.commands):
                return None  # `units` reads the file itself
            return Server("uwsgi", UNKNOWN, _ELSEWHERE, (), "uwsgi", open=True)
        server = self.servers.uwsgi(program)
        files = [option(arguments, name) for name in ("--wsgi-file", "--file", "--mount")]
        entries = [
            path
            for one in files
            if one
            and (path := self._file(one.rpartition("=")[2], program.command.home)) is not None
        ]
        default = option(arguments, "--callable") or "application"
        served = (*server.served, *(Served(path, default) for path in entries))
        entries = list(dict.fromkeys((*server.entries, *entries)))
        before = tuple(entries) if server.preload else ()
        return server._replace(
            entries=tuple(entries), before=before, open=not entries, served=served
        )

    def _given_beside(self, filename: str) -> tuple[str, ...]:
        """Return the options that commands give uWSGI beside a settings file.

        ``uwsgi --ini shop.ini --gevent 100``
        """
        found: list[str] = []
        for command in self.deployment.commands:
            names = [os.path.basename(word) for word in command.words]
            if command.options or "uwsgi" not in names:
                continue
            given = command.words[names.index("uwsgi") + 1 :]
            written = option(given, *_UWSGI_FILES) or ""
            homes = (command.home, self.root)
            named = {self.deployment.tree.find(written.partition(":")[0], one) for one in homes}
            if written and filename in named:
                found += given
                found += uwsgi_variables(command)
        return tuple(found)

    def mules(self, program: Program) -> Iterator[Server]:
        """Yield the processes beside uWSGI's workers, which have none of their loops."""
        for word, following in zip_longest(program.arguments, program.arguments[1:]):
            name, _, written = word.partition("=")
            path = self._file(written or following or "", program.command.home)
            if name == "--mule" and path is not None:
                yield script(path, f"uwsgi mule {os.path.relpath(path, self.root)}")

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
                    if (one := self._run_as_module(arguments[1], os.path.join(where, "_")))
                ),
                None,
            )
            if found is None or arguments[1].partition(".")[0] in ("pip", "venv"):
                return None
            if found.endswith("__init__.py"):
                inner = self.modules.inside(os.path.dirname(found), "__main__")
                found = inner if inner is not None and self.modules.is_module(inner) else found
            return self.as_module(arguments[1], found)
        if not path or os.path.basename(path) == "setup.py":
            return None
        self.modules.add(path)
        name = os.path.relpath(path, self.root)
        if b"execute_from_command_line" in self.modules.data(path):
            worker = self._worker_of_django(program, path)
            return worker or self.management(path, f"python {name}").server
        if self.modules.is_test(path):
            return None
        data = self.modules.data(path)
        if _GUNICORN_MAIN.search(data):
            server = self._gunicorn(program._replace(name="gunicorn"))
            if server is not None:
                entries = tuple(dict.fromkeys((path, *server.entries)))
                label = f"python {name}"
                return server._replace(name=label, entries=entries, main=path, as_file=True)
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
        return script(path, f"python {name}")

    def _worker_of_django(self, program: Program, path: str) -> Server | None:
        """Return the start of workers that a management command runs: ``manage.py rqworker``."""
        words = [word for word in program.arguments if not word.endswith(".py")]
        name = next((word for word in words if not word.startswith("-")), "")
        worker = self.servers.worker_of_django(name)
        if worker is None:
            return None
        command, *before = worker.management[name]
        arguments = (*before, *words[words.index(name) + 1 :])
        started = self.server(program._replace(name=command, arguments=arguments))
        if started is None:
            return None
        entries = tuple(dict.fromkeys((path, *started.entries)))
        return started._replace(entries=entries, open=False, main=path, as_file=True)

    def as_module(self, name: str, path: str) -> Server:
        """Return the start of ``python -m``, which runs the packages around the module first.

        Args:
            name: The dotted name.
            path: The file.
        """
        around = self.graph.packages(path)
        directory = os.path.dirname(path)
        first: list[str] = []
        for _ in range(name.count(".") + (os.path.basename(path) == "__main__.py")):
            init = os.path.join(directory, "__init__.py")
            if self.modules.is_module(init) and init not in around:
                first.insert(0, init)
            directory = os.path.dirname(directory)
        return Server("script", BY_CODE, "", (*first, path), f"python -m {name}", main=path)

    def _run_as_module(self, name: str, importer: str) -> str | None:
        """Return the file that ``python -m`` runs, or the ``__init__.py`` of its package."""
        found = self.modules.resolve(name, 0, importer)
        if found is not None and not self.modules.is_module(found):  # without an `__init__.py`
            inner = self.modules.inside(found, "__main__")
            if inner is not None and self.modules.is_module(inner):
                return inner
        return self.graph.named(name, importer, short=True)

    def _monkey(self, arguments: tuple[str, ...], home: str) -> Server | None:
        """Return the start of ``python -m gevent.monkey SCRIPT``, which patches first."""
        for number, word in enumerate(arguments):
            if os.path.basename(word) in _TEST_RUNNERS:
                return None
            if word.startswith("-"):
                continue
            options = arguments[:number]
            leaves = left_out(options)
            path = self._file(word, home)
            if "--module" in options:
                path = self._run_as_module(word, os.path.join(home, "_"))
            why = "started by python -m gevent.monkey"
            name = f"python -m gevent.monkey {word}"
            if path is None:
                return Server("script", YES, why, (), name, patches=True, leaves=leaves)
            started = script(path, name)
            return started._replace(gevent=YES, why=why, patches=True, leaves=leaves)
        return None

    def point(self, point: EntryPoint) -> Server | None:
        """Return the script that an entry point puts on the path, if it is the project's."""
        if point.path:
            if not self.modules.is_module(point.path) and not self._is_script(point.path):
                return None
            self.modules.add(point.path)
            return Server("console script", BY_CODE, "", (point.path,), point.name)
        path = self.servers.module(point.module, os.path.dirname(point.filename))
        if path is None:
            return None
        return Server("console script", BY_CODE, "", (path,), point.name, function=point.function)

    def _is_script(self, path: str) -> bool:
        if path not in self.deployment.tree:
            return False
        first = (self.deployment.text(path) or "").partition("\n")[0]
        return path.endswith(".py") or (first.startswith("#!") and "python" in first)

    def management(self, path: str, name: str) -> ServerStart:
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
        return ServerStart(server, self._evidence.at(path, 1), {})
