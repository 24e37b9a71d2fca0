"""Read the packages installed in a Python environment from their files, without any import.

An environment is read from its directories and its ``pyvenv.cfg``. An interpreter is started only
where the command line names one: an environment that settings name may belong to a stranger.

Formats: Core metadata and ``RECORD`` of the PyPA's specifications, setuptools' ``.egg-info``, eggs
and editable installs; directories are walked if there is no list of files.
"""

from __future__ import annotations

import csv
import email
import os
import re
import sys
from importlib.metadata import DistributionFinder, MetadataPathFinder
from typing import NamedTuple

from gblock import opened
from gblock.boundary import is_regular, leads_out, repository
from gblock.distribution import always_required, normalized
from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import importlib.metadata as metadata
    from collections.abc import Iterable, Iterator

    from gblock.config import Config

_PROGRAM = "import json, sys; sys.stdout.write(json.dumps([sys.version.split()[0], sys.path]))"
_PATIENCE = 60.0
"""Seconds for an interpreter to name its directories."""
_INTERPRETER = re.compile(r"python(?:3(?:\.\d+)?)?(?:\.exe)?|pypy[\d.]*(?:\.exe)?")
_BINARIES = ("bin", "Scripts")
"""Directories of an environment that hold its interpreter."""
_SITES = (
    "lib/python*/site-packages",
    "lib64/python*/site-packages",
    "local/lib/python*/dist-packages",
    "lib/python*/dist-packages",
    "lib/pypy*/site-packages",
    "Lib/site-packages",
)
"""Directories of packages: virtual environments, conda, Debian's own Python, PyPy, Windows."""
_LIBRARY_FOLDER = re.compile(r"(?:^|/)(?:[^/]+\.libs|\.libs|\.dylibs)/")
_LIBRARY = re.compile(r"(?:^|/)lib[^./]*\.so$|\.so\.[\d.]+$|\.dylib$|\.dll$")
_COMPILED = (".so", ".pyd")
_MODULES = (".py", *_COMPILED)
_BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error)
"""Exceptions of damaged metadata; a ``UnicodeDecodeError`` is a ``ValueError``."""
_LONGEST = 1_000_000
"""Characters of a ``.pth`` file or a ``pyvenv.cfg``."""
_LARGEST = 50_000_000
"""Bytes of a file of metadata; the longest ``RECORD`` in use has a tenth of it."""
_FILES_LIMIT = 20_000
"""Limit of files read from a directory without a list: a checkout may hold anything."""
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


class Distribution(NamedTuple):
    """One installed distribution."""

    name: str
    """The name in its metadata."""
    version: str
    compiled: tuple[str, ...] = ()
    """Its extension modules, relative to `base`."""
    libraries: tuple[str, ...] = ()
    """Its bundled shared libraries."""
    modules: tuple[str, ...] = ()
    """Dotted names; all modules below them are its own."""
    requires: tuple[str, ...] = ()
    """The distributions that it requires, normalized, without those of its extras."""
    source: str | None = None
    """The checkout of an editable install."""
    base: str = ""
    """The directory that the paths of its files are relative to."""
    python: tuple[str, ...] = ()
    """Its Python files, relative to `base`."""

    @property
    def key(self) -> str:
        """The normalized name for comparison."""
        return normalized(self.name)

    @property
    def is_native(self) -> bool:
        """Return whether it runs its own compiled code in the process."""
        return bool(self.compiled or self.libraries)


class Environment(NamedTuple):
    """The distributions that one interpreter finds."""

    name: str
    """The path that the user gave, or that of gblock's own environment."""
    distributions: tuple[Distribution, ...]
    """Sorted by name."""
    notes: tuple[str, ...] = ()
    """Warnings about what could not be read."""


class _Listed(NamedTuple):
    """A distribution, before its `modules` are known: that takes all other distributions."""

    distribution: Distribution
    modules: frozenset[tuple[str, ...]]
    """The parts of the dotted names of its modules."""


def read(python: str | None = None) -> Environment:
    """Read the metadata of an environment that the user named.

    Args:
        python: An interpreter, which is started to name its directories; a virtual environment or
            a directory of packages, of which nothing is started; None for the environment that
            gblock runs in.

    Raises:
        UserError: if there is no environment at that path, or its interpreter does not run.
    """
    here = _Permission(None)
    if python is None:
        return _environment(sys.prefix, _own(), here)
    if os.path.isdir(python):
        return _environment(python, _directories(python, here), here)
    if not os.path.exists(python):
        import shutil

        found = None if os.path.dirname(python) else shutil.which(python)
        if found is None:
            message = "does not exist; pass an interpreter or a virtual environment"
            raise UserError(python, message)
        return _environment(python, _asked(found), here)
    return _environment(python, _asked(python), here)


def chosen(python: str | None, config: Config) -> Environment:
    """Read the environment that the command line names, or else the one of the settings.

    Args:
        python: The environment that the command line names; None if it names none.
        config: The project's settings.

    Raises:
        UserError: if it cannot be read.
    """
    if python is None and config.python is not None:
        return inspect(config.python, repository(config.root))
    return read(python)


def inspect(python: str, border: str) -> Environment:
    """Read the metadata of an environment that a project's settings name; nothing is started.

    Args:
        python: A virtual environment, a directory of packages, or the interpreter of either.
        border: The top of the repository, as a real path. Of an environment inside of it, nothing
            outside of it is read: the author of a pull request can write it.

    Raises:
        UserError: if there is no environment at that path.
    """
    here = _Permission(border if not leads_out(python, border) else None)
    if not os.path.lexists(python):
        message = "does not exist; pass a virtual environment or a directory of packages"
        raise UserError(python, message)
    directory = python
    if not os.path.isdir(python):
        directory, name = os.path.split(python)
        is_known = _INTERPRETER.fullmatch(name) and os.path.basename(directory) in _BINARIES
        if is_known:
            directory = os.path.dirname(directory)
        elif not _INTERPRETER.fullmatch(name):
            message = (
                "this is no Python environment, and a program that settings name is never "
                "started; name a virtual environment, or use --python"
            )
            raise UserError(python, message)
    return _environment(python, _directories(directory, here), here)


class _Permission:
    """The permission to read parts of an environment, and notes on unreadable parts.

    Args:
        border: The directory that nothing outside of is read; None for no such limit.
    """

    def __init__(self, border: str | None) -> None:
        self.border = border
        self.notes: list[str] = []

    def may(self, path: str) -> bool:
        """Return whether a file or directory may be read; if not, record a note."""
        if self.border is None or not leads_out(path, self.border):
            return True
        note = f"{path} is outside the repository and was not read; use --python to read it"
        if note not in self.notes:
            self.notes.append(note)
        return False


def _environment(name: str, paths: list[str], here: _Permission) -> Environment:
    opened.unbounded()  # packages are installed and removed beside the project
    listed: dict[str, _Listed] = {}
    for found in MetadataPathFinder.find_distributions(DistributionFinder.Context(path=paths)):
        one = _listed(found, here)
        if one is not None:
            listed.setdefault(one.distribution.key, one)  # the first on the path is imported
    modules = _modules(listed)
    distributions = [
        one.distribution._replace(modules=tuple(sorted(modules[key])))
        for key, one in listed.items()
    ]
    return Environment(
        name, tuple(sorted(distributions, key=lambda one: one.key)), tuple(sorted(here.notes))
    )


# -- directories of packages


def _own() -> list[str]:
    """Return this process's import path, without the working directory that `-m` adds."""
    here = os.getcwd()
    return [path for path in sys.path if path and os.path.abspath(path) != here]


def _directories(directory: str, here: _Permission) -> list[str]:
    """Return the directories of an environment's packages.

    Raises:
        UserError: if there are none.
    """
    found = _sites(directory, here)
    if not found:
        message = "not a Python environment; pass an interpreter or a virtual environment"
        raise UserError(directory, message)
    return found


def _asked(interpreter: str) -> list[str]:
    """Return the directories that an interpreter names; only its own start-up runs in it."""
    import json
    import subprocess

    command = [os.path.abspath(interpreter), "-I", "-c", _PROGRAM]
    try:
        run = subprocess.run(  # noqa: S603 - the user named it
            command, capture_output=True, timeout=_PATIENCE, stdin=subprocess.DEVNULL, check=True
        )
        _, paths = json.loads(run.stdout)
    except subprocess.TimeoutExpired:
        message = f"this interpreter did not answer within {_PATIENCE:g} s"
        raise UserError(interpreter, message) from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        why = f": {said[-1]}" if said else ""
        message = f"not a working Python 3 (exit code {error.returncode}{why})"
        raise UserError(interpreter, message) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it does not answer like one"
        raise UserError(interpreter, f"not a Python interpreter: {why}") from None
    return [path for path in paths if isinstance(path, str) and os.path.exists(path)]


def _sites(directory: str, here: _Permission) -> list[str]:
    """Return the directories of packages of an environment; a directory of packages is one."""
    import glob

    if glob.glob(os.path.join(glob.escape(directory), "*.dist-info")):
        return [directory] if here.may(directory) else []
    found: list[str] = []
    for prefix in (directory, *_bases(directory, here)):
        for pattern in _SITES:
            for path in sorted(glob.glob(os.path.join(glob.escape(prefix), pattern))):
                known = os.path.realpath(path) in map(os.path.realpath, found)
                if not known and here.may(path):
                    found.append(path)
    return found + [path for site in found for path in _linked(site, here)]


def _bases(directory: str, here: _Permission) -> list[str]:
    """Return the installation that a virtual environment also imports from, if any (PEP 405)."""
    filename = os.path.join(directory, "pyvenv.cfg")
    pairs = (line.partition("=") for line in _lines(filename, here))
    settings = {key.strip().lower(): value.strip() for key, _, value in pairs}
    home = settings.get("home", "")
    if settings.get("include-system-site-packages", "").lower() != "true" or not home:
        return []
    base = os.path.dirname(home) if os.path.basename(home) in _BINARIES else home
    return [base] if os.path.isabs(base) and here.may(base) else []


def _linked(site: str, here: _Permission) -> list[str]:
    """Return the directories that the ``.pth`` files of a directory of packages add."""
    try:
        names = sorted(os.listdir(site))
    except OSError:
        return []
    paths = (
        path
        for name in names
        if name.endswith(".pth")
        for path in _pth(os.path.join(site, name), here)
    )
    return [path for path in paths if here.may(path)]


def _pth(filename: str, here: _Permission) -> list[str]:
    """Return the paths that a ``.pth`` file names; its ``import`` lines are not run."""
    lines = _lines(filename, here)
    paths = [os.path.join(os.path.dirname(filename), line.strip()) for line in lines if line]
    return [os.path.normpath(path) for path in paths if os.path.exists(path)]


def _lines(filename: str, here: _Permission) -> list[str]:
    """Return the lines of a regular file that may be read, none of any other."""
    if not is_regular(filename) or not here.may(filename):
        return []
    try:
        with open(filename, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).splitlines()
    except OSError:
        return []


# -- one distribution


def _listed(found: metadata.Distribution, here: _Permission) -> _Listed | None:
    """Return one distribution from its metadata; if it is unreadable, None and a note."""
    if not here.may(_place(found)):
        return None
    base = str(found.locate_file(""))
    name, version, requires = _named(found, here)
    if not name:
        here.notes.append(f"metadata without a name is left out: {_place(found)}")
        return None
    recorded = _recorded(found, here)
    source = _source(found, here)
    top = _top_level(found, here)
    if source is not None:
        roots = _roots(recorded, base, source, here)
        names = [*recorded, *_editable(roots, top)]
        base = roots[0] if roots else base
    elif recorded:
        names = recorded
    else:
        names = list(_walked(base, top or _guessed(name, base)))
        # An egg in a ZIP file lists its libraries.
        names += (_text(found, "native_libs.txt", here) or "").splitlines()
    names = [path for path in names if not path.startswith("..")]
    native = [path for path in names if path.endswith(_COMPILED) or _LIBRARY.search(path)]
    libraries = [path for path in native if is_library(path)]
    distribution = Distribution(
        name,
        version,
        tuple(sorted(set(native).difference(libraries))),
        tuple(sorted(set(libraries))),
        requires=requires,
        source=source,
        base=base,
        python=tuple(sorted({path for path in names if path.endswith(".py")})),
    )
    return _Listed(distribution, frozenset(map(_module, filter(_is_module, names))))


def is_library(path: str) -> bool:
    """Return whether a compiled file is a shared library, and no module that Python imports."""
    return bool(_LIBRARY_FOLDER.search(path) or _LIBRARY.search(path))


def _place(found: metadata.Distribution) -> str:
    return str(getattr(found, "_path", "?"))


def _text(found: metadata.Distribution, name: str, here: _Permission) -> str | None:
    """Return one file of the metadata; None if there is none, or none that can be read."""
    place = _place(found)
    path = os.path.join(place, name)
    if os.path.isdir(place) and os.path.lexists(path):
        try:
            if not is_regular(path) or os.path.getsize(path) > _LARGEST or not here.may(path):
                return None
        except OSError:
            return None
    try:
        return found.read_text(name)
    except _BROKEN:
        return None


def _named(found: metadata.Distribution, here: _Permission) -> tuple[str, str, tuple[str, ...]]:
    """Return the name, the version and the distributions that are needed."""
    text = _text(found, "METADATA", here) or _text(found, "PKG-INFO", here) or ""
    head = email.message_from_string(text.partition("\n\n")[0])
    name, version = str(head.get("Name") or ""), str(head.get("Version") or "")
    if not name:  # the directory's name contains it
        stem = re.match(r"([\w.]+)-(\d[^-]*?)(?:-|\.dist-info|$)", os.path.basename(_place(found)))
        name, version = stem.groups() if stem else ("", "")
    lines = map(str, head.get_all("Requires-Dist") or ())
    return name, version, tuple(sorted(always_required(lines)))


def _recorded(found: metadata.Distribution, here: _Permission) -> list[str]:
    """Return the files that the installer recorded, below the directory of packages."""
    text = _text(found, "RECORD", here)
    if text is not None:
        try:
            rows = [row[0] for row in csv.reader(text.splitlines()) if row and row[0]]
        except csv.Error:
            return []
        # A complete record lists itself.
        return rows if any(path.endswith("/RECORD") for path in rows) else []
    # Its paths are relative to the metadata.
    noted = (_text(found, "installed-files.txt", here) or "").splitlines()
    base = os.path.basename(_place(found))
    return [os.path.normpath(os.path.join(base, path)).replace(os.sep, "/") for path in noted]


def _top_level(found: metadata.Distribution, here: _Permission) -> list[str]:
    return (_text(found, "top_level.txt", here) or "").split()


def _guessed(name: str, base: str) -> list[str]:
    """Return the likely packages of a distribution, derived from its name."""
    wanted = normalized(name).replace("-", "_")
    try:
        entries = os.listdir(base)
    except OSError:
        return []
    stems = {entry.partition(".")[0] for entry in entries if "-info" not in entry}
    return sorted(stem for stem in stems if stem.lower() == wanted)


def _source(found: metadata.Distribution, here: _Permission) -> str | None:
    """Return the checkout of an editable install (PEP 610)."""
    text = _text(found, "direct_url.json", here)
    if text is None:
        return None
    import json
    from urllib.parse import urlparse
    from urllib.request import url2pathname

    try:
        direct = json.loads(text)
        is_editable = direct["dir_info"]["editable"] is True
        path = url2pathname(urlparse(direct["url"]).path)
    except _BROKEN:
        return None
    return path if is_editable else None


def _roots(recorded: list[str], base: str, source: str, here: _Permission) -> list[str]:
    """Return the directories that an editable install is imported from."""
    if not here.may(source):
        return []
    roots = [
        path
        for name in recorded
        if name.endswith(".pth")
        for path in _pth(os.path.join(base, name), here)
        if here.may(path)
    ]
    if not roots:
        roots = [os.path.join(source, name) for name in ("src", "python")] + [source]
        roots = [path for path in roots if os.path.isdir(path)][:1]
    return roots


def _editable(roots: list[str], top: list[str]) -> Iterator[str]:
    """Yield the files of a checkout, below where it is imported from."""
    for root in roots:
        yield from _walked(root, top or _packages(root))


def _packages(root: str) -> list[str]:
    """Return the packages and modules that can be imported from a checkout."""
    try:
        entries = os.listdir(root)
    except OSError:
        return []
    return sorted(
        {
            entry.partition(".")[0]
            for entry in entries
            if entry.endswith(_MODULES) or os.path.isfile(os.path.join(root, entry, "__init__.py"))
        }
    )


def _walked(root: str, top: Iterable[str]) -> Iterator[str]:
    """Yield the files of some packages and modules, relative to their import directory."""
    wanted = {name.partition(".")[0] for name in top}
    left = _FILES_LIMIT
    try:
        entries = sorted(os.listdir(root))
    except OSError:
        return
    for entry in entries:
        stem = entry.partition(".")[0]
        path = os.path.join(root, entry)
        if os.path.isfile(path) and stem in wanted:
            yield entry
        elif os.path.isdir(path) and (entry in wanted or entry.removesuffix(".libs") in wanted):
            for directory, folders, names in os.walk(path):
                folders[:] = sorted(set(folders) - _SKIPPED)
                below = os.path.relpath(directory, root).replace(os.sep, "/")
                left -= len(names)
                if left < 0:
                    return
                yield from (f"{below}/{name}" for name in sorted(names))


# -- modules


def _is_module(path: str) -> bool:
    return path.endswith(_MODULES) and all(part.isidentifier() for part in _module(path))


def _module(path: str) -> tuple[str, ...]:
    """Return a file's module name; for ``__init__`` that of its package."""
    *packages, name = path.split("/")
    stem = name.partition(".")[0]
    return (*packages,) if stem == "__init__" and packages else (*packages, stem)


def _modules(listed: dict[str, _Listed]) -> dict[str, set[str]]:
    """Return, by distribution, the shortest module names below which no other has modules.

    Several distributions may share a namespace, such as ``google.cloud``, also with others that are
    not installed: a namespace has no file of its own and belongs to none of them. If two
    distributions have a whole package in common, as two builds of it do, it belongs to both.
    """
    found: dict[str, set[str]] = {key: set() for key in listed}
    tops: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for key, one in listed.items():
        for module in one.modules:
            tops.setdefault(module[0], {}).setdefault(key, []).append(module)
    for top, modules in tops.items():
        _divide((top,), modules, found)
    return found


def _divide(
    prefix: tuple[str, ...],
    modules: dict[str, list[tuple[str, ...]]],
    found: dict[str, set[str]],
) -> None:
    depth = len(prefix)
    parts: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for key, ones in modules.items():
        for module in ones:
            if len(module) > depth:
                parts.setdefault(module[depth], {}).setdefault(key, []).append(module)
    is_package = all(prefix in ones for ones in modules.values())
    if is_package and all(inner.keys() == modules.keys() for inner in parts.values()):
        for key in modules:
            found[key].add(".".join(prefix))
        return
    for part, inner in parts.items():
        _divide((*prefix, part), inner, found)
