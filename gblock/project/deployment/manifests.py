"""YAML: compose files, Kubernetes manifests, and whatever else names a command."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from gblock.project.deployment.command import Command, UnreadableError
from gblock.project.deployment.dockerfile import Image
from gblock.project.deployment.shell import Script
from gblock.project.deployment.units import Section, Setting, uwsgi

_STARTS = ("command", "args", "entrypoint", "cmd", "startCommand", "start_command")
_PROBES = {"exec", "healthcheck", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}
_TEMPLATE = re.compile(r"\{\{.*?\}\}")
_TEMPLATE_LINE = re.compile(r"^[ \t]*\{\{[^\n]*\}\}[ \t]*$", re.MULTILINE)
_UWSGI = {"module", "wsgi-file", "master", "gevent", "workers", "processes", "socket"}
_DEEP = 40

Images = Callable[[str, str], "Image | None"]
"""Asked with a build's directory and the name of its Dockerfile."""


class _Started(NamedTuple):
    words: tuple[str, ...]
    row: int


def read(text: str, filename: str, images: Images | None = None) -> list[Command]:
    """The commands of all documents in a file.

    Args:
        text: The file.
        filename: Its name.
        images: Finds the image that a compose file's service builds.

    Raises:
        UnreadableError: if it is no YAML.
    """
    if "{{" in text:
        text = _TEMPLATE.sub("$x", _TEMPLATE_LINE.sub("", text))
    yaml = _yaml()
    found: list[Command] = []
    try:
        for document in yaml.compose_all(text, Loader=_loader()):
            if document is not None:
                found += _Reader(filename, images).read(document)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "is no YAML"
        raise UnreadableError(
            f"cannot be read as YAML: {problem}", mark.line + 1 if mark else 0
        ) from None
    except (RecursionError, ValueError) as error:
        raise UnreadableError(f"cannot be read as YAML: {type(error).__name__}") from None
    return found


@cache
def _yaml() -> Any:
    """PyYAML, imported where there is a manifest to read; it brings no types."""
    return importlib.import_module("yaml")


@cache
def _loader() -> Any:
    yaml = _yaml()
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Reader:
    """Walks one document; aliases can make a circle, so each node is entered once."""

    def __init__(self, filename: str, images: Images | None) -> None:
        self.filename = filename
        self.images = images
        self.entered: set[int] = set()

    def read(self, document: Any) -> list[Command]:
        return list(self._walk(document, "", 0))

    def _walk(self, node: Any, key: str, depth: int) -> Iterator[Command]:
        if depth > _DEEP or id(node) in self.entered or key in _PROBES:
            return
        self.entered.add(id(node))
        if node.id == "sequence":
            for one in node.value:
                yield from self._walk(one, key, depth + 1)
        elif node.id == "mapping":
            items = _items(node)
            if key == "uwsgi" or len(_UWSGI & set(items)) > 2:
                yield self._uwsgi(node)
                return
            yield from self._commands(items, key)
            for name, value in items.items():
                yield from self._walk(value, name, depth + 1)

    def _uwsgi(self, node: Any) -> Command:
        settings = [
            Setting(str(name.value), str(one.value), one.start_mark.line + 1)
            for name, value in node.value
            for one in (value.value if value.id == "sequence" else [value])
            if one.id == "scalar"
        ]
        return uwsgi(Section("uwsgi", node.start_mark.line + 1, settings), self.filename)

    def _commands(self, items: dict[str, Any], key: str) -> Iterator[Command]:
        started = {name: _started(items[name]) for name in _STARTS if name in items}
        known = {name: one for name, one in started.items() if one is not None}
        build = items.get("build")
        if not known and (build is None or self.images is None):
            return
        label = key
        if "name" in items and items["name"].id == "scalar":
            label = items["name"].value
        environment = _environment(items)
        image = self._image(build)
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
            yield Command(words, self.filename, row, label, tuple(environment.items()), directory)

    def _context(self, build: Any) -> str:
        where, _ = _built(build)
        return os.path.normpath(os.path.join(os.path.dirname(self.filename), where))

    def _image(self, build: Any) -> Image | None:
        if build is None or self.images is None:
            return None
        _, name = _built(build)
        return self.images(self._context(build), name)


def _built(build: Any) -> tuple[str, str]:
    """The directory and the Dockerfile of a compose file's ``build``."""
    if build.id == "scalar":
        return build.value, "Dockerfile"
    if build.id != "mapping":
        return ".", "Dockerfile"
    items = _items(build)
    texts = {k: one.value for k, one in items.items() if one.id == "scalar"}
    return texts.get("context", "."), texts.get("dockerfile", "Dockerfile")


def _items(node: Any) -> dict[str, Any]:
    return {key.value: value for key, value in node.value if key.id == "scalar"}


def _started(node: Any) -> _Started | None:
    """The words of a command: a list's, or a text's as the shell reads it."""
    row = node.start_mark.line + 1
    if node.id == "sequence":
        words = [one.value for one in node.value if one.id == "scalar"]
        return _Started(tuple(words), row) if words and len(words) == len(node.value) else None
    if node.id != "scalar" or not node.value.strip():
        return None
    commands = Script(node.value).commands()
    if len(commands) == 1 and not commands[0].environment:
        return _Started(commands[0].words, row)
    return _Started(("sh", "-c", node.value), row) if commands else None


def _environment(items: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in ("environment", "env", "env_variables"):
        node = items.get(key)
        if node is None:
            continue
        if node.id == "mapping":
            found.update({k: one.value for k, one in _items(node).items() if one.id == "scalar"})
        elif node.id == "sequence":
            for one in node.value:
                if one.id == "scalar":
                    name, equals, value = one.value.partition("=")
                    if equals:
                        found[name] = value
                elif one.id == "mapping":
                    pair = _items(one)
                    if {"name", "value"} <= set(pair) and pair["value"].id == "scalar":
                        found[str(pair["name"].value)] = pair["value"].value
    return found
