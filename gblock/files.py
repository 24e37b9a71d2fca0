"""Collect the Python files under the user's paths, sorted.

A named path is always taken, as in ruff. Below a named directory `.gitignore`, the setting
`exclude` and a fixed list of names apply, and virtual environments are left out, as are the files
of distributions that pip installed into a directory. As in git, a `.gitignore` leaves out no file
that is committed. Links to directories are not followed, so a loop of links is never entered; links
to files are, unless they lead out of the repository.
"""

from __future__ import annotations

import os
import re
import stat

from gblock import installed, opened
from gblock.boundary import leads_out, repository
from gblock.git_index import GitIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.diagnostics import Problem
    from gblock.patterns import Patterns

# ruff's defaults, and two common caches.
ALWAYS_EXCLUDED = frozenset(
    """
    .bzr .direnv .eggs .gblock_cache .git .git-rewrite .hg .hypothesis .ipynb_checkpoints
    .mypy_cache .nox
    .pants.d .pyenv .pytest_cache .pytype .ruff_cache .svn .tox .venv .vscode __pycache__
    __pypackages__ _build buck-out build dist node_modules site-packages venv
    """.split()
)
ENVIRONMENT_MARK = "pyvenv.cfg"
"""A virtual environment's own file: a directory that contains it is excluded, too."""
_ENDINGS = (".py", ".pyw")
_SCRIPT = re.compile(
    rb"#!.*python|from [\w.]+ import [\w(*]|import [\w.]+(?: as \w+)?(?:, [\w.]+(?: as \w+)?)*\s*$"
)
"""The first line of a Python file: a shebang, or an import."""
LARGE_TREE = 2000
"""Files: a larger tree may be several projects side by side."""


class FileList:
    """The files under the user's paths."""

    __slots__ = ("absolute", "files", "notes", "problems")

    def __init__(self) -> None:
        """Create an empty result."""
        self.files: list[str] = []
        """Sorted, without duplicates, spelled as in the user's path."""
        self.absolute: list[str] = []
        """The same files in the same order, by absolute path."""
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        """Information for the user that is no error, one line each."""


def find(
    paths: Iterable[str],
    exclude: Sequence[str] = (),
    root: str = "",
    *,
    force_exclude: bool = False,
) -> FileList:
    """Collect the Python files.

    Args:
        paths: Files and directories.
        exclude: Patterns as in `.gitignore`.
        root: The directory that the patterns are relative to.
        force_exclude: True to exclude named paths too: pre-commit names every file.
    """
    found = FileList()
    excluded: Patterns | None = None
    root = os.path.abspath(root)
    # By absolute path, so that a file that is named twice is read once.
    shown: dict[str, str] = {}
    for path in paths:
        opened.note(os.path.abspath(path))
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            _report(found, path, _missing(path, error))
            continue
        if exclude and excluded is None and (force_exclude or stat.S_ISDIR(mode)):
            excluded = _excluded(exclude, root)
        if force_exclude and _is_excluded(
            os.path.abspath(path), stat.S_ISDIR(mode), excluded, root
        ):
            continue
        if stat.S_ISREG(mode):
            shown.setdefault(os.path.abspath(path), os.path.normpath(path))
        elif stat.S_ISDIR(mode):
            below = _walk(path, excluded, found)
            if not below:
                found.notes.append(f"no Python files found under {path}")
            for absolute, name in below.items():
                shown.setdefault(absolute, name)
        else:
            _report(found, path, f"{_kind(mode)}, not a Python file: leave it out")
    ordered = sorted((name, absolute) for absolute, name in shown.items())
    found.files = [name for name, _ in ordered]
    found.absolute = [absolute for _, absolute in ordered]
    return found


def beside(directory: str) -> list[str]:
    """Return the Python files directly in a directory; unreadable entries are omitted."""
    opened.note(directory)
    try:
        with os.scandir(directory) as scan:
            return [entry.path for entry in scan if entry.name.endswith(".py") and _is_file(entry)]
    except OSError:  # an unsaved file's directory may not exist yet
        return []


def relative_name(path: str) -> str:
    """Return the path from the working directory, or an absolute one if it is outside."""
    absolute = os.path.abspath(path)
    return absolute.removeprefix(os.path.join(os.getcwd(), ""))


def shared_ending(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many last parts two paths share, each given as its parts."""
    count = 0
    for part, counterpart in zip(reversed(one), reversed(other), strict=False):
        if part != counterpart:
            break
        count += 1
    return count


def _walk(top: str, excluded: Patterns | None, found: FileList) -> dict[str, str]:
    """Return the files below a directory, by absolute path."""
    files: dict[str, str] = {}
    outside: list[str] = []
    dependencies: set[str] = set()
    border = ""
    top = os.path.normpath(top)
    start = os.path.join(os.path.abspath(top), "")
    index = GitIndex(start)
    # An absolute path, its display name, and the ignore files above it, outermost first.
    waiting = [(start, "" if top == "." else os.path.join(top, ""), _rules_above(start, found))]
    while waiting:
        directory, prefix, rules = waiting.pop()
        opened.note(directory)
        try:
            with os.scandir(directory) as scan:
                entries = list(scan)
        except OSError as error:
            _report(found, prefix or ".", f"this directory cannot be read: {error.strerror}")
            continue
        names = [entry.name for entry in entries]
        if ENVIRONMENT_MARK in names and directory != start:
            continue
        if ".gitignore" in names:
            rules = _with_file(rules, directory, directory + ".gitignore", found)
        if directory != start:
            dependencies |= installed.files(directory, names)
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                path = f"{directory}{name}/"
                if not (name in ALWAYS_EXCLUDED or is_left_out(path, rules, excluded)):
                    waiting.append((path, f"{prefix}{name}/", rules))
            elif name.endswith(_ENDINGS) or ("." not in name and _is_script(entry)):
                path = directory + name
                if path in dependencies or is_left_out(path, rules, excluded, index):
                    continue
                # Without following links, this needs no system call except for links.
                if entry.is_file(follow_symlinks=False):
                    files[path] = prefix + name
                    continue
                reason = _reason_to_leave(entry)
                if reason is None:
                    border = border or repository(top)
                    if leads_out(path, border):
                        outside.append(prefix + name)
                    else:
                        files[path] = prefix + name
                elif reason:
                    _report(found, prefix + name, reason)
    if outside:
        found.notes.append(_left_out(outside))
    return files


def _left_out(links: list[str]) -> str:
    """Return a note on the links that were not followed."""
    if len(links) == 1:
        return f"{links[0]} leads outside the repository and was not read; pass it to check it"
    first = min(links)
    return (
        f"{len(links)} links lead outside the repository and were not read, {first} among them; "
        "pass them to check them"
    )


def is_left_out(
    path: str,
    rules: Sequence[Patterns],
    excluded: Patterns | None,
    index: GitIndex | None = None,
) -> bool:
    """Return whether a walk leaves out a file, or a directory with all that is below it.

    Args:
        path: The absolute path; a directory's ends with a slash.
        rules: The ignore files above it, outermost first: the innermost one that says anything
            decides.
        excluded: The patterns of the configuration.
        index: Lists the files that no ignore file leaves out; None for a path that it need not
            list.
    """
    if excluded is not None and excluded.verdict(path):
        return True
    for patterns in reversed(rules):
        verdict = patterns.verdict(path)
        if verdict is not None:
            return verdict and (index is None or path not in index)
    return False


def _rules_above(start: str, found: FileList) -> tuple[Patterns, ...]:
    """Return the ignore files above a directory that apply to it.

    They are read up to the top of the repository, or without a repository up to the working
    directory: a `.gitignore` in the home directory does not apply to a project below it.
    """
    directory = start.rstrip("/") or "/"
    chain = [directory]
    while not opened.exists(os.path.join(chain[-1], ".git")):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:
            here = os.getcwd()
            chain = chain[: chain.index(here) + 1] if here in chain else [directory]
            break
        chain.append(parent)
    top = chain[-1]
    rules = _with_file((), top, os.path.join(top, ".git", "info", "exclude"), found)
    for above in reversed(chain[1:]):
        rules = _with_file(rules, above, os.path.join(above, ".gitignore"), found)
    # A named directory is included even if it, or one above it, is ignored.
    named = [f"{path}/" for path in reversed(chain)]
    return tuple(one for one in rules if not any(one.verdict(path) for path in named))


def _with_file(
    rules: tuple[Patterns, ...], directory: str, filename: str, found: FileList
) -> tuple[Patterns, ...]:
    opened.exists(filename)
    # isfile keeps a FIFO of this name from being opened.
    if not os.path.isfile(filename):
        return rules
    if os.path.islink(filename) and leads_out(filename, repository(directory)):
        found.notes.append(f"{filename} leads outside the repository and was not read")
        return rules
    opened.note(filename)
    try:
        with open(filename, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError as error:
        # git goes on with a warning, too.
        found.notes.append(f"{filename} cannot be read, nothing is ignored: {error.strerror}")
        return rules
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return rules
    from gblock.patterns import Patterns

    return (*rules, Patterns(directory.rstrip("/"), lines))


def _excluded(lines: Sequence[str], root: str) -> Patterns:
    from gblock.patterns import Patterns

    return Patterns(root, lines)


def _is_excluded(path: str, is_directory: bool, excluded: Patterns | None, root: str) -> bool:
    """Return whether a walk from the root would exclude it, regardless of `.gitignore`."""
    if not path.startswith(os.path.join(root, "")):
        return False
    names = path[len(root) :].strip("/").split("/")
    part = root.rstrip("/")
    for depth, name in enumerate(names, 1):
        below = is_directory or depth < len(names)
        part = f"{part}/{name}"
        if below and name in ALWAYS_EXCLUDED:
            return True
        if excluded is not None and excluded.verdict(f"{part}/" if below else part):
            return True
    return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads back to itself
        return False


def _is_script(entry: os.DirEntry[str]) -> bool:
    """Return whether a file without a suffix is Python, by its first line.

    Not every such file is executable: ``python bin/serve`` runs any.
    """
    try:
        if entry.is_symlink() and leads_out(entry.path, repository(os.path.dirname(entry.path))):
            return False
        opened.note(entry.path)
        if not entry.is_file():
            return False
        with open(entry.path, "rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    return _SCRIPT.match(first) is not None


def _reason_to_leave(entry: os.DirEntry[str]) -> str | None:
    """Return why a Python file name must not be opened, "" for silent reasons; else None."""
    try:
        mode = entry.stat().st_mode
    except OSError as error:
        # Emacs creates such a link for a file that is being edited.
        return "" if entry.name.startswith(".#") else f"this link is broken: {error.strerror}"
    if stat.S_ISREG(mode):
        return None
    return "" if stat.S_ISDIR(mode) else f"{_kind(mode)}, not a Python file: exclude it"


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _missing(path: str, error: OSError) -> str:
    if not isinstance(error, FileNotFoundError):
        return f"this cannot be read: {error.strerror}"
    from gblock.suggestion import did_you_mean

    directory, name = os.path.split(path)
    try:
        names = os.listdir(directory or ".")
    except OSError:
        names = []
    near = (os.path.join(directory, other) for other in names)
    return "no such file or directory" + did_you_mean(os.path.join(directory, name), near)


def _report(found: FileList, path: str, message: str) -> None:
    from gblock.diagnostics import Problem

    found.problems.append(Problem(relative_name(path), message))
