"""The rules and blockers that a run selects, by its options and the configuration."""

from __future__ import annotations

from functools import cached_property

from gblock.errors import UserError
from gblock.rules import NAMES, OF_DRIVERS, OF_UNPATCHED
from gblock.suggestion import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.catalog.blockers import Blocker
    from gblock.catalog.drivers import Driver
    from gblock.outline import Chunk, Outlines
    from gblock.rule import Rule

GROUPS = ("default", "all")


def folded(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names with ``ALL`` and ``Default`` in lower case, as in ruff."""
    return tuple(name.lower() if name.lower() in GROUPS else name for name in names)


class Selection:
    """The selected rules and blockers.

    Args:
        select: Names of rules, ids of blockers, ``default`` or ``all``; empty means ``default``.
        ignore: Names of rules and ids of blockers.
        outlines: The catalog, for the valid names.
    """

    def __init__(self, select: Iterable[str], ignore: Iterable[str], outlines: Outlines) -> None:
        self.select = frozenset(select) or frozenset({"default"})
        self.ignore = frozenset(ignore)
        self._outlines = outlines

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Everything that can be selected, ignored or suppressed."""
        return (*NAMES, *(chunk.id for chunk in self._outlines.named))

    def verify(self, named: Iterable[str], origin: str, allowed: Iterable[str] = ()) -> None:
        """Check that names exist.

        Args:
            named: The names.
            origin: The place where the user wrote them.
            allowed: Valid names besides rules and blockers.

        Raises:
            UserError: for a name that does not exist, with a suggestion.
        """
        named = frozenset(named)
        for name in sorted(named.difference(self.names, allowed)) if named else ():
            message = f"unknown rule or blocker {name}{did_you_mean(name, self.names)}"
            raise UserError(origin, message)

    @property
    def is_default(self) -> bool:
        """Return whether everything that is on by default is selected."""
        return bool(self.select & {"default", "all"}) and not self.ignore

    @cached_property
    def is_plain(self) -> bool:
        """Return whether nothing was selected or ignored: most runs need no block's id.

        Only then do `may_report` and `reports` agree on blockers.
        """
        return self.select == {"default"} and not self.ignore

    def may_report(self, chunk: Chunk) -> bool:
        """Return whether a blocker may be on, judged from its text."""
        if self.is_plain:
            return not chunk.is_off
        if chunk.id in self.ignore:
            return False
        if chunk.id in self.select or "all" in self.select or self.select & frozenset(NAMES):
            return True
        return "default" in self.select and not chunk.is_off

    def reports(self, blocker: Blocker, rule: type[Rule] | None) -> bool:
        """Return whether a blocker is on.

        Args:
            blocker: The blocker.
            rule: The rule that reports its kind.
        """
        name, on = (rule.name, rule.on_by_default) if rule is not None else ("", True)
        return self.reports_of(blocker, name) and (on or self.asks_for(blocker, name))

    def reports_of(self, entry: Blocker | Driver, rule: str) -> bool:
        """Return whether an entry of the catalog is on, considering only its level.

        Args:
            entry: The entry.
            rule: The name of the rule that reports it.
        """
        if self.ignore & {entry.id, rule}:
            return False
        if self.asks_for(entry, rule):
            return True
        return "default" in self.select and not entry.is_off

    def asks_for(self, entry: Blocker | Driver, rule: str) -> bool:
        """Return whether an entry, its rule or all of them are selected by name."""
        return bool(self.select & {entry.id, rule, "all"})

    def runs_named(self, name: str) -> bool:
        """Return whether a rule about processes checks files; all of these are on by default."""
        if name in self.ignore:
            return False
        if name in self.select or self.select & frozenset(GROUPS):
            return True
        return any(
            (name == OF_DRIVERS and chunk.kind == "driver")
            or (name in OF_UNPATCHED and chunk.unpatched)
            for chunk in self._outlines.named
            if chunk.id in self.select
        )

    def runs(self, rule: type[Rule]) -> bool:
        """Return whether a rule checks files: it is on, or one of its blockers is."""
        if rule.name in self.ignore:
            return False
        if rule.name in self.select or "all" in self.select:
            return True
        if rule.kinds and self.select - frozenset(NAMES) - frozenset(GROUPS):
            return True
        return "default" in self.select and rule.on_by_default
