"""Commands that the project's own code starts: ``os.execvp``, ``subprocess.run``, a server's main.

Only files that name a server and a function that starts one are parsed.
"""

from __future__ import annotations

import ast
import os
import re
from typing import NamedTuple

from gblock.project.names.spelling import Spelling, Words
from gblock.project.processes.deployment import Command
from gblock.project.processes.deployment.shell import Script
from gblock.project.reading.modules import Modules

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
    rb"check_output|getoutput|create_subprocess_exec|create_subprocess_shell|argv|worker_main|"
    rb"Worker|local|sudo)\b"
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
    return [one for path in paths for one in _of(modules.data(path), path)]


def _of(data: bytes, path: str) -> list[Launch]:
    specified = _SPECIFIED.search(data) is not None
    if not (specified or _STARTS.search(data)) or os.path.basename(path) == "setup.py":
        return []
    spelling = Spelling.of_file(data, path)
    if spelling is None:
        return []
    found = []
    for call, function in spelling.calls:
        for words in _started(call, function, spelling):
            found += [Launch(one) for one in _commands(words, path, call.lineno)]
        for words in _inside(call, function, spelling):
            found.append(Launch(Command(words, path, call.lineno), inside=True))
    for target, value, function in spelling.assigned:
        if ast.unparse(target) == "sys.argv":
            for spelled in spelling.of(value, function):
                found += [Launch(one) for one in _commands(spelled, path, value.lineno)]
    for mapping, function in spelling.mappings if specified else ():
        for key, given in zip(mapping.keys, mapping.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "command":
                for spelled in spelling.of(given, function):
                    found += [Launch(one) for one in _commands(spelled, path, given.lineno)]
    return found


def _started(call: ast.Call, function: int, spelling: Spelling) -> list[Words]:
    """Return the commands that a call starts as a child, or in place of its own process."""
    callee, arguments = call.func, call.args
    name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    if name in _GIVEN:
        given = arguments[:1] or [k.value for k in call.keywords if k.arg in ("args", "command")]
        return spelling.of(given[0], function) if given else []
    if name in _VECTOR and len(arguments) > 1:
        return _with_program(arguments[0], spelling.of(arguments[1], function), function, spelling)
    if name in _SPAWNED_VECTOR and len(arguments) > 2:
        return _with_program(arguments[1], spelling.of(arguments[2], function), function, spelling)
    if name in _LISTED and len(arguments) > 1:
        spelled = spelling.of(ast.List(elts=arguments[1:], ctx=ast.Load()), function)
        return _with_program(arguments[0], spelled, function, spelling)
    if name in _SPAWNED_LISTED and len(arguments) > 2:
        spelled = spelling.of(ast.List(elts=arguments[2:], ctx=ast.Load()), function)
        return _with_program(arguments[1], spelled, function, spelling)
    if name == "create_subprocess_exec":
        return spelling.of(ast.List(elts=arguments, ctx=ast.Load()), function)
    return []


def _with_program(
    program: ast.expr, spelled: list[Words], function: int, spelling: Spelling
) -> list[Words]:
    """Return the words with the executed program in place of ``argv[0]``."""
    programs = [one for one in spelling.of(program, function) if isinstance(one, str)]
    return [
        (programs[0] if programs else words[0], *words[1:])
        for words in spelled
        if isinstance(words, tuple) and words
    ]


def _inside(call: ast.Call, function: int, spelling: Spelling) -> list[tuple[str, ...]]:
    """Return the Celery worker that this process becomes: ``app.worker_main([…])``."""
    callee = call.func
    if not isinstance(callee, ast.Attribute):
        return []
    if callee.attr == "worker_main":
        given = call.args[:1] or [k.value for k in call.keywords if k.arg == "argv"]
        spelled = spelling.of(given[0], function) if given else []
        return [("celery", "worker", *one) for one in spelled if isinstance(one, tuple)]
    if callee.attr == "Worker":
        pools = [k.value for k in call.keywords if k.arg in ("pool", "pool_cls")]
        spelled = spelling.of(pools[0], function) if pools else []
        return [("celery", "worker", f"--pool={one}") for one in spelled if isinstance(one, str)]
    return []


def _commands(words: Words, path: str, row: int) -> list[Command]:
    if isinstance(words, tuple):
        return [Command(words, path, row)] if words else []
    return [Command.of(simple, path, row) for simple in Script(words).commands()]
