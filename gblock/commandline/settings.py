"""The settings of one run: the project's, overridden by the command line."""

from __future__ import annotations

import os

from gblock import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.commandline.options import Options
    from gblock.config import Config


def of(options: Options) -> Config:
    """Return the settings of a check.

    Raises:
        UserError: for a configuration file that is invalid or does not exist.
    """
    found = named(options)
    changes: dict[str, object] = {}
    if options.exclude is not None or options.extend_exclude:
        kept = found.exclude if options.exclude is None else ()
        added = _from_here((*(options.exclude or ()), *options.extend_exclude), found.root)
        changes["exclude"] = (*kept, *added)
    if options.per_file_ignores is not None:
        patterns = _from_here([pattern for pattern, _ in options.per_file_ignores], found.root)
        names = [names for _, names in options.per_file_ignores]
        changes["per_file_ignores"] = tuple(zip(patterns, names, strict=True))
    return config.changed(found, **changes) if changes else found


def are_changed(options: Options) -> bool:
    """Return whether the command line changes the settings that a file has."""
    changes = options.exclude, options.per_file_ignores
    return bool(options.extend_exclude) or any(one is not None for one in changes)


def named(options: Options) -> Config:
    """Return the settings that the command line names, or those of the project.

    Raises:
        UserError: for a configuration file that is invalid or does not exist.
    """
    named = [path for path in options.paths if path != "-"]
    return _given(options) or config.find(options.stdin_filename or (named[0] if named else "."))


def of_project(options: Options) -> Config:
    """Return the settings of the project whose records are read.

    Raises:
        UserError: for a configuration file that is invalid or does not exist.
    """
    return _given(options) or config.find(options.project or ".")


def _given(options: Options) -> Config | None:
    """Return the settings of ``--config``, or none with ``--isolated``; None without either."""
    if options.isolated:
        return config.Config()
    return config.load(options.config) if options.config is not None else None


def _from_here(patterns: Iterable[str], root: str) -> tuple[str, ...]:
    """Return patterns relative to the working directory as patterns relative to the root."""
    way = os.path.relpath(os.getcwd(), root).replace(os.sep, "/")
    if way == "." or way.startswith(".."):
        return tuple(patterns)
    return tuple(_below(way, pattern) for pattern in patterns)


def _below(way: str, pattern: str) -> str:
    mark = "!" if pattern.startswith("!") else ""
    pattern = pattern[len(mark) :]
    if "/" not in pattern.rstrip("/"):
        return f"{mark}/{way}/**/{pattern}"
    return f"{mark}/{way}/{pattern.removeprefix('./').lstrip('/')}"


def shown(settings: Config, select: Iterable[str], ignore: Iterable[str]) -> str:
    """Return the settings as a TOML table.

    Args:
        settings: The settings.
        select: The effective selection.
        ignore: The effective list of ignored names.
    """
    import json

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    origin = settings.filename or "no file: these are the defaults"
    lists = {
        "src": settings.src,
        "exclude": settings.exclude,
        "select": tuple(select) or ("default",),
        "ignore": tuple(ignore),
        "extend-catalog": settings.extend_catalog,
        "assume-cooperative": settings.assume_cooperative,
    }
    lines = [f"# {origin}", "[tool.gblock]"]
    lines += [f"{key} = {text(list(values))}" for key, values in lists.items()]
    lines.append(f"min-severity = {text(settings.min_severity or 'warning')}")
    for key, value in (("baseline", settings.baseline), ("python", settings.python)):
        if value is not None:
            lines.append(f"{key} = {text(value)}")
    by_pattern: dict[str, list[str]] = {}
    for pattern, names in settings.per_file_ignores:
        by_pattern.setdefault(pattern, []).extend(names)
    if by_pattern:
        lines += ["", "[tool.gblock.per-file-ignores]"]
        lines += [f"{text(pattern)} = {text(names)}" for pattern, names in by_pattern.items()]
    return "\n".join(lines) + "\n"
