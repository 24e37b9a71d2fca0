"""The interface of rules to one file with sites: syntax trees, positions and inference.

libcst parses only the statements with a candidate call, each separately: its parsing and positions
take a hundred times as long as ``ast`` takes for the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from gblock.diagnostics import Location
from gblock.files import relative_name
from gblock.project.calls.cooperation import Remedy
from gblock.project.calls.repetition import Repetition, adding_up, goes_round, handled
from gblock.project.calls.sites import Found, Site, Sites
from gblock.project.names.places import Place
from gblock.project.names.values import INSTANCE, NONE
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name
from gblock.project.reading.positions import column, shortened
from gblock.project.reading.summary import AnyCall, Call, ModuleSummary

_PROCESSES_NAMED = 2
"""A message names at most this many processes."""


class Source:
    """A file with sites.

    Args:
        path: The file.
        filename: The name to report.
        text: Its text.
        summary: Its declarations and calls.
        sites: Its sites.
        finder: The finder of the sites, which also resolves handed-over callables.
    """

    def __init__(
        self,
        path: str,
        filename: str,
        text: str,
        summary: ModuleSummary,
        sites: list[Site],
        finder: Sites,
    ) -> None:
        self.path = path
        self.filename = filename
        self.lines = [line + "\n" for line in text.split("\n")]
        self.summary = summary
        self.finder = finder
        self._sites = {self._span(site.call): site for site in sites if not site.call.quoted}
        self._quoted_sites = {site.call: site for site in sites if site.call.quoted}
        self._matched: dict[cst.CSTNode, Call] = {}
        """The calls in f-strings, whose positions Python before 3.12 gets wrong."""
        self._positions: dict[cst.CSTNode, tuple[Location, Location]] = {}

    # -- fragments for libcst

    def fragments(self) -> Iterator[MetadataWrapper]:
        """Yield the statements with sites, in order; an enclosing statement if rules need more.

        Raises:
            libcst.ParserSyntaxError: if libcst cannot parse code that ``ast`` can.
        """
        wide: set[tuple[int, int]] = set()
        narrow: dict[tuple[int, int], _Piece] = {}
        for site in (*self._sites.values(), *self._quoted_sites.values()):
            rows = site.call.statement
            piece = None
            # A decorator is outside of its function's header.
            if rows[0] <= _row(site.call) <= rows[1] and not goes_round(self.summary, site.call):
                piece = narrow.get(rows) or self._alone(*rows)
            if piece is None:
                wide.add(self._statement_around(site))
            else:
                narrow[rows] = piece
        last = 0
        for first, end in sorted({*wide, *narrow}, key=lambda rows: (rows[0], -rows[1])):
            if first <= last:  # several statements on one line, or nested ones
                continue
            last = end
            piece = narrow.get((first, end)) or _piece("".join(self.lines[first - 1 : end]))
            yield self._fragment(piece, first, end)

    def _alone(self, first: int, last: int) -> _Piece | None:
        """Return a simple statement, or a compound one's header with an empty body.

        None for code that is no statement by itself, such as an ``else`` line.
        """
        lines = self.lines[first - 1 : last]
        blank = lines[0][: len(lines[0]) - len(lines[0].lstrip(" \t"))]
        for text in ("".join(lines), "".join([*lines, f"{blank} pass\n"])):
            try:
                return _piece(text)
            except cst.ParserSyntaxError:
                continue
        return None

    def _statement_around(self, site: Site) -> tuple[int, int]:
        """Return the site's statement in the module, or in a class outside of functions."""
        scopes = self.summary.scopes
        chain = [site.call.scope]
        while chain[-1] > 0:
            chain.append(scopes[chain[-1]].parent)
        home = 0
        for index in reversed(chain):
            if scopes[index].kind not in ("module", "class"):
                break
            home = index
        row = _row(site.call)
        for first, last in scopes[home].statements:
            if first <= row <= last:
                return first, last
        return site.call.statement

    def _fragment(self, piece: _Piece, first: int, last: int) -> MetadataWrapper:
        shift = first - 1 - piece.is_inner
        wrapper = MetadataWrapper(piece.tree, unsafe_skip_copy=True)
        feeds = piece.feeds
        for node, where in wrapper.resolve(PositionProvider).items():
            start, end = where.start, where.end
            self._positions[node] = (
                Location(start.line + shift, start.column + 1 + feeds * (start.line == 1)),
                Location(end.line + shift, end.column + 1 + feeds * (end.line == 1)),
            )
        if self._quoted_sites:  # Python below 3.12
            self._match(wrapper.module, first, last)
        return wrapper

    def _match(self, tree: cst.Module, first: int, last: int) -> None:  # Python below 3.12
        """Match the calls in f-strings to their sites by statement, name and order."""
        finder = _InStrings()
        tree.visit(finder)
        taken: set[int] = set()
        for call in self.summary.calls:
            if call.node != "call" or not call.quoted or not first <= _row(call) <= last:
                continue
            start, end = call.statement
            for number, node in enumerate(finder.found):
                row = self._positions[node][0].row
                here = number not in taken and start <= row <= end
                if here and _called_name(node) == last_name(call.expression.callee):
                    taken.add(number)
                    self._matched[node] = call
                    break

    # -- queries of rules

    def site(self, node: cst.CSTNode, kind: str = "call") -> Site | None:
        """Return the site of a call, a subscript, or of what comes after ``with`` or ``for``.

        Args:
            node: The call, the expression, or the subscript.
            kind: The node of the call, as in a module's summary.
        """
        quoted = self._matched.get(node)
        if quoted is not None:  # Python below 3.12
            return self._quoted_sites.get(quoted)
        where = self._positions.get(node)
        return self._sites.get((*where, kind)) if where else None

    def range(self, node: cst.CSTNode) -> tuple[Location, Location]:
        """Return the start and the end of a node."""
        return self._positions[node]

    def code(self, node: cst.CSTNode) -> str:
        """Return a node's source on one line, shortened."""
        (row, start), (end_row, end) = self._positions[node]
        lines = self.lines[row - 1 : end_row]
        lines[-1] = lines[-1][: end - 1]
        lines[0] = lines[0][start - 1 :]
        return shortened(" ".join(line.strip() for line in lines))

    def handed(self, site: Site) -> list[Found]:
        """Return the blockers that a site hands over to another thread."""
        return self.finder.handed(site.handover) if site.handover else []

    def doubt(self, found: Found) -> Remedy | None:
        """Return the remedy of a blocker that only a condition applies."""
        cooperation = self.finder.cooperation
        if cooperation.lacking(found.blocker, self.path):
            return None
        return cooperation.doubt(found.blocker, self.path)

    def lack(self, found: Found) -> str:
        """Return a message's part on the processes that lack a remedy that others have."""
        cooperation = self.finder.cooperation
        lacking = cooperation.lacking(found.blocker, self.path)
        if not lacking:
            doubt = self.doubt(found)
            if doubt is None:
                return ""
            where = f"{relative_name(doubt.path)}:{doubt.row}"
            return f", unless `{doubt.condition}`: only then {doubt.symbol} is called ({where})"
        names = list(dict.fromkeys(process.name for process in lacking))
        more = len(names) - _PROCESSES_NAMED
        named = " and ".join(names[:_PROCESSES_NAMED]) + (f" and {more} more" if more > 0 else "")
        remedies = map(cooperation.remedy, found.blocker.cooperative_after)
        called = next(remedy.symbol for remedy in remedies if remedy is not None)
        return f"; {named} never call{'' if len(names) > 1 else 's'} {called}"

    def symbols(self, node: cst.Call) -> set[str]:
        """Return the dotted names of a call's possible callees."""
        call = self._matched.get(node) or self._calls.get((*self._positions[node], "call"))
        if call is None or call.node != "call":
            return set()
        place = Place(self.path, call.scope, call.path)
        return self.finder.inference.callees.called_symbols(call.expression.callee, place)

    def is_immediate(self, node: cst.Call) -> bool:
        """Return whether a call is known to return at once, without yielding to the hub."""
        site = self.site(node)
        if site is not None and site.found:
            return all(found.wait.immediate and not found.wait.of_class for found in site.found)
        symbols = self.symbols(node)
        immediate = self.finder.inference.catalog.immediate
        return bool(symbols) and all(
            symbol.startswith("builtins.") or symbol in immediate for symbol in symbols
        )

    def has_one_class(self, site: Site) -> bool:
        """Return whether what a method is called on is an object of one class of the catalog."""
        callee = site.call.expression.callee if site.call.node == "call" else None
        if callee is None or callee.tag != tags.ATTRIBUTE:
            return False
        values = self.finder.inference.infer(callee.base, site.place) - {NONE}
        return len(values) == 1 and all(value.kind == INSTANCE for value in values)

    def is_excused(self, site: Site) -> bool:
        """Return whether an argument other than the timeout makes a call return at once."""
        if site.call.node != "call":
            return False
        expression, place = site.call.expression, site.place
        holds = self.finder.inference.conditions.holds
        return any(
            holds(condition, expression, place)
            for found in site.found
            for condition in found.blocker.unless
        )

    def repeats(self, site: Site) -> Repetition:
        """Return the loops around a call, if its costs add up in them."""
        each = max((found.blocker.seconds_each or 0.0 for found in site.found), default=0.0)
        return adding_up(self.summary, site.call, self.finder.inference, each)

    def handler(self, site: Site) -> str:
        """Return ``task`` or ``request`` if the function around a call runs once for each."""
        return handled(self.summary, site.call, self.finder.inference)

    def statement(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the first and last row of a call's statement, where comments can suppress it."""
        span = self._positions[node]
        if node in self._matched:  # Python below 3.12
            return self._matched[node].statement
        for kind in ("call", "with", "for"):
            call = self._calls.get((*span, kind))
            if call is not None:
                return call.statement
        return span[0].row, span[1].row

    def place(self, node: cst.CSTNode) -> Place | None:
        """Return a call's place for inference, None for other nodes."""
        call: AnyCall | None = self._matched.get(node)
        for kind in ("call", "with", "for"):
            if call is None and node in self._positions:
                call = self._calls.get((*self._positions[node], kind))
        return Place(self.path, call.scope, call.path) if call is not None else None

    def handed_to_greenlet(self, site: Site) -> bool:
        """Return whether a call is in a lambda that ``false-offload`` reports as a whole."""
        offloading = self.finder.offloading
        scopes = self.summary.scopes
        if scopes[site.call.scope].kind != "lambda":
            return False
        for call, place, _ in self.finder.inference.calling.handovers(self.path, site.call.scope):
            handover = offloading.handover(call, place)
            if handover is not None and handover.offload.thread == "greenlet":
                return True
        return False

    # -- positions

    @cached_property
    def _calls(self) -> dict[tuple[Location, Location, str], AnyCall]:
        return {self._span(call): call for call in self.summary.calls if not call.quoted}

    def _span(self, call: AnyCall) -> tuple[Location, Location, str]:
        return (
            Location(call.row, self._column(call.row, call.column)),
            Location(call.end_row, self._column(call.end_row, call.end_column)),
            call.node,
        )

    def _column(self, row: int, offset: int) -> int:
        """Return a column in characters from 1, for an offset in bytes of UTF-8 from 0."""
        if row > len(self.lines):
            return offset + 1
        line = self.lines[row - 1]
        if line.isascii():
            return offset + 1
        return column(line.encode(), offset)


class _Piece(NamedTuple):
    """A part of a file that libcst has parsed."""

    tree: cst.Module
    is_inner: bool
    """True if a line stands before it that keeps its columns as they are."""
    feeds: int
    """The form feeds at its start, which libcst leaves out of the columns."""


def _piece(text: str) -> _Piece:
    bare = text.lstrip("\f")
    if bare[:1] in (" ", "\t"):
        return _Piece(cst.parse_module("if 1:\n" + text), is_inner=True, feeds=0)
    return _Piece(cst.parse_module(text), is_inner=False, feeds=len(text) - len(bare))


class _InStrings(cst.CSTVisitor):  # Python below 3.12
    """Finds the calls in f-strings, the inner ones first, as ``summary`` lists them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Call] = []
        self._depth = 0

    def visit_FormattedString(self, _: cst.FormattedString) -> None:  # noqa: N802
        self._depth += 1

    def leave_FormattedString(self, _: cst.FormattedString) -> None:  # noqa: N802
        self._depth -= 1

    def leave_Call(self, original_node: cst.Call) -> None:  # noqa: N802
        if self._depth:
            self.found.append(original_node)


def _called_name(node: cst.Call) -> str:  # Python below 3.12
    """Return the last identifier of the callee, as `last_name` does."""
    if isinstance(node.func, cst.Name):
        return node.func.value
    return node.func.attr.value if isinstance(node.func, cst.Attribute) else ""


def _row(call: AnyCall) -> int:
    """Return the row that identifies a call's statement."""
    return call.statement[0] if call.quoted else call.row
