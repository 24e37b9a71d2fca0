"""What a check looks for: the catalog, the selected rules and blockers, and their words."""

from __future__ import annotations

from functools import cached_property

from gblock import rules
from gblock.engine.selection import GROUPS, Selection, folded
from gblock.outline import Outlines
from gblock.project.triage.vocabulary import both
from gblock.project.triage.words import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.engine.request import Request
    from gblock.outline import Outline


class Wanted:
    """The catalog as far as a request needs it.

    Args:
        request: What was asked for.

    Raises:
        UserError: for a name that does not exist, a catalog that is wrong, or an environment
            that cannot be read.
    """

    def __init__(self, request: Request) -> None:
        config = request.config
        select = folded((*(request.select or config.select), *request.extend_select))
        if request.extend_select and not (request.select or config.select):
            select = ("default", *select)
        ignore = (*request.ignore, *config.ignore)
        self.outlines = Outlines()
        for path in config.extend_catalog:
            from gblock import catalog

            self.outlines.add(catalog.own(path))
        self.notes: tuple[str, ...] = ()
        """What could not be read of the environment, where a rule looks at it."""
        asked = {rules.OF_PACKAGES, "all"}.intersection(select)
        if asked and rules.OF_PACKAGES not in ignore:
            self.outlines.add(self._unknown_packages(request))
        self.selection = Selection(select, ignore, self.outlines)
        self._verify(request)
        is_plain = self.selection.is_plain and self.outlines.is_built_in
        self._written = written() if is_plain else None
        self.vocabulary, self.unpatched = both(
            self.outlines, self.selection.may_report, self._written
        )
        """What is looked for; and what blocks only without gevent's patch, which ordinary runs
        do not look for."""

    @cached_property
    def originals(self) -> list[bytes]:
        """The last names of what is stale where it was taken before monkey patching."""
        return self.outlines.originals if self._written is None else self._written.originals

    def _unknown_packages(self, request: Request) -> Outline:
        from gblock import catalog
        from gblock.packages import environment, unknown

        known = catalog.parse_all(self.outlines)
        found = environment.chosen(request.python, request.config)
        self.notes = found.notes
        return unknown.outline(found, known)

    def _verify(self, request: Request) -> None:
        """Make sure that what was named exists."""
        config = request.config
        verify, settings = self.selection.verify, config.filename or "configuration"
        verify(folded(request.select), "--select", GROUPS)
        verify(folded(request.extend_select), "--extend-select", GROUPS)
        verify(request.ignore, "--ignore")
        verify(folded(config.select), f"{settings}: select", GROUPS)
        verify(config.ignore, f"{settings}: ignore")
        for _, names in config.per_file_ignores:
            verify(names, f"{settings}: per-file-ignores")
