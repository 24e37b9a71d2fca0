"""``original-call``: what gevent kept of the standard library, called in a greenlet."""

from __future__ import annotations

import re

from gblock.project.remarks import Remark
from gblock.project.remarks.unpatched_call import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import NamedTuple

    from gblock.project.processes import Processes
    from gblock.project.sites import Found
else:
    from gblock.diagnostics import NamedTuple

MARKS = re.compile(rb"get_original\b|monkey\.saved\b|import\s+saved\b")
SCATTERED = True
IN_PROCESSES = False


class Original(NamedTuple):
    """A call of an original."""

    code: str
    found: Found


def find(processes: Processes, paths: Collection[str]) -> Iterable[Remark]:
    """The remarks on some files."""
    unpatched, modules = processes.unpatched, processes.modules
    marked = [path for path in modules.serving if MARKS.search(modules.data(path))]
    if unpatched is None or not marked:
        return
    near = set(marked).union(*map(processes.reach.leading_to, marked))
    for path, sites in unpatched.originals([path for path in paths if path in near]).items():
        if processes.only_without_gevent(path):
            continue
        for site in sites:
            code, span = written(modules.data(path), site)
            yield Remark(path, span, Original(code, site.found[0]), site.call.statement)
