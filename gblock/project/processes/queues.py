"""The queues of a worker's command: ``celery worker -Q mails``, ``rq worker high low``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gblock.catalog.entries import TaskWorker

_NAMES = re.compile(r"[,\s]+")


class Taken(NamedTuple):
    """The queues from which a worker takes tasks."""

    names: frozenset[str] = frozenset()
    """Empty if it takes from all, or if its command does not name them all."""
    other_than: frozenset[str] = frozenset()
    """The queues that its command excludes."""

    def takes(self, queue: str) -> bool:
        """Return whether the worker may take tasks from a queue."""
        return queue not in self.other_than and (not self.names or queue in self.names)

    def together(self, other: Taken) -> Taken:
        """Return the queues of two workers."""
        names = self.names | other.names if self.names and other.names else frozenset[str]()
        return Taken(names, self.other_than & other.other_than)


ALL = Taken()
"""The queues of a worker whose command names none."""


def taken(worker: TaskWorker, arguments: tuple[str, ...]) -> Taken:
    """Return the queues that the command of a worker names.

    Args:
        worker: The description of such workers.
        arguments: The arguments of the command.
    """
    named = _given(arguments, worker.queues, several=worker.several)
    if worker.positional:
        words = iter(arguments)
        for word in words:
            if word in worker.valued:
                next(words, None)
            elif not word.startswith("-") and word not in worker.positional:
                named.append(word)
    names = _split(named)
    if not named and worker.default:
        names = frozenset([worker.default])
    return Taken(names or frozenset(), _split(_given(arguments, worker.excludes)) or frozenset())


def _given(
    arguments: tuple[str, ...], options: Iterable[str], *, several: bool = False
) -> list[str]:
    """Return the values of some options; several of one if each word after it is a value."""
    found: list[str] = []
    for index, word in enumerate(arguments):
        for option in options:
            if word == option:
                after = arguments[index + 1 :]
                end = next((n for n, one in enumerate(after) if one.startswith("-")), len(after))
                found += after[:end] if several else after[:1]
            elif option.startswith("--") and word.startswith(f"{option}="):
                found.append(word[len(option) + 1 :])
            elif not option.startswith("--") and len(word) > 2 and word.startswith(option):
                found.append(word[2:].removeprefix("="))
    return found


def _split(written: list[str]) -> frozenset[str] | None:
    """Return the names in some texts; None if one is not known."""
    if any("$" in one or "{" in one for one in written):
        return None
    return frozenset(name for one in written for name in _NAMES.split(one) if name)
