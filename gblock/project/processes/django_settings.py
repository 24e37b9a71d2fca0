"""Django's settings: the modules that a process loads because its environment names them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property

from gblock.project.processes.deployment import Deployment
from gblock.project.processes.servers import Servers
from gblock.project.reading.testcode import is_stand_in

VARIABLE = "DJANGO_SETTINGS_MODULE"
_DJANGO_SETTINGS = re.compile(rb"""DJANGO_SETTINGS_MODULE["']\s*[\],]\s*=?\s*["']([\w.]+)["']""")
_DJANGO = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+django\b|[\"']DJANGO_SETTINGS_MODULE[\"']", re.MULTILINE
)
"""A library may wrap Django's ``get_wsgi_application()``, and names the settings nevertheless."""


class DjangoSettings:
    """Finds the settings of Django's processes.

    Args:
        servers: Finds the modules that commands name.
        deployment: The files that start processes.
        root: The directory that was searched for these.
    """

    def __init__(self, servers: Servers, deployment: Deployment, root: str) -> None:
        self.modules = servers.modules
        self.graph = servers.graph
        self.root = root
        self._servers = servers
        self._deployment = deployment

    def added_to(
        self,
        entries: tuple[str, ...],
        variables: dict[str, str],
        homes: tuple[str, ...] = (),
    ) -> tuple[str, ...]:
        """Return the entry files of a process, and Django's settings if it loads them.

        Args:
            entries: The files where it begins.
            variables: Its environment, as far as that is known.
            homes: The directories that it starts in and imports from, as far as they are known.
        """
        if not self._settings and VARIABLE not in variables:
            return entries
        if not any(_DJANGO.search(self.modules.data(path)) for path in entries):
            if VARIABLE not in variables:
                return entries
        named = variables.get(VARIABLE)
        homes = tuple(dict.fromkeys((*homes, *map(os.path.dirname, entries))))
        path = self._servers.module(named, *homes, self.root) if named else None
        if path is not None:
            more = [path]
        elif any(_DJANGO_SETTINGS.search(self.modules.data(one)) for one in entries):
            more = self._settings_in(entries)
        else:
            # Of several programs side by side, each has its own.
            own = [one for one in self._settings if one.startswith(_folders(homes))]
            more = own or self._settings
        return tuple(dict.fromkeys((*entries, *more)))

    @cached_property
    def _settings(self) -> list[str]:
        """The modules that code, or else the deployment, names as Django's settings."""
        found = self._settings_in(self.modules.mentioning(VARIABLE))
        real = [one for one in found if not is_stand_in(one, self.modules.root)]
        # Settings for development import those that they change.
        return real or found or self._deployed_settings()

    def _deployed_settings(self) -> list[str]:
        """Return the modules that only the environment of some process names as the settings."""
        found = (
            self._servers.module(name, os.path.dirname(path), self.root)
            for name, path in self._deployment.values_of(VARIABLE)
        )
        named = dict.fromkeys(path for path in found if path is not None)
        return [path for path in named if not is_stand_in(path, self.modules.root)]

    def _settings_in(self, paths: Iterable[str]) -> list[str]:
        """Return the modules that some files name as Django's settings."""
        found: list[str] = []
        for path in paths:
            for match in _DJANGO_SETTINGS.finditer(self.modules.data(path)):
                name = match[1].decode()
                target = self.graph.named(name, path)
                named = [target] if target is not None else self._variants(name, path)
                found += [one for one in named if one not in found]
        return found

    def _variants(self, name: str, path: str) -> list[str]:
        """Return the modules from which a missing settings module is copied at deployment.

        They are beside it and begin with its name: ``settings_prod.py``. Those for tests and
        development are left out.
        """
        package, _, stem = name.rpartition(".")
        folder = self.modules.resolve(package, 0, path) if package else os.path.dirname(path)
        if folder is not None and self.modules.is_module(folder):
            folder = os.path.dirname(folder)
        start = os.path.join(folder, f"{stem}_") if folder is not None else None
        return [
            one
            for one in self.modules.serving
            if start is not None
            and one.startswith(start)
            and os.path.dirname(one) == folder
            and not is_stand_in(one, self.modules.root)
        ]


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.path.join(path, "") for path in paths if path)
