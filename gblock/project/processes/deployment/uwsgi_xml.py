"""uWSGI's settings as XML."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Fact
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.units import Section, UnitSetting, uwsgi

EXAMPLE = (
    "uwsgi.xml",
    "<uwsgi>\n  <module>shop.wsgi</module>\n  <gevent>100</gevent>\n  <master/>\n</uwsgi>\n",
)
_SETTING = re.compile(r"<([a-z][\w-]*)>([^<]*)</\1>|<([a-z][\w-]*)\s*/>")


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the server that a settings file starts."""
    settings = [
        UnitSetting(
            match[1] or match[3], match[2] or "true", text.count("\n", 0, match.start()) + 1
        )
        for match in _SETTING.finditer(text)
    ]
    return [*uwsgi(Section("uwsgi", 1, settings), filename)] if settings else []
