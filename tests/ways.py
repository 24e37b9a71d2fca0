"""The code with which a person reaches what the catalog names, from public names alone.

Objects come from constructors, from what calls return, from attributes, from loops and from
subclasses, as the catalog's ``[[library]]`` blocks say; the code holds no other word of the
package than those on the way.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from gblock.catalog.libraries import ITSELF, OF_THE_RECEIVER, TYPE

_STEPS = {
    "__enter__": "with {0} as {1}:",
    "__aenter__": "async with {0} as {1}:",
    "__getitem__": "{1} = {0}['a']",
    "__call__": "{1} = {0}(*args)",
}
"""Ways in which code gets an object of a method without its name."""
_USES = {
    "__call__": "{0}()",
    "__getitem__": "{0}[0]",
    "__setitem__": "{0}[0] = 1",
    "__delitem__": "del {0}[0]",
    "__iter__": "for _ in {0}: pass",
    "__next__": "for _ in {0}: pass",
    "__enter__": "with {0}: pass",
    "__exit__": "with {0}: pass",
}
"""Ways in which code calls something without a name."""
_DOCUMENTED = ("_queue", "opentelemetry.exporter.otlp.proto.grpc._log_exporter", "pymssql._mssql")
"""Modules that code imports although their names begin with an underscore."""


def switch_on(known, root):
    """Write a module that makes the calls after which some blockers block."""
    lines = []
    for symbol in sorted({one for blocker in known.blockers for one in blocker.blocks_after}):
        lines += [f"import {symbol.rpartition('.')[0]}", f"{symbol}()"]
    (root / "switches.py").write_text("\n".join([*lines, ""]), encoding="utf-8")


def arguments(blocker):
    """The arguments with which a call of a blocker waits."""
    if not blocker.only:
        return "*args"
    only = blocker.only[0]
    if only.types:
        module, _, name = only.types[0].rpartition(".")
        value = f'__import__("importlib").import_module("{module}").{name}()'
    elif only.values:
        value = repr(only.values[0])
    else:
        value = f'"{only.prefixes[0] if only.prefixes else "x"}"'
    return f"{only.keyword}={value}"


class Way(NamedTuple):
    """The expression that reaches an object."""

    module: str
    """The imported names."""
    steps: tuple[str, ...]
    """Statements with one blank for the object before, and one for the object after."""

    def then(self, step: str) -> Way:
        return self._replace(steps=(*self.steps, step))


class Ways:
    """Finds the ways to each class of a catalog.

    Args:
        known: The catalog.
    """

    def __init__(self, known):
        self.known = known

    def is_class(self, name):
        return self.known.canonical(name) in self.known.classes

    def module(self, name):
        """The module of a dotted name of a function or class."""
        owner = name.rpartition(".")[0]
        while self.is_class(owner):
            owner = owner.rpartition(".")[0]
        return "" if owner == "builtins" else owner

    def is_public(self, name):
        for module in _DOCUMENTED:
            name = name.removeprefix(module)
        return not any(part.startswith("_") for part in name.split("."))

    @cached_property
    def edges(self):
        """Sources of instances of a class: (symbol, how, class)."""
        known = self.known
        found = []
        for name, value in known.returns.items():
            owner, _, last = name.rpartition(".")
            if value.startswith(TYPE) or value in OF_THE_RECEIVER - {ITSELF}:
                continue  # no class that the catalog names
            given = owner if value == ITSELF else value
            if self.is_class(owner):
                step = _STEPS.get(last, f"{{1}} = {{0}}.{last}(*args)")
                if last == "__getitem__" and given == owner:
                    step = "{1} = {0}[:9]"
                found.append((owner, step, given))
            else:
                found.append(("", f"{{1}} = {name}(*args)", given))
        for name, variants in known.variants.items():
            for one in variants:
                if (
                    one.keyword
                    and one.values
                    and one.returns
                    and not self.is_class(name.rpartition(".")[0])
                ):
                    found.append(
                        ("", f"{{1}} = {name}({one.keyword}={one.values[0]!r})", one.returns)
                    )
        for name, value in known.attributes.items():
            owner, _, last = name.rpartition(".")
            last = "a_column" if last == "*" else last
            if value in OF_THE_RECEIVER:
                continue
            if self.is_class(owner):
                found.append((owner, f"{{1}} = {{0}}.{last}", value))
            else:
                found.append(("", f"{{1}} = {name}", value))
        for owner, value in known.elements.items():
            if value in OF_THE_RECEIVER:
                continue
            found.append((owner, "for {1} in {0}:", value))
        return found

    @cached_property
    def to(self):
        """The shortest way to an instance of each class that can be reached."""
        found = {}
        changed = True
        subclasses = [(name, base) for name, bases in self.known.bases.items() for base in bases]

        def learn(cls, way):
            nonlocal changed
            if cls not in found or len(way.steps) < len(found[cls].steps):
                found[cls] = way
                changed = True

        for source, step, given in self.edges:  # a factory before a constructor
            if not source:
                name = step.partition("= ")[2].partition("(")[0]
                if self.is_public(name):
                    learn(given, Way(self.module(name), (step,)))
        for cls in sorted(self.known.classes):
            if cls not in found and self.is_public(cls) and "." in cls:
                learn(cls, Way(self.module(cls), (f"{{1}} = {cls}(*args)",)))
        while changed:
            changed = False
            for source, step, given in self.edges:
                if source in found:
                    learn(given, found[source].then(step))
            for cls, base in subclasses:
                if cls in found:
                    learn(base, found[cls])
        return found

    def code(self, way, use):
        """The lines of a function that goes a way and then uses the object."""
        lines = [f"import {way.module}", ""] if way.module else []
        depth, before, is_async = 1, "", False
        body = ["    for _ in things:"]
        for number, step in enumerate(way.steps):
            after = f"o{number}"
            line = step.format(before, after).replace("builtins.", "")
            body.append("    " * (depth + 1) + line)
            depth += step.endswith(":")
            is_async |= step.startswith("async")
            before = after
        body.append("    " * (depth + 1) + use.format(before))
        return [*lines, f"{'async ' if is_async else ''}def handle(things, *args):", *body]

    def call(self, symbol):
        """The code that calls a symbol, None where no public name leads to it."""
        owner, _, name = symbol.rpartition(".")
        if self.is_class(owner):
            way = self.to.get(self.known.canonical(owner))
            if way is None:
                return None
            return self.code(way, self.use(name))
        if owner == "builtins":
            return self.code(Way("", ()), f"{name}(*args)")
        return self.code(Way(owner, ()), f"{symbol}(*args)")

    def use(self, name):
        """The code that calls a method of an object."""
        return _USES.get(name, f"{{0}}.{'anything' if name == '*' else name}(*args)")

    @cached_property
    def calls(self):
        """The code for each symbol of a blocker: (blocker, symbol, lines)."""
        return [
            (blocker, symbol, self.call(symbol))
            for blocker in self.known.blockers
            for symbol in blocker.symbols
        ]

    @cached_property
    def methods(self):
        """A blocker and a method of it by each class of which it is one, also in a base class."""
        found = {}
        for blocker in self.known.blockers:
            for symbol in blocker.symbols:
                owner, _, name = self.known.canonical(symbol).rpartition(".")
                if self.is_class(owner) and not blocker.patched_by:
                    found.setdefault(owner, (blocker, name))
        for cls in self.known.bases:
            inherited = (found.get(base) for base in self.known.lineage(cls))
            one = next(filter(None, inherited), None)
            if one is not None:
                found.setdefault(cls, one)
        return found

    def named(self):
        """The code that imports each function, and each class that a way begins with, by name."""
        for blocker in self.known.blockers:
            for symbol in blocker.symbols:
                owner, _, name = symbol.rpartition(".")
                if self.is_class(owner) or owner in ("", "builtins") or name.startswith("_"):
                    continue
                if owner.partition(".")[0] == "sys":  # attributes of streams
                    continue
                lines = self.code(Way("", ()), f"{name}(*args)")
                yield blocker, f"from {symbol}", [f"from {owner} import {name}", "", *lines]

    def steps(self):
        """The code for each thing that gives an object of which a blocker is a method."""
        for source, step, given in self.edges:
            if given not in self.methods or (source and source not in self.to):
                continue
            blocker, name = self.methods[given]
            name_of_step = step.partition("= ")[2].partition("(")[0]
            way = self.to[source] if source else Way(self.module(name_of_step), ())
            yield blocker, f"{source} {step}", self.code(way.then(step), self.use(name))

    def aliases(self):
        """The code for each alias that leads to a blocker: (blocker, alias, lines)."""
        known = self.known
        for alias, target in sorted(
            (alias, known.canonical(target))
            for library in known.libraries
            for alias, target in library.aliases.items()
        ):
            if target in self.methods:
                blocker, name = self.methods[target]
                body = ["    for _ in things:", f"        {self.use(name).format('one')}"]
                head = [f"import {self.module(alias)}", "", f"def handle(things, one: {alias}):"]
                yield blocker, alias, [*head, *body]
            elif blockers := known.by_symbol.get(target):
                owner = alias.rpartition(".")[0]
                yield blockers[0], alias, self.code(Way(owner, ()), f"{alias}(*args)")
            else:
                for blocker, symbol, lines in self.calls:
                    if not symbol.startswith(f"{target}."):
                        continue
                    text = "\n".join(lines or ())
                    if re.search(rf"(?<![\w.]){re.escape(target)}\.", text):
                        yield (
                            blocker,
                            alias,
                            re.sub(rf"(?<![\w.]){re.escape(target)}\b", alias, text).split("\n"),
                        )
                        break
