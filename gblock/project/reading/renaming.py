"""Functions that a module gives another name: ``derive = partial(hashlib.scrypt, n=16384)``."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_RENAMED = re.compile(
    rb"(?<!\w)(\w{1,60})[ \t]{0,9}(?::[^=\n:]{1,80})?=[ \t]{0,9}"
    rb"(?:(?:\w{1,60}\.){0,3}(?:partial(?:method)?|staticmethod)\(\s{0,99})?"
    rb"(?:\w{1,60}\.){0,6}(\w{1,60})[ \t]{0,9}(?=[,)\n#])"
)
"""An assignment of a function that is not called, or of a partial of it, to a name.

Every repetition has a limit: a search in a file of one endless line must not take long."""


def renamed(data: bytes, names: Container[str]) -> Iterator[str]:
    """Yield the new names that a module may give to functions.

    Args:
        data: The module's bytes.
        names: The names of the functions.
    """
    for new, old in _RENAMED.findall(data):
        if new != old and old.decode(errors="replace") in names:
            yield new.decode(errors="replace")
