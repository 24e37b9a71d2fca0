"""Commands that the project's own code starts: ``os.execvp``, ``subprocess.run``, a server's main.

Only files that name a server and a function that starts one are read, and what they import.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple, TypeAlias

from gblock.project.names.declarations import Declarations
from gblock.project.names.partial_texts import HOLE, Spelled, Text
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.processes.deployment import Command
from gblock.project.processes.deployment.shell import Script
from gblock.project.reading.bindings import ASSIGNED, IN_DISPLAY
from gblock.project.reading.expressions import (
    ATTRIBUTE,
    TUPLE,
    CallExpr,
    ElementsExpr,
    last_name,
    passed,
)
from gblock.project.reading.modules import Modules

Words: TypeAlias = str | tuple[str, ...]
"""A text for the shell, or the words of a command."""
VARIABLE = "$x"
"""An unknown part of a command."""
_NAMES = (
    "gunicorn",
    "celery",
    "uwsgi",
    "locust",
    "dramatiq",
    "huey_consumer",
    "rqworker",
    "worker_main",
    "executable",
)
"""A file that starts a server, or another Python, contains one of these."""
_PYTHON = re.compile(rb"""["'](?:/\w+)*/?python[\d.]*["'][ \t]*,|["']python[\d.]*[ \t]""")
"""Python as the first word of a command."""
_STARTS = re.compile(
    rb"\b(?:exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|system|popen|Popen|run|call|check_call|"
    rb"check_output|getoutput|create_subprocess_exec|create_subprocess_shell|worker_main|"
    rb"Worker|local|sudo)\s*\(|\bargv\s*="
)
_SPECIFIED = re.compile(rb"""["']command["'][ \t]*:""")
"""A specification of a service or a container, which the code hands to what runs it."""
_LISTED = frozenset("execl execle execlp execlpe".split())
"""The words follow the path, one argument each."""
_VECTOR = frozenset("execv execve execvp execvpe posix_spawn posix_spawnp".split())
_SPAWNED_LISTED = frozenset("spawnl spawnle spawnlp spawnlpe".split())
_SPAWNED_VECTOR = frozenset("spawnv spawnve spawnvp spawnvpe".split())
_GIVEN = frozenset(
    "system popen Popen run call check_call check_output getoutput local sudo "
    "create_subprocess_shell".split()
)
"""A list of words, or a text for the shell, comes first."""
_COMMAND = ("args", "command")
_WORKERS = ("worker_main", "Worker")
_ARGUMENTS = ("sys", "argv")


class Launch(NamedTuple):
    """A command that the project's own code starts, beside those of deployment files."""

    command: Command
    inside: bool = False
    """True if it is this process itself that becomes the server: Celery's ``worker_main``."""


def launches(modules: Modules) -> list[Launch]:
    """Return the commands that the code of a project starts, tests excluded.

    Args:
        modules: The project's files.
    """
    paths = dict.fromkeys(path for name in _NAMES for path in modules.mentioning(name))
    for path in modules.mentioning("subprocess"):
        if _PYTHON.search(modules.data(path)):
            paths[path] = None
    reader = _LaunchReader(Declarations(modules))
    return [one for path in paths for one in reader.of(path)]


class _LaunchReader:
    """Reads the launches of single files.

    Args:
        declarations: The look-up of names in the project.
    """

    def __init__(self, declarations: Declarations) -> None:
        self._modules = declarations.modules
        self._texts = Texts(declarations, through_parameters=False)
        self._handed = Texts(declarations)

    def of(self, path: str) -> list[Launch]:
        """Return the commands that the code of a file starts."""
        data = self._modules.data(path)
        specified = _SPECIFIED.search(data) is not None
        if not (specified or _STARTS.search(data)) or os.path.basename(path) == "setup.py":
            return []
        summary = self._modules.summary(path)
        found = []
        for call in summary.calls:
            if call.node == "call":
                whole = Part(call.expression, Place(path, call.scope, call.path), call.statement)
                for words in self._started(call.expression, whole):
                    found += [Launch(one) for one in _commands(words, path, call.row)]
                for words in self._inside(call.expression, whole):
                    found.append(Launch(Command(words, path, call.row), inside=True))
        given = [b for scope in summary.scopes for b in scope.attributes.get(_ARGUMENTS, ())]
        given += [b for b in summary.options.get("command", ()) if b.detail == IN_DISPLAY]
        for binding in given:
            if binding.kind == ASSIGNED:
                place = Place(path, binding.scope, binding.path)
                for words in self._words(Part(binding.value, place, (binding.row, binding.row))):
                    found += [Launch(one) for one in _commands(words, path, binding.row)]
        return list(dict.fromkeys(found))

    def _started(self, call: CallExpr, whole: Part) -> list[Words]:
        """Return the commands that a call starts as a child, or in place of its own process."""
        name, arguments = last_name(call.callee), call.positional
        if name in _GIVEN:
            given = arguments[:1] or [value for key, value in call.keywords if key in _COMMAND]
            return self._words(whole.other(given[0])) if given else []
        if name == "create_subprocess_exec":
            return self._words(whole.other(ElementsExpr(TUPLE, arguments)))
        first = 1 if name in _SPAWNED_VECTOR or name in _SPAWNED_LISTED else 0
        if len(arguments) <= first + 1:
            return []
        if name in _VECTOR or name in _SPAWNED_VECTOR:
            spelled = self._words(whole.other(arguments[first + 1]))
        elif name in _LISTED or name in _SPAWNED_LISTED:
            spelled = self._words(whole.other(ElementsExpr(TUPLE, arguments[first + 1 :])))
        else:
            return []
        # The executed program replaces ``argv[0]``.
        programs = [one for one in self._words(whole.other(arguments[first])) if one]
        program = next((one for one in programs if isinstance(one, str)), None)
        return [(program or one[0], *one[1:]) for one in spelled if isinstance(one, tuple) and one]

    def _inside(self, call: CallExpr, whole: Part) -> list[tuple[str, ...]]:
        """Return the Celery worker that this process becomes: ``app.worker_main([…])``."""
        callee = call.callee
        if callee is None or callee.tag != ATTRIBUTE or callee.name not in _WORKERS:
            return []
        if callee.name == "worker_main":
            spelled = self._words(whole.other(passed(call, 0, "argv")))
            return [("celery", "worker", *one) for one in spelled if isinstance(one, tuple)]
        pools = [value for key, value in call.keywords if key in ("pool", "pool_cls")]
        spelled = self._words(whole.other(pools[0])) if pools else []
        return [("celery", "worker", f"--pool={one}") for one in spelled if isinstance(one, str)]

    def _words(self, part: Part) -> list[Words]:
        """Return the possible commands of an expression, with a shell's variable for each hole.

        A parameter may be anything, so in a command it is a hole. Where the rest of the command
        is unknown, it is what the function's callers in the same file pass.
        """
        spelled = self._texts.spelled(part)
        if not any(_is_known(one) for one in spelled):
            spelled = self._handed.spelled(part)
        shown = (
            _shown(one) if isinstance(one, Text) else tuple(map(_shown, one.words))
            for one in spelled
        )
        return list(dict.fromkeys(shown))


def _is_known(value: Spelled) -> bool:
    """Return whether anything of a command is known."""
    texts = (value,) if isinstance(value, Text) else value.words
    return any(one.spelled.strip(HOLE) for one in texts)


def _shown(text: Text) -> str:
    return text.spelled.replace(HOLE, VARIABLE)


def _commands(words: Words, path: str, row: int) -> list[Command]:
    if isinstance(words, tuple):
        return [Command(words, path, row)] if words else []
    return [Command.of(simple, path, row) for simple in Script(words).commands()]
