"""YAML: compose files, Kubernetes manifests, and other files that name commands."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from gblock.project.processes.deployment.command import (
    UNCLOSED,
    Command,
    Fact,
    Note,
    UnreadableError,
    Variables,
)
from gblock.project.processes.deployment.repository import NONE, Repository, Stage, Values
from gblock.project.processes.deployment.shell import Script
from gblock.project.processes.deployment.units import Section, UnitSetting, uwsgi

EXAMPLE = (
    "compose.yml",
    "services:\n  web:\n    command: gunicorn -k gevent shop.wsgi\n",
)
_STARTS = ("command", "args", "entrypoint", "cmd", "startCommand", "start_command")
_PROBES = {"exec", "healthcheck", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}
_TAG = re.compile(
    r"\{\{-?\s*(?:/\*.*?\*/|(?:if|else|end|range|with|define|block|template)\b[^\n]*?)\s*-?\}\}"
    r"|\{%.*?%\}|\{#.*?#\}",
    re.DOTALL,
)
"""Control statements and comments of Go and Jinja templates."""
_HOLE = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_HOLE_LINE = re.compile(r"^[ \t]*\{\{[^\n]*\}\}[ \t]*$", re.MULTILINE)
_OF_VALUES = re.compile(r"\.Values\.([\w.]+)")
_DEFAULT = re.compile(r"""\bdefault\(?\s*["']([^"']*)["']""")
_OF_KUBERNETES = re.compile(r"\$\(([A-Z_][A-Z0-9_]*)\)")
_RUN = ("heroku.yml", "app.json", "package.json")
"""Files with a mapping of names to commands."""
_UWSGI = {"module", "wsgi-file", "master", "gevent", "workers", "processes", "socket"}
_DEEP = 40


class _Started(NamedTuple):
    words: tuple[str, ...]
    row: int


def read(text: str, filename: str, repository: Repository = NONE) -> list[Fact]:
    """Return the commands and the ConfigMaps of all documents in a file.

    Args:
        text: The file.
        filename: Its name.
        repository: Finds the images that services build, environment files, and the settings of
            the template's chart.

    Raises:
        UnreadableError: if it is not YAML.
    """
    variables = (
        repository.environment(".env", filename) if "services:" in text and "$" in text else {}
    )
    found: list[Fact] = []
    for document in _documents(text, repository.chart(filename) if "{{" in text else {}):
        found += _Reader(filename, repository, variables).read(document)
    if "ConfigMap" in text or "configMap" in text:
        found += _config_maps(text, filename, repository)
    return found


def _config_maps(text: str, filename: str, repository: Repository) -> list[Variables]:
    """Return the variables of each ConfigMap, including those that Kustomize generates."""
    found: dict[str, dict[str, str]] = {}
    for document in _documents(text, {}):
        items = _items(document) if document.id == "mapping" else {}
        kind, data = items.get("kind"), items.get("data")
        name = (
            _text(_items(items["metadata"]).get("name")) if _is_mapping(items, "metadata") else ""
        )
        if name and _text(kind) == "ConfigMap" and data is not None and data.id == "mapping":
            found[name] = {key: _text(value) for key, value in _items(data).items()}
        generators = items.get("configMapGenerator")
        if generators is None or generators.id != "sequence":
            continue
        for one in generators.value:
            made = _items(one) if one.id == "mapping" else {}
            variables = found.setdefault(_text(made.get("name")), {})
            for path in _texts(made.get("envs")) + _texts(made.get("env")):
                variables.update(repository.environment(path, filename))
            pairs = (pair.partition("=") for pair in _texts(made.get("literals")))
            variables.update((pair[0], pair[2]) for pair in pairs)
    return [Variables(*one) for one in found.items()]


def settings(text: str) -> Values:
    """Return the settings of a chart; none if they cannot be read."""
    yaml = _yaml()
    try:
        found = yaml.load(text, Loader=_loader())
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _documents(text: str, values: Values) -> list[Any]:
    """Return the documents of a file; holes of templates are filled first.

    Raises:
        UnreadableError: if it is not YAML.
    """
    if "{{" in text or "{%" in text:
        text = _TAG.sub(lambda match: "\n" * match[0].count("\n"), text)
        text = _HOLE.sub(lambda match: _in_hole(match, values), _HOLE_LINE.sub("", text))
    yaml = _yaml()
    try:
        found = list(yaml.compose_all(text, Loader=_loader()))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "is no YAML"
        raise UnreadableError(
            f"cannot be read as YAML: {problem}", mark.line + 1 if mark else 0
        ) from None
    except (RecursionError, ValueError) as error:
        raise UnreadableError(f"cannot be read as YAML: {type(error).__name__}") from None
    return [document for document in found if document is not None]


def _in_hole(match: re.Match[str], values: Values) -> str:
    """Return the value for a hole: the chart's setting, or the default written in it."""
    named = _OF_VALUES.search(match[1])
    now: Any = values if named is not None else None
    for name in named[1].split(".") if named is not None else ():
        now = now.get(name) if isinstance(now, dict) else None
    if isinstance(now, str | int) and str(now):
        text = str(now)
    else:
        default = _DEFAULT.search(match[1])
        text = default[1] if default is not None else "$x"
    return text.replace("\n", " ") + "\n" * match[0].count("\n")


@cache
def _yaml() -> Any:
    """Import PyYAML on demand; it has no type annotations."""
    return importlib.import_module("yaml")


@cache
def _loader() -> Any:
    yaml = _yaml()
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Reader:
    """Walks one document; aliases can form a cycle, so each node is visited once."""

    def __init__(
        self,
        filename: str,
        repository: Repository,
        variables: dict[str, str],
    ) -> None:
        self.filename = filename
        self.repository = repository
        self.variables = variables
        """The values that compose substitutes for ``$NAME``."""
        self.runs = os.path.basename(filename) in _RUN
        self.entered: set[object] = set()
        self.notes: dict[Note, None] = {}

    def read(self, document: Any) -> list[Fact]:
        return [*self._walk(document, "", 0), *self.notes]

    def _walk(self, node: Any, key: str, depth: int) -> Iterator[Command]:
        if depth > _DEEP or node in self.entered or key in _PROBES:
            return
        self.entered.add(node)
        if node.id == "sequence":
            for one in node.value:
                yield from self._walk(one, key, depth + 1)
        elif node.id == "mapping":
            items = _items(node)
            if key == "uwsgi" or len(_UWSGI & set(items)) > 2:
                yield from self._uwsgi(node)
                return
            if self.runs and key in ("run", "scripts", "processes"):
                yield from self._run(items)
            yield from self._commands(items, key)
            for name, value in items.items():
                # Compose runs no extension: it holds what services share.
                if not (depth == 0 and "services" in items and name.startswith("x-")):
                    yield from self._walk(value, name, depth + 1)

    def _run(self, items: dict[str, Any]) -> Iterator[Command]:
        for name, node in items.items():
            started = self._started(node) if node.id == "scalar" else None
            if started is not None:
                yield Command(started.words, self.filename, started.row, name)

    def _uwsgi(self, node: Any) -> list[Command]:
        settings = [
            UnitSetting(str(name.value), str(one.value), one.start_mark.line + 1)
            for name, value in node.value
            for one in (value.value if value.id == "sequence" else [value])
            if name.id == "scalar" and one.id == "scalar"
        ]
        return uwsgi(Section("uwsgi", node.start_mark.line + 1, settings), self.filename)

    def _commands(self, items: dict[str, Any], key: str) -> Iterator[Command]:
        started = {name: self._started(items[name]) for name in _STARTS if name in items}
        known = {name: one for name, one in started.items() if one is not None}
        build = items.get("build")
        if not known and build is None:
            return
        label = key
        if "name" in items and items["name"].id == "scalar":
            label = items["name"].value
        environment = self._environment(items)
        image = self._image(build) or _known_image(items)
        directory = self._context(build) if build is not None else ""
        row = min((one.row for one in known.values()), default=0)
        words: tuple[str, ...] = ()
        if "entrypoint" in known or "command" in known or "args" in known:
            entrypoint = known["entrypoint"].words if "entrypoint" in known else None
            command = known["command"].words if "command" in known else ()
            if "args" in known:  # Kubernetes: command and args are ENTRYPOINT and CMD
                command = (*command, *known["args"].words)
            if image is not None:
                words = image.started(command, entrypoint)
            else:
                words = (*(entrypoint or ()), *command)
        elif known:
            words = next(iter(known.values())).words
        elif image is not None and build is not None:
            words, row = image.started(), build.start_mark.line + 1
        if image is not None:
            environment = {**image.environment, **environment}
        if words:
            yield Command(
                words,
                self.filename,
                row,
                label,
                tuple(environment.items()),
                directory,
                working=_text(items.get("working_dir") or items.get("workingDir"))
                or (image.directory if image is not None else ""),
                maps=_maps(items),
            )

    def _started(self, node: Any) -> _Started | None:
        """Return the words of a command: a list's items, or a string split as the shell does."""
        row = node.start_mark.line + 1
        if node.id == "sequence":
            words = [self._filled(one.value) for one in node.value if one.id == "scalar"]
            return _Started(tuple(words), row) if words and len(words) == len(node.value) else None
        if node.id != "scalar" or not node.value.strip():
            return None
        text = node.value.replace("$$", "$")
        script = Script(text, self.variables)
        commands = script.commands()
        if script.broken is not None:
            self.notes[Note(self.filename, UNCLOSED, row)] = None
        own = set(commands[0].environment) - set(self.variables.items()) if commands else set()
        if len(commands) == 1 and not own:
            return _Started(commands[0].words, row)
        return _Started(("sh", "-c", text), row) if commands else None

    def _filled(self, text: str) -> str:
        if "$" not in text:
            return text
        text = _OF_KUBERNETES.sub(r"$\1", text.replace("$$", "$"))
        return Script("", self.variables).expanded(text) if self.variables else text

    def _environment(self, items: dict[str, Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        files = items.get("env_file")
        for one in files.value if files is not None and files.id == "sequence" else [files]:
            path = _items(one).get("path") if one is not None and one.id == "mapping" else one
            if _text(path):
                found.update(self.repository.environment(_text(path), self.filename))
        for key in ("environment", "env", "env_variables"):
            if key in items:
                found.update(self._variables(items[key]))
        return found

    def _variables(self, node: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        if node.id == "mapping":
            found.update({k: one.value for k, one in _items(node).items() if one.id == "scalar"})
        elif node.id == "sequence":
            for one in node.value:
                if one.id == "scalar":
                    name, equals, value = one.value.partition("=")
                    if equals or name in self.variables:
                        found[name] = value if equals else self.variables[name]
                elif one.id == "mapping":
                    pair = _items(one)
                    if {"name", "value"} <= set(pair) and pair["value"].id == "scalar":
                        found[str(pair["name"].value)] = pair["value"].value
        return {name: self._filled(value) for name, value in found.items()}

    def _context(self, build: Any) -> str:
        where, _ = _built(build)
        return os.path.normpath(os.path.join(os.path.dirname(self.filename), where))

    def _image(self, build: Any) -> Stage | None:
        if build is None:
            return None
        _, name = _built(build)
        return self.repository.image(self._context(build), name)


_IMAGES = {"locustio/locust": Stage(("locust",), (), {}, 0, "")}
"""Public images that run a program with the arguments they are given."""


def _known_image(items: dict[str, Any]) -> Stage | None:
    """Return the command of the public image that a service names."""
    return _IMAGES.get(_text(items.get("image")).rpartition("/docker.io/")[2].partition(":")[0])


def _built(build: Any) -> tuple[str, str]:
    """Return the directory and the Dockerfile of a compose file's ``build``."""
    if build.id == "scalar":
        return build.value, "Dockerfile"
    if build.id != "mapping":
        return ".", "Dockerfile"
    items = _items(build)
    texts = {k: one.value for k, one in items.items() if one.id == "scalar"}
    return texts.get("context", "."), texts.get("dockerfile", "Dockerfile")


def _items(node: Any, depth: int = 0) -> dict[str, Any]:
    """Return the items of a mapping, with those that ``<<: *other`` merges into it."""
    own = {key.value: value for key, value in node.value if key.id == "scalar"}
    merged = own.pop("<<", None)
    if merged is None or depth > _DEEP:
        return own
    found: dict[str, Any] = {}
    for one in merged.value if merged.id == "sequence" else [merged]:
        if one.id == "mapping":
            found = {**_items(one, depth + 1), **found}
    return {**found, **own}


def _text(node: Any) -> str:
    """Return a scalar's text, empty for anything else."""
    return str(node.value) if node is not None and node.id == "scalar" else ""


def _texts(node: Any) -> list[str]:
    """Return a scalar, or the scalars of a list, as a list."""
    if node is None or node.id == "mapping":
        return []
    return [_text(one) for one in node.value] if node.id == "sequence" else [_text(node)]


def _is_mapping(items: dict[str, Any], name: str) -> bool:
    return name in items and items[name].id == "mapping"


def _maps(items: dict[str, Any]) -> tuple[str, ...]:
    """Return a container's ConfigMaps with variables: ``map``, or ``NAME=map/key``."""
    found: list[str] = []
    for key in ("envFrom", "env"):
        for one in items[key].value if key in items and items[key].id == "sequence" else ():
            entry = _items(one) if one.id == "mapping" else {}
            if _is_mapping(entry, "configMapRef"):
                found.append(_text(_items(entry["configMapRef"]).get("name")))
            source = _items(entry["valueFrom"]) if _is_mapping(entry, "valueFrom") else {}
            if _is_mapping(source, "configMapKeyRef"):
                named = _items(source["configMapKeyRef"])
                where = f"{_text(named.get('name'))}/{_text(named.get('key'))}"
                found.append(f"{_text(entry.get('name'))}={where}")
    return tuple(found)
