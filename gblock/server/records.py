"""The records of probes, read again when they have changed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from gblock.errors import UserError

if TYPE_CHECKING:
    from gblock.config import Config
    from gblock.observations import Observations


class Records:
    """The records that the command line names.

    Args:
        paths: Files and directories of records; none if hover shows no figures.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = tuple(map(os.path.abspath, paths))
        self._known: tuple[object, Observations] | None = None

    def read(self, config: Config) -> Observations | None:
        """Return what was recorded, None if no records are named.

        Raises:
            UserError: if a path does not exist.
        """
        if not self._paths:
            return None
        from gblock import catalog
        from gblock.engine.observing import observed
        from gblock.observations import RecordSelection

        for path in self._paths:
            if not os.path.exists(path):
                raise UserError(path, "there are no records: the probe writes to $GBLOCK_PROBE_DIR")
        state = (config.extend_catalog, *map(_state, self._paths))
        if self._known is None or self._known[0] != state:
            known = catalog.load(config.extend_catalog)
            found = observed(
                self._paths, known, RecordSelection(time.time(), None, None, False), jobs=1
            )
            self._known = state, found
        return self._known[1]


def _state(path: str) -> tuple[object, ...]:
    """Return what changes whenever a record is written."""
    names = [path]
    if os.path.isdir(path):
        names = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    found = []
    for name in names:
        try:
            status = os.stat(name)
        except OSError:
            continue
        found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)
