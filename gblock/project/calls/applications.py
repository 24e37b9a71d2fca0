"""WSGI applications that servers name: ``gunicorn shop.wsgi:app`` calls what `app` is.

A factory is named with brackets, ``gunicorn "shop.wsgi:create()"``, or by an option.
"""

from __future__ import annotations

from functools import cached_property

from gblock.project.calls.running import Running
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.values import Values
from gblock.project.processes.servers import Served

_CALL = "__call__"


class Applications:
    """Finds the functions that servers call for each request.

    Args:
        inference: Type inference over the project.
        running: The processes.
    """

    def __init__(self, inference: Inference, running: Running) -> None:
        self.inference = inference
        self.running = running

    def label(self, path: str, index: int) -> str | None:
        """Return the display name of the application that a function is, None for any other.

        Args:
            path: The module.
            index: The function: a WSGI callable, or the ``__call__()`` of one.
        """
        return self._callables.get((path, index))

    def factory_label(self, path: str, index: int) -> str | None:
        """Return the display name of a factory that servers call when they start.

        Args:
            path: The module.
            index: The function; the result is None for any that no server names.
        """
        return self._factories.get((path, index))

    @cached_property
    def _served(self) -> tuple[Served, ...]:
        processes = self.running.processes
        every = processes.all() if processes is not None else ()
        return tuple(dict.fromkeys(served for process in every for served in process.served))

    @cached_property
    def _factories(self) -> dict[tuple[str, int], str]:
        return {
            (value.path, value.scope): f"startup {one.name}()"
            for one in self._served
            if one.is_made
            for value in self.inference.imports.name(one.path, one.name)
            if value.kind == v.FUNCTION
        }

    @cached_property
    def _callables(self) -> dict[tuple[str, int], str]:
        found: dict[tuple[str, int], str] = {}
        for one in self._served:
            for value in self._values(one):
                if value.kind == v.FUNCTION:
                    found.setdefault((value.path, value.scope), f"request {one.name}()")
        return found

    def _values(self, served: Served) -> Values:
        """Return the functions that an application is, or that its class calls."""
        values = self.inference.imports.name(served.path, served.name)
        if served.is_made:
            made = self.inference.results.result
            values = v.NOTHING.union(*(made(x) for x in values if x.kind == v.FUNCTION))
        called = (
            self.inference.attributes.named_values(x, _CALL) for x in values if x.kind == v.OBJECT
        )
        return values.union(*called)
