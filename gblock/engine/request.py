"""The request of one check, as a plain value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NamedTuple

    from gblock.config import Config
    from gblock.observations import Observations
else:
    from gblock.lean import NamedTuple


class Request(NamedTuple):
    """The paths to check, the project's settings, and the options of the command line."""

    paths: Sequence[str]
    """The paths that the user named."""
    config: Config
    stdin: tuple[str, bytes] | None = None
    """The name and the bytes of a file that is not read from disk, such as an editor's."""
    select: Sequence[str] = ()
    """Names of rules or blockers; they replace the configuration's."""
    extend_select: Sequence[str] = ()
    """Names of rules or blockers; they are added to what is selected otherwise."""
    ignore: Sequence[str] = ()
    """Names of rules or blockers; they are added to the configuration's."""
    min_severity: str | None = None
    """``note``, ``warning`` or ``error``."""
    baseline: str | None = None
    """The baseline, instead of the configuration's."""
    write_baseline: str | None = None
    """The file to write as the new baseline, which hides everything that is reported."""
    since: str | None = None
    """A git revision; only diagnostics that the project did not have there are reported."""
    force_exclude: bool = False
    """True to apply exclusions to named files too."""
    observed: Observations | None = None
    """Observations from production, which mark diagnostics and hide none."""
    all_processes: bool = False
    """True if files that only processes without gevent run are reported too."""
    assume_gevent: bool = False
    """True if a project is checked even if nothing in it imports, requires or starts gevent."""
    all_contexts: bool = False
    """True if calls in commands, migrations, tests, native threads and other processes are
    reported too."""
    show_paths: bool = False
    """True if all paths to a call are kept, and not only the shortest."""
    by_path: bool = False
    """True to order text output by file and place, not by importance."""
    python: str | None = None
    """The environment whose packages are read, instead of the configuration's."""
    given: Mapping[str, bytes] = {}
    """The bytes of files that replace those on disk, by absolute path."""
    own_settings: bool = False
    """True to check each unit with its own settings, if it has any."""
    is_unit: bool = False
    """True for a check of one unit of a repository, as part of a check of the whole."""
    in_units: bool = True
    """False to check a large repository as one project, so that one file can be checked again."""
    jobs: int = 1
    """The number of parallel processes, 0 for one for each CPU; the result is the same."""
