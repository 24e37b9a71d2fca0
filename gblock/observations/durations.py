"""The durations of many blocks in little memory, for medians and percentiles."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EXACT = 20_000
"""Durations that are kept as they are; of more, three significant digits."""


class Durations:
    """Durations in seconds."""

    __slots__ = ("_kept", "_rounded", "_times")

    def __init__(self) -> None:
        """Create an empty collection."""
        self._kept = array("d")
        self._rounded: Counter[float] = Counter()
        self._times = 0

    def __len__(self) -> int:
        """The number of durations."""
        return self._times

    def extend(self, seconds: Iterable[float], times: int) -> None:
        """Add durations.

        Args:
            seconds: The durations.
            times: Their number.
        """
        self._kept.extend(seconds)
        self._times += times
        if len(self._kept) > EXACT:
            self._round()

    def merge(self, other: Durations) -> None:
        """Add all durations of another collection."""
        self._rounded.update(other._rounded)
        self.extend(other._kept, len(other._kept))
        self._times += len(other) - len(other._kept)

    def quantile(self, share: float) -> float:
        """Return the shortest duration that is not exceeded by this share of all.

        Args:
            share: From 0 to 1. For 0.5 of an even number, the mean of the two in the middle.

        Raises:
            ValueError: if the collection is empty.
        """
        if not self._times:
            raise ValueError("there are no durations")
        if share == 0.5 and self._times % 2 == 0:
            middle = self._times // 2
            return (self._at(middle - 1) + self._at(middle)) / 2
        return self._at(math.ceil(share * self._times) - 1)

    def _at(self, index: int) -> float:
        """Return the duration with this index in ascending order."""
        if not self._rounded:
            return sorted(self._kept)[index]
        self._round()
        for seconds, times in sorted(self._rounded.items()):
            index -= times
            if index < 0:
                return seconds
        raise IndexError("fewer durations than that")

    def _round(self) -> None:
        for text, times in Counter(map("{:.2e}".format, self._kept)).items():
            self._rounded[float(text)] += times
        self._kept = array("d")
