"""What processes are told from that needs no inference: it can be read beside everything else."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.processes.deployment import Deployment
from gblock.project.processes.launches import Launch, launches
from gblock.project.processes.program import Programs
from gblock.project.reading.import_graph import Import, ImportGraph
from gblock.project.reading.modules import WORDS, Modules


class Surroundings(NamedTuple):
    """What stands around a project's code, and how its files hang together."""

    programs: Programs
    speaks_of_gevent: bool
    """Whether anything does: if not, no process runs on gevent."""
    imports: dict[str, tuple[Import, ...]]
    """What each file imports, where something speaks of gevent."""
    launches: list[Launch] | None = None
    """What the project's own code starts, likewise."""

    @property
    def deployment(self) -> Deployment:
        """The files that start processes."""
        return self.programs.deployment


def read(modules: Modules, root: str, exclude: tuple[str, ...] = ()) -> Surroundings:
    """Read them.

    Args:
        modules: The project's files.
        root: The directory in which the files that start processes are looked for.
        exclude: Patterns as in `.gitignore`.
    """
    deployment = Deployment(root, exclude)
    programs = Programs(deployment)
    # Following every start of a large tree takes seconds, looking for words takes none.
    if not _speaks_of_gevent(modules, deployment):
        return Surroundings(programs, False, {})
    _ = programs.all  # remembered
    graph = ImportGraph(modules, plugins=plugins(deployment))
    imports = {path: graph.imports(path) for path in modules.files}
    return Surroundings(programs, True, imports, launches(modules))


def plugins(deployment: Deployment) -> dict[str, list[str]]:
    """Return the modules of the plug-ins that the project declares, by their group."""
    return {
        group: [point.module for point in points] for group, points in deployment.plugins.items()
    }


def _speaks_of_gevent(modules: Modules, deployment: Deployment) -> bool:
    if any(modules.mentioning(word) for word in WORDS):
        return True
    return any(
        word in text
        for command in deployment.commands
        for text in (*command.words, *(value for _, value in command.environment))
        for word in WORDS
    )
