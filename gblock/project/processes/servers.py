"""Servers' command lines and settings: the worker class and the application."""

from __future__ import annotations

import ast
import os
import re
from typing import NamedTuple

from gblock.catalog.entries import TaskWorker
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.inferred import Inferred
from gblock.project.names.texts import Texts
from gblock.project.processes.defaults import assigned_in
from gblock.project.processes.deployment.command import Command
from gblock.project.processes.program import Program, option
from gblock.project.processes.queues import ALL, Taken, taken
from gblock.project.reading.expressions import last_name
from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.parsing import parsed
from gblock.project.reading.positions import shortened
from gblock.project.reading.summary import ModuleSummary
from gblock.project.reading.tree import Tree

YES, NO, UNKNOWN = "yes", "no", "unknown"
BY_CODE = ""
"""The code that the server runs decides."""

_FLAGS = frozenset(
    "--reload --preload --daemon --check-config --print-config --spew --no-sendfile --reuse-port "
    "--capture-output --enable-stdio-inheritance --log-syslog --proxy-protocol --initgroups "
    "--disable-redirect-access-to-syslog --strip-header-spaces -D -R".split()
)
_MODULE = re.compile(r"(?![\d.]+(?::|$))\w[\w.-]*")
"""A module's name for ``importlib``, which imports files that no statement can: ``shop-api``."""
_APPLICATION = re.compile(_MODULE.pattern + r"(?::.+)?")
_KNOWN_WORKERS = re.compile(
    r"sync|gthread|tornado|eventlet|gaiohttp|aiohttp|uvicorn|meinheld|egg:meinheld|prefork|solo|"
    r"threads|processes|asyncio"
)
_ASSIGNS_COMPUTED = re.compile(rb"\b(?:locals|globals|vars)\(\)\s*(?:\[\s*[^\s\"']|\.update\b)")
"""Assignments to names that code computes."""
_PREFIX = re.compile(rb"""["'](\w*_)["']""")
_UWSGI_PATCHES = (
    "--gevent-monkey-patch",
    "--gevent-early-monkey-patch",
    "--gevent-patch",
)
_NODE = re.compile(r"(?:-P|--pool):[\w,.@%-]+(?:=(.+))?")
_ENDING = (
    *("amqp", "call", "control", "graph", "inspect", "list", "logtool", "migrate", "purge"),
    *("report", "result", "shell", "status", "upgrade"),
)
"""Celery's commands that do their work and end."""
_BESIDE = ("beat", "flower", "events", *_ENDING)


_SETTINGS = ("worker_class", "preload_app", "wsgi_app")
"""Gunicorn's settings that matter, beside those of its command."""
DEFAULT_WORKER = "worker class sync, gunicorn's own choice"
"""The reason where neither the command nor the settings name a worker class."""


class Served(NamedTuple):
    """A WSGI application that a server names: ``shop.wsgi:app``, ``shop:create_app()``."""

    path: str
    """The module."""
    name: str
    """The module's name of the application, or of the function that makes it."""
    is_made: bool = False
    """True if the server calls it for the application."""

    @classmethod
    def of(cls, written: str, path: str, default: str = "application") -> Served:
        """Return the application that an argument names.

        Args:
            written: The argument: ``package.module`` or ``package.module:application``.
            path: The file of the module.
            default: The name, if the argument gives none.
        """
        name = written.partition(":")[2].strip("\"'") or default
        return cls(path, name.partition("(")[0], "(" in name)


class Server(NamedTuple):
    """A `Program` with its arguments and settings files interpreted: gevent or not, and modules.

    Scripts are servers too, of the kind ``script``: only their code decides about gevent.
    """

    kind: str
    gevent: str
    """`YES`, `NO`, `UNKNOWN`, or `BY_CODE`."""
    why: str
    entries: tuple[str, ...]
    """The files where it begins."""
    name: str = ""
    patches: bool = False
    """True if the server itself monkey patches, before or while it starts."""
    leaves: tuple[str, ...] = ()
    """The modules that its own patch leaves as they are, by an option such as ``--no-thread``."""
    preload: bool = False
    """True if the application is imported before the workers patch: gunicorn's ``preload_app``."""
    before: tuple[str, ...] = ()
    """Of the entries those that run before the server patches."""
    evidence: tuple[tuple[str, int], ...] = ()
    """Further evidence: settings files."""
    open: bool = False
    """True if the application that it runs is not known."""
    main: str = ""
    """Of the entries the one that is started and not imported: its ``__name__`` is ``__main__``."""
    as_file: bool = False
    """True if that is started by its path: then the packages around it do not run."""
    by_path: str = ""
    """Of the entries the settings file that the server runs by its path, without its packages."""
    queues: Taken = ALL
    """The queues from which a worker takes tasks."""
    application: str = ""
    """The name of the object whose tasks alone a worker runs, if its command names one."""
    pool: str = ""
    """The pool of a Celery worker; empty if it is not known."""
    ends: bool = False
    """True for a command that does its work and ends: it serves nothing, on gevent or not."""
    served: tuple[Served, ...] = ()
    """The WSGI applications that it serves."""
    function: str = ""
    """The function that a console script calls."""


class Servers:
    """Interprets the arguments and settings of servers.

    Args:
        inference: Type inference over the project.
        graph: The import graph.
        tree: The repository's files.
    """

    def __init__(self, inference: Inference, graph: ImportGraph, tree: Tree) -> None:
        self.inference = inference
        self.modules = inference.modules
        self.graph = graph
        self.tree = tree
        self.texts = Texts(Inferred(inference), lenient=True)

    # -- names of modules

    def module(self, written: str, *directories: str) -> str | None:
        """Return the file of ``package.module`` or ``package.module:application``.

        Args:
            written: The name.
            directories: The directories to search, in order; then the whole project.
        """
        name = re.split(r"[:(\[]", written.strip().strip("\"'"), maxsplit=1)[0]
        if not _MODULE.fullmatch(name):
            return None
        for directory in filter(None, directories):
            found = self.graph.named(name, os.path.join(directory, "_"), short=True)
            if found is not None and self.modules.is_module(found):
                return found
        return self._anywhere(name)

    def homes(self, command: Command, chdir: str | None = None) -> tuple[str, ...]:
        """Return the directories that a command may import modules from, the likeliest first.

        Args:
            command: The command.
            chdir: The value of its option for the working directory.
        """
        if not chdir:
            return (command.home, command.working)
        if chdir.startswith("/"):
            return (self.tree.directory(chdir) or "", command.home, command.working)
        return (os.path.normpath(os.path.join(command.home, chdir)), command.working)

    def _anywhere(self, name: str) -> str | None:
        """Return the only module of this name in the project: containers have other directories."""
        tail = os.sep + name.replace(".", os.sep)
        endings = (f"{tail}.py", f"{tail}{os.sep}__init__.py")
        depth = name.count(".") + 1
        named = [path for path in self.modules.serving if path.endswith(endings)]
        found = [path for path in named if not self._is_inside_package(path, depth)]
        if not found and "." in name:
            return self._anywhere(name.rpartition(".")[0])
        found = found or named  # a container may start inside of a package
        return found[0] if len(found) == 1 else None

    def _is_inside_package(self, path: str, depth: int) -> bool:
        """Return whether a file's dotted name is longer than the given number of parts."""
        directory = path.removesuffix(f"{os.sep}__init__.py")
        for _ in range(depth):
            directory = os.path.dirname(directory)
        return self.modules.is_module(os.path.join(directory, "__init__.py"))

    # -- gunicorn

    def gunicorn(self, program: Program, config: str | None, *, imported: bool = False) -> Server:
        """Return the server that a gunicorn command starts.

        Args:
            program: The command.
            config: The settings file, if it is a file of the project.
            imported: True if gunicorn imports it as a module, and so runs its packages.
        """
        command = program.command
        given = command.variables.get("GUNICORN_CMD_ARGS", "").split()
        arguments = (*given, *program.arguments)
        kind = option(arguments, "-k", "--worker-class")
        evidence: list[tuple[str, int]] = []
        preload = "--preload" in arguments
        application = _application(program.arguments)
        homes = self.homes(command, option(arguments, "--chdir", "--pythonpath"))
        home = next(filter(None, homes))
        entries: list[str] = []
        source = ""
        worker: v.ScopeValue | None = None
        if config is not None:
            entries.append(config)
            own = self._in_environment(config, command)
            setting = self.setting(config, "worker_class")
            if setting is not None and "worker_class" in own:
                setting = own["worker_class"], setting[1]
            if setting is not None:
                evidence.append((config, setting[1]))
                if kind is None:
                    kind, source = setting[0], f" in {os.path.basename(config)}"
                    if kind.startswith("$"):
                        kind, worker = self._class_given(config, "worker_class")
                    if kind.startswith("$"):
                        kind = self._written(config, "worker_class") or kind
            loaded = self.setting(config, "preload_app")
            preloads = own.get("preload_app", loaded[0] if loaded is not None else "")
            preload = preload or preloads == "True"
            if kind is None:
                kind = self._copied(config, command, "worker_class")
                source = " in the environment" if kind is not None else ""
            if application is None:
                written = self.setting(config, "wsgi_app")
                application = own.get("wsgi_app", written[0] if written is not None else None)
        path = self.module(application, *homes) if application else None
        if path is not None:
            entries.append(path)
        if worker is None and kind is not None:
            worker = self._worker_class(kind, os.path.join(home, "_"))
        gevent, why = self._judged(kind, worker)
        file = self._worker_file(kind, home)
        entries += [file] if file is not None else []
        before = [*([config] if config is not None else ()), *([file] if file is not None else ())]
        if preload and path is not None:
            before.append(path)
        return Server(
            "gunicorn",
            gevent,
            f"{why}{source}",
            tuple(dict.fromkeys(entries)),
            f"gunicorn {application}" if application else "gunicorn",
            patches=gevent == YES and not self._patches_itself(worker),
            preload=preload,
            before=tuple(dict.fromkeys(before)),
            evidence=tuple(evidence),
            open=path is None,
            by_path=config if config is not None and not imported else "",
            served=(Served.of(application or "", path),) if path is not None else (),
        )

    def _in_environment(self, path: str, command: Command) -> dict[str, str]:
        """Return the settings that a file takes from variables which a command sets."""
        data = self.modules.data(path)
        given = {
            name: value
            for name, value in command.environment
            if name.encode() in data and "$" not in value
        }
        tree = parsed(data) if given else None
        if tree is None:
            return {}
        found = {name: assigned_in(name, tree, given) for name in _SETTINGS}
        return {name: value for name, value in found.items() if value is not None}

    def application(self, program: Program) -> tuple[str, str] | None:
        """Return the module's name of the application in a gunicorn command, and its file."""
        written = _application(program.arguments)
        if written is None:
            return None
        chdir = option(program.arguments, "--chdir", "--pythonpath")
        path = self.module(written, *self.homes(program.command, chdir))
        name = written.partition(":")[0]
        tail = os.sep + name.replace(".", os.sep)
        if path is None or not path.endswith((f"{tail}.py", f"{tail}{os.sep}__init__.py")):
            return None
        return name, path

    def _copied(self, path: str, command: Command, name: str) -> str | None:
        """Return the variable that a settings file copies from the environment for a setting.

        ``locals()[key.removeprefix("GUNICORN_").lower()] = value``
        """
        data = self.modules.data(path)
        if b"environ" not in data or not _ASSIGNS_COMPUTED.search(data):
            return None
        names = [f"{prefix.decode()}{name.upper()}" for prefix in _PREFIX.findall(data)]
        return next((command.variables[one] for one in names if one in command.variables), None)

    def _written(self, path: str, name: str) -> str | None:
        """Return the expression of a setting in a settings file, if it mentions gevent."""
        tree = parsed(self.modules.data(path))
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in node.targets
            ):
                text = ast.unparse(node.value)
                if "gevent" in text.lower():
                    return shortened(text)
        return None

    def _class_given(self, path: str, name: str) -> tuple[str, v.ScopeValue | None]:
        """Return the dotted name of a setting's class, and the project's class."""
        values = self.inference.imports.name(path, name)
        known = sorted(value.symbol for value in values if value.kind == v.EXTERNAL)
        known.sort(key=lambda symbol: "gevent" not in symbol)
        own = self._class_among(values)
        if own is not None and not (known and "gevent" in known[0]):
            return self.modules.summary(own.path).scopes[own.scope].name, own
        return known[0] if known else f"${name}", None

    def _class_among(self, values: v.Values) -> v.ScopeValue | None:
        """Return the class of the project among some values; of several, one based on gevent."""
        classes = sorted(value for value in values if value.kind == v.CLASS)
        return min(classes, key=lambda one: not self._gevent_bases(one), default=None)

    def _gevent_bases(self, worker: v.ScopeValue) -> list[str]:
        """Return the bases of a class that are gevent's, or a server's for gevent."""
        bases = self.inference.classes.ancestry(worker.path, worker.scope)
        known = [base.symbol for base in bases if base.kind == v.EXTERNAL]
        return [symbol for symbol in known if "gevent" in symbol]

    def _worker_class(self, kind: str, importer: str) -> v.ScopeValue | None:
        """Return the class of the project that a worker class names."""
        owner, _, name = kind.replace(":", ".").rpartition(".")
        path = self.graph.named(owner, importer, short=True) if owner else None
        if path is None or "$" in kind:
            return None
        values = self.inference.imports.name(path, name)
        return self._class_among(values)

    def _patches_itself(self, worker: v.ScopeValue | None) -> bool:
        """Return whether a worker class overrides ``patch()`` without a call to gunicorn's."""
        methods = self.inference.classes.attribute(worker, "patch") if worker is not None else ()
        own = [(x.path, x.scope) for x in methods if x.kind == v.FUNCTION]
        return bool(own) and not any(
            call.scope == scope
            and call.node == "call"
            and last_name(call.expression.callee) == "patch"
            for path, scope in own
            for call in self.modules.summary(path).calls
        )

    def worker(self, kind: str | None, importer: str) -> tuple[str, str]:
        """Return whether a worker class is based on gevent, and why."""
        found = self._worker_class(kind, importer) if kind is not None else None
        return self._judged(kind, found)

    def _judged(self, kind: str | None, found: v.ScopeValue | None) -> tuple[str, str]:
        if kind is None:
            return NO, DEFAULT_WORKER
        why = f"worker class {kind}"
        if found is not None:
            bases = self._gevent_bases(found)
            return (YES, f"{why}, a {bases[0]}") if bases else (NO, why)
        if "gevent" in kind.lower() or kind.startswith("flask_sockets.worker"):
            return YES, why
        return (NO if _KNOWN_WORKERS.match(kind) else UNKNOWN), why

    def _worker_file(self, kind: str | None, home: str) -> str | None:
        if kind is None or "." not in kind:
            return None
        return self.graph.named(kind.replace(":", "."), os.path.join(home, "_"), short=True)

    def setting(self, path: str, name: str) -> tuple[str, int] | None:
        """Return a setting's value in a settings file, and its row; of several, the gevent one."""
        found = self._settings(path, name)
        if not found:
            summary = self.modules.summary(path)
            bindings = summary.scopes[0].bindings.get(name, ())
            return (f"${name}", bindings[0].row) if bindings else self._shared(summary, name)
        return next((one for one in found if "gevent" in one[0]), found[-1])

    def _shared(self, summary: ModuleSummary, name: str) -> tuple[str, int] | None:
        """Return a setting of a file from which a settings file imports all, with that import."""
        for one in reversed(summary.star_imports):
            path = self.modules.resolve(one.value.module, one.value.level, summary.filename)
            if path is not None and self.modules.is_module(path) and path != summary.filename:
                found = self._settings(path, name)
                if found:
                    return found[-1][0], one.row
        return None

    def _settings(self, path: str, name: str) -> list[tuple[str, int]]:
        """Return the texts that a module assigns to a name, with imported ones, and the rows."""
        summary = self.modules.summary(path)
        return [
            (text.start, binding.row)
            for binding in summary.scopes[0].bindings.get(name, ())
            for part in self.texts.binding(binding, summary)
            for text in self.texts.of(part)
            if text.whole
        ]

    # -- Celery

    def celery(self, program: Program) -> Server | None:
        """Return the workers that a Celery command starts: ``celery -A app worker -P gevent``."""
        arguments = program.arguments
        words = [word for word in arguments if not word.startswith("-")]
        application = option(arguments, "-A", "--app")
        homes = self.homes(program.command, option(arguments, "--workdir"))
        path = self.module(application, *homes) if application else None
        entries = [path] if path is not None else []
        for name in (option(arguments, "-I", "--include") or "").split(","):
            included = self.module(name, *homes) if name else None
            entries += [included] if included is not None else []
        if path is not None and path.endswith("__init__.py"):
            inner = self.modules.inside(os.path.dirname(path), "celery")
            if inner is not None and self.modules.is_module(inner):
                entries.append(inner)
        label = f" {application}" if application else ""
        beside = next((word for word in words if word in _BESIDE), None)
        if beside is not None and "worker" not in words:
            return Server(
                f"celery {beside}",
                NO,
                f"celery {beside}",
                tuple(entries),
                f"celery {beside}{label}",
                ends=beside in _ENDING,
            )
        if "worker" not in words and program.name != "celeryd" and "multi" not in words:
            return None
        pool = option(arguments, "-P", "--pool")
        if "multi" in words:  # -P:1 gevent is an option of the first node
            given = (_of_node(arguments, index) for index in range(len(arguments)))
            pool = next(filter(None, given), pool)
        # Celery patches for a pool that its arguments name, and for no other.
        is_seen = pool is not None and _is_seen_early(arguments)
        pool = pool or program.command.variables.get("CELERY_WORKER_POOL")
        if pool is None:
            gevent, why, known = BY_CODE, "pool prefork, Celery's own choice", "prefork"
        else:
            is_variable = "$" in pool
            gevent = YES if "gevent" in pool else UNKNOWN if is_variable else NO
            why, known = f"pool {pool}", "" if is_variable else pool
        return Server(
            "celery",
            gevent,
            why,
            tuple(entries),
            f"celery{label}",
            patches=gevent == YES and is_seen,
            open=path is None,
            queues=ALL if "multi" in words else self.taken(program),
            pool=known,
        )

    def worker_of(self, program: Program) -> TaskWorker | None:
        """Return the description of the workers that a command starts."""
        workers = self.inference.catalog.workers
        return next((one for one in workers if program.name in one.commands), None)

    def worker_of_django(self, name: str) -> TaskWorker | None:
        """Return the description of the workers that a management command of Django starts."""
        workers = self.inference.catalog.workers
        return next((one for one in workers if name in one.management), None)

    def taken(self, program: Program) -> Taken:
        """Return the queues from which the workers of a command take tasks."""
        worker = self.worker_of(program)
        return taken(worker, program.arguments) if worker is not None else ALL

    # -- uWSGI

    def uwsgi(self, program: Program) -> Server:
        """Return the server of a ``uwsgi`` command, or of a settings file as its equivalent."""
        command = program.command
        arguments = uwsgi_arguments(program)
        homes = self.homes(command, _uwsgi_option(arguments, "chdir", "pythonpath", "python-path"))
        entries: list[str] = []
        served: list[Served] = []
        default = _uwsgi_option(arguments, "callable") or "application"
        for name in ("module", "wsgi", "w", "import", "shared-import", "mount"):
            written = _uwsgi_option(arguments, name)
            if written is None:
                continue
            written = written.rpartition("=")[2]
            path = self.module(written, *homes)
            entries += [path] if path is not None else []
            if path is not None and "import" not in name:
                served.append(Served.of(written, path, default))
        amount = _uwsgi_option(arguments, "gevent")
        loop = _uwsgi_option(arguments, "loop")
        patches = any(
            word.partition("=")[0] in _UWSGI_PATCHES
            and word.partition("=")[2].lower() not in ("0", "false", "no", "off")
            for word in arguments
        )
        # Without "early" uWSGI patches when its loop starts, which is after it loaded the modules.
        early = any("gevent-early-monkey-patch" in word for word in arguments)
        evidence = [
            (command.filename, row) for key, _, row in command.options if key.startswith("gevent")
        ]
        name = f"uwsgi {os.path.basename(command.filename)}" if command.options else "uwsgi"
        gevent, why = BY_CODE, "no gevent loop"
        if loop == "gevent" or (amount is not None and amount not in ("0", "")):
            gevent = YES
            why = f"gevent = {amount}" if amount is not None else "loop = gevent"
        return Server(
            "uwsgi",
            gevent,
            why,
            tuple(dict.fromkeys(entries)),
            name,
            patches=patches and gevent == YES,
            preload=patches and not early,
            before=() if early else tuple(dict.fromkeys(entries)),
            evidence=tuple(evidence),
            served=tuple(served),
        )


def names_application(arguments: tuple[str, ...]) -> bool:
    """Return whether gunicorn's arguments name an application, if only by a variable."""
    return _application(arguments) is not None or any(
        word.startswith("$") or "{" in word for word in arguments
    )


def _application(arguments: tuple[str, ...]) -> str | None:
    """Return gunicorn's application: the argument that is neither an option nor its value."""
    found = []
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word not in _FLAGS and "=" not in word and len(word.split("=")[0]) > 1
            if len(word) > 2 and word[1] != "-":
                skip = False  # -w4
        elif _APPLICATION.fullmatch(word):
            found.append(word)
    return next((word for word in found if ":" in word), found[0] if found else None)


def _is_seen_early(arguments: tuple[str, ...]) -> bool:
    """Return whether Celery detects the pool before it parses options, which is when it patches.

    Celery searches for ``-P`` as a separate word (`celery.maybe_patch_concurrency`): with
    ``-Pgevent`` the pool is gevent's and nothing is patched. ``celery multi`` passes ``--pool``.
    """
    return "multi" in arguments or any(
        word == "-P" or word.partition("=")[0] == "--pool" for word in arguments
    )


def _of_node(arguments: tuple[str, ...], index: int) -> str | None:
    """Return the pool that ``celery multi`` passes to single nodes: ``-P:1 gevent``."""
    match = _NODE.fullmatch(arguments[index])
    if match is None:
        return None
    return match[1] or (arguments[index + 1] if index + 1 < len(arguments) else None)


def uwsgi_arguments(program: Program) -> tuple[str, ...]:
    """Return the options of uWSGI, those in the environment first."""
    return (*uwsgi_variables(program.command), *program.arguments)


def uwsgi_variables(command: Command) -> tuple[str, ...]:
    """Return the options that the environment of a command gives uWSGI: ``UWSGI_GEVENT=100``."""
    return tuple(
        f"--{name.removeprefix('UWSGI_').lower().replace('_', '-')}={value}"
        for name, value in command.environment
        if name.startswith("UWSGI_")
    )


def _uwsgi_option(arguments: tuple[str, ...], *names: str) -> str | None:
    found = None
    for name in names:
        given = option(arguments, f"--{name}" if len(name) > 1 else f"-{name}")
        found = given if given is not None and not given.startswith("--") else found
    return found
