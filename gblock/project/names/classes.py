"""What the attributes of classes and of their instances can be."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.expressions import Place, dotted, read_dotted
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import (
    Binding,
    ModuleSummary,
    Scope,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_PROPERTIES = {
    "builtins.property",
    "functools.cached_property",
    "django.utils.functional.cached_property",
    "werkzeug.utils.cached_property",
    "kombu.utils.cached_property",
    "kombu.utils.objects.cached_property",
}


class Classes:
    """Follows attributes through methods, bases, subclasses and constructors."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._attributes: dict[tuple[str, int], dict[str, list[Binding]]] = {}
        self._set_on_others: dict[str, dict[str, list[tuple[str, list[Binding]]]]] = {}

    def attribute(self, value: Value, name: str) -> Values:
        """What an attribute of a class, or of an instance, can be."""
        return self.inference.solved(
            ("attribute", value, name), lambda: self._find_class_attribute(value, name)
        )

    def _find_class_attribute(self, value: Value, name: str) -> Values:
        found = self._own_attribute(value, name, value)
        if not v.informative(found):
            found |= self.inherited(name, value)
        if not v.informative(found) and value.kind == v.OBJECT:
            found |= self._field(value.path, value.scope, name)
        if not v.informative(found):
            found |= self._set_in_subclasses(value, name)
        if not found and value.kind == v.OBJECT:
            found |= self._delegated(value, name)
        if not v.informative(found):
            found |= self.inference.outside.attribute(value, name)
        return found

    def _delegated(self, value: Value, name: str) -> Values:
        """What ``def __getattr__(self, name): return getattr(self.client, name)`` gives."""
        if name.startswith("__"):
            return NOTHING
        found: set[Value] = set()
        for method in self.attribute(value, "__getattr__"):
            if method.kind != v.FUNCTION:
                continue
            summary = self.inference.modules.summary(method.path)
            scope = summary.scopes[method.scope] if summary is not None else None
            wanted = scope.parameters[1][0] if scope and len(scope.parameters) > 1 else None
            for call in self.inference.calling.calls_by_name(method.path).get("getattr", ()):
                arguments = call.expression.positional
                if call.scope != method.scope or len(arguments) < 2:
                    continue
                if wanted is not None and dotted(arguments[1]) == wanted:
                    place = Place(method.path, method.scope, call.path, value)
                    for delegate in self.inference.infer(arguments[0], place):
                        if delegate != value:
                            found |= self.inference.attribute(delegate, name)
        return frozenset(found)

    def _own_attribute(self, value: Value, name: str, receiver: Value) -> Values:
        """What an attribute is given by a class itself.

        Args:
            value: The class, or an object of it.
            name: The attribute.
            receiver: What it is an attribute of: `value`, or what is derived from it.
        """
        derived = self.derived(receiver, value.path, value.scope)
        path, index = value.path, value.scope
        summary = self.inference.modules.summary(path)
        if summary is None:
            return NOTHING
        found: set[Value] = set()
        if name in summary.scopes[index].bindings:
            for one in self.inference.binding_values(summary, index, name, END) or ():
                if one.kind == v.FUNCTION and one.path == path:
                    found |= self._bound_method(one, receiver)
                else:
                    found.add(one)
        bindings = self._attribute_bindings(summary, index).get(name, [])
        bindings = [*bindings, *self._set_from_outside(summary, index, name)]
        for binding in bindings:
            if binding.kind != tags.ELEMENT:
                found |= self.inference.bound(binding, path, derived)
        stored = [b for b in bindings if b.kind == tags.ELEMENT]
        return frozenset(found) | self.inference.stored(stored, path, derived)

    def _set_from_outside(
        self, summary: ModuleSummary, class_index: int, name: str
    ) -> list[Binding]:
        """What the module sets on objects of a class that are not ``self``."""
        path = summary.filename
        by_name = self._set_on_others.get(path)
        if by_name is None:
            by_name = self._set_on_others[path] = {}
            for index, scope in enumerate(summary.scopes):
                _, receiver = self._receiver(summary, index)
                for (owner, attribute), bindings in scope.attributes.items():
                    if owner != receiver:
                        by_name.setdefault(attribute, []).append((owner, bindings))
        found: list[Binding] = []
        for owner, bindings in by_name.get(name, ()):
            place = Place(path, bindings[0].scope, bindings[0].path)
            for value in self.inference.infer(read_dotted(owner), place):
                if value.kind != v.FUNCTION and v.comes_from(value, path, class_index):
                    found.extend(bindings)
                    break
        return found

    def _receiver(self, summary: ModuleSummary, index: int) -> tuple[int, str | None]:
        """Return the class, or 0, and the name of ``self``, in a method or a function inside."""
        while index > 0:
            scope = summary.scopes[index]
            if scope.kind == "function" and summary.scopes[scope.parent].kind == "class":
                return scope.parent, scope.parameters[0][0] if scope.parameters else None
            index = scope.parent
        return 0, None

    def _bound_method(self, function: Value, receiver: Value) -> Values:
        path, index = function.path, function.scope
        summary = self.inference.modules.summary(path)
        if summary is None:
            return NOTHING
        decorators = self.inference.decorators(summary, index)
        if decorators & _PROPERTIES or self._is_setter(summary.scopes[index]):
            return self.inference.results.result(function._replace(receiver=receiver))
        if "builtins.staticmethod" in decorators:
            return frozenset([function])
        return frozenset([function._replace(receiver=receiver)])

    def _is_setter(self, scope: Scope) -> bool:
        return any(
            d is not None and d.tag == tags.ATTRIBUTE and d.name in ("setter", "getter", "deleter")
            for d in scope.decorators
        )

    def _attribute_bindings(
        self, summary: ModuleSummary, class_index: int
    ) -> dict[str, list[Binding]]:
        """What the methods of a class, and its module, set on the class and its instances."""
        key = (summary.filename, class_index)
        found = self._attributes.get(key)
        if found is not None:
            return found
        found = {}
        class_name = summary.scopes[class_index].name
        for index, scope in enumerate(summary.scopes):
            if not scope.attributes:
                continue
            of_class, receiver = self._receiver(summary, index)
            itself = receiver if of_class == class_index else None
            for (owner, name), bindings in scope.attributes.items():
                if owner == itself or (itself is None and owner == class_name):
                    found.setdefault(name, []).extend(bindings)
        self._attributes[key] = found
        return found

    def bases(self, path: str, index: int) -> list[Value]:
        """A class's bases: classes of the project, and EXTERNAL ones."""
        summary = self.inference.modules.summary(path)
        if summary is None:
            return []
        scope = summary.scopes[index]
        place = Place(path, scope.parent, scope.path)
        found: list[Value] = []
        for base in scope.bases:
            for value in self.inference.infer(base, place):
                if value.kind in (v.CLASS, v.EXTERNAL) and not v.comes_from(value, path, index):
                    found.append(value)
        return found

    def ancestry(self, path: str, index: int) -> list[Value]:
        """A class and all its bases, nearest first, each once."""
        order: list[Value] = [v.ScopeValue(v.CLASS, path, index)]
        for value in order:
            if value.kind == v.CLASS:
                order.extend(b for b in self.bases(value.path, value.scope) if b not in order)
        return order

    def inherited(self, name: str, receiver: Value) -> Values:
        """What an attribute of a class, or of an instance, is in the bases of the class."""
        found: set[Value] = set()
        for base in self.ancestry(receiver.path, receiver.scope)[1:]:
            if base.kind == v.CLASS:
                found |= self._own_attribute(base._replace(kind=receiver.kind), name, receiver)
            else:
                held = self.inference.external_attribute(v.instance(base.symbol), name)
                found |= held
            if v.informative(frozenset(found)):
                break
        return frozenset(found)

    def derived(self, receiver: Value | None, path: str, index: int) -> Value | None:
        """Return the object that a method of a class is called on, if its class is another one."""
        if receiver is None or v.comes_from(receiver, path, index):
            return None
        return v.ScopeValue(v.OBJECT, receiver.path, receiver.scope)

    def _field(self, path: str, index: int, name: str) -> Values:
        """What is passed for a field of a class whose ``__init__`` is generated."""
        summary = self.inference.modules.summary(path)
        if summary is None or "__init__" in summary.scopes[index].bindings:
            return NOTHING
        fields = [
            field
            for field, bindings in summary.scopes[index].bindings.items()
            if any(b.kind == tags.ANNOTATED for b in bindings)
        ]
        if name not in fields:
            return NOTHING
        found: set[Value] = set()
        for call, place in self.inference.calling.callers(path, index):
            position = fields.index(name)
            found |= self.inference.parameters.given(call.expression, position, name, place)
        return frozenset(found)

    def _set_in_subclasses(self, value: Value, name: str) -> Values:
        """An attribute that only subclasses set: the base class is a template."""
        summary = self.inference.modules.summary(value.path)
        if summary is None or name.startswith("__"):
            return NOTHING
        found: set[Value] = set()
        for derived in self.inference.calling.subclasses(value.path, value.scope):
            one = derived._replace(kind=value.kind)
            found |= self._own_attribute(one, name, one)
        return frozenset(found)

    def constructors(self, value: Value) -> set[str]:
        """The compiled class whose constructor a class of the project inherits."""
        for base in self.ancestry(value.path, value.scope):
            if base.kind == v.EXTERNAL:
                return {base.symbol}
            summary = self.inference.modules.summary(base.path)
            if summary is not None and "__init__" in summary.scopes[base.scope].bindings:
                return set()
        return set()
