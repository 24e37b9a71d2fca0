"""The records of probes that a command names."""

from __future__ import annotations

import os

from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.config import Config
    from gblock.observations import Observations


def recorded(
    paths: Sequence[str],
    config: Config,
    since: str | None = None,
    until: str | None = None,
    *,
    draws: bool = False,
) -> Observations:
    """Return the observations that probes wrote under some paths.

    Args:
        paths: Files and directories.
        config: The settings, which may name catalogs.
        since: The first moment, as the command line writes it.
        until: The last moment.
        draws: Whether the stacks are kept for a drawing.

    Raises:
        UserError: for a path that does not exist, or a moment that cannot be read.
    """
    import time

    from gblock import catalog
    from gblock.engine.observing import observed
    from gblock.observations import RecordSelection

    for path in paths:
        if not os.path.exists(path):
            raise UserError(path, "there are no records: the probe writes to $GBLOCK_PROBE_DIR")
    from gblock.observations.moments import moment

    now = time.time()
    begun = moment(since, now) if since else None
    ended = moment(until, now) if until else None
    selection = RecordSelection(now, begun, ended, draws)
    return observed(paths, catalog.load(config.extend_catalog), selection)
