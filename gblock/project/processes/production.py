"""Production: which processes are deployed, and which are demos or serve developers alone."""

from __future__ import annotations

import os
import re

from gblock.project.processes.deployment import Deployment
from gblock.project.processes.deployment.shell_functions import functions
from gblock.project.processes.loading import Loading
from gblock.project.processes.mentions import SERVES
from gblock.project.processes.patching import Patching
from gblock.project.processes.process import NONE, Process
from gblock.project.processes.server_start import ProcessEvidence
from gblock.project.processes.servers import NO
from gblock.project.reading.bindings import IMPORTED
from gblock.project.reading.positions import statements

_DEVELOPMENT = re.compile(
    r"(?:^|[^A-Za-z])(?:(?:dev|devel|develop|development|debug)(?:[_-]?server)?|(?<!usr/)local)"
    r"(?:[^A-Za-z]|$)"
)
"""A file, a directory, a function or a recipe for development."""
_RECIPE = re.compile(r"^([\w.-]+)[^\S\n]*:(?!=)", re.MULTILINE)
"""The target of a recipe in a Makefile."""
_TEMPLATE = re.compile(
    r"(?:^|[/_-])(?:skeletons?|templates?|boilerplates?|scaffolds?)[/_-]", re.IGNORECASE
)
"""A directory whose files are copied to make other programs."""
_ARCHIVED = re.compile(
    r"(?:^|/)(?:[\w-]*[_-])?(?:archived?|archives|attic|backups?|bak|deprecated|graveyard|legacy|obsolete"
    r"|old|trash|unused)(?:[_-][\w-]*)?/",
    re.IGNORECASE,
)
"""A directory whose files are kept for reference."""
_ABSOLUTE = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(\w[\w.]*)", re.MULTILINE)
_GUARD = re.compile(
    rb"""^if[ \t]+__name__[ \t]*==[ \t]*["']__main__["'][ \t]*:[^\n]*\n"""
    rb"""((?:[ \t][^\n]*(?:\n|\Z)|\n)*)""",
    re.MULTILINE,
)
_TRIAL = re.compile(
    rb"(?:(?:_?tests?|demo|examples?|self_?test)(?:_\w*)?\([^\n;]*\))?[ \t]*(?:#[^\n]*)?"
)
"""A call of a function that tries a module out, a comment or nothing."""
_FOR_READERS = (".md", ".rst", ".txt", ".adoc")


class Production:
    """Distinguishes what is deployed from demos, and from servers for developers.

    Args:
        loading: Finds the modules of processes.
        patching: Finds the patches of files.
        deployment: The files that start processes.
        root: The directory that was searched for these.
    """

    def __init__(
        self, loading: Loading, patching: Patching, deployment: Deployment, root: str
    ) -> None:
        self.modules = loading.modules
        self.graph = loading.graph
        self.root = root
        self._loading = loading
        self._patching = patching
        self._deployment = deployment

    def marked(self, processes: list[Process]) -> list[Process]:
        """Return the processes, with marks on those that do not run in production."""
        return self._with_development(self._with_archived(self._with_demos(processes)))

    def _with_archived(self, processes: list[Process]) -> list[Process]:
        """Return the processes, those marked as demos that old copies of the code alone start.

        An application in such a directory is the service's where nothing starts another one, or
        where a file outside of it starts the application.
        """
        old = [one for one in processes if one.is_deployed and self._is_archived(one)]
        if not old or not any(one.is_deployed and one not in old for one in processes):
            return processes
        return [one._replace(demo=True) if one in old else one for one in processes]

    def _is_archived(self, process: Process) -> bool:
        """Return whether all that starts a process is in a directory for old code."""
        starting = [os.path.relpath(one.path, self.root) for one in process.evidence]
        return bool(starting) and all(map(_ARCHIVED.search, starting))

    def _with_demos(self, processes: list[Process]) -> list[Process]:
        """Return the processes with the demos among them marked.

        A module is a library if it patches nothing at import, and another process runs it, or it is
        part of a package in which something imports it or which leaves patching to others. The main
        guard of a library is a demo, and so is one that only calls `test()`. A script that is not
        imported, and a file that something starts, are no demos.
        """
        casual = [
            process
            for process in processes
            if process.runs_on_gevent != NO
            and process.is_casual
            and os.path.basename(process.main) != "__main__.py"
            and not any(
                patch.at_import and not patch.in_main and not patch.of_driver
                for patch in self._patching.of(process.main)
            )
        ]
        if not casual:
            return processes
        firm = frozenset[str]().union(
            *(
                self._loading.of(process).difference(process.entries[:1])
                for process in processes
                if process.runs_on_gevent != NO and process.kind != "tests"
            )
        )
        demos = {
            p.main
            for p in casual
            if p.main in firm or self._tries_itself(p.main) or self._is_in_library(p)
        }
        return [
            process._replace(demo=True) if process in casual and process.main in demos else process
            for process in processes
        ]

    def _with_development(self, processes: list[Process]) -> list[Process]:
        """Return the processes, without gevent for those that only serve developers on it.

        They do so if a server without gevent serves the same application elsewhere, and what is on
        gevent is for development by its name, or a script that nothing starts. A server on gevent
        leaves no more to a script that only a Makefile starts.
        """
        servers = [
            process
            for process in processes
            if process.is_server and process.entries
            if any(self.is_of_production(one) for one in process.evidence)
        ]
        plain = [process for process in servers if process.runs_on_gevent == NO]
        deployed = self._applications(plain)
        green = self._applications([one for one in servers if one not in plain])
        served = frozenset[str]().union(*map(self._loading.of, plain))
        return [
            process._replace(
                runs_on_gevent=NO,
                of_development=True,
                why=f"{process.why}, for development",
                missing=(),
            )
            if process.runs_on_gevent != NO
            and (
                self._is_developers(process, deployed)
                or self._is_started_for_development(process, served)
                or self._is_aside(process, deployed, green)
            )
            else process
            for process in processes
        ]

    def _applications(self, servers: list[Process]) -> set[str]:
        """Return the files that servers name for their applications, and import these from."""
        found = {process.entries[-1] for process in servers}
        for one in {one for process in servers for one in process.served}:
            found.add(one.path)
            for binding in self.modules.summary(one.path).scopes[0].bindings.get(one.name, ()):
                if binding.kind == IMPORTED:
                    module, _, level = binding.value
                    found.add(self.modules.resolve(module, level, one.path) or one.path)
        return found

    def _is_developers(self, process: Process, deployed: set[str]) -> bool:
        """Return whether developers alone start a server of an application that is deployed."""
        return (
            process.is_server
            and process.entries[-1:] != ()
            and process.entries[-1] in deployed
            and self._is_for_development(process)
        )

    def _is_started_for_development(self, process: Process, served: frozenset[str]) -> bool:
        """Return whether developers alone start a script that serves what others do.

        Args:
            process: The script.
            served: The files of the applications that servers without gevent run.
        """
        started = [one for one in process.evidence if not one.path.endswith(".py")]
        return (
            process.kind == "script"
            and bool(started)
            and all(map(self._is_of_development, started))
            and SERVES.search(self.modules.data(process.main)) is not None
            and any(
                not one.endswith("__init__.py")
                for one in served.intersection(self._loading.of(process))
            )
        )

    def _is_aside(self, process: Process, deployed: set[str], green: set[str]) -> bool:
        """Return whether nothing starts a script that serves an application that is deployed.

        A recipe of a Makefile starts it for developers where a server on gevent is deployed.

        Args:
            process: The script.
            deployed: The files of the applications that servers without gevent run.
            green: Those of servers on gevent.
        """
        main = process.main
        recipes = tuple(one for one in process.evidence if _is_makefile(one.path))
        others = tuple(one for one in process.evidence if one not in recipes)
        served = green if recipes else deployed | green
        return (
            process._replace(evidence=others).is_casual
            and main not in served
            and not served.isdisjoint(self._loading.of(process))
            and SERVES.search(self.modules.data(main)) is not None
            and not self._is_documented(main)
        )

    def _is_for_development(self, process: Process) -> bool:
        """Return whether every file or shell function that starts a process is for development."""
        return bool(process.evidence) and all(map(self._is_of_development, process.evidence))

    def is_of_production(self, evidence: ProcessEvidence) -> bool:
        """Return whether a place starts a process in production; a Makefile leaves it open."""
        return not _is_makefile(evidence.path) and not self._is_of_development(evidence)

    def _is_of_development(self, evidence: ProcessEvidence) -> bool:
        if _DEVELOPMENT.search(os.path.relpath(evidence.path, self.root)):
            return True
        if evidence.path.endswith(".py"):
            return False
        text = self._deployment.text(evidence.path) or ""
        if _is_makefile(evidence.path):
            before = "\n".join(text.split("\n")[: evidence.row])
            targets = _RECIPE.findall(before)
            return bool(targets and _DEVELOPMENT.search(targets[-1]))
        around = functions(text).items()
        return any(
            one.head <= evidence.row <= one.last and _DEVELOPMENT.search(name)
            for name, one in around
        )

    def _is_in_library(self, process: Process) -> bool:
        if self._is_copied(process.main) or self._is_to_be_copied(process.main):
            return not self._is_documented(process.main)
        if not self.graph.packages(process.main) and not self._is_in_namespace(process.main):
            return False
        if self.graph.importers.get(process.main):
            return True
        return process.patched == NONE and not SERVES.search(self.modules.data(process.main))

    def _tries_itself(self, path: str) -> bool:
        """Return whether a file's main guard does nothing but call functions that try it out."""
        guards = list(_GUARD.finditer(self.modules.data(path)))
        lines = [line.strip() for one in guards for line in one[1].splitlines()]
        return any(line and not line.startswith(b"#") for line in lines) and all(
            map(_TRIAL.fullmatch, lines)
        )

    def _is_copied(self, path: str) -> bool:
        """Return whether a file replaces one of a package: it imports a neighbour from there.

        Its directories have the names of the package, and the project has not what it imports.
        """
        around = os.path.relpath(os.path.dirname(path), self.root).split(os.sep)
        for match in statements(_ABSOLUTE, self.modules.data(path)):
            name = match[1].decode(errors="replace")
            *packages, _ = name.split(".")
            if len(packages) > 1 and around[-len(packages) :] == packages:
                if self.modules.resolve(name, 0, path) is None:
                    return True
        return False

    def _is_to_be_copied(self, path: str) -> bool:
        """Return whether a file is below a directory for templates of others' programs."""
        return _TEMPLATE.search(os.path.relpath(path, self.root)) is not None

    def _is_documented(self, path: str) -> bool:
        """Return whether a text for readers names a file, as a command to start it would."""
        name = os.path.basename(path)
        return any(
            name in (self._deployment.text(one) or "")
            for one in self._deployment.tree.files
            if one.lower().endswith(_FOR_READERS)
        )

    def _is_in_namespace(self, path: str) -> bool:
        """Return whether a file's directory is a package without an ``__init__.py``.

        It is one below a package, and where the file imports a neighbour by the directory's name.
        """
        directory = os.path.dirname(path)
        if self.modules.is_module(os.path.join(os.path.dirname(directory), "__init__.py")):
            return True
        name = re.escape(os.path.basename(directory).encode())
        pattern = rb"^[ \t]*(?:from|import)[ \t]+(?:\w+\.)*" + name + rb"(?:\.\w|[ \t]+import\b)"
        return re.search(pattern, self.modules.data(path), re.MULTILINE) is not None and any(
            os.path.dirname(edge.target) == directory for edge in self.graph.imports(path)
        )


def _is_makefile(path: str) -> bool:
    return path.lower().endswith("makefile")
