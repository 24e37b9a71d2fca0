"""PasteDeploy's settings files: the application and the server that they describe.

Source: the PasteDeploy documentation, sections "Sections" and "Defining Factories".
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator

from gblock.project.processes.deployment.command import Command, Fact
from gblock.project.processes.deployment.repository import NONE, Repository

EXAMPLE = (
    "gevent.ini",
    "[app:main]\nuse = egg:shop\n[server:main]\nuse = egg:gunicorn\nworker_class = gevent\n",
)
_SERVER = re.compile(r"^\[server:main\]", re.MULTILINE)
_FACTORIES = ("app", "composite", "filter", "filter_app")
_SECTIONS = ("app", "composite", "pipeline", "filter", "filter-app", "application")
_DEEP = 10


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the server that a settings file describes: a command from elsewhere may start it."""
    match = _SERVER.search(text)
    if match is None or not PasteSettings(text).is_gunicorn:
        return []
    words = ("gunicorn", "--paste", os.path.basename(filename))
    return [Command(words, filename, text.count("\n", 0, match.start()) + 1)]


class PasteSettings:
    """One settings file.

    Args:
        text: The file; unreadable parts are ignored.
    """

    def __init__(self, text: str) -> None:
        self._parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            self._parser.read_string(text)
        except (configparser.Error, AttributeError):  # a row below a key without a value
            self._parser.clear()

    def server(self, name: str = "main") -> dict[str, str]:
        """Return the settings of a server, whose kind ``use`` names."""
        section = f"server:{name}"
        return dict(self._parser.items(section)) if self._parser.has_section(section) else {}

    @property
    def is_gunicorn(self) -> bool:
        """Return whether the server is gunicorn."""
        return (self.server().get("use") or "").startswith("egg:gunicorn")

    def factories(self, name: str = "main") -> list[str]:
        """Return the factories of an application and of all its parts.

        Returns:
            ``package.module:function``, ``egg:distribution#entry-point``, or ``config:base.ini``.
        """
        return list(dict.fromkeys(self._factories(name, 0)))

    def _factories(self, name: str, depth: int) -> Iterator[str]:
        section = next(
            (one for kind in _SECTIONS if self._parser.has_section(one := f"{kind}:{name}")), None
        )
        if section is None or depth > _DEEP:
            return
        settings = dict(self._parser.items(section))
        for kind in _FACTORIES:
            if settings.get(f"paste.{kind}_factory"):
                yield settings[f"paste.{kind}_factory"]
        used = settings.get("use") or ""
        kind, _, rest = used.partition(":")
        if kind in ("egg", "config"):
            yield used
        elif kind == "call":
            yield rest
        elif used:
            yield from self._factories(used, depth + 1)
        inner = (settings.get("pipeline") or "").split()
        if section.startswith("composite:"):
            inner += [value for key, value in settings.items() if key != "use" and value]
        for one in inner:
            yield from self._factories(one, depth + 1)
