"""Routes: functions that code registers for a path, with whatever package."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gblock.catalog.entries import Argument, Entry
from gblock.catalog.lookup import Catalog
from gblock.project.calls.last_names import ByLastName
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, Expr, last_name, passed, without_arguments


class Routes:
    """Finds the entries of decorators and calls that register a function for a path.

    ``@api.expose("/orders")`` registers a handler of requests, though `api` is unknown, or of a
    package that the catalog does not list. What is listed has entries of its own.

    Args:
        catalog: The catalog.
        entries: Its entries that may matter.
        called: Returns the dotted names of the functions that a callee may be.
    """

    def __init__(
        self,
        catalog: Catalog,
        entries: Iterable[Entry],
        called: Callable[[Expr, Place], Iterable[str]],
    ) -> None:
        self._catalog = catalog
        self._called = called
        of_paths = [entry for entry in entries if entry.unlisted]
        self._decorators: ByLastName[Entry] = ByLastName(
            (symbol, entry) for entry in of_paths for symbol in entry.decorators
        )
        self._arguments: ByLastName[tuple[Argument, Entry]] = ByLastName(
            (one.symbol, (one, entry)) for entry in of_paths for one in entry.arguments
        )

    def of_decorator(self, decorator: Expr, place: Place) -> Entry | None:
        """Return the entry of a decorator, None if it registers nothing for a path.

        Args:
            decorator: The decorator.
            place: The place of what it decorates.
        """
        if decorator is None or decorator.tag != tags.CALL or not _begins_with_path(decorator):
            return None
        callee = without_arguments(decorator)
        known = self._decorators.of(last_name(callee))
        return known[0] if known and self._may_be_unlisted(callee, place) else None

    def of_argument(
        self, call: CallExpr, place: Place, position: int | None, argument: Expr
    ) -> Entry | None:
        """Return the entry of a call that takes a function, None if it registers it for no path.

        Args:
            call: The call.
            place: The place of the call.
            position: The function's position among the arguments, None for a keyword argument.
            argument: The function.
        """
        if not _begins_with_path(call):
            return None
        for one, entry in self._arguments.of(last_name(call.callee)):
            is_there = position is not None and position == one.position
            if is_there or passed(call, one.position, one.keyword) is argument:
                return entry if self._may_be_unlisted(call.callee, place) else None
        return None

    def _may_be_unlisted(self, callee: Expr, place: Place) -> bool:
        """Return whether a callee is of no package whose entry points the catalog lists."""
        return all(map(self._catalog.is_unlisted, self._called(callee, place)))


def _begins_with_path(call: CallExpr) -> bool:
    """Return whether the first argument of a call is a text that begins with a slash."""
    first = passed(call, 0, "path")
    return (
        first is not None
        and first.tag == tags.CONSTANT
        and isinstance(first.value, str)
        and first.value.startswith("/")
    )
