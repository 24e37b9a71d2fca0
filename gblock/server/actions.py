"""Code actions: the fixes of diagnostics, and comments that suppress them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types

from gblock.diagnostics import Edit, Location
from gblock.engine.ignores import UNSUPPRESSED, commented
from gblock.fixes import Fixes
from gblock.fixes.text import compatible
from gblock.repairs import SAFE
from gblock.server.diagnostics import SOURCE
from gblock.server.positions import rows
from gblock.server.uris import uri_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from gblock.diagnostics import Diagnostic, Fix
    from gblock.server.checking import Shown
    from gblock.server.documents import Document, Documents
    from gblock.server.positions import Lines

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = [types.CodeActionKind.QuickFix, FIX_ALL]


class Actions:
    """The code actions of one document.

    Args:
        document: The document, whose text was checked.
        documents: All open documents.
        found: What was found in it.
        converted: The same, as the editor has it.
        lines_of: Returns the lines of a file, by its path.
    """

    def __init__(
        self,
        document: Document,
        documents: Documents,
        found: Sequence[Shown],
        converted: Sequence[types.Diagnostic],
        lines_of: Callable[[str], Lines],
    ) -> None:
        self._document = document
        self._documents = documents
        self._pairs = list(zip(found, converted, strict=True))
        self._lines_of = lines_of
        self._fixes = Fixes(lambda name: documents.text(os.path.abspath(name)))

    def at(self, span: types.Range, only: Collection[str] | None) -> list[types.CodeAction]:
        """Return the actions for a range.

        Args:
            span: The range.
            only: The kinds that the editor wants, None for all.
        """
        found: list[types.CodeAction] = []
        quick = str(types.CodeActionKind.QuickFix.value)
        if _is_wanted(quick, only):
            for shown, diagnostic in self._pairs:
                if _overlaps(diagnostic.range, span):
                    found += self._quick(shown, diagnostic)
        if only is not None and _is_wanted(FIX_ALL, only):
            found += self._all()
        return found

    def _quick(self, shown: Shown, diagnostic: types.Diagnostic) -> Iterable[types.CodeAction]:
        one = shown.diagnostic
        fix = self._fixes.of(one)
        if fix is not None:
            is_safe = fix.applicability == SAFE
            yield types.CodeAction(
                title=fix.message.rstrip(".") + ("" if is_safe else " (unsafe)"),
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                is_preferred=is_safe,
                edit=self._edit(fix.edits),
            )
        edit = self._suppressing(shown)
        if edit is not None:
            yield types.CodeAction(
                title=f"Suppress {one.code} with # gblock: ignore[{one.code}]",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                edit=edit,
            )

    def _all(self) -> Iterable[types.CodeAction]:
        """Yield an action with all safe fixes of the document, if there are any."""
        found = [self._fixes.of(shown.diagnostic) for shown, _ in self._pairs]
        safe: list[Fix] = [f for f in found if f is not None and f.applicability == SAFE]
        edits = [edit for fix in compatible(safe) for edit in fix.edits]
        if edits:
            yield types.CodeAction(
                title="Apply all safe fixes of gblock",
                kind=FIX_ALL,
                edit=self._edit(edits),
            )

    def _suppressing(self, shown: Shown) -> types.WorkspaceEdit | None:
        """Return the edit that adds a comment, None if there is no row for it."""
        one: Diagnostic = shown.diagnostic
        text = self._document.text
        if shown.rows is None or one.code in UNSUPPRESSED:
            return None
        after = commented(text, shown.rows, one)
        if after is None or after == text:
            return None
        return self._edit([_only_change(one.filename, text, after)])

    def _edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        by_path: dict[str, list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]]
        by_path = {}
        for edit in edits:
            path = os.path.abspath(edit.filename)
            span = self._lines_of(path).range(edit.location, edit.end_location)
            content = edit.content.replace("\n", self._documents.line_end(path))
            by_path.setdefault(path, []).append(types.TextEdit(span, content))
        changes: list[
            types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile
        ] = []
        for path, changed in by_path.items():
            document = self._documents.get(path)
            uri = document.uri if document is not None else uri_of(path)
            version = document.version if document is not None else None
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
            changes.append(types.TextDocumentEdit(identifier, changed))
        return types.WorkspaceEdit(document_changes=changes)


def plain(edit: types.WorkspaceEdit) -> types.WorkspaceEdit:
    """Return an edit without versions, for editors that know no others."""
    found: dict[str, list[types.TextEdit]] = {}
    for change in edit.document_changes or ():
        if isinstance(change, types.TextDocumentEdit):
            edits = [one for one in change.edits if isinstance(one, types.TextEdit)]
            found[change.text_document.uri] = edits
    return types.WorkspaceEdit(changes=found)


def _only_change(filename: str, before: str, after: str) -> Edit:
    """Return the edit between two texts that differ in one row."""
    pairs = enumerate(zip(rows(before), rows(after), strict=True))
    number, (old, new) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    start, end = Location(number + 1, head + 1), Location(number + 1, len(old) - tail + 1)
    return Edit(filename, start, end, new[head : len(new) - tail])


def _shared(one: str, other: str) -> int:
    """Return the number of characters that two texts start with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _overlaps(one: types.Range, other: types.Range) -> bool:
    """Return whether two ranges share a place; an end counts."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _is_wanted(kind: str, only: Collection[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)
