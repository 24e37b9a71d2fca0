"""The reading budget: how many files inference may read in search of callers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gblock.project.reading.modules import Modules

ALLOWANCE = 60
"""At most this many files are read in search of callers, for each inspected file."""


class Budget:
    """The number of files that may still be read, which those that ask for files share.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._unspent = ALLOWANCE

    @contextmanager
    def limited(self, files: int) -> Iterator[None]:
        """Permit this number of files within a block, whatever is left around it."""
        outer, self._unspent = self._unspent, files
        try:
            yield
        finally:
            self._unspent = outer

    def permitted(self, paths: list[str]) -> list[str]:
        """Return the files that have been read already, and as many others as are left."""
        found = []
        for path in paths:
            if not self._modules.is_read(path):
                if self._unspent <= 0:
                    continue
                self._unspent -= 1
            found.append(path)
        return found
