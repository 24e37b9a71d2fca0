"""One changed file of a project that was checked before, inspected with the answers of that check.

The answer is what the rules about calls would report for this file in a check of the whole project,
as long as the change does not alter what other files conclude from it and hand back. It is meant
for the time until such a check has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblock.engine.memos import Memos

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.diagnostics import Diagnostic
    from gblock.engine import Check


class Again:
    """A finished check, kept for its answers. It must not be used by two threads at a time.

    Args:
        check: The check, whose report has been made.
    """

    def __init__(self, check: Check) -> None:
        self.check = check
        inspection = check.inspection
        self._memos = Memos([] if inspection is None else [inspection, check.plan])
        self._prepared: set[str] = set()

    def prepare(self, paths: Iterable[str]) -> None:
        """Forget the answers that concern some files; takes up to a second in a large project."""
        new = frozenset(paths).difference(self._prepared)
        if new:
            self._prepared |= new
            self._memos.forget(new)

    def close(self) -> None:
        """Drop the check; nothing can be asked afterwards."""
        self._memos.clear()

    def diagnostics(self, path: str, data: bytes) -> list[Diagnostic] | None:
        """Return what is reported for a file of the project with these bytes.

        Returns:
            None if the project has to be checked as a whole, as where nothing in it mattered.
        """
        check = self.check
        if check.inspection is None or path not in check.codebase.reported:
            return None
        self.prepare([path])
        check.codebase.modules.change(path, data)
        try:
            return check.of_file(path)
        finally:
            self._memos.take_back()
