"""``NamedTuple`` without the import of `typing`, which takes a tenth of a clean run.

For modules that a clean run imports::

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from gblock.lean import NamedTuple

A class of `collections.namedtuple` compiles a function of its own; these share theirs, so making a
class takes a fifth of the time. Making a tuple takes longer: classes of which a check makes very
many, such as the expressions of a summary, use `typing`.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class _Values(tuple):  # type: ignore[type-arg]
    """The methods of `typing.NamedTuple`, which the classes share."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _field_defaults: ClassVar[dict[str, Any]] = {}

    def __new__(cls, *values: Any, **named: Any) -> _Values:  # noqa: PYI034 - Self is newer than Python 3.10
        fields = cls._fields
        if named or len(values) != len(fields):
            given = dict(zip(fields, values, strict=False))
            every = {**cls._field_defaults, **named, **given}
            if len(values) > len(fields) or given.keys() & named or every.keys() != {*fields}:
                words = f"{len(values)} values and {sorted(named)}"
                raise TypeError(f"{cls.__name__} takes {', '.join(fields)}: got {words}")
            values = tuple(map(every.__getitem__, fields))
        return tuple.__new__(cls, values)

    def _replace(self, **changes: Any) -> _Values:
        return type(self)(**{**self._asdict(), **changes})

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _Named(type):
    """The metaclass that turns each subclass into a named tuple."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        fields = tuple(namespace["__annotations__"])
        defaults = {field: namespace[field] for field in fields if field in namespace}
        made = {**namespace, "__slots__": (), "__match_args__": fields}
        made |= {"_fields": fields, "_field_defaults": defaults}
        made |= {field: property(itemgetter(place)) for place, field in enumerate(fields)}
        return type(name, (_Values,), made)


class NamedTuple(metaclass=_Named):
    """The base class that makes a class a named tuple."""
