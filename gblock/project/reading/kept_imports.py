"""The imports of a project's files, kept from one run to the next.

What a file imports follows from its own bytes, from the paths of all files, and from the little
that the resolution of imports takes from other files' bytes. Paths and that are compared once, the
bytes for each file: one changed file is read anew, and all are where a file is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gblock.cache.manifest import digest_of, digest_of_bytes
from gblock.project.reading.import_graph import Edge
from gblock.project.reading.modules import Modules

OF_SERVICE = "imports"
"""The kind of the imports of files that are no tests."""
REST = "more imports"
"""The kind of the imports that are read once it is known which processes there are."""
_FEWEST = 3
"""The fields of an edge without those that have their default."""
_DEFAULTS = (*Edge("", 0, False)[_FEWEST:],)


class KeptImports:
    """The imports that earlier runs have read, and those to keep for later ones.

    Args:
        modules: The project's files.
        plugins: The modules of each group of entry points, as `ImportGraph` takes them.
        kind: The name that they are kept under.
    """

    def __init__(
        self, modules: Modules, plugins: Mapping[str, list[str]], kind: str = OF_SERVICE
    ) -> None:
        self._modules = modules
        self._kind = kind
        self._known: dict[str, tuple[Edge, ...]] = {}
        self._paths = sorted(modules.files)
        """In an order that is the same whichever files are named."""
        self._question = self._asked(plugins) if modules.facts is not None else ""

    def known(self) -> dict[str, tuple[Edge, ...]]:
        """Return the imports of the files that are as they were in an earlier run."""
        modules = self._modules
        kept = modules.facts.get(self._kind, modules.root) if modules.facts is not None else None
        try:
            if kept is None or kept["question"] != self._question:
                return {}
            if not modules.agrees(kept["assumed"]):
                return {}
            self._known = {
                path: tuple(_read(one, self._paths) for one in edges)
                for path, (content, edges) in zip(self._paths, kept["files"], strict=True)
                if content and content == digest_of_bytes(modules.data(path))
            }
        except (KeyError, TypeError, ValueError, IndexError):
            return {}
        return dict(self._known)

    def to_keep(self, imports: Mapping[str, tuple[Edge, ...]]) -> dict[str, Any] | None:
        """Return what to keep of the imports that are known now, None if nothing is new.

        Args:
            imports: The imports by file, all read in this process or from `known`.
        """
        modules, known = self._modules, self._known
        if modules.facts is None or all(known.get(path) is one for path, one in imports.items()):
            return None
        if len(modules.files) != len(self._paths):  # something has added a file meanwhile
            return None
        places = {path: place for place, path in enumerate(self._paths)}
        files = [
            [digest_of_bytes(modules.data(path)), [_written(one, places) for one in imports[path]]]
            if path in imports
            else ["", []]
            for path in self._paths
        ]
        return {"question": self._question, "assumed": modules.assumed, "files": files}

    def _asked(self, plugins: Mapping[str, list[str]]) -> str:
        """Return a digest of what the imports of all files depend on, but for bytes of files."""
        modules = self._modules
        serving = frozenset(modules.serving)
        return digest_of(
            (
                *(modules.root, modules.top, "", *modules.sources, ""),
                *(f"{path in serving} {path}" for path in self._paths),
                *(text for group, names in plugins.items() for text in ("", group, *names)),
            )
        )


def _written(edge: Edge, places: Mapping[str, int]) -> list[Any]:
    fields = [places[edge.target], *edge[1:]]
    while len(fields) > _FEWEST and fields[-1] is _DEFAULTS[len(fields) - _FEWEST - 1]:
        fields.pop()
    return fields


def _read(fields: list[Any], files: list[str]) -> Edge:
    return Edge(files[fields[0]], *fields[1:])
