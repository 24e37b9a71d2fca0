"""Cut a catalog's text into blocks before any TOML is parsed.

A run needs to know which packages the catalog covers, and the blocks of those that the project
imports. Searching the text takes a millisecond or two; parsing and validating the whole catalog
takes a hundred. A test compares the result with the parsed TOML.
"""

from __future__ import annotations

import os
import re
from functools import cached_property, lru_cache

from gblock import opened
from gblock.distribution import normalized
from gblock.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BUILT_IN = os.path.join(os.path.dirname(__file__), "known_blockers.toml")
ENTRIES = os.path.join(os.path.dirname(__file__), "known_entries.toml")
_ALWAYS = frozenset({"offload", "handler"})
"""Kinds of blocks that can affect any package's blockers."""
ON_DEMAND = frozenset("driver chooser original import entry waiter query worker signal".split())
"""Kinds that only one or two rules need, and only for some files."""
_SHOWN = frozenset({"belief"})
"""Kinds that only pages show: no check depends on them."""
_NAMED = ("blocker", "driver")
_PASSES = b"\n[library.passes]"
_PASSING = (b"\n[library.constructs]", b"\nchosen = ", _PASSES)
"""The keys of a library that has no blockers and matters for those of other packages."""
_PAIR = r"""(?:"([^"]*)"|([\w-]+))\s*=\s*(\[[^\]]*\]|"[^"]*")"""
"""A quoted or bare key, and a string or a list of strings."""


class Chunk:
    """One block. Its parts are searched and decoded on demand."""

    def __init__(self, block: bytes, before: list[bytes], number: int) -> None:
        self._block = block
        self._before = before
        self._number = number
        self.kind = block[: block.find(b"]")].decode()
        self.parsed: object = None
        """The block as its type, without evidence, once `catalog.blocks` has parsed it."""

    @property
    def text(self) -> str:
        """The block as TOML."""
        return f"[[{self._block.decode()}\n"

    @property
    def rows_before(self) -> int:
        """The number of rows before it in the file."""
        above = self._before[: self._number]
        return sum(block.count(b"\n") for block in above) + len(above) - 1

    @cached_property
    def id(self) -> str:
        """A blocker's or a driver's id; an empty string for other blocks."""
        names = _strings(self._value(b"\nid", b"\n")) if self.kind in _NAMED else []
        return names[0] if names else ""

    @cached_property
    def symbol(self) -> str:
        """The name of an original; for other blocks the first such name, if any."""
        return next(iter(_strings(self._value(b"\nsymbol ", b"\n"))), "")

    @cached_property
    def commands(self) -> list[str]:
        """The commands that run workers of tasks; none for other blocks."""
        return _strings(self._value(b"\ncommands", b"]")) if self.kind == "worker" else []

    @cached_property
    def is_off(self) -> bool:
        """True if a blocker is off unless selected, whatever its calls are given."""
        return "opt-in" in self._value(b"\nlevel", b"\n") and b"\nuploaded = " not in self._block

    @cached_property
    def passes_on(self) -> bool:
        """True if a library makes objects of classes that it is given, of any package."""
        return self.kind == "library" and any(key in self._block for key in _PASSING)

    @cached_property
    def shares_nothing(self) -> bool:
        """True if a library's block is about functions of unrelated packages."""
        return _PASSES in self._block

    @cached_property
    def unpatched(self) -> bool:
        """True if a blocker blocks only without gevent's patch."""
        return b"\npatched_by" in self._block

    @cached_property
    def captured(self) -> bool:
        """True if the blocker's originals block even after the patch."""
        return b"\ncaptured = true" in self._block

    @cached_property
    def symbols(self) -> list[str]:
        """A blocker's symbols, none for other blocks."""
        return _strings(self._value(b"\nsymbols", b"]")) if self.kind == "blocker" else []

    @cached_property
    def remedies(self) -> list[str]:
        """The dotted names whose call makes a blocker cooperative."""
        return [name for name in self._called(b"\ncooperative_after") if "." in name]

    @cached_property
    def switches(self) -> list[str]:
        """The dotted names without whose call a blocker is cooperative."""
        return self._called(b"\nblocks_after")

    def _called(self, key: bytes) -> list[str]:
        return _strings(self._value(key, b"]"))

    def _value(self, key: bytes, end: bytes) -> str:
        """Return the text between a key and an end character."""
        start = self._block.find(key)
        if start < 0:
            return ""
        stop = self._block.find(end, start + 1)
        return self._block[start : stop if stop >= 0 else None].decode()

    @cached_property
    def names(self) -> list[str]:
        """Every quoted dotted name."""
        return [name for name in _strings(self.text) if " " not in name and "/" not in name]

    @cached_property
    def distribution(self) -> str:
        """The distribution's name on PyPI; an empty string if the block has none."""
        return next(iter(_strings(self._value(b"\ndistribution", b"\n"))), "")

    @cached_property
    def distributed_as(self) -> list[str]:
        """The other distributions of a library's package."""
        return _strings(self._value(b"\ndistributed_as", b"]"))

    @cached_property
    def aliases(self) -> list[tuple[str, str]]:
        """A library's aliases, each with its target."""
        return self._pairs("aliases")

    @cached_property
    def givers(self) -> list[tuple[str, str]]:
        """Callables with the class they return, and classes with their bases."""
        keys = ("returns", "returns_first", "attributes", "elements", "bases")
        return [pair for key in keys for pair in self._pairs(key)]

    def _pairs(self, key: str) -> list[tuple[str, str]]:
        """Return the keys of a library's table, each with each of its values."""
        table = self._value(f"[library.{key}]".encode(), b"\n[").partition("]")[2]
        table = table or self._value(f"\n{key} =".encode(), b"}").partition("{")[2]
        found = re.findall(_PAIR, table)
        return [(quoted or bare, one) for quoted, bare, value in found for one in _strings(value)]

    @cached_property
    def roots(self) -> frozenset[str]:
        """The top-level packages that the block covers."""
        if self.kind == "harmless":
            return frozenset()  # a distribution has no name in code
        if self.kind == "blocker":
            names = self.symbols
        else:
            aliases = [f"{name}." for pair in self.aliases for name in pair]
            names = [*self.names, *aliases]  # an alias may be a package's whole name
        return frozenset([name.partition(".")[0] for name in names if "." in name])


class Outline:
    """The blocks of one catalog file."""

    def __init__(self, data: bytes, filename: str) -> None:
        self.filename = filename
        head, *blocks = parts = (b"\n" + data).split(b"\n[[")
        self.head = head[1:].decode()
        self.chunks = [Chunk(block, parts, number) for number, block in enumerate(blocks, 1)]

    def about(self, roots: frozenset[str], *, unpatched: bool = False) -> list[Chunk]:
        """Return the blocks for these packages, and for packages that share a library with them.

        Args:
            roots: The packages.
            unpatched: Whether to return the blockers that block only without gevent's patch, or all
                others.
        """
        shared, by_root, chunks = set(roots), self._by_root, self.chunks
        for root in roots:
            for at in by_root.get(root, ()):
                if chunks[at].kind == "library" and not chunks[at].shares_nothing:
                    shared |= chunks[at].roots
        found = set(self._always)
        for root in shared:
            found.update(
                at
                for at in by_root.get(root, ())
                if chunks[at].kind != "blocker" or chunks[at].unpatched == unpatched
            )
        return [chunks[at] for at in sorted(found)]

    @cached_property
    def by_kind(self) -> dict[str, list[Chunk]]:
        """The blocks of each kind."""
        found: dict[str, list[Chunk]] = {}
        for chunk in self.chunks:
            found.setdefault(chunk.kind, []).append(chunk)
        return found

    def on_by_default(self, *, unpatched: bool) -> tuple[Chunk, ...]:
        """Return the blockers that are on unless ignored.

        Args:
            unpatched: Whether to return those that block only without gevent's patch, or all
                others.
        """
        return self._on_by_default[unpatched]

    @cached_property
    def _on_by_default(self) -> tuple[tuple[Chunk, ...], tuple[Chunk, ...]]:
        blockers = [chunk for chunk in self.by_kind.get("blocker", ()) if not chunk.is_off]
        patched = tuple(chunk for chunk in blockers if not chunk.unpatched)
        return patched, tuple(chunk for chunk in blockers if chunk.unpatched)

    @cached_property
    def distributions(self) -> frozenset[str]:
        """The normalized names of the distributions that the blocks are about."""
        named = {chunk.distribution for chunk in self.chunks if chunk.distribution}
        for chunk in self.by_kind.get("library", ()):
            named.update(chunk.distributed_as)
        return frozenset(map(normalized, named))

    @cached_property
    def remedies(self) -> frozenset[str]:
        """The calls that make some blocker cooperative, or make it block."""
        return frozenset(
            name for chunk in self.chunks for name in (*chunk.remedies, *chunk.switches)
        )

    @cached_property
    def _always(self) -> list[int]:
        """The indices of the blocks that matter whatever the packages are."""
        # Objects of blockers are kept by frameworks that have no blocker, such as Flask, even if
        # one of its functions is a name of another distribution's blocker.
        blockers = self.by_kind.get("blocker", ())
        blocking = {root for chunk in blockers for root in chunk.roots}
        distributions = {chunk.distribution for chunk in blockers}
        return [
            at
            for at, chunk in enumerate(self.chunks)
            if chunk.kind in _ALWAYS
            or chunk.passes_on
            or (
                chunk.kind == "library"
                and (chunk.roots.isdisjoint(blocking) or chunk.distribution not in distributions)
            )
        ]

    @property
    def packages(self) -> Iterable[str]:
        """The top-level packages that the blocks are about."""
        return self._by_root

    @cached_property
    def _by_root(self) -> dict[str, list[int]]:
        """The indices of the blocks about each package, without those that few runs need."""
        found: dict[str, list[int]] = {}
        for at, chunk in enumerate(self.chunks):
            if chunk.kind not in ON_DEMAND and chunk.kind not in _SHOWN:
                for root in chunk.roots:
                    found.setdefault(root, []).append(at)
        return found


class Outlines:
    """The catalog files of one run; most clean runs never read the built-in one."""

    def __init__(self) -> None:
        self._others: list[Outline] = []

    def add(self, outline: Outline) -> None:
        """Add blocks: of a project's own file, or of no file."""
        self._others.append(outline)
        vars(self).pop("named", None)

    @property
    def is_built_in(self) -> bool:
        """Return whether there is only the built-in catalog."""
        return not self._others

    @property
    def own_ids(self) -> frozenset[str]:
        """The ids of what can be selected and does not come from the built-in catalog alone."""
        return frozenset(chunk.id for one in self._others for chunk in one.chunks if chunk.id)

    @cached_property
    def _built_in(self) -> Outline:
        return read()

    @property
    def all(self) -> list[Outline]:
        """The outlines of all files."""
        return [self._built_in, *self._others]

    @property
    def chunks(self) -> list[Chunk]:
        """All blocks of all files."""
        return [chunk for one in self.all for chunk in one.chunks]

    @cached_property
    def named(self) -> list[Chunk]:
        """The blockers and drivers, which can be selected."""
        return [chunk for chunk in self.chunks if chunk.kind in _NAMED]

    @property
    def originals(self) -> list[bytes]:
        """The last parts of the names that are stale if bound before monkey patching."""
        chunks = self._of_kind("original")
        return [chunk.symbol.rpartition(".")[2].encode() for chunk in chunks]

    @property
    def workers(self) -> frozenset[str]:
        """The commands that run workers of tasks."""
        chunks = (*read(ENTRIES).chunks, *(chunk for one in self._others for chunk in one.chunks))
        return frozenset(name for chunk in chunks for name in chunk.commands)

    @property
    def offloading(self) -> frozenset[str]:
        """The packages that run code in other threads or greenlets."""
        return frozenset[str]().union(*(chunk.roots for chunk in self._of_kind("offload")))

    def _of_kind(self, kind: str) -> list[Chunk]:
        return [chunk for one in self.all for chunk in one.by_kind.get(kind, ())]


def read(path: str = BUILT_IN) -> Outline:
    """Cut the built-in catalog, or a file in exactly its style, into blocks.

    Raises:
        UserError: if the file cannot be read.
    """
    if path not in (BUILT_IN, ENTRIES):
        return _cut(_data(path), path)
    opened.note(path)
    try:
        state = os.stat(path)
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror}") from None
    return _own(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4)
def _own(path: str, size: int, changed: int) -> Outline:  # noqa: ARG001 - they are the key
    """Read a file of gblock's own once, until it changes."""
    return _cut(_data(path), path)


@lru_cache(maxsize=8)
def _cut(data: bytes, path: str) -> Outline:
    """Cut a file once for all checks of a process: an editor's server makes many."""
    return Outline(data.replace(b"\r\n", b"\n") if b"\r" in data else data, path)


def text_of(path: str) -> str:
    """Return the text of a catalog file.

    Raises:
        UserError: if the file cannot be read or is not UTF-8.
    """
    try:
        return _data(path).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UserError(path, "is not UTF-8; save it as UTF-8") from None


def _data(path: str) -> bytes:
    opened.note(path)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror}") from None


def _strings(text: str) -> list[str]:
    """Return the texts between double quotes; names in the catalog contain no quotes."""
    return text.split('"')[1::2]
