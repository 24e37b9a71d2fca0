"""What one check is asked to do, as a plain value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from gblock.config import Config
    from gblock.observations import Observations
else:
    from gblock.lean import NamedTuple


class Request(NamedTuple):
    """The paths to check, the project's settings, and what the command line adds to them."""

    paths: Sequence[str]
    """What the user named."""
    config: Config
    stdin: tuple[str, bytes] | None = None
    """The name and the bytes of a file that is given and not read, such as an editor's."""
    select: Sequence[str] = ()
    """Names of rules or blockers; they replace the configuration's."""
    extend_select: Sequence[str] = ()
    """Names of rules or blockers; they are added to what is selected otherwise."""
    ignore: Sequence[str] = ()
    """Names of rules or blockers; they are added to the configuration's."""
    min_severity: str | None = None
    """``note``, ``warning`` or ``error``."""
    baseline: str | None = None
    """A file that lists what is known, instead of the configuration's."""
    write_baseline: str | None = None
    """A file to write what is reported to; all of it is known then."""
    since: str | None = None
    """A git revision; only what the project did not have there is reported."""
    force_exclude: bool = False
    """Whether files that are named are left out like those that are found."""
    observed: Observations | None = None
    """What probes saw in production: it marks diagnostics, and hides none."""
    all_processes: bool = False
    """Whether to report files, too, that only processes without gevent run."""
    assume_gevent: bool = False
    """Whether to judge a project in which nothing imports, requires or starts gevent."""
    all_contexts: bool = False
    """Whether to report calls, too, in commands, migrations, tests, native threads and other
    processes."""
    show_paths: bool = False
    """Whether to keep all ways to a call, and not only the shortest."""
    by_path: bool = False
    """Whether people get the order of files instead of that of weight."""
    python: str | None = None
    """The environment whose packages are looked at, instead of the configuration's."""
    jobs: int = 1
    """How many processes may work at a time, 0 for one for each CPU; the result is the same."""
