"""Mentions of gevent in single files, found by regular expressions in their bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gblock.project.names.declarations import Declarations
from gblock.project.names.definitions import END
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.reading.bindings import IMPORTED
from gblock.project.reading.expressions import NAME, NameExpr, last_name
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import statements

_GEVENT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+(gevent(?:websocket)?(?:\.\w+)*)[ \t]+import[ \t]+([^\n#]*)"
    rb"|import[ \t]+(?:[\w., \t]*[, \t])?(gevent(?:websocket)?(?:\.\w+)*))",
    re.MULTILINE,
)
_LIMITS = rb"(?:Timeout|timeout|with_timeout|GreenletExit|LoopExit)"
"""Names of gevent that limit or end what a greenlet does, and start none."""
_LIMITS_IMPORTED = re.compile(rb"\(?[ \t]*(?:%s\b[ \t,)]*)+(?:#.*)?\r?\Z" % _LIMITS)
_USED = re.compile(rb"\bgevent\b(?:\.(\w+))?")
_BINDING = re.compile(
    rb"[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]+(\w+(?:[ ]*,[ ]*\w+)*)"
    rb"|import[ \t]+gevent(?:\.\w+)*)[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
"""Imports of gevent on a row of their own, without other names for what they bind."""
_WORKER_CLASS = re.compile(
    rb"""(?:["']worker_class["'][ \t]*(?:\][ \t]*=|[:,])|\bworker_class[ \t]*=)"""
    rb"""[ \t]*["']([\w.:#]+)["']"""
)
WORKER_CONFIG = re.compile(rb"^worker_class[ \t]*=", re.MULTILINE)
"""Assignments that identify a settings file of gunicorn."""
_POOL = re.compile(
    rb"""--pool(?:=|["'],?\s*["']?)gevent|["']-P["']\s*,\s*["']gevent["']"""
    rb"""|["']?pool(?:_cls)?["']?\s*[:=]\s*["']gevent"""
)
_POOL_SETTING = re.compile(
    rb"""(?:worker_pool|CELERYD_POOL|CELERY_WORKER_POOL)["'\]]*\s*[:=]\s*["']gevent"""
)
_SERVER = re.compile(rb"""\bserver[ \t]*=[ \t]*["']gevent["']""")
"""gevent as the server of Bottle or connexion."""
_WEBSOCKET_SERVER = "GeventWebSocketServer"
"""A server of Bottle on gevent, in several packages."""
_ASYNC_MODE = re.compile(rb"""async_mode["']?\s*[=:]\s*([^,)\n]+)""")
_STARTS_GREENLETS = re.compile(
    rb"spawn|[Gg]reenlet|\b(?:Group|Pool)\b(?!\.)|[Ss]erver|\bserve|patch_|\bhub|get_hub|\bloop\b|\bwsgi"
    rb"|gevent[.\w]*\.signal|gevent[ \t]+import[ \t][^\n]*\bsignal"
    rb"|\b(?:gevent\.i?wait|joinall)\b|gevent[ \t]+import[ \t]*\*"
)
"""Names of gevent, and of libraries on it, that start greenlets, or wait for some."""
_GATHERED = re.compile(
    rb"spawn|joinall|killall|i?wait|sleep|idle|[Pp]ool|Group|event|queue|lock|%s" % _LIMITS
)
"""Names of gevent in code whose functions may wait for all that they start."""
_GATHERING = frozenset({"joinall", "join", "wait", "iwait"})
"""Last names of the calls that wait for greenlets."""
_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^):]*)\)", re.MULTILINE)
_NO_CODE = re.compile(
    rb"""#[^\n]*|\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    rb"|^[ \t]*import[ \t][^\n;]*",
    re.MULTILINE | re.DOTALL,
)
"""Comments, texts, and imports of whole modules."""
_STARTS_BY_OTHERS = re.compile(
    rb"\bspawn|\bjoinall\b|\bserve_forever\b|\b(?:WSGI|Stream)Server\b|(?i:socketio|websocket)"
    rb"|\b(?:zerorpc|grequests|locust|psycogreen|huey|apscheduler)\b"
)
"""Names in a file that does not import gevent and starts greenlets nevertheless."""
_SOCKETIO = ("flask_socketio.SocketIO", "flask.ext.socketio.SocketIO")
"""The class that takes gevent where it is installed."""
_STARTS_OTHERS = re.compile(
    rb"\bspawn\w*\s*\(|\b(?:Greenlet|Thread|Timer|Pool|Group|ThreadPool|ThreadPoolExecutor)\s*\("
    rb"|\bstart_new_thread\b|\b[Ss]cheduler\b|\bstart_background_task\b|\brun_in_executor\b"
    rb"|\bto_thread\b|\bserve_forever\b"
)
"""Names that start greenlets, and threads that are greenlets where something patches."""
_RUNS = re.compile(rb"serve_forever|(?i:socketio)\.run\(|WSGIServer\(|StreamServer\(")
"""Statements that serve."""

SERVES = re.compile(rb"serve_forever|WSGIServer|StreamServer|(?i:socketio)\b")
"""Names in a script that serves."""


class WorkerOption(NamedTuple):
    """The worker class that options for gunicorn name."""

    name: str
    row: int


class Mention(NamedTuple):
    """The mentions of gevent in one file."""

    imports: bool = False
    """True if it imports something of gevent at import, besides its monkey patching."""
    imports_later: bool = False
    """True if it imports something of gevent in a function."""
    worker: WorkerOption | None = None
    """A gunicorn worker class in a dictionary of options."""
    pool: bool = False
    """True if it sets gevent as the pool of Celery's workers."""
    async_mode: bool = False
    """True if it sets gevent as the mode of Flask-SocketIO."""
    patched_by: str = ""
    """A library that it imports at import and that patches everything when it is imported."""
    starts: bool = False
    """True if it uses a library on gevent that runs what it receives in greenlets."""
    any_mode: bool = False
    """True if it leaves the mode to Flask-SocketIO, which takes what is installed."""


class Mentions:
    """Finds mentions of gevent in a project's files.

    Args:
        modules: The files.
        patching: Libraries that patch everything when they are imported.
        hubs: By module of a library on gevent its names that run code in greenlets.
    """

    def __init__(
        self,
        modules: Modules,
        patching: Iterable[str] = (),
        hubs: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> None:
        self.modules = modules
        self._patching = {name: _imports_of(name) for name in patching}
        """By name of a library: a word of each import of it, and a pattern of the imports."""
        self._hubs = [(*_imports_of(name), _any_of(names)) for name, names in hubs.items()]
        """The same, and a pattern of the names that run code in greenlets."""
        self._known: dict[str, Mention] = {}
        self._searched: dict[str, dict[bytes, bool]] = {}
        """By file and pattern, whether the pattern matches. A pattern's own hash takes long."""
        self._starting: dict[str, bool] = {}
        self._gathering: dict[str, bool] = {}
        self._on_gevent: dict[str, bool] = {}
        self._deriving: dict[str, tuple[bytes, ...]] = {}
        self._may_start: dict[frozenset[str], bool] = {}
        self._declarations = Declarations(modules)
        self._texts = Texts(self._declarations)

    def of(self, path: str) -> Mention:
        """Return the mentions of gevent in one file."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._read(path)
        return found

    def _read(self, path: str) -> Mention:
        data = self.modules.data(path)
        socketio = b"SocketIO" in data and self._makes(path, _SOCKETIO)
        patching = (
            name
            for name, (word, importing) in self._patching.items()
            if word in data and any(statements(importing, data))
        )
        patched_by = next(patching, "")
        starts = any(
            word in data and any(statements(importing, data)) and names.search(data) is not None
            for word, importing, names in self._hubs
        )
        words = (b"gevent", b"worker_class", _WEBSOCKET_SERVER.encode())
        if not socketio and not any(word in data for word in words):
            return Mention(starts, patched_by=patched_by, starts=starts)
        at_import, later = starts, False
        for match in statements(_GEVENT, data):
            names = match[2] or match[4]
            if names == b"gevent.monkey" or (match[3] or b"").strip() in (b"monkey", b"(monkey)"):
                continue
            if self._is_left(path, match) or self._only_limits(path, match):
                continue
            if match[1]:
                later = True
            else:
                at_import = True
        pool = _POOL_SETTING.search(data) is not None or (
            b"elery" in data.lower() and _POOL.search(data) is not None
        )
        async_mode = self._async_mode(path) if _ASYNC_MODE.search(data) else False
        async_mode = async_mode or _SERVER.search(data) is not None
        async_mode = async_mode or self._takes_from_package(path, _WEBSOCKET_SERVER)
        any_mode = socketio and b"async_mode" not in data
        worker = self._worker(path)
        return Mention(at_import, later, worker, pool, async_mode, patched_by, starts, any_mode)

    def _is_left(self, path: str, match: re.Match[bytes]) -> bool:
        """Return whether comments alone use the names that an import of gevent binds.

        A server that is commented out leaves its import behind.
        """
        data = self.modules.data(path)
        whole = _BINDING.match(data, match.start())
        if whole is None or self.modules.is_frugal:
            return False
        names = re.findall(rb"\w+", whole[1] or b"gevent")
        if not any(re.search(rb"#[^\n]*\b%s\b" % name, data) for name in names):
            return False
        code = self._code_besides(path)
        return not any(
            re.search(rb"\b%s\b" % name, code)
            or len(self.modules.mentioning(name.decode(), whole=True)) > 1
            for name in names
        )

    def _code_besides(self, path: str) -> bytes:
        """Return the code of a file without its imports of gevent."""
        return _NO_CODE.sub(b"", _GEVENT.sub(b"", self.modules.data(path)))

    def _only_limits(self, path: str, match: re.Match[bytes]) -> bool:
        """Return whether a file uses an import of gevent for timeouts and exceptions alone.

        What handles `gevent.Timeout` is often called from greenlets of another program, or from
        none: the handler is left of a server that the project had before.
        """
        if match[2]:
            return _LIMITS_IMPORTED.match(match[3] or b"") is not None
        code = self._code_besides(path)
        used = [one[1] or b"" for one in _USED.finditer(code)]
        return bool(used) and all(re.fullmatch(_LIMITS, name) for name in used)

    def _makes(self, path: str, symbols: tuple[str, ...]) -> bool:
        """Return whether a file makes an object of a package's class, or of one based on it.

        A class of the project may have the same name.
        """
        return any(
            call.node == "call"
            and not set(symbols).isdisjoint(
                self._declarations.origins(
                    call.expression.callee, Place(path, call.scope, call.path)
                )
            )
            for call in self.modules.summary(path).calls
        )

    def _takes_from_package(self, path: str, name: str) -> bool:
        """Return whether a file imports a name from a package, or reads it from one's module."""
        data = self.modules.data(path)
        if name.encode() not in data:
            return False
        if re.search(rb"\.[ \t]*%s\b" % name.encode(), data):
            return True
        return any(
            True
            for index, scope in enumerate(self.modules.summary(path).scopes)
            for bound, bindings in scope.bindings.items()
            if any(one.kind == IMPORTED and one.value[1] == name for one in bindings)
            for _ in self._declarations.origins(NameExpr(NAME, bound), Place(path, index, END))
        )

    def may_start_greenlets(self, paths: Iterable[str]) -> bool:
        """Return whether files that a process loads may start greenlets.

        A process that only sleeps or waits with gevent has one greenlet, and no other to block.
        """
        known = frozenset(paths)
        found = self._may_start.get(known)
        if found is None:
            found = self._may_start[known] = self._may_start_greenlets(known)
        return found

    def _may_start_greenlets(self, known: frozenset[str]) -> bool:
        if any(self._names_start(path) for path in known):
            return True
        derived = {name for path in known for name in self._derived(path)}
        if not derived:
            return False
        called = re.compile(rb"(?<!class )\b(?:%s)[ \t]*\(" % b"|".join(sorted(derived)))
        return any(self.is_in(called, path) for path in known)

    def _names_start(self, path: str) -> bool:
        """Return whether the code of a file names what starts greenlets, other than as a base."""
        found = self._starting.get(path)
        if found is None:
            mention = self.of(path)
            is_importing = mention.imports or mention.imports_later or mention.patched_by
            pattern = _STARTS_GREENLETS if is_importing else _STARTS_BY_OTHERS
            found = mention.starts
            if not found and self.is_in(pattern, path):
                code = _code_without_bases(self.modules.data(path))
                found = pattern.search(code) is not None
            self._starting[path] = found
        return found

    def _derived(self, path: str) -> tuple[bytes, ...]:
        """Return the classes that a file derives from those that start greenlets."""
        found = self._deriving.get(path)
        if found is None:
            is_in = self.is_in(_STARTS_GREENLETS, path)
            found = self._deriving[path] = tuple(
                match[1]
                for match in (_CLASS.finditer(self.modules.data(path)) if is_in else ())
                if _STARTS_GREENLETS.search(match[2])
            )
        return found

    def gathers(self, paths: Iterable[str], entries: Collection[str]) -> bool:
        """Return whether each function that starts greenlets in a process waits for all of them.

        Such a function fans out and joins: nothing else of the process runs beside its greenlets.
        Those that a program's own file starts are its work.

        Args:
            paths: The files that the process loads.
            entries: Of these the ones where it begins.
        """
        starting = [path for path in paths if self._names_start(path) and self._is_on_gevent(path)]
        return bool(starting) and all(
            path not in entries and self._gathers(path) for path in starting
        )

    def _is_on_gevent(self, path: str) -> bool:
        """Return whether a file that starts something has it from gevent, or names a server.

        Web sockets alone are those of another library.
        """
        found = self._on_gevent.get(path)
        if found is None:
            mention = self.of(path)
            is_importing = mention.imports or mention.imports_later
            found = is_importing or mention.starts or bool(mention.patched_by)
            if not found:
                code = _code_without_bases(self.modules.data(path))
                names = (one[0].lower() for one in _STARTS_BY_OTHERS.finditer(code))
                found = any(b"websocket" not in name for name in names)
            self._on_gevent[path] = found
        return found

    def _gathers(self, path: str) -> bool:
        """Return whether each function of a file that spawns greenlets also waits for them."""
        found = self._gathering.get(path)
        if found is None:
            mention = self.of(path)
            is_plain = not (mention.starts or mention.async_mode or mention.patched_by)
            names = self._names_of_gevent(path) if is_plain else set()
            is_gathering = bool(names) and all(map(_GATHERED.fullmatch, names))
            found = is_gathering and self._joins(path)
            self._gathering[path] = found
        return found

    def _names_of_gevent(self, path: str) -> set[bytes]:
        """Return the names that a file imports from gevent's modules, or reads from them."""
        data = self.modules.data(path)
        imported = (match[3] or b"" for match in statements(_GEVENT, data))
        names = {name for one in imported for name in re.findall(rb"(?<!as )\b[\w*]+", one)}
        code = self._code_besides(path)
        names.update(one[1] for one in _USED.finditer(code) if one[1])
        return names - {b"as", b"monkey"}

    def _joins(self, path: str) -> bool:
        """Return whether each function of a file with a call of `spawn()` has one that waits.

        The statements of a module are no such function: a script's greenlets are its work.
        """
        summary = self.modules.summary(path)
        calls = [
            (last_name(one.expression.callee), one.scope)
            for one in summary.calls
            if one.node == "call"
        ]
        spawning = {scope for name, scope in calls if name == "spawn"}
        waiting = {scope for name, scope in calls if scope and name in _GATHERING}
        return bool(spawning) and all(
            any(summary.is_within(scope, around) for around in waiting) for scope in spawning
        )

    def is_in(self, pattern: re.Pattern[bytes], path: str) -> bool:
        """Return whether a pattern matches in a file, which many processes may load."""
        known = self._searched.setdefault(path, {})
        found = known.get(pattern.pattern)
        if found is None:
            match = pattern.search(self.modules.data(path))
            found = known[pattern.pattern] = match is not None
        return found

    def pool_setting(self, path: str) -> int | None:
        """Return the row in which a file sets gevent as Celery's pool, None if none does."""
        data = self.modules.data(path)
        match = next((m for m in _POOL_SETTING.finditer(data) if not _in_comment(data, m)), None)
        return data.count(b"\n", 0, match.start()) + 1 if match is not None else None

    def may_start_others(self, paths: Iterable[str]) -> bool:
        """Return whether files may start greenlets beside what runs them, or patched threads."""
        return any(self.is_in(_STARTS_OTHERS, path) for path in paths)

    def serves(self, path: str) -> bool:
        """Return whether a file names a server of gevent, or one that runs on it."""
        mention = self.of(path)
        is_named = mention.async_mode or mention.any_mode or mention.starts
        return is_named or bool(mention.patched_by) or self.is_in(SERVES, path)

    def starts_greenlets(self, path: str) -> bool:
        """Return whether a file that mentions gevent itself starts greenlets with it, or serves."""
        mention = self.of(path)
        pattern = _STARTS_GREENLETS if mention.imports or mention.imports_later else _RUNS
        return self.is_in(pattern, path)

    def _worker(self, path: str) -> WorkerOption | None:
        """Return the worker class that options in a file that mentions gunicorn name."""
        return self.options(path) if b"gunicorn" in self.modules.data(path) else None

    def options(self, path: str) -> WorkerOption | None:
        """Return the worker class that options for gunicorn name; of several, a gevent one."""
        data = self.modules.data(path)
        if b"worker_class" not in data or WORKER_CONFIG.search(data):
            return None
        match = next((m for m in _WORKER_CLASS.finditer(data) if not _in_comment(data, m)), None)
        if match is not None:
            return WorkerOption(match[1].decode(), data.count(b"\n", 0, match.start()) + 1)
        found = [WorkerOption(one, row) for one, row in self._passed(path, "worker_class") if one]
        return next((one for one in found if "gevent" in one.name), found[0] if found else None)

    def _async_mode(self, path: str) -> bool:
        return any(text.startswith("gevent") for text, _ in self._passed(path, "async_mode"))

    def _passed(self, path: str, name: str) -> list[tuple[str, int]]:
        """Return the values of an option of this name in a file, and the rows."""
        summary = self.modules.summary(path)
        found = []
        for binding in summary.options.get(name, ()):
            place = Place(path, binding.scope, binding.path)
            part = Part(binding.value, place, (binding.row, binding.row))
            known = [text.spelled for text in self._texts.of(part) if text.whole]
            if not known:
                symbol = self._texts.declarations.symbol(binding.value, place)
                known = [symbol] if symbol is not None else []
            found += [(one, binding.row) for one in known]
        return found


def _code_without_bases(data: bytes) -> bytes:
    """Return the code of a file without the heads of its classes."""
    return _CLASS.sub(b"", _NO_CODE.sub(b"", data))


def _imports_of(module: str) -> tuple[bytes, re.Pattern[bytes]]:
    """Return a word of each import of a module, and a pattern of the imports."""
    word = module.rpartition(".")[2].encode()
    return word, re.compile(_importing(module), re.MULTILINE)


def _any_of(names: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern for any of some names."""
    return re.compile(rb"\b(?:%s)\b" % "|".join(map(re.escape, names)).encode())


def _importing(module: str) -> bytes:
    """Return a pattern for the statements at import that import a module."""
    whole = re.escape(module.encode())
    owner, _, name = module.rpartition(".")
    pattern = rb"^(?:from[ \t]+%s\b|import[ \t]+%s\b" % (whole, whole)
    if owner:
        parts = re.escape(owner.encode()), re.escape(name.encode())
        pattern += rb"|from[ \t]+%s[ \t]+import[ \t]+(?:\([^)]*|[^\n#]*)\b%s\b" % parts
    return pattern + rb")"


def _in_comment(data: bytes, match: re.Match[bytes]) -> bool:
    """Return whether a match is in a line that is a comment."""
    line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    return line.lstrip().startswith(b"#")
