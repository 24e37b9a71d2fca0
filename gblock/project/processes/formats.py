"""The formats of files that start processes: their names, their content and their readers.

A format is one line in `FORMATS` and one module of `gblock.project.processes.deployment`, which
holds ``read`` and an ``EXAMPLE``. The table names modules and imports none, so a run that only
needs to know whether some file may matter loads no reader.
"""

from __future__ import annotations

import os
import re

from gblock.project.reading.contents import content
from gblock.project.reading.images import copies, is_dockerfile
from gblock.project.reading.tree import LARGEST, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple

TEMPLATES = (".jnj", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template", ".in", ".erb")
"""Endings that make a file a template of another."""


class DeploymentFormat(NamedTuple):
    """A format of files, and the module that reads them."""

    reader: str
    """The module of `gblock.project.processes.deployment`."""
    names: str
    """A regular expression: the whole name of a file, without the ending of a template; case does
    not matter."""
    content: bytes = b""
    """A regular expression: what some line of the file must hold, where the name is not enough."""
    largest: int = LARGEST
    """Bytes: a larger file of this name holds data."""
    most: int = 10_000
    """At most this many such files of a repository are read."""


SHELL = "shell_script"
"""The format of files that commands in other files can name."""

FORMATS = (
    DeploymentFormat("procfile", r"procfile.*"),
    DeploymentFormat(
        "dockerfile", r"(?:(?:docker|container)file(?:[._-].+)?|.+\.(?:docker|container)file)"
    ),
    DeploymentFormat("makefile", r"(?:(?:gnu)?makefile|.+\.mk|\.?justfile)"),
    DeploymentFormat(
        "manifests",
        r"(?:.+\.ya?ml|(?:app|package|railway|.*uwsgi.*|.*task.?def.*)\.json)",
        rb"""["']?(?:command|args|entrypoint|cmd|startCommand|start_command|build|uwsgi|"""
        rb"""wsgi-file|module|run|scripts|configMapGenerator)["']?[ \t]*:|\bConfigMap\b""",
        largest=200_000,
        most=2000,
    ),
    DeploymentFormat(SHELL, r"(?:.+\.(?:sh|bash)|startup\.txt)"),
    DeploymentFormat(SHELL, r"[^.]+", rb"\A#![^\n]*\b(?:ba|da|k|z|a)?sh\b"),
    DeploymentFormat(
        "packaging", r"(?:setup\.(?:py|cfg)|(?:pyproject|fly|railway|nixpacks)\.toml|pipfile)"
    ),
    DeploymentFormat("locust_conf", r"\.?locust\.conf"),
    DeploymentFormat(
        "units",
        r".+\.(?:conf|ini|service|cfg|supervisor)",
        rb"^[ \t]*\[(?:program:|fcgi-program:|eventlistener:|watcher:|uwsgi\b|Service\b)",
    ),
    DeploymentFormat("paste", r".+\.ini", rb"^[ \t]*use[ \t]*=[ \t]*egg:gunicorn\b"),
    DeploymentFormat("uwsgi_xml", r".*uwsgi.*\.xml"),
    DeploymentFormat("windows_script", r".+\.(?:bat|cmd|ps1)"),
    DeploymentFormat(
        "hcl",
        r".+\.(?:hcl|nomad|tf)",
        rb"""\b(?:command|args|cmd|entrypoint|entryPoint|entry_point)"?[ \t]*[=:]""",
        largest=200_000,
    ),
)
"""Every format. A file is read in the first one that its name and its content fit."""

_ANY = re.compile("|".join(dict.fromkeys(one.names for one in FORMATS)), re.IGNORECASE | re.DOTALL)
_NAMES = [re.compile(one.names, re.IGNORECASE | re.DOTALL) for one in FORMATS]
_CONTENT = [re.compile(one.content, re.MULTILINE) for one in FORMATS]


def candidates(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that have the name of a format, each with its name.

    Args:
        paths: Files; a template is named as what it becomes.
    """
    known: dict[str, str] = {}  # a large repository repeats a few names
    for path in paths:
        name = path[path.rfind(os.sep) + 1 :]
        bare = known.get(name)
        if bare is None:
            bare = "" if name.endswith(".py") and name != "setup.py" else _bare_name(name)
            bare = known[name] = bare if _ANY.fullmatch(bare) else ""
        if bare:
            yield path, bare


def matters(name: str) -> bool:
    """Return whether a file of some name may start a process, or be a program that is started."""
    return name.endswith(".py") or any(candidates((name,)))


def of(name: str, data: bytes) -> DeploymentFormat | None:
    """Return the format of a file, None if it has none.

    Args:
        name: Its name, as `candidates` yields it.
        data: Its content.
    """
    for one, names, inside in zip(FORMATS, _NAMES, _CONTENT, strict=True):
        if names.fullmatch(name) and inside.search(data):
            return one if len(data) <= one.largest else None
    return None


def _bare_name(name: str) -> str:
    if name.endswith(TEMPLATES):
        for ending in TEMPLATES:
            name = name.removesuffix(ending)
    return "" if name.endswith("ignore") else name  # Dockerfile.dockerignore


def mention(tree: Tree, words: tuple[bytes, ...]) -> str | None:
    """Return the first file that may start a process and contains one of some words.

    Args:
        tree: The repository's files.
        words: The words to search for.
    """
    for path, _ in candidates(tree.files):
        data = content(path)
        if any(word in data for word in words):
            return path
        for source, _ in renamed(tree, path, data.decode(errors="replace")):
            if any(word in content(source) for word in words):
                return source
    return None


def renamed(tree: Tree, filename: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the files that an image gives another name, each with it, if a file is a Dockerfile.

    Args:
        tree: The repository's files.
        filename: The file: ``COPY uwsgi.ini.prod uwsgi.ini``.
        text: Its text.
    """
    directory, own = os.path.split(filename)
    for copied in copies(text) if is_dockerfile(own) else ():
        source, name = copied.source.lstrip("/"), os.path.basename(copied.target)
        for context in (directory, tree.root):
            path = os.path.normpath(os.path.join(context, source))
            if path in tree:
                if name not in ("", ".", "..", os.path.basename(path)):
                    yield path, name
                break
