"""Read the project's settings from `[tool.gblock]` or `gblock.toml`.

Clean runs import this module, so nothing heavy is imported before a file with settings is found:
the TOML parser and msgspec take longer than the rest of the start-up.
"""

from __future__ import annotations

import os

from gblock import opened
from gblock.boundary import is_regular, leads_out, repository
from gblock.errors import UserError, end_of, toml_place
from gblock.suggestion import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

_OUTSIDE = "only a configuration that --config names may refer to files outside of it"


class Config:
    """All settings; paths are absolute. Immutable by convention."""

    __slots__ = (
        "assume_cooperative",
        "baseline",
        "cache_dir",
        "exclude",
        "extend_catalog",
        "filename",
        "ignore",
        "min_severity",
        "per_file_ignores",
        "processes",
        "python",
        "root",
        "select",
        "src",
    )

    def __init__(
        self,
        *,
        root: str = "",
        filename: str | None = None,
        src: tuple[str, ...] | None = None,
        exclude: tuple[str, ...] = (),
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = (),
        extend_catalog: tuple[str, ...] = (),
        assume_cooperative: tuple[str, ...] = (),
        baseline: str | None = None,
        cache_dir: str | None = None,
        min_severity: str | None = None,
        python: str | None = None,
        processes: tuple[str, ...] = (),
    ) -> None:
        """Set the defaults; ``root`` defaults to the working directory."""
        root = root or os.getcwd()
        # The directory that the file's relative paths and patterns start from.
        self.root: Final = root
        # The file of the settings; None if there is none.
        self.filename: Final = filename
        # The directories that imports are resolved in, in order.
        self.src: Final = (root, os.path.join(root, "src")) if src is None else src
        # Patterns as in .gitignore, in addition to those that `files` always excludes.
        self.exclude: Final = exclude
        # Names of rules or ids of blockers; none selected means the default set.
        self.select: Final = select
        self.ignore: Final = ignore
        # (pattern, names), in the file's order.
        self.per_file_ignores: Final = per_file_ignores
        self.extend_catalog: Final = extend_catalog
        # Symbols and distributions that the project declares cooperative.
        self.assume_cooperative: Final = assume_cooperative
        self.baseline: Final = baseline
        # Where results are kept; None for .gblock_cache beside the project's mark.
        self.cache_dir: Final = cache_dir
        self.min_severity: Final = min_severity
        # The environment whose packages are read; None for the one gblock runs in.
        self.python: Final = python
        # Commands that start the project's processes from elsewhere, as a shell reads them.
        self.processes: Final = processes


def changed(config: Config, **changes: Any) -> Config:
    """Return the same settings but for some."""
    return Config(**{name: getattr(config, name) for name in Config.__slots__} | changes)


def find(first_path: str) -> Config:
    """Return the settings of the nearest configuration file, from the path upwards."""
    directory = os.path.abspath(first_path)
    if not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    while True:
        # gblock.toml wins over pyproject.toml beside it, as ruff.toml does.
        for name in ("gblock.toml", "pyproject.toml"):
            config = _read(os.path.join(directory, name), directory)
            if config is not None:
                return config
        parent = os.path.dirname(directory)
        if parent == directory:
            return Config()
        directory = parent


def speaks_of(first_path: str, word: bytes) -> bool:
    """Return whether a file that may hold the settings of a path has a word in it."""
    directory = os.path.abspath(first_path)
    while True:
        for name in ("gblock.toml", "pyproject.toml"):
            path = os.path.join(directory, name)
            try:
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        if word in file.read():
                            return True
            except OSError:
                continue
        parent = os.path.dirname(directory)
        if parent == directory:
            return False
        directory = parent


def load(filename: str) -> Config:
    """Return the settings of a named file, whose paths are relative to the working directory."""
    if not os.path.isfile(filename):
        raise UserError(filename, "this configuration file does not exist")
    # A file outside of the checked repository is the user's own and may name any path.
    is_own = leads_out(filename, repository(os.getcwd()))
    config = _read(os.path.abspath(filename), os.getcwd(), is_own=is_own)
    if config is None:
        raise UserError(filename, "it has no [tool.gblock] table, so it configures nothing")
    return config


def _read(filename: str, root: str, *, is_own: bool = False) -> Config | None:
    """Return the settings of a file, None if it does not exist or has none for gblock.

    Args:
        filename: The file.
        root: The directory that its paths are relative to.
        is_own: True if it may be, and may name files, outside of the repository of `root`.
    """
    opened.exists(filename)
    # isfile also keeps a FIFO of this name from being opened.
    if not os.path.isfile(filename):
        return None
    if not is_own and os.path.islink(filename) and leads_out(filename, repository(root)):
        raise UserError(filename, "this link leads outside the repository; pass it with --config")
    opened.note(filename)
    try:
        with open(filename, "rb") as file:
            content = file.read()
    except OSError as error:
        raise UserError(filename, f"it cannot be read: {error.strerror}") from None
    own_file = os.path.basename(filename) != "pyproject.toml"
    if not own_file and b"gblock" not in content:
        return None
    text = _decoded(content, filename)
    table = _parsed(text, filename)
    border = None if is_own else repository(root)
    if own_file:
        return _config(table, _TableOrigin(filename, root, text, "", border))
    tool = table.get("tool")
    if not isinstance(tool, dict) or "gblock" not in tool:
        return None
    table = tool["gblock"]
    source = _TableOrigin(filename, root, text, "[tool.gblock] ", border)
    if not isinstance(table, dict):
        raise UserError(filename, "tool.gblock has to be a table", *source.place_of("gblock"))
    return _config(table, source)


def _decoded(content: bytes, filename: str) -> str:
    try:
        # Notepad writes a BOM, which TOML itself does not know.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The text before the first bad byte is valid: its last line is the place.
        before = content[: error.start].decode("utf-8-sig")
        message = "this byte is not valid UTF-8, which TOML requires"
        raise UserError(filename, message, *end_of(before)) from None


def _parsed(text: str, filename: str) -> Mapping[str, Any]:
    import tomli

    try:
        # A lone carriage return is an error of its own, but CRLF is only Windows.
        return tomli.loads(text.replace("\r\n", "\n"))
    except tomli.TOMLDecodeError as error:
        message, row, column = toml_place(error, text)
        raise UserError(filename, f"invalid TOML: {message}", row, column) from None
    except RecursionError:
        raise UserError(filename, "it is nested too deeply to be read") from None


class _TableOrigin:
    """The place of a table, for errors."""

    __slots__ = ("border", "filename", "root", "text", "title")

    def __init__(self, filename: str, root: str, text: str, title: str, border: str | None) -> None:
        self.border = border
        """The repository that must contain its files; None if they may be anywhere."""
        self.filename = filename
        self.root = root
        self.text = text
        self.title = title

    def error(self, key: str, message: str) -> UserError:
        return UserError(self.filename, f"{self.title}{key}: {message}", *self.place_of(key))

    def place_of(self, key: str) -> tuple[int, int]:
        """Return the place of a key; zeros if unknown, as the TOML parser gives no places."""
        import re

        header = None
        if self.title:
            header = re.search(r"^[ \t]*\[tool\.gblock\b", self.text, re.MULTILINE)
        line = rf"^[ \t]*\[?[ \t]*(?:[\w.-]*\.)?[\"']?({re.escape(key)})[\"']?[ \t]*[=.\]]"
        pattern = re.compile(line, re.MULTILINE)
        match = pattern.search(self.text, header.start() if header else 0)
        return end_of(self.text[: match.start(1)]) if match else (0, 0)


def _config(table: Mapping[str, Any], source: _TableOrigin) -> Config:
    kinds = _kinds()
    settings: dict[str, Any] = {}
    for key, value in table.items():
        if key not in kinds:
            raise source.error(key, "unknown setting" + did_you_mean(key, kinds))
        kind, expected = kinds[key]
        settings[key.replace("-", "_")] = _converted(key, value, kind, expected, source)
    for key in ("src", "extend_catalog"):
        if key in settings:
            settings[key] = tuple(_absolute(path, source.root) for path in settings[key])
    for key in ("baseline", "cache_dir", "python"):
        if key in settings:
            settings[key] = _absolute(settings[key], source.root)
    for command in settings.get("processes", ()):
        _verify_command(command, source)
    if source.border is not None:
        for path in settings.get("extend_catalog", ()):
            _verify_inside(path, source.border, "extend-catalog", source)
        if "baseline" in settings:
            _verify_inside(settings["baseline"], source.border, "baseline", source)
        if leads_out(settings.get("cache_dir", source.border), source.border):
            outside = f"{settings['cache_dir']} is outside the repository; use --cache-dir"
            raise source.error("cache-dir", outside)
    if "per_file_ignores" in settings:
        settings["per_file_ignores"] = tuple(settings["per_file_ignores"].items())
    return Config(root=source.root, filename=source.filename, **settings)


def _verify_inside(path: str, border: str, key: str, source: _TableOrigin) -> None:
    """Raise a UserError if a repository's setting names a path outside of the repository."""
    if leads_out(path, border):
        raise source.error(key, f"{path} is outside the repository; {_OUTSIDE}")
    if os.path.exists(path) and not is_regular(path):
        raise source.error(key, f"{path} is no file")


def _kinds() -> dict[str, tuple[Any, str]]:
    """Return every key with its type, and the type in words."""
    from typing import Literal

    strings = (tuple[str, ...], "a list of strings")
    return {
        "src": strings,
        "exclude": strings,
        "select": strings,
        "ignore": strings,
        "per-file-ignores": (dict[str, tuple[str, ...]], "a table of patterns with lists of names"),
        "extend-catalog": strings,
        "assume-cooperative": strings,
        "baseline": (str, "a path as a string"),
        "cache-dir": (str, "a path as a string"),
        "processes": strings,
        "python": (str, "a path as a string"),
        "min-severity": (Literal["note", "warning", "error"], "one of note, warning and error"),
    }


def _converted(key: str, value: Any, kind: Any, expected: str, source: _TableOrigin) -> Any:
    import msgspec

    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        got = repr(value)
    if len(got) > 60:
        got = got[:57] + "..."
    raise source.error(key, f"expected {expected}, got {got}")


def _verify_command(command: str, source: _TableOrigin) -> None:
    """Raise an error for a command that a shell cannot read."""
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        raise source.error("processes", f"a quote in {command!r} is not closed") from None
    if not words:
        raise source.error("processes", "expected a command, not an empty string")


def _absolute(path: str, root: str) -> str:
    return os.path.normpath(os.path.join(root, os.path.expanduser(path)))
