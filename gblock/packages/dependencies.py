"""The compiled dependencies of a project, and their effect on the hub."""

from __future__ import annotations

import os
from typing import NamedTuple

from gblock import measurements
from gblock.catalog.blockers import Blocker
from gblock.catalog.lookup import Catalog
from gblock.codebase import Codebase
from gblock.diagnostics import Location, Problem
from gblock.files import relative_name
from gblock.packages import environment
from gblock.packages.environment import Distribution
from gblock.packages.verdicts import Verdict, Verdicts, is_single
from gblock.project.calls.cooperation import Cooperation, Remedy
from gblock.project.names.inference import Inference
from gblock.project.reading.imports import ImportLine, Imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.config import Config

KINDS = ("blocks", "cooperative", "unknown", "costly", "opt-in", "harmless", "pure")
"""The verdicts, in the order of the table."""


class Dependency(NamedTuple):
    """One installed distribution, as the project uses it."""

    distribution: Distribution
    kind: str
    """One of `KINDS`; ``cooperative`` if the project makes it so."""
    verdict: Verdict
    imports: tuple[ImportLine, ...]
    """The first import of each file of the project that imports it."""
    remedies: tuple[Remedy, ...]
    """The calls of the project that make it cooperative."""
    left: tuple[Blocker, ...]
    """The blockers that nothing makes cooperative."""
    required_by: tuple[str, ...]
    """The installed distributions that require it."""

    @property
    def matters(self) -> bool:
        """Return whether the project imports it and it blocks the hub, or may block it.

        A pure Python framework, such as Werkzeug, does not count for its password hashing.
        """
        if self.kind == "blocks" and not self.distribution.is_native:
            return bool(self.imports) and any(b.level == "error" for b in self.left)
        return bool(self.imports) and self.kind in ("blocks", "unknown")

    @property
    def is_of_interest(self) -> bool:
        """Return whether it is listed by default: libraries import drivers, too."""
        is_here = bool(self.imports) or self.distribution.is_native
        return self.matters or (is_here and self.kind in ("blocks", "cooperative"))


class Dependencies(NamedTuple):
    """All dependencies, and the problems and notes."""

    environment: str
    """The path of the environment."""
    all: tuple[Dependency, ...]
    problems: tuple[Problem, ...]
    """Paths and files that could not be read."""
    notes: tuple[str, ...]
    """Information for the reader, one line each."""


def read(paths: Sequence[str], config: Config, python: str | None = None) -> Dependencies:
    """Read an environment and the project's use of it.

    Args:
        paths: The project's directories and files.
        config: Its settings.
        python: The environment that the command line names, instead of the configuration's; see
            `gblock.packages.environment.read`.

    Raises:
        UserError: for an environment that cannot be read, or an invalid catalog.
    """
    found = environment.chosen(python, config)
    known = measurements.load(config.extend_catalog)
    codebase = Codebase(paths, config)
    codebase.complete()
    verdicts = Verdicts(known)
    judged = [(one, verdicts.of(one)) for one in found.distributions]
    absent = _absent(known, found.distributions)
    asked = {m for one, verdict in judged if verdict.kind != "pure" for m in one.modules}
    imports = Imports(codebase.modules, codebase.reported).of(asked | absent.keys())
    cooperation = Cooperation(Inference(codebase.modules, known), config.assume_cooperative)
    needing: dict[str, list[str]] = {}
    for one in found.distributions:
        for key in one.requires:
            needing.setdefault(key, []).append(one.name)
    dependencies = [
        _dependency(one, verdict, imports, cooperation, tuple(needing.get(one.key, ())))
        for one, verdict in judged
        if one.source is None or os.path.realpath(one.source) != os.path.realpath(codebase.root)
    ]
    missing = sorted({absent[name] for name in imports if name in absent})
    notes = [*codebase.notes, *found.notes]
    if missing:
        names = ", ".join(missing)
        where = relative_name(found.name)
        notes.append(
            f"imported by the project and not installed in {where}: {names}; "
            "name the service's environment with --python"
        )
    dependencies.sort(key=lambda one: (KINDS.index(one.kind), not one.imports))
    invalid = (
        Problem(relative_name(path), trouble.message, trouble.place and Location(*trouble.place))
        for path, trouble in codebase.invalid()
    )
    problems = tuple(sorted([*codebase.problems(), *invalid]))
    return Dependencies(found.name, tuple(dependencies), problems, tuple(notes))


def _dependency(
    distribution: Distribution,
    verdict: Verdict,
    imports: dict[str, list[ImportLine]],
    cooperation: Cooperation,
    required_by: tuple[str, ...],
) -> Dependency:
    by_path: dict[str, ImportLine] = {}
    for module in distribution.modules:
        for one in imports.get(module, ()):
            by_path[one.path] = min(one, by_path.get(one.path, one))
    left = tuple(b for b in verdict.blockers if not cooperation.covers(b, b.symbols[0]))
    remedies = {
        remedy
        for blocker in verdict.blockers
        for symbol in blocker.cooperative_after
        if (remedy := cooperation.remedy(symbol)) is not None
    }
    kind = verdict.kind
    if kind == "blocks" and len(left) < len(verdict.blockers):
        kind = "cooperative"
    return Dependency(
        distribution,
        kind,
        verdict,
        tuple(sorted(by_path.values())),
        tuple(sorted(remedies)),
        left,
        required_by,
    )


def _absent(known: Catalog, installed: Sequence[Distribution]) -> dict[str, str]:
    """Return, by package, the missing distributions that would count as blocking."""
    modules = {module for one in installed for module in one.modules}
    owners: dict[str, set[str]] = {}
    for blocker in known.blockers:
        if blocker.distribution != "stdlib":
            for symbol in blocker.symbols:
                owners.setdefault(symbol.partition(".")[0], set()).add(blocker.distribution)
    found: dict[str, str] = {}
    for blocker in known.blockers:
        if blocker.distribution == "stdlib" or blocker.patched_by or not is_single(blocker):
            continue
        for symbol in blocker.symbols:
            root = symbol.partition(".")[0]
            # For a namespace of several distributions, such as google.cloud, the next names decide.
            package = root if len(owners[root]) == 1 else _module_of(symbol)
            parts = package.split(".")
            if modules.isdisjoint(".".join(parts[:end]) for end in range(1, len(parts) + 1)):
                if not any(module.startswith(f"{package}.") for module in modules):
                    found[package] = blocker.distribution
    return found


def _module_of(symbol: str) -> str:
    """Return the likely module of a symbol: the part before the first class."""
    parts = symbol.split(".")[:-1]
    classes = [at for at, part in enumerate(parts) if part[:1].isupper()]
    return ".".join(parts[: classes[0]] if classes else parts)
