"""`gblock.lean.NamedTuple` behaves as `typing.NamedTuple`, which is not imported."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import pytest

from gblock import lean
from gblock.diagnostics import Location, Related


class Typed(NamedTuple):
    row: int
    column: int = 1


class Lean(lean.NamedTuple):
    """Two numbers."""

    row: int
    column: int = 1

    @property
    def both(self):
        """Their sum."""
        return self.row + self.column


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1,), {}),
        ((1, 2), {}),
        ((), {"row": 1}),
        ((1,), {"column": 3}),
        ((), {"column": 3, "row": 2}),
    ],
)
def test_it_takes_the_same_values(values, named):
    typed, own = Typed(*values, **named), Lean(*values, **named)

    assert tuple(typed) == own
    assert (typed.row, typed.column) == (own.row, own.column)
    assert typed._asdict() == own._asdict()
    assert tuple(typed._replace(column=9)) == own._replace(column=9)
    assert hash(typed) == hash(own)
    assert repr(typed).replace("Typed", "Lean") == repr(own)
    assert own.row + own.column == own.both


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"row": 1}), ((1,), {"height": 1}), ((), {"column": 1})],
)
def test_it_refuses_the_same_values(values, named):
    with pytest.raises(TypeError):
        Typed(*values, **named)
    with pytest.raises(TypeError, match="Lean takes row, column: got "):
        Lean(*values, **named)


def test_it_names_the_same_fields():
    for name in ("_fields", "_field_defaults", "__match_args__"):
        assert getattr(Typed, name) == getattr(Lean, name)
    assert "Two numbers." == Lean.__doc__


def test_values_travel_between_processes():
    value = Related("a.py", Location(1, 2), "here")

    again = pickle.loads(pickle.dumps(value))

    assert value == again
    assert Related is type(again)
    assert value == copy.deepcopy(value)
    with pytest.raises(AttributeError):
        value.row = 1
