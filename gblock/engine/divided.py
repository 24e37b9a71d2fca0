"""A check of a repository of many units: each is checked by itself, and its memory freed.

Processes that end take their memory with them, so each of them checks some units and sends what it
has found. Without other processes the garbage is collected after each unit.
"""

from __future__ import annotations

import gc

from gblock import config, units
from gblock.engine.found import CheckResults, merged
from gblock.engine.jobs import each
from gblock.files import relative_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gblock.codebase import Codebase
    from gblock.config import Config
    from gblock.engine.request import Request

    Look = Callable[[Request, units.Unit], CheckResults]
    """Checks the paths of a request, which are one unit, or what belongs to none."""

_TOGETHER = 300
"""Files: small units are checked one after another by one process, which loads libcst once."""


class Divided:
    """The units of one check.

    Args:
        request: The check.
        codebase: Its files, of which no bytes are read.
        look: Checks one unit.
    """

    def __init__(self, request: Request, codebase: Codebase, look: Look) -> None:
        self._request = request
        self._look = look
        self._whole = units.Monorepo(codebase.root, codebase.modules.files, request.config)
        self._has_garbage = False
        """True if this process has checked a unit."""

    def found(self) -> CheckResults | None:
        """Check each unit, and return what is found in all; None if there are none."""
        directories = self._whole.directories
        if not directories:
            return None
        self._load()
        self._whole.prepare()
        parts: dict[str, CheckResults] = {}
        for _, several in each(self._several, self._batches(), self._request.jobs):
            parts.update(several)
        return merged([parts[directory] for directory in self._places()])

    def _several(self, directories: list[str]) -> dict[str, CheckResults]:
        parts: dict[str, CheckResults] = {}
        for directory in directories:
            if self._has_garbage:
                gc.collect()  # the collector is off during a check
            self._has_garbage = True
            settings = self._settings(directory)
            request = self._request._replace(
                paths=[relative_name(directory)], config=settings, is_unit=True, jobs=1
            )
            parts[directory] = self._look(request, self._whole.unit(directory))
        return parts

    def _places(self) -> Iterator[str]:
        """Yield the units, and the top if files belong to none."""
        if self._whole.below(self._whole.top):
            yield self._whole.top
        yield from self._whole.directories

    def _batches(self) -> Iterator[list[str]]:
        """Yield units that one process checks, the largest first, so that none is late."""
        sizes = {place: len(self._whole.below(place)) for place in self._places()}
        together: list[str] = []
        count = 0
        for place in sorted(sizes, key=lambda one: (-sizes[one], one)):
            if together and count + sizes[place] > _TOGETHER:
                yield together
                together, count = [], 0
            together.append(place)
            count += sizes[place]
        if together:
            yield together

    def _settings(self, directory: str) -> Config:
        """Return the settings of a unit: its own where it has some."""
        # What the settings of the whole hide, it hides when all units are known.
        settings = config.changed(self._request.config, baseline=None)
        if directory == self._whole.top:
            exclude = (*settings.exclude, *self._whole.patterns())
            return config.changed(settings, root=directory, exclude=exclude)
        if not self._request.own_settings:
            return settings
        own = config.find(directory)
        return settings if own.filename == settings.filename else own

    def _load(self) -> None:
        """Load what every unit needs, once for all processes."""
        import libcst  # noqa: F401

        from gblock.engine import inspection  # noqa: F401
        from gblock.project import remarks  # noqa: F401
        from gblock.project.processes import surroundings  # noqa: F401
