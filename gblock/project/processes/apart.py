"""Hubs apart: servers on gevent that only native threads or child processes of a program run.

A dashboard starts such a server beside a notebook, and a scheduler one that takes results. Where
nothing is monkey patched, the program's own thread has no hub that a call could block. A child
process that serves WSGI is a service itself, with the handlers that the program defines.
"""

from __future__ import annotations

import os
import re
from functools import cached_property

from gblock.project.names.declarations import Declarations
from gblock.project.names.places import Place
from gblock.project.processes.mentions import Mention, Mentions
from gblock.project.reading.expressions import dotted, last_name
from gblock.project.reading.modules import Modules
from gblock.project.reading.summary import Call, ModuleSummary

_HARMLESS = re.compile(
    r"gevent\.(?:sleep|reinit|get_hub|getcurrent|idle|Timeout|timeout|thread\.get_ident"
    r"|(?:socket|ssl|select|event|lock|queue|local|os|time|_socketcommon)\.\w+)(?:\.\w+)*"
)
"""Functions and classes of gevent that start no greenlet."""
_THREADS = frozenset(("threading.Thread", "threading.Timer", "_thread.start_new_thread"))
"""Classes and functions that run a method ``run``, or what they are given, in a native thread."""
_PROCESSES = frozenset(("multiprocessing.Process", "multiprocessing.process.BaseProcess"))
"""Classes that run a method ``run``, or what they are given, in a child process."""
_OF_CONTEXT = "Process"
"""The class that a context of ``multiprocessing`` has: ``get_context("spawn").Process``."""
_QT = ("PyQt4.", "PyQt5.", "PyQt6.", "PySide.", "PySide2.", "PySide6.", "qtpy.")
"""Packages of Qt: the main thread runs Qt's loop, so a class of its own serves in another one."""
_WSGI = "WSGIServer"
"""The last name of gevent's servers of web applications."""
_NOTHING = Mention()
_DEEPEST = 4
"""At most this many functions are followed from the one that a thread runs."""


class HubsApart:
    """Finds out whether gevent is used in native threads and child processes alone.

    Args:
        modules: The project's files.
        mentions: Finds mentions of gevent in files.
    """

    def __init__(self, modules: Modules, mentions: Mentions) -> None:
        self.modules = modules
        self._mentions = mentions
        self._declarations = Declarations(modules)

    @cached_property
    def where(self) -> str:
        """The file whose server runs apart; empty if some other code starts greenlets, or none."""
        found = ""
        for path in self.modules.serving:
            mention = self._mentions.of(path)
            if mention == _NOTHING:
                continue
            starting = self._starting(path)
            if (
                mention.patched_by
                or mention.worker
                or mention.pool
                or (mention.async_mode and not starting)
                or b"patch_" in self.modules.data(path)
                or not all(self._is_apart(path, call) for call in starting)
            ):
                return ""
            if starting:
                found = found or os.path.relpath(path, self.modules.root)
        return found

    def _starting(self, path: str) -> list[Call]:
        """Return the calls of a file that may start greenlets or serve."""
        summary = self.modules.summary(path)
        derived = {
            scope.name
            for index, scope in enumerate(summary.scopes)
            if scope.kind == "class" and self._has_base(path, summary, index, ("gevent.",))
        }
        return [
            call
            for call in summary.calls
            if call.node == "call"
            and (last_name(call.expression.callee) in derived or self._starts(path, call))
        ]

    def _starts(self, path: str, call: Call) -> bool:
        """Return whether a call is one of gevent, or of Flask-SocketIO, that may start greenlets.

        ``SocketIO(app)`` itself starts nothing; its method ``run()`` serves.
        """
        callee = call.expression.callee
        name = dotted(callee) or ""
        if last_name(callee) == "run" and "socketio" in name.lower():
            return True
        place = Place(path, call.scope, call.path)
        return any(
            symbol.startswith("gevent") and not _HARMLESS.fullmatch(symbol)
            for symbol in self._declarations.origins(callee, place)
        )

    def _is_apart(self, path: str, call: Call) -> bool:
        """Return whether a native thread or a child process makes a call."""
        summary = self.modules.summary(path)
        serves = last_name(call.expression.callee) == _WSGI
        apart = _THREADS if serves else _THREADS | _PROCESSES
        return self._is_within_apart(path, summary, call.scope, apart)

    def _is_within_apart(
        self, path: str, summary: ModuleSummary, index: int, apart: frozenset[str], depth: int = 0
    ) -> bool:
        """Return whether a scope is in a function that a thread or a child process runs."""
        while index > 0:
            scope = summary.scopes[index]
            if scope.kind == "function" and self._is_run_apart(path, summary, index, apart, depth):
                return True
            index = scope.parent
        return False

    def _is_run_apart(
        self, path: str, summary: ModuleSummary, index: int, apart: frozenset[str], depth: int
    ) -> bool:
        """Return whether a thread or a child process runs a function, and nothing else in its file.

        What makes the thread is in the same file. Functions that it runs alone may call the
        function, or start a greenlet for it.

        Args:
            path: The file.
            summary: Its summary.
            index: The function.
            apart: The classes and functions that may run it.
            depth: The number of functions that were followed.
        """
        scope = summary.scopes[index]
        name = scope.name
        owner = summary.scopes[scope.parent]
        if owner.kind == "class" and self._has_base(path, summary, scope.parent, _QT):
            return True
        if name == "run" and owner.kind == "class":
            if self._has_base(path, summary, scope.parent, tuple(apart)):
                return True
            if apart >= _PROCESSES and any(last_name(one) == _OF_CONTEXT for one in owner.bases):
                return True
        handed = False
        users: list[int] = []
        for call in summary.calls:
            if call.node != "call" or summary.is_within(call.scope, index):
                continue
            if self._hands_over(path, call, name, apart):
                handed = True
            elif dotted(call.expression.callee) in (name, f"self.{name}") or _is_given(call, name):
                users.append(call.scope)
        if users and depth < _DEEPEST:
            return all(self._is_within_apart(path, summary, one, apart, depth + 1) for one in users)
        return handed and not users

    def _hands_over(self, path: str, call: Call, name: str, apart: frozenset[str]) -> bool:
        """Return whether a call makes a thread or a child process of a function in its file."""
        expression = call.expression
        named = [value for key, value in expression.keywords if key == "target"]
        given = [*expression.positional, *named]
        if not any(dotted(one) in (name, f"self.{name}") for one in given):
            return False
        if apart >= _PROCESSES and named and last_name(expression.callee) == _OF_CONTEXT:
            return True
        place = Place(path, call.scope, call.path)
        return not apart.isdisjoint(self._declarations.origins(expression.callee, place))

    def _has_base(
        self, path: str, summary: ModuleSummary, index: int, symbols: tuple[str, ...]
    ) -> bool:
        """Return whether a class has a base among some symbols, or one whose name begins so."""
        scope = summary.scopes[index]
        outside = Place(path, max(scope.parent, 0), scope.path)
        return any(
            symbol.startswith(symbols)
            for base in scope.bases
            for symbol in self._declarations.origins(base, outside)
        )


def _is_given(call: Call, name: str) -> bool:
    """Return whether a function of a file is an argument of a call."""
    given = (*call.expression.positional, *(value for _, value in call.expression.keywords))
    return any(dotted(one) in (name, f"self.{name}") for one in given)
