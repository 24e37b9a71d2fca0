"""What single files say of gevent, told from their bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from gblock.project.modules import Modules

_GEVENT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+(gevent(?:\.\w+)*)[ \t]+import[ \t]+([^\n#]*)"
    rb"|import[ \t]+(?:[\w., \t]*[, \t])?(gevent(?:\.\w+)*))",
    re.MULTILINE,
)
_WORKER_CLASS = re.compile(
    rb"""(?:["']worker_class["'][ \t]*(?:\][ \t]*=|[:,])|\bworker_class[ \t]*=)"""
    rb"""[ \t]*["']([\w.:#]+)["']"""
)
WORKER_CONFIG = re.compile(rb"^worker_class[ \t]*=", re.MULTILINE)
"""What makes a file one of gunicorn's settings files."""
_POOL = re.compile(
    rb"""--pool(?:=|["'],?\s*["']?)gevent|["']-P["']\s*,\s*["']gevent["']"""
    rb"""|(?:worker_pool|CELERYD_POOL|CELERY_WORKER_POOL)["']?\s*[:=]\s*["']gevent"""
)
_ASYNC_MODE = re.compile(rb"""async_mode\s*[=:]\s*["']gevent""")


class Mark(NamedTuple):
    """What one file says of gevent."""

    imports: bool = False
    """Whether it imports something of gevent at import, besides its monkey patching."""
    imports_later: bool = False
    worker: tuple[str, int] | None = None
    """A gunicorn worker class in a dictionary of options, and the row."""
    pool: bool = False
    """Whether it sets gevent as the pool of Celery's workers."""
    async_mode: bool = False
    """Whether it sets gevent as the mode of Flask-SocketIO."""


class Marks:
    """Reads the marks of a project's files.

    Args:
        modules: The files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._known: dict[str, Mark] = {}

    def of(self, path: str) -> Mark:
        """What one file says of gevent."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._read(path)
        return found

    def _read(self, path: str) -> Mark:
        data = self.modules.data(path)
        if b"gevent" not in data and b"worker_class" not in data:
            return Mark()
        at_import = later = False
        for match in _GEVENT.finditer(data):
            names = match[2] or match[4]
            if names == b"gevent.monkey" or (match[3] or b"").strip() in (b"monkey", b"(monkey)"):
                continue
            if match[1]:
                later = True
            else:
                at_import = True
        worker = None
        if b"gunicorn" in data and not WORKER_CONFIG.search(data):
            match_ = _WORKER_CLASS.search(data)
            if match_ is not None:
                row = data.count(b"\n", 0, match_.start()) + 1
                worker = match_[1].decode(), row
        pool = b"elery" in data.lower() and _POOL.search(data) is not None
        return Mark(at_import, later, worker, pool, _ASYNC_MODE.search(data) is not None)
