"""Facts that a run has read of a project, kept for runs after files have changed.

Facts are signed as answers are, and plain: texts, numbers, lists and objects of JSON. The reader of
a fact stores what it depends on with it, and compares that before the fact is used again.
"""

from __future__ import annotations

import json

from gblock.cache import manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gblock.cache.store import Store

_FORMAT = 1
"""Changed whenever facts of the same name would mean something else."""


class KeptFacts:
    """The facts about the project in one directory.

    Args:
        store: The entries of the cache.
        run: What all facts depend on: gblock, Python, and where it runs.
    """

    def __init__(self, store: Store, run: tuple[str, ...]) -> None:
        self._store = store
        self._run = run

    def get(self, kind: str, root: str) -> Any:
        """Return the facts of one kind about a directory, None if there are none of this user's.

        Args:
            kind: The kind.
            root: The directory of the project.
        """
        entry = self._store.get(self._name(kind, root))
        if entry is None:
            return None
        try:
            return json.loads(entry)
        except (ValueError, RecursionError):
            return None

    def put(self, kind: str, root: str, value: object) -> None:
        """Keep the facts of one kind about a directory, in place of those before."""
        if not self._store.prepare():
            return
        try:
            entry = json.dumps(value, separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            return
        self._store.put(self._name(kind, root), entry)

    def _name(self, kind: str, root: str) -> str:
        return manifest.digest_of((str(_FORMAT), "facts", kind, root, *self._run))
