"""The distributions that a project requires, from any kind of dependency file."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from functools import cached_property
from itertools import chain

from gblock.distribution import normalized, required
from gblock.project.reading.contents import content
from gblock.project.reading.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTS = re.compile(
    r"(?:.*requirements?.*|constraints?.*)\.(?:txt|in|pip)|.*\.(?:requirements|reqs)"
    r"|pyproject\.toml|pipfile|setup\.(?:py|cfg)|environment.*\.ya?ml|(?:.+\.)?dockerfile.*",
    re.IGNORECASE,
)
_LOCKS = frozenset({"poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "pylock.toml"})
_CODE = (".py", ".pyi", ".json", ".html", ".js", ".css", ".svg", ".png")
"""The endings of most files, which list no requirements."""
_LARGEST = 10_000_000
"""Bytes: a larger file lists no requirements."""
_COMMENT = re.compile(r"(?:^|\s)#[^\n]*")
_CONTINUED = re.compile(r"\\\r?\n")
_OPTION = re.compile(r"(?:^|\s)--[a-z-]+(?:[= ]\S+)?")
_EDITABLE = re.compile(r"(?:-e|--editable)[= ]\s*")
_ITEM = re.compile(r"-\s+")
_QUOTED = re.compile(r"""["']([^"'\n]+)["']""")
_KEY = re.compile(r"^\w+[ \t]*=(?!=)", re.MULTILINE)
_TABLES = re.compile(r"(?:.*-)?dependencies|dependency-groups")
"""The tables and lists of ``pyproject.toml`` that hold requirements, of all tools."""
_TABLES_OF_PIPENV = re.compile(r"(?:.*-)?packages")
_LOCKED = re.compile(r"""^name = ["']([\w.-]+)["']|^        ["']([\w.-]+)["']: \{""", re.MULTILINE)

_PIN = re.compile(
    r"""^name = ["']([\w.-]+)["']\r?\nversion = ["']([^"'\n]+)["']"""
    r"""|^        ["']([\w.-]+)["']: \{[^{}]*?["']version["']: ["']==([^"'\n]+)["']"""
    r"""|^([\w.-]+)(?:\[[^]\n]*\])?==([\w.!+*]+)""",
    re.MULTILINE,
)
"""A distribution and its version in a lock file of Poetry, PDM, uv or Pipenv, and for pip."""
_VERSION = re.compile(r"(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[\w.]+)?")


class Requirements:
    """The names in dependency files and Dockerfiles.

    Args:
        tree: The repository's files.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __contains__(self, distribution: object) -> bool:
        return isinstance(distribution, str) and normalized(distribution) in self._names

    @cached_property
    def is_listed(self) -> bool:
        """Return whether the project has a file that lists requirements and is not empty."""
        return any(_text(path).strip() for path, _ in self._files())

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names that are required; in lock files only the locked ones."""
        found: set[str | None] = set()
        for path, name in self._files():
            text = _text(path)
            if name in _LOCKS:
                locked = (one or other for one, other in _LOCKED.findall(text))
                found.update(map(normalized, locked))
            else:
                found.update(map(required, dict.fromkeys(_requirements(text, name))))
        return frozenset(name for name in found if name)

    def may_bring(self, package: str) -> bool:
        """Return whether the name of a required distribution contains that of a package."""
        return any(normalized(package) in name for name in self._names)

    def excludes(self, distribution: str, versions: str) -> bool:
        """Return whether the versions that the project pins are all outside of some bounds."""
        from packaging.specifiers import SpecifierSet

        pinned = self._pinned.get(normalized(distribution), frozenset())
        bounds = SpecifierSet(versions)
        return bool(pinned) and not any(bounds.contains(one, prereleases=True) for one in pinned)

    @cached_property
    def _pinned(self) -> dict[str, frozenset[str]]:
        """The versions that lock files, and requirements with ``==``, pin."""
        found: dict[str, set[str]] = {}
        for path, name in self._files():
            if name in _LOCKS or name.endswith((".txt", ".in", ".pip")):
                for match in _PIN.finditer(_text(path)):
                    one, version = filter(None, match.groups())
                    if _VERSION.fullmatch(version):
                        found.setdefault(normalized(one), set()).add(version)
        return {name: frozenset(versions) for name, versions in found.items()}

    def _files(self) -> Iterator[tuple[str, str]]:
        """Yield the dependency files, and their names in lower case."""
        for path in self.tree.files:
            if path.endswith(_CODE) and not path.endswith("setup.py"):
                continue
            name = os.path.basename(path).lower()
            folder = os.path.basename(os.path.dirname(path)).lower()
            is_part = folder == "requirements" and name.endswith((".txt", ".in", ".pip"))
            if is_part or name in _LOCKS or _LISTS.fullmatch(name):
                yield path, name


def _text(path: str) -> str:
    data = content(path, _LARGEST)
    # A shell of Windows writes UTF-16, and pip reads it by its first bytes.
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    text = data.decode(encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _requirements(text: str, name: str) -> Iterator[str]:
    """Yield the texts of a file that may be requirements.

    Args:
        text: The file's text.
        name: The file's name in lower case.
    """
    if name.endswith(".toml"):
        return _in_toml(text, _TABLES)
    if name == "pipfile":
        return _in_toml(text, _TABLES_OF_PIPENV)
    if "dockerfile" in name:
        return iter(re.split(r"[\s\"']+", _COMMENT.sub("", text)))
    if name.endswith(".py"):
        return _quoted(text)
    if name.endswith(".cfg"):
        return chain(_quoted(text), _in_lines(_KEY.sub("", text)))
    return chain(_quoted(text), _in_lines(text))


def _quoted(text: str) -> Iterator[str]:
    return (match[1] for match in _QUOTED.finditer(_COMMENT.sub("", text)))


def _in_lines(text: str) -> Iterator[str]:
    """Yield the requirements of pip's format; a list of YAML or of setup.cfg is close to it."""
    for line in _COMMENT.sub("", _CONTINUED.sub(" ", text)).splitlines():
        line = _EDITABLE.sub("", _ITEM.sub("", line.strip(), count=1), count=1)
        line = _OPTION.sub("", line).strip()
        if line and not line.startswith("-"):
            yield line


def _in_toml(text: str, tables: re.Pattern[str]) -> Iterator[str]:
    """Yield the requirements of each table and list that has one of some names."""
    import tomli

    try:
        return _below(tomli.loads(text), tables)
    except (tomli.TOMLDecodeError, RecursionError):
        return chain(_quoted(text), _in_lines(text))


def _below(value: object, tables: re.Pattern[str]) -> Iterator[str]:
    for key, below in value.items() if isinstance(value, dict) else ():
        if tables.fullmatch(key):
            yield from _listed(below)
        else:
            yield from _below(below, tables)


def _listed(value: object) -> Iterator[str]:
    """Yield the requirements of a list, of a table of groups, or of a table of versions."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
    elif isinstance(value, dict):
        for key, below in value.items():
            if isinstance(below, list) and any(isinstance(item, str) for item in below):
                yield from _listed(below)
            else:
                yield key
