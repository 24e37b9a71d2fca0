"""Which files may hold a string that chooses a driver; `gblock.project.drivers` looks for it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gblock.project.processes import Processes
    from gblock.project.remarks import Remark

# Each begins with a letter of its own: with ``\b`` in front the search takes ten times as long.
MARKS = re.compile(
    rb"://(?<!http://)(?<!https://)|backends?\.|ENGINE|BACKEND|DRIVER|DIALECT|drivername"
    rb"|provider|\.bind\("
)
"""How such strings are written, or where: schemes that are not the web's, names of backends."""
SCATTERED = False
IN_PROCESSES = True


def find(processes: Processes, paths: Collection[str]) -> Iterable[Remark]:
    """The strings in some files that choose a driver which blocks where it is used."""
    from gblock.project.drivers import Drivers  # most runs need only the marks

    return Drivers(processes, paths).remarks() if processes.inference.catalog.drivers else ()
