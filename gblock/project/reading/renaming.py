"""Functions that a module gives another name: ``derive = partial(hashlib.scrypt, n=16384)``."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_ASSIGNED = (
    rb"=[ \t]{0,9}"
    rb"(?:(?:\w{1,60}\.){0,3}(?:partial(?:method)?|staticmethod)\(\s{0,99}){0,2}"
    rb"(?:(?:\w{1,60}\.){0,6}(\w{1,60})[ \t]{0,9}(?=[,)\n#])"
    rb"|(?:\w{1,60}\.){0,3}(?:getattr|get_original)\([^()\n]{1,99}[\"'](\w{1,60})[\"'],?\))"
)
"""An assignment of a function that is not called, of one that a text names, or of a partial of
either, from its sign on.

Every repetition has a limit: a search in a file of one endless line must not take long."""
_NAME = rb"(?<!\w)(\w{1,60})[ \t]{0,9}(?::[^=\n:]{1,80})?\Z"
"""The name before the sign, with its annotation."""
_LONGEST_NAME = 160
"""The number of bytes in which the name and its annotation are looked for."""


def renamed(data: bytes, names: Container[str]) -> Iterator[str]:
    """Yield the new names that a module may give to functions.

    Args:
        data: The module's bytes.
        names: The names of the functions.
    """
    # Few assignments are of a name that is looked for: only for these the left side is read.
    assigning, naming = _compiled()
    for assigned in assigning.finditer(data):
        old = assigned[1] or assigned[2]
        if old.decode(errors="replace") not in names:
            continue
        end = assigned.start()
        named = naming.search(data, max(0, end - _LONGEST_NAME), end)
        if named is not None and named[1] != old:
            yield named[1].decode(errors="replace")


@cache
def _compiled() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    # Compiled on demand: it takes longer than to check a clean file.
    return re.compile(_ASSIGNED), re.compile(_NAME)
