"""The catalog, rules, blockers and words that one check needs."""

from __future__ import annotations

import os
from functools import cached_property

from gblock import rules
from gblock.engine.selection import GROUPS, Selection, folded
from gblock.errors import UserError
from gblock.outline import Outlines
from gblock.project.triage.vocabulary import both
from gblock.project.triage.words import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.codebase import Codebase
    from gblock.engine.request import Request
    from gblock.outline import Outline


class Wanted:
    """The catalog as far as a request needs it.

    Args:
        request: The paths and the settings.
        codebase: The files, whose imports are followed into the environment that `request` names.

    Raises:
        UserError: for a name that does not exist, a catalog that is wrong, or an environment
            that cannot be read.
    """

    def __init__(self, request: Request, codebase: Codebase) -> None:
        config = request.config
        select = folded((*(request.select or config.select), *request.extend_select))
        if request.extend_select and not (request.select or config.select):
            select = ("default", *select)
        ignore = (*request.ignore, *config.ignore)
        self.outlines = Outlines()
        for path in config.extend_catalog:
            from gblock.catalog.extensions import own

            self.outlines.add(own(path))
        self.notes: tuple[str, ...] = ()
        """Notes on unreadable parts of the environment, if a rule needs it."""
        asked = {rules.OF_PACKAGES, "all"}.intersection(select)
        names_unknown = bool(asked) and rules.OF_PACKAGES not in ignore
        if request.python is not None or config.python is not None:
            self._follow(request, codebase, compiled=not names_unknown)
        if names_unknown:
            self.outlines.add(self._unknown_packages(request))
        self.selection = Selection(select, ignore, self.outlines)
        self._verify(request)
        is_plain = self.selection.is_plain and self.outlines.is_built_in
        self._written = written() if is_plain else None
        is_on = None if self.selection.is_plain else self.selection.may_report
        self.vocabulary, self.unpatched = both(self.outlines, is_on, self._written)
        """The words of reportable blockers; and of those that block only without gevent's patch,
        which ordinary runs do not need."""

    @cached_property
    def originals(self) -> list[bytes]:
        """The last names of the symbols that are stale if bound before monkey patching."""
        return self.outlines.originals if self._written is None else self._written.originals

    def _follow(self, request: Request, codebase: Codebase, *, compiled: bool) -> None:
        """Add the blockers inside of the installed packages that the project imports."""
        from gblock.packages import environment, followed

        codebase.complete()
        modules = codebase.modules
        importers = {
            name: path for path in modules.files for name in followed.imports(modules.data(path))
        }
        outside = [
            name for name, path in importers.items() if modules.resolve(name, 0, path) is None
        ]
        named = request.config.python
        try:
            found = environment.chosen(request.python, request.config)
        except UserError as error:
            if request.python is not None:
                raise
            # That a setting names nothing is noted where the settings are read.
            is_missing = named is None or not os.path.lexists(named)
            self.notes = () if is_missing else (str(error),)
            return
        self.notes = found.notes
        followed.Followed(found, self.outlines, compiled=compiled).add(outside)

    def _unknown_packages(self, request: Request) -> Outline:
        from gblock import catalog
        from gblock.packages import environment, unknown

        known = catalog.parse_all(self.outlines)
        found = environment.chosen(request.python, request.config)
        self.notes = found.notes
        return unknown.outline(found, known)

    def _verify(self, request: Request) -> None:
        """Raise an error if a selected name does not exist."""
        config = request.config
        verify, settings = self.selection.verify, config.filename or "configuration"
        verify(folded(request.select), "--select", GROUPS)
        verify(folded(request.extend_select), "--extend-select", GROUPS)
        verify(request.ignore, "--ignore")
        verify(folded(config.select), f"{settings}: select", GROUPS)
        verify(config.ignore, f"{settings}: ignore")
        for _, names in config.per_file_ignores:
            verify(names, f"{settings}: per-file-ignores")
