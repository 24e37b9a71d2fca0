"""``NamedTuple`` without the import of `typing`, which takes a tenth of a clean run.

For modules that a clean run imports::

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from gblock.lean import NamedTuple
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Named(type):
    """Makes a named tuple of each class that has a base."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        fields = namespace["__annotations__"]
        defaults = [namespace[field] for field in fields if field in namespace]
        module = namespace["__module__"]
        made = namedtuple(name, fields, defaults=defaults, module=module)  # type: ignore[misc]  # noqa: PYI024
        made.__doc__ = namespace["__doc__"]
        return made


class NamedTuple(metaclass=_Named):
    """The base class that makes a class a named tuple."""
