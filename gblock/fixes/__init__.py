"""Fixes of diagnostics: edits of text, computed only where something asks for them.

A rule, or a blocker's entry of the catalog, names the kind of a fix in the diagnostic's `Repair`;
one module of this package makes the edits of each kind. A module returns None wherever it is not
sure: the place of the call, the use of its result, a name that something else has taken.
"""

from __future__ import annotations

from gblock.diagnostics import Fix
from gblock.repairs import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gblock.diagnostics import Diagnostic, Edit
    from gblock.fixes.tree import ParsedFile

_NEVER = frozenset({"hub", "shutdown", "native-thread", "other-process"})
"""Contexts in which a call must not switch to another greenlet, or need not."""


class Fixes:
    """Computes the fixes of diagnostics; each file is parsed once.

    Args:
        text_of: Returns the text of a file by the name that diagnostics have, with line feeds
            only, None where it cannot be had.
    """

    def __init__(self, text_of: Callable[[str], str | None]) -> None:
        self._text_of = text_of
        self._trees: dict[str, ParsedFile | None] = {}

    def of(self, diagnostic: Diagnostic) -> Fix | None:
        """Return the fix of a diagnostic, None where none is known to be right."""
        repair = diagnostic.repair
        if repair is None:
            return None
        kind = KINDS[repair.kind]
        if kind.switches and diagnostic.context in _NEVER:
            return None
        # importlib, which would say it plainer, costs more than a fix.
        module = __import__(f"{__package__}.{repair.kind.replace('-', '_')}", fromlist=["edits"])
        edits: list[Edit] | None = module.edits(diagnostic, repair, self.tree)
        if not edits or not self._is_sound(edits):
            return None
        return Fix(kind.applicability, f"{kind.title}.", tuple(sorted(edits)))

    def tree(self, filename: str) -> ParsedFile | None:
        """Return a parsed file, None where it cannot be had or parsed."""
        if filename not in self._trees:
            from gblock.fixes import tree

            text = self._text_of(filename)
            self._trees[filename] = None if text is None else tree.parsed(filename, text)
        return self._trees[filename]

    def _is_sound(self, edits: list[Edit]) -> bool:
        """Return whether every file that the edits change can still be parsed."""
        from gblock.fixes import text, tree

        for filename in {edit.filename for edit in edits}:
            before = self._text_of(filename)
            if before is None:
                return False
            own = [edit for edit in edits if edit.filename == filename]
            after = text.applied(before, own)
            if after == before or tree.parsed(filename, after) is None:
                return False
        return True


def of(diagnostic: Diagnostic, text_of: Callable[[str], str | None]) -> Fix | None:
    """Return the fix of one diagnostic, None where none is known to be right.

    Args:
        diagnostic: The diagnostic, as a check reports it.
        text_of: Returns the text of a file by the name that diagnostics have, with line feeds
            only, None where it cannot be had.
    """
    return Fixes(text_of).of(diagnostic)


def with_fixes(
    diagnostics: Iterable[Diagnostic], text_of: Callable[[str], str | None]
) -> tuple[Diagnostic, ...]:
    """Return diagnostics with their fixes."""
    fixes = Fixes(text_of)
    return tuple(one._replace(fix=fixes.of(one)) for one in diagnostics)
