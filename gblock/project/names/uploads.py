"""Uploads: files that clients send, followed back from the calls that read them.

Types follow the file itself and its contents, as `[[library]]` blocks of the catalog say. What is
read is often the path that a handler saved the file at, which has the type of any text:
here assignments, parameters, results and calls that save are followed from the path backwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ValueBinding
from gblock.project.reading.expressions import AttributeExpr, CallExpr, Expr, NameExpr, last_name
from gblock.project.reading.summary import Call, ModuleSummary

if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

UPLOADED = "io.Uploaded"
"""The class that the catalog gives to files that clients send, and to their contents."""
_WRITING = ("save", "write", "copyfileobj")
"""Methods and functions that write such files: to a path, or to an open file."""
_OPENING = frozenset({"open", "NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile"})
"""Calls that make files, which handlers write an upload to."""
_TAKING = (kinds.ASSIGNED, kinds.ENTERED, kinds.AUGMENTED)
"""The kinds of bindings that give a name the value of their expression."""
_SAME = frozenset(
    "open Path PurePath str abspath realpath fspath join joinpath resolve absolute as_posix "
    "read read_bytes read_text getvalue decode BytesIO StringIO TextIOWrapper BufferedReader "
    "secure_filename format".split()
)
"""Calls whose result is the same file, its contents, or a path with the file's name."""
_MOST = 100
"""Expressions: what has more sources is not followed to all of them."""


class Uploads:
    """Finds what may be a file that a client sends, its contents, or the path of one.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def reach(self, expression: Expr, place: Place, *, made: bool = False) -> bool:
        """Return whether an expression may be an upload.

        Args:
            expression: The expression.
            place: Its place.
            made: True to follow the objects that a package makes of an upload, too.
        """
        waiting, seen = [(expression, place)], {(expression, place)}
        while waiting:
            one, there = waiting.pop()
            if self._is_upload(one, there) or self._is_written(one, there):
                return True
            for before in self._before(one, there, made=made):
                if before[0] is not None and before not in seen and len(seen) < _MOST:
                    seen.add(before)
                    waiting.append(before)
        return False

    def _is_upload(self, expression: Expr, place: Place) -> bool:
        """Return whether inference knows an expression as an upload."""
        lineage = self.inference.catalog.lineage
        return any(
            value.kind == v.INSTANCE and UPLOADED in lineage(value.symbol)
            for value in self.inference.infer(expression, place)
        )

    def _before(
        self, expression: Expr, place: Place, *, made: bool
    ) -> Iterator[tuple[Expr, Place]]:
        """Yield the expressions that one takes its value from."""
        if expression is None:
            return
        if expression.tag == tags.NAME:
            yield from self._bound(expression, place, looped=made)
        elif expression.tag == tags.SUBSCRIPT and made:
            yield expression.base, place
        elif expression.tag == tags.ATTRIBUTE:
            yield expression.base, place  # the name of a temporary file, the stream of an upload
            yield from self._kept(expression, place)
        elif expression.tag == tags.CALL:
            yield from self._of_call(expression, place, made=made)
        elif expression.tag == tags.TEXT:
            for part in expression.parts:
                yield part, place
        elif expression.tag in (tags.EITHER, tags.BOTH, tags.SUM):
            for element in expression.elements:
                yield element, place

    def _bound(
        self, expression: NameExpr, place: Place, *, looped: bool = False
    ) -> Iterator[tuple[Expr, Place]]:
        """Yield what a local variable or a parameter may be."""
        summary = self.inference.modules.summary(place.path)
        index = summary.binding(expression.identifier, place.scope)
        for binding in summary.scopes[index].bindings.get(expression.identifier, ()):
            if not isinstance(binding, ValueBinding):
                continue
            if binding.kind in _TAKING or (looped and binding.kind == kinds.LOOPED):
                there = Place(place.path, binding.scope, binding.path, place.receiver)
                yield binding.value, there
            elif binding.kind == kinds.PARAMETER and not _is_receiver(summary, index, binding):
                yield from self.inference.parameters.arguments(
                    place.path, index, binding.position, place.receiver
                )

    def _kept(self, expression: AttributeExpr, place: Place) -> Iterator[tuple[Expr, Place]]:
        """Yield what the methods of a class assign to an attribute of ``self``."""
        summary = self.inference.modules.summary(place.path)
        base, owner = expression.base, summary.class_around(place.scope)
        if base is None or base.tag != tags.NAME or not owner:
            return
        for scope in summary.scopes:
            if scope.parent == owner and scope.parameters:
                own = scope.parameters[0].name, expression.name
                for binding in scope.attributes.get(own, ()) if own[0] == base.identifier else ():
                    there = Place(place.path, binding.scope, binding.path, place.receiver)
                    yield binding.value, there

    def _of_call(
        self, expression: CallExpr, place: Place, *, made: bool
    ) -> Iterator[tuple[Expr, Place]]:
        """Yield what a call passes on, or what a function of the project returns."""
        callee = expression.callee
        if last_name(callee) in _SAME or (made and self._is_external(callee, place)):
            for argument in expression.positional:
                yield argument, place
            for _, argument in expression.keywords:
                yield argument, place
            if callee is not None and callee.tag == tags.ATTRIBUTE:
                yield callee.base, place
            return
        values = self.inference.infer(callee, place)
        for path, index in sorted({(x.path, x.scope) for x in values if x.kind == v.FUNCTION}):
            scope = self.inference.modules.summary(path).scopes[index]
            for returned, at in scope.returns:
                yield returned, Place(path, index, at)

    def _is_external(self, callee: Expr, place: Place) -> bool:
        """Return whether a callee belongs to a package, and not to the project."""
        values = self.inference.infer(callee, place)
        return bool(values) and all(value.kind == v.EXTERNAL for value in values)

    def _is_written(self, expression: Expr, place: Place) -> bool:
        """Return whether the same function saves an upload at the path that an expression is.

        ``upload.save(path)``; ``with open(path, "wb") as file: file.write(upload.read())``
        """
        if expression is None or expression.tag not in (tags.NAME, tags.ATTRIBUTE):
            return False
        summary = self.inference.modules.summary(place.path)
        index = summary.frame(place.scope)
        by_name = self.inference.calling.calls_by_name(place.path)
        return any(
            summary.frame(call.scope) == index
            and self._writes(call, expression, Place(place.path, call.scope, call.path))
            for name in _WRITING
            for call in by_name.get(name, ())
        )

    def _writes(self, call: Call, target: Expr, place: Place) -> bool:
        """Return whether a call writes an upload to a path, or to a file with this path."""
        callee, given = call.expression.callee, call.expression.positional
        if callee is None or callee.tag != tags.ATTRIBUTE or not given:
            return False
        if callee.name == "save":
            return given[0] == target and self._is_upload(callee.base, place)
        if callee.name == "write":
            return self._is_at(callee.base, target, place) and self._is_upload(given[0], place)
        if callee.name == "copyfileobj" and len(given) > 1:
            return self._is_at(given[1], target, place) and self._is_upload(given[0], place)
        return False

    def _is_at(self, file: Expr, target: Expr, place: Place) -> bool:
        """Return whether a file that is written has a path, or the path is its ``name``."""
        if file == target or (
            target is not None and target.tag == tags.ATTRIBUTE and target.base == file
        ):
            return True
        if file is None or file.tag != tags.NAME:
            return False
        return any(
            before is not None
            and before.tag == tags.CALL
            and last_name(before.callee) in _OPENING
            and target in before.positional
            for before, _ in self._bound(file, place)
        )


def _is_receiver(summary: ModuleSummary, index: int, binding: Binding) -> bool:
    """Return whether a parameter is the object of a method."""
    is_method = summary.scopes[summary.scopes[index].parent].kind == "class"
    return is_method and isinstance(binding, ValueBinding) and binding.position == 0
