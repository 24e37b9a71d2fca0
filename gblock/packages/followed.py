"""Installed packages that a project calls, as blocks of a catalog.

A function of a package that the catalog does not list blocks if it calls a blocker: directly,
through other functions of the package, or through a package that it imports. Each blocker that is
reached becomes one block for the package's public functions. The source is read and never imported.
Only calls that inference resolves are followed.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from gblock import catalog
from gblock.boundary import is_regular, leads_out
from gblock.catalog.blockers import Blocker
from gblock.catalog.lookup import Catalog
from gblock.native.store import Store
from gblock.observations.drafts import text
from gblock.outline import Outline, Outlines
from gblock.packages import machine_code, wrappers
from gblock.packages.public_names import Function, PublicNames
from gblock.project.calls.callers import Callers
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.sites import Site, Sites
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.reading.modules import Modules
from gblock.project.triage.triage import Triage
from gblock.project.triage.vocabulary import both

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gblock.packages.environment import Distribution, Environment

_DEEPEST = 3
"""The limit of packages between a project's call and a blocker."""
_LONGEST = 5
"""The limit of functions of one package between a public function and a blocker."""
_MOST_FILES = 400
_MOST_BYTES = 4 << 20
"""Limits of one package's Python code; a larger package is not followed."""
_MOST_COMPILED = 24 << 20
"""Limit of the bytes of a package's compiled modules."""
_MOST_PACKAGES = 60
"""The limit of packages that one check follows."""
_KINDS = ("waits", "cpu")
_CLASSES = frozenset({"network", "time", "process", "driver"})
"""Classes of native waits that matter; locks and threads of a library's own mostly end soon."""
_FROM = re.compile(rb"^[ \t]*from[ \t]+([A-Za-z_][\w.]*)[ \t]+import\b", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([A-Za-z_](?:\\\r?\n|[^\n#;])*)", re.MULTILINE)
_NAME = re.compile(rb"[A-Za-z_][\w.]*")


class _BlockerPath(NamedTuple):
    """The path of a function to a blocker."""

    blocker: Blocker
    through: tuple[str, ...]
    """Places in the package, each with the call that is made there."""


def imports(data: bytes) -> set[str]:
    """Return the dotted names of the modules that a file's import lines name."""
    found = set(_FROM.findall(data))
    for line in _IMPORT.findall(data):
        for part in line.replace(b"\\", b" ").split(b","):
            name = _NAME.match(part.strip())
            if name is not None:
                found.add(name[0])
    return {name.decode() for name in found}


class Followed:
    """Reads the packages of an environment as far as a project imports them.

    Args:
        environment: The installed distributions.
        outlines: The catalog's files; blocks of packages are added to them.
        compiled: True to read the machine code of compiled packages.
    """

    def __init__(self, environment: Environment, outlines: Outlines, *, compiled: bool) -> None:
        self._outlines = outlines
        self._compiled = compiled
        self._store = Store(keeps=False)
        known = frozenset[str]().union(*(one.distributions for one in outlines.all))
        self._by_module = {
            module: one
            for one in environment.distributions
            if one.key not in known and one.source is None
            for module in one.modules
        }
        self._done: set[str] = set()

    def add(self, names: Iterable[str]) -> None:
        """Add the blocks of the packages that contain some modules, and of what they import.

        Args:
            names: The dotted names of the modules.
        """
        self._add(names, 1)

    def _add(self, names: Iterable[str], depth: int) -> None:
        wanted = {one.key: one for one in map(self._distribution, names) if one is not None}
        for key in sorted(wanted.keys() - self._done):
            if depth > _DEEPEST or len(self._done) >= _MOST_PACKAGES:
                return
            self._done.add(key)
            one = wanted[key]
            blocks = [*self._native(one), *self._followed(one, depth)]
            if blocks:
                self._outlines.add(Outline("".join(blocks).encode(), one.name))

    def _distribution(self, name: str) -> Distribution | None:
        parts = name.split(".")
        tops = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self._by_module[top] for top in tops if top in self._by_module), None)

    # -- machine code

    def _native(self, one: Distribution) -> Iterator[str]:
        """Yield the blocks of methods whose machine code waits."""
        if not self._compiled or not one.compiled:
            return
        paths = [os.path.join(one.base, file) for file in one.compiled]
        if not machine_code.is_within(paths, _MOST_COMPILED):
            return
        alike: dict[str, dict[str, tuple[str, ...]]] = {}
        for method in machine_code.of(one, Catalog(()), self._store).methods:
            reading = method.reading
            if reading.tier == "waits" and _CLASSES.intersection(reading.classes):
                why = f"its machine code {machine_code.described(method)}"
                alike.setdefault(why, {})[method.symbol] = method.through
        for number, (why, ways) in enumerate(sorted(alike.items()), 1):
            block = Blocker(
                id=f"{one.key}-native-{number}",
                distribution=one.name,
                symbols=(),
                kind="waits",
                level="warning",
                why=why,
                instead=_MEASURE,
            )
            yield _block(block, one, ways)

    # -- Python code

    def _followed(self, one: Distribution, depth: int) -> Iterator[str]:
        """Yield the blocks of a package's functions that reach a blocker."""
        paths = _readable(one)
        if not paths:
            return
        modules = Modules(one.base, paths, (one.base,))
        named = {name for path in paths for name in imports(modules.data(path))}
        self._add(
            {name for name in named if self._distribution(name) not in (None, one)}, depth + 1
        )
        vocabulary, _ = both(self._outlines)
        triage = Triage(modules, vocabulary)
        if not triage.any_may_matter(paths, _nothing):
            return
        roots = triage.roots(paths)
        chosen = triage.select(paths, roots)
        if not chosen:
            return
        kept = {chunk.id for chunk in vocabulary.blockers}
        loaded = catalog.parse_all(self._outlines, roots.union(self._outlines.offloading))
        known = loaded.only(lambda blocker: blocker.id in kept, lambda _: False)
        yield from _Reached(one, modules, known, chosen, triage).blocks()


class _Reached:
    """The functions of one package that reach a blocker.

    Args:
        distribution: The package.
        modules: Its Python files.
        known: The catalog as far as the package imports it.
        chosen: The files that may call a blocker.
        triage: The triage that chose them.
    """

    def __init__(
        self,
        distribution: Distribution,
        modules: Modules,
        known: Catalog,
        chosen: list[str],
        triage: Triage,
    ) -> None:
        self._distribution = distribution
        self._modules = modules
        self._chosen = chosen
        self._triage = triage
        self._inference = Inference(modules, known)
        self._callers = Callers(self._inference)
        self._public = PublicNames(distribution.base, self._inference)
        offloading = Offloading(self._inference)
        self._sites = Sites(self._inference, offloading, Cooperation(self._inference))

    def blocks(self) -> Iterator[str]:
        """Yield one block for each blocker, and one of the types of the package."""
        ways = self._ways()
        if not ways:
            return
        offered = self._public.of(ways)
        by_blocker: dict[str, tuple[Blocker, dict[str, tuple[str, ...]]]] = {}
        for symbol, function in sorted(offered.items()):
            called = _called(symbol)
            if called is not None:
                way = ways[function]
                _, symbols = by_blocker.setdefault(way.blocker.id, (way.blocker, {}))
                symbols[called] = way.through
        for _, (blocker, symbols) in sorted(by_blocker.items()):
            yield _block(blocker, self._distribution, symbols, suffix=True)
        yield self._types(offered)

    def _ways(self) -> dict[Function, _BlockerPath]:
        """Return the functions that reach a blocker, the shortest paths first."""
        ways: dict[Function, _BlockerPath] = {}
        for path in self._chosen:
            for site in self._sites.of(path, self._triage.names(path)):
                function = self._enclosing(path, site.call.scope)
                found = self._reported(site)
                if function is not None and found is not None:
                    symbol, blocker = found
                    place = self._place(path, site.call.row)
                    inner = blocker.through.get(symbol, ())
                    ways.setdefault(function, _BlockerPath(blocker, (f"{place} {symbol}", *inner)))
        todo = list(ways)
        for function in todo:  # it grows
            way = ways[function]
            if len(way.through) >= _LONGEST:
                continue
            for caller in self._callers.of(*function):
                outer = self._enclosing(caller.path, caller.scope) if caller.is_exact else None
                if outer is not None and outer not in ways and not self._is_base(outer, function):
                    place = self._place(caller.path, caller.row)
                    step = f"{place} {self._short(function)}"
                    ways[outer] = _BlockerPath(way.blocker, (step, *way.through))
                    todo.append(outer)
        return ways

    def _short(self, function: Function) -> str:
        """Return a function's name with that of its class or module."""
        return ".".join(self._public.symbol(function).split(".")[-2:])

    def _is_base(self, outer: Function, function: Function) -> bool:
        """Return whether a method belongs to a base class of another method's class.

        A base class calls what derived classes define; which of them is unknown.
        """
        base, owner = self._public.owner(outer), self._public.owner(function)
        if base is None or owner is None or base == owner:
            return False
        ancestry = self._inference.classes.ancestry(*owner)
        return any((one.path, one.scope) == base for one in ancestry if one.kind == v.CLASS)

    def _reported(self, site: Site) -> tuple[str, Blocker] | None:
        """Return the blocker of a call that blocks its caller."""
        if site.native or site.handover is not None:
            return None
        for found in site.found:
            blocker = found.blocker
            if blocker.kind in _KINDS and not found.wait.immediate and not _is_of_file(blocker):
                return found.symbol, blocker
        return None

    def _enclosing(self, path: str, scope: int) -> Function | None:
        """Return the function around a call: None for a module, a lambda or a coroutine."""
        summary = self._modules.summary(path)
        while scope > 0:
            one = summary.scopes[scope]
            if one.kind == "function":
                is_inner = summary.scopes[one.parent].kind not in ("module", "class")
                return None if one.is_async or is_inner else (path, scope)
            if one.kind != "comprehension":
                return None
            scope = one.parent
        return None

    def _place(self, path: str, row: int) -> str:
        return f"{os.path.relpath(path, self._distribution.base).replace(os.sep, '/')}:{row}"

    def _types(self, offered: dict[str, Function]) -> str:
        """Return a block with the functions that return objects with such methods."""
        owners = {self._public.owner(function) for function in offered.values()}
        classes = {owner: self._public.symbol(owner) for owner in owners if owner is not None}
        makers: dict[Function, str] = {}
        names = {symbol.rpartition(".")[2] for symbol in classes.values()}
        mentioning = self._modules.mentioning
        for path in sorted({file for name in names for file in mentioning(name, whole=True)}):
            summary = self._modules.summary(path)
            for index, scope in enumerate(summary.scopes):
                if scope.kind == "function" and scope.returns and not scope.name.startswith("__"):
                    made = self._inference.results.result(v.function(path, index))
                    found = {classes.get((one[1], one[2])) for one in made if one.kind == v.OBJECT}
                    if len(found) == 1 and (cls := found.pop()) is not None:
                        makers[path, index] = cls
        returns = {name: makers[maker] for name, maker in self._public.of(makers).items()}
        if not returns:
            return ""
        lines = [f"{text(symbol)} = {text(cls)}" for symbol, cls in sorted(returns.items())]
        head = f"\n[[library]]\ndistribution = {text(self._distribution.name)}\n[library.returns]"
        return "\n".join((head, *lines, ""))


_MEASURE = (
    "Call {call} in the hub's threadpool, and measure it with `gblock trial`; if it returns at "
    "once, name its distribution in a block [[harmless]] of a file in extend-catalog."
)


def _block(
    blocker: Blocker, one: Distribution, ways: dict[str, tuple[str, ...]], *, suffix: bool = False
) -> str:
    name = f"{blocker.id}-in-{one.key}" if suffix else blocker.id
    through = "".join(
        f"{text(symbol)} = [{', '.join(map(text, steps))}]\n" for symbol, steps in ways.items()
    )
    after = ", ".join(map(text, blocker.cooperative_after))
    return f"""
[[blocker]]
id = {text(name)}
distribution = {text(one.name)}
symbols = [{", ".join(map(text, ways))}]
kind = {text(blocker.kind)}
level = "warning"
why = {text(blocker.why)}
instead = {text(blocker.instead)}
cooperative_after = [{after}]
[blocker.evidence]
reference = {text(one.version)}
[blocker.through]
{through}"""


def _is_of_file(blocker: Blocker) -> bool:
    """Return whether a blocker depends on the kind of a descriptor; packages mostly use files."""
    return bool(blocker.unless_descriptor_of or blocker.unless_descriptor_from)


def _called(symbol: str) -> str | None:
    """Return the dotted name that code calls: a class for its ``__init__``; None if private."""
    owner, _, name = symbol.rpartition(".")
    if name in ("__init__", "__new__"):
        return owner
    is_operator = name in ("__call__", "__enter__", "__exit__", "__iter__")
    return None if name.startswith("__") and not is_operator else symbol


def _readable(one: Distribution) -> list[str]:
    """Return the Python files of a package, none if they are too many."""
    files = [file for file in one.python if not wrappers.is_left_out(file)]
    if len(files) > _MOST_FILES:
        return []
    paths = [os.path.join(one.base, file) for file in files]
    top = os.path.realpath(one.base)
    found = [path for path in paths if is_regular(path) and not leads_out(path, top)]
    return found if machine_code.is_within(found, _MOST_BYTES) else []


def _nothing() -> None:
    """Find nothing: all files of a package are known."""
