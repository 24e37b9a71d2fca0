"""A call that releases the GIL: the same call in a native thread of the hub's threadpool.

The function and its arguments stay as they are written, and are evaluated in the same order.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from gblock.fixes import calls, imports
from gblock.project.reading.parsing import comments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.calls import CallInFile
    from gblock.fixes.tree import ParsedFile

_APPLY = "{name}.get_hub().threadpool.apply"
_MODULE = cst.Module(())
_SPACE = cst.SimpleWhitespace(" ")
_COMMA = cst.Comma(whitespace_after=_SPACE)


def edits(
    diagnostic: Diagnostic,
    repair: Repair,  # noqa: ARG001 - the same of every kind
    tree_of: Callable[[str], ParsedFile | None],
) -> list[Edit] | None:
    """Return the edits, None where the call cannot be handed over as it is."""
    if diagnostic.context == "startup":  # a worker that is forked later would have no such thread
        return None
    place = calls.place(diagnostic, tree_of(diagnostic.filename))
    if place is None or not _can_be_handed_over(place):
        return None
    call = _parsed(place.tree.code(place.call))
    if call is None:
        return None
    imported = imports.module(place.tree, "gevent", place.path)
    if imported is None:
        return None
    apply = _APPLY.format(name=imported.name)
    tree, start, end = place.tree, diagnostic.location, diagnostic.end_location
    return [tree.replaced(start, end, _written(place, call, apply)), *imported.edits]


def _can_be_handed_over(place: CallInFile) -> bool:
    """Return whether a call stands where it may wait, and hands over no code of the project's."""
    functions = [n for n in place.path if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if functions and isinstance(functions[-1], ast.AsyncFunctionDef):
        return False
    names = place.tree.functions
    arguments = [*place.call.args, *(one.value for one in place.call.keywords)]
    for argument in arguments:
        if isinstance(argument, ast.Starred):
            argument = argument.value
        if isinstance(argument, (ast.Lambda, ast.GeneratorExp)):
            return False
        last = getattr(argument, "attr", "") or getattr(argument, "id", "")
        if last in names:  # it would run in the thread, where no greenlet is
            return False
    return not any(isinstance(node, (ast.arguments, ast.Lambda)) for node in place.inside)


def _parsed(code: str) -> cst.Call | None:
    """Return a call as libcst reads it; its lines may depend on brackets around it."""
    for text in (code, f"({code})"):
        try:
            node = cst.parse_expression(text)
        except cst.ParserSyntaxError:
            continue
        if isinstance(node, cst.Call):
            return node
    return None


def _written(place: CallInFile, call: cst.Call, apply: str) -> str:
    """Return the new call, on one line where it fits."""
    tree, code = place.tree, place.tree.code(place.call)
    function = _MODULE.code_for_node(call.func)
    if "#" in code and _has_comment(code):
        return f"{apply}({', '.join([function, *_arguments(call, tree.quote)])})"
    flat = _flat(call)
    parts = [function, *_arguments(flat, tree.quote)]
    line = f"{apply}({', '.join(parts)})"
    start, end = tree.start(place.call), tree.end(place.call)
    behind = tree.lines[end.row - 1][end.column - 1 :].partition("  #")[0].rstrip()
    if "\n" in line or start.column - 1 + len(line) + len(behind) <= tree.width:
        return line
    outer = tree.lines[start.row - 1]
    outer = outer[: len(outer) - len(outer.lstrip(" \t"))]
    inner = outer + tree.unit
    if any(len(inner) + len(part) + 1 > tree.width for part in parts[1:]):
        parts[1:] = _arguments(_upright(flat, inner, tree.unit), tree.quote)
    return f"{apply}(\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{outer})"


def _has_comment(code: str) -> bool:
    found, is_whole = comments(code)
    return bool(found) or not is_whole


def _flat(call: cst.Call) -> cst.Call:
    """Return a call with its arguments on one line, as far as each of them stands on one."""
    last = len(call.args) - 1
    return call.with_changes(
        whitespace_before_args=cst.SimpleWhitespace(""),
        args=[
            one.with_changes(
                comma=cst.MaybeSentinel.DEFAULT if number == last else _COMMA,
                whitespace_after_arg=cst.SimpleWhitespace(""),
            )
            for number, one in enumerate(call.args)
        ],
    )


def _upright(call: cst.Call, indent: str, unit: str) -> cst.Call:
    """Return a call with each argument on a line of its own."""

    def line(before: str) -> cst.ParenthesizedWhitespace:
        return cst.ParenthesizedWhitespace(
            cst.TrailingWhitespace(), last_line=cst.SimpleWhitespace(before)
        )

    is_last = [one is call.args[-1] for one in call.args]
    ends = [
        last or (_is_named(call.args[number + 1]) and not _is_named(one))
        for number, (one, last) in enumerate(zip(call.args, is_last, strict=True))
    ]
    return call.with_changes(
        whitespace_before_args=line(indent + unit),
        args=[
            one.with_changes(
                comma=cst.Comma(whitespace_after=line(indent if end else indent + unit))
            )
            for one, end in zip(call.args, ends, strict=True)
        ],
    )


def _is_named(argument: cst.Arg) -> bool:
    return argument.keyword is not None or argument.star == "**"


def _arguments(call: cst.Call, quote: str) -> list[str]:
    """Return a tuple of the positional arguments and a dict of the others, as far as needed."""
    positional = [one for one in call.args if not _is_named(one)]
    named = [one for one in call.args if _is_named(one)]
    before = call.whitespace_before_args
    if not named:
        return [_tuple(positional, before)] if positional else []
    if not positional:
        return [f"kwds={_dict(named, quote, before)}"]
    return [_tuple(positional, before), _dict(named, quote, before)]


def _tuple(arguments: Sequence[cst.Arg], before: cst.BaseParenthesizableWhitespace) -> str:
    elements: list[cst.BaseElement] = []
    for number, one in enumerate(arguments):
        comma = one.comma
        if number == len(arguments) - 1:
            if len(arguments) == 1 and isinstance(comma, cst.MaybeSentinel):
                comma = cst.Comma()
            elif isinstance(comma, cst.Comma) and _is_space(comma.whitespace_after):
                comma = cst.Comma() if len(arguments) == 1 else cst.MaybeSentinel.DEFAULT
        if one.star == "*":
            elements.append(cst.StarredElement(one.value, comma=comma))
        else:
            elements.append(cst.Element(one.value, comma=comma))
    left = cst.LeftParen(whitespace_after=before)
    return _MODULE.code_for_node(cst.Tuple(elements, lpar=[left], rpar=[cst.RightParen()]))


def _is_space(whitespace: cst.BaseParenthesizableWhitespace) -> bool:
    return isinstance(whitespace, cst.SimpleWhitespace)


def _dict(
    arguments: Sequence[cst.Arg], quote: str, before: cst.BaseParenthesizableWhitespace
) -> str:
    elements: list[cst.BaseDictElement] = []
    for number, one in enumerate(arguments):
        comma = one.comma
        is_last = number == len(arguments) - 1
        if is_last and isinstance(comma, cst.Comma) and _is_space(comma.whitespace_after):
            comma = cst.MaybeSentinel.DEFAULT
        if one.keyword is None:
            elements.append(cst.StarredDictElement(one.value, comma=comma))
        else:
            key = cst.SimpleString(f"{quote}{one.keyword.value}{quote}")
            elements.append(cst.DictElement(key, one.value, comma=comma))
    left = cst.LeftCurlyBrace(whitespace_after=before)
    return _MODULE.code_for_node(cst.Dict(elements, lbrace=left))
