"""The programs behind commands: ``exec``, ``env``, ``sudo`` and other wrappers are followed."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

from gblock.project.processes.deployment import Command, Deployment, EntryPoint
from gblock.project.processes.deployment.known_programs import OTHERS, SERVERS
from gblock.project.processes.deployment.shell import Script

_OTHER_NAMES = {
    "gunicorn3": "gunicorn",
    "pyuwsgi": "uwsgi",
    "talisker": "gunicorn",
    "talisker.celery": "celery",
    "talisker.gunicorn": "gunicorn",
    "talisker.gunicorn.eventlet": "gunicorn",
    "talisker.gunicorn.gevent": "gunicorn",
}
"""Other names of servers, and programs that set something up and start one."""
_SHELLS = frozenset("sh bash ash dash zsh ksh".split())
_SILENT = frozenset(
    ". [ [[ alias apk apt apt-get awk basename black break brew cargo cat cd chmod chown "
    "cmake conda continue cp curl date dirname dnf docker-build echo egrep exit false find "
    "flake8 gcc git go grep groupadd hash head id install isort java kill killall ln ls make "
    "mkdir mv mypy mysql nginx node npm npx pg_isready pgrep pidof pip pip3 pipx pkill popd "
    "postgres pre-commit printf ps psql pushd pylint read redis-cli redis-server return rm "
    "rmdir rsync ruff scp sed service set shift sleep sort source ssh systemctl tail tar tee "
    "test touch trap true twine type ulimit umask uniq unset unzip useradd usermod venv "
    "virtualenv wait wc wget which whoami yarn yum".split()
)
"""Programs that are no servers and start none."""
_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)?)?(?:\.exe)?")
_RUNNERS = frozenset("coverage ddtrace cProfile trace debugpy memory_profiler".split())
"""Modules that run a file, a module (``-m``) or a program and observe it."""
_WORKER_CLASS = re.compile(r"sync|gthread|gevent|eventlet|tornado|[\w:]+(?:\.\w+)+")
"""gunicorn's worker classes, and the dotted name of another."""
_APPLICATION = re.compile(
    r"[A-Za-z_]\w*(?:\.\w+)*:\w+(?:\(.*\))?|[A-Za-z_]\w*(?:\.\w+)*\.(?!sh\b|py\b)\w+"
)
"""The name of a WSGI application, which no program has."""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_NO_PYTHON = tuple(
    ".txt .in .cfg .ini .conf .toml .lock .json .yml .yaml .md .rst .sh .sql".split()
)
"""Endings of files that follow a Python's path where it is an option: ``--python bin/python``."""
_DEEP = 6


class Program(NamedTuple):
    """The program of a `Command` behind shells, wrappers and scripts of the repository."""

    name: str
    """``python``, a known program, or ``""`` for a script that an installation provides."""
    arguments: tuple[str, ...]
    command: Command
    """Its place; of several files that lead to it, the innermost."""
    path: str = ""
    """For ``python``: the file that is run, where it is one of the repository."""
    point: EntryPoint | None = None


class Programs:
    """Finds the programs that commands run.

    Args:
        deployment: The repository's files.
        workers: The commands that run workers of tasks.
    """

    def __init__(self, deployment: Deployment, workers: Collection[str]) -> None:
        self.deployment = deployment
        self._serving = SERVERS.union(workers)
        self._known = self._serving | OTHERS
        self.tree = deployment.tree
        self.points = {point.name: point for point in deployment.points}

    @cached_property
    def all(self) -> list[Program]:
        """The programs of all commands of the repository, in order."""
        return [program for command in self.deployment.commands for program in self.of(command)]

    def is_server(self, program: Program) -> bool:
        """Return whether a program serves requests or works on tasks."""
        return program.name in self._serving

    def of(self, command: Command, depth: int = 0) -> list[Program]:
        """Return the programs that one command runs; the repository's scripts are followed."""
        words, environment = _without_assignments(command.words)
        if environment:
            merged = {**command.variables, **environment}
            command = command._replace(environment=tuple(sorted(merged.items())))
        if depth > _DEEP:
            return []
        if command.environment and any("$" in word for word in words):
            words = _filled(words, command.variables)
        if words and words[0].startswith("-"):
            name = _of_base_image(words)
            return [Program(name, words, command)] if name else []
        if words[:2] == ("uv", "pip"):
            return []
        quoted: list[Program] = []
        for index, word in enumerate(words):
            is_text = index > 0 and any(letter.isspace() for letter in word)
            if quoted and not is_text:
                continue
            if os.path.basename(word) in _SILENT and words[:index] in ((), ("sudo",)):
                return []
            found = self._at(words, index, command, depth)
            if found is not None and not is_text:
                return found
            quoted += found or []  # ``parallel ::: "celery …" "gunicorn …"``
        if quoted:
            return quoted
        # A wrapper's arguments may look like scripts, so scripts are searched last.
        for index, word in enumerate(words):
            if word in self.points:
                point = self.points[word]
                return [Program("", words[index + 1 :], command, point=point)]
        if words and _APPLICATION.fullmatch(words[0]) and _of_base_image(words) == "gunicorn":
            return [Program("gunicorn", words, command)]
        return []

    def _at(
        self, words: tuple[str, ...], index: int, command: Command, depth: int
    ) -> list[Program] | None:
        """Return the programs if this word names one, else None."""
        word, rest = words[index], words[index + 1 :]
        name = os.path.basename(word)
        if word == "eval":
            return self._inner(" ".join(rest), command, depth)
        if index and any(letter.isspace() for letter in word):
            return self._inner(word, command, depth) or None
        if name in _SHELLS and (index == 0 or rest):
            return self._shell(rest, command, depth)
        if _PYTHON.fullmatch(name):
            return self._python(rest, command, depth) if rest else None
        if name in self._known:
            return [Program(name, rest, command)]
        if name in _OTHER_NAMES:
            return [Program(_OTHER_NAMES[name], rest, command)]
        point = self.points.get(name)
        if point is not None and index == 0:
            return [Program("", rest, command, point=point)]
        if index == 0 or "/" in word or word.endswith((".py", ".sh")):
            path = self.tree.find(word, command.home)
            if path is not None and path != command.filename:
                return self._file(path, rest, command, depth)
        return None

    def _inner(self, text: str, command: Command, depth: int) -> list[Program]:
        """Return the programs that a shell's text runs, as in ``sh -c``."""
        found = []
        for simple in Script(text, command.variables).commands():
            inner = command._replace(
                words=simple.words,
                environment=tuple(
                    sorted({**command.variables, **dict(simple.environment)}.items())
                ),
            )
            if simple.directory.startswith("/"):
                inner = inner._replace(working=self.tree.directory(simple.directory) or "")
            elif simple.directory:
                where = os.path.normpath(os.path.join(command.home, simple.directory))
                inner = inner._replace(directory=where)
            found += self.of(inner, depth + 1)
        return found

    def _shell(self, rest: tuple[str, ...], command: Command, depth: int) -> list[Program] | None:
        for index, word in enumerate(rest):
            if word.startswith("-") and "c" in word and not word.startswith("--"):
                return self._inner(rest[index + 1], command, depth) if rest[index + 1 :] else []
            if not word.startswith(("-", "+")):
                path = self.tree.find(word, command.home)
                if path is None:
                    return []
                return self._file(path, rest[index + 1 :], command, depth)
        return []

    def _file(
        self, path: str, rest: tuple[str, ...], command: Command, depth: int
    ) -> list[Program] | None:
        if path in self.deployment.scripts:
            found: list[Program] = []
            inner = self.deployment.script(path, command.variables, rest, command.label)
            for one in inner:
                placed = one._replace(
                    directory=command.directory or one.directory,
                    working=one.working or command.working,
                )
                found += self.of(placed, depth + 1)
            return found
        if path.endswith(".py") or self._is_python(path):
            return [Program("python", rest, command, path)]
        return None

    def _is_python(self, path: str) -> bool:
        if "." in os.path.basename(path):
            return False
        first = (self.deployment.text(path) or "").partition("\n")[0]
        return first.startswith("#!") and "python" in first

    def _python(self, rest: tuple[str, ...], command: Command, depth: int) -> list[Program] | None:
        """Return the programs that ``python`` runs: a module or a file; none for other code."""
        index = 0
        while index < len(rest):
            word = rest[index]
            if word in ("-W", "-X"):
                index += 2
            elif word == "-c" or word == "-":
                return []
            elif word.startswith("-m"):
                module, after = word[2:], rest[index + 1 :]
                if not module:
                    module, after = (after[0], after[1:]) if after else ("", ())
                return self._module(module, after, command, depth)
            elif word.startswith("-"):
                index += 1
            else:
                path = self.tree.find(word, command.home)
                found = [path] if path is not None else self.tree.matching(word, command.home)
                if not found and command.home != self.tree.root:
                    found = self.tree.matching(word, self.tree.root)
                found = [one for one in found if not one.endswith(_NO_PYTHON)]
                return [Program("python", rest[index + 1 :], command, one) for one in found]
        return []

    def _module(
        self, module: str, rest: tuple[str, ...], command: Command, depth: int
    ) -> list[Program]:
        name = module.partition(".")[0]
        if name == "huey":
            name = module.rpartition(".")[2]
        if name in self._known:
            return [Program(name, rest, command)]
        if name in _RUNNERS:
            if "-m" in rest:
                return self._python(rest[rest.index("-m") :], command, depth) or []
            return self.of(command._replace(words=(name, *rest)), depth + 1)
        return [Program("python", ("-m", module, *rest), command)]


def _of_base_image(arguments: tuple[str, ...]) -> str | None:
    """Return the server that arguments alone are for: the program is the base image's entrypoint.

    gunicorn's are known by the worker class, Celery's by its application and ``worker``.
    """
    kind = option(arguments, "-k", "--worker-class")
    if kind is not None and _WORKER_CLASS.fullmatch(kind):
        return "gunicorn"
    if option(arguments, "-A", "--app") is not None and "worker" in arguments:
        return "celery"
    return None


def option(arguments: tuple[str, ...], *names: str) -> str | None:
    """Return the last value of an option: ``-k x``, ``-kx``, ``--name x``, ``--name=x``."""
    found = None
    for index, word in enumerate(arguments):
        for name in names:
            if word == name and index + 1 < len(arguments):
                found = arguments[index + 1]
            elif name.startswith("--") and word.startswith(f"{name}="):
                found = word[len(name) + 1 :]
            elif not name.startswith("--") and len(word) > 2 and word.startswith(name):
                found = word[2:].removeprefix("=")
    return found


def subcommand(arguments: tuple[str, ...], valued: tuple[str, ...]) -> str:
    """Return the first argument that is neither an option nor its value, else an empty text.

    Args:
        arguments: The arguments of a program.
        valued: The options that take a value.
    """
    words = iter(arguments)
    for word in words:
        if word in valued:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _filled(words: tuple[str, ...], variables: dict[str, str]) -> tuple[str, ...]:
    """Return the words with known variables expanded; a variable alone may become several words."""
    script = Script("", variables)
    found: list[str] = []
    for word in words:
        if "$" not in word or any(letter.isspace() for letter in word) or "$@" in word:
            found.append(word)  # the shell expands its text itself
            continue
        filled = script.expanded(word)
        found += filled.split() if word[0] == "$" else [filled]
    return tuple(found)


def _without_assignments(
    words: tuple[str, ...],
) -> tuple[tuple[str, ...], dict[str, str]]:
    environment: dict[str, str] = {}
    index = 0
    while index < len(words):
        match = _ASSIGNMENT.fullmatch(words[index])
        if match is not None:
            environment[match[1]] = match[2]
        elif words[index] not in ("env", "exec", "nohup"):
            break
        index += 1
    return words[index:], environment
