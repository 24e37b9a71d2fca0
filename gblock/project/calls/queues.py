"""Queues of Celery's tasks: their decorators' ``queue``, and the application's ``task_routes``."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from functools import cached_property

from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr, constant_of, passed
from gblock.project.reading.modules import Modules
from gblock.project.reading.summary import ModuleSummary, Scope

_ROUTES = ("task_routes", "CELERY_TASK_ROUTES", "CELERY_ROUTES")


class Queues:
    """Finds the queues from which workers take tasks.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules

    def of(self, summary: ModuleSummary, scope: Scope) -> str | None:
        """Return the queue of a task; None if only the workers' default is known."""
        for decorator in scope.decorators:
            if decorator is not None and decorator.tag == tags.CALL:
                queue = constant_of(passed(decorator, None, "queue"))
                if isinstance(queue, str):
                    return queue
        relative = os.path.relpath(summary.filename, self.modules.root)
        name = relative.removesuffix(".py").replace(os.sep, ".") + f".{scope.name}"
        for pattern, queue in self._routes:
            if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"*.{pattern}"):
                return queue
        return None

    @cached_property
    def _routes(self) -> list[tuple[str, str]]:
        """The patterns of tasks' names, and their queues, in order."""
        return [
            (pattern, queue)
            for table in self._tables()
            if table is not None and table.tag == tags.MAPPING
            for key, value in table.items
            for pattern, queue in _routed(key, value)
        ]

    def _tables(self) -> Iterator[Expr]:
        """Yield what the project assigns to the setting, or passes to it by keyword."""
        for name in _ROUTES:
            for path in self.modules.mentioning(name, whole=True):
                summary = self.modules.summary(path)
                for scope in summary.scopes:
                    bound = [*scope.bindings.get(name, ())]
                    for (_, attribute), bindings in scope.attributes.items():
                        bound += bindings if attribute == name else ()
                    yield from (one.value for one in bound)
                for call in summary.calls:
                    if call.node == "call":
                        yield passed(call.expression, None, name)


def _routed(key: Expr, value: Expr) -> Iterator[tuple[str, str]]:
    """Yield the pattern and the queue of one route: ``{"shop.mail.*": {"queue": "mail"}}``."""
    pattern, queue = constant_of(key), constant_of(value)
    if value is not None and value.tag == tags.MAPPING:
        options = {constant_of(name): constant_of(given) for name, given in value.items}
        queue = options.get("queue")
    if isinstance(pattern, str) and isinstance(queue, str):
        yield pattern, queue
