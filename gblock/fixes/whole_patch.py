"""``patch_all(thread=False)``: the arguments that leave something out are removed."""

from __future__ import annotations

import ast

import libcst as cst

from gblock.fixes import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.tree import ParsedFile


def edits(
    diagnostic: Diagnostic, repair: Repair, tree_of: Callable[[str], ParsedFile | None]
) -> list[Edit] | None:
    """Return the edit, None where something else than these arguments leaves parts out."""
    place = calls.place(diagnostic, tree_of(diagnostic.filename))
    if place is None or place.call.args:
        return None
    names = {
        one.arg
        for one in place.call.keywords
        if isinstance(one.value, ast.Constant) and one.value.value is False
    }
    wrong = [names.intersection(one.split("|")) for one in repair.names]
    if not wrong or not all(wrong):
        return None
    removed = set[str | None]().union(*wrong)
    call = cst.parse_expression(place.tree.code(place.call))
    assert isinstance(call, cst.Call)
    kept = [one for one in call.args if one.keyword is None or one.keyword.value not in removed]
    if kept:
        kept[-1] = kept[-1].with_changes(comma=call.args[-1].comma)
    changed = call.with_changes(args=kept)
    if not kept:
        changed = changed.with_changes(whitespace_before_args=cst.SimpleWhitespace(""))
    before, code = place.tree.code(place.call), cst.Module(()).code_for_node(changed)
    if code.count("#") != before.count("#"):  # a comment belongs to what would be removed
        return None
    return [place.tree.replaced(diagnostic.location, diagnostic.end_location, code)]
