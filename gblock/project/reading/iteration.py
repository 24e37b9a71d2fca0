"""Iteration without a statement: calls that take the elements of an argument."""

from __future__ import annotations

ITERATING = frozenset(
    "iter next list tuple set frozenset sorted sum any all max min enumerate zip map filter dict "
    "join extend update chain deque".split()
)
"""Last names of functions that iterate over their arguments."""
