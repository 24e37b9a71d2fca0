"""Whether anything in a repository says that gevent is used: code, requirements, deployments."""

from __future__ import annotations

import os
import re

from gblock.project.processes import formats
from gblock.project.processes.deployment import Deployment
from gblock.project.reading.modules import WORDS, Modules
from gblock.project.reading.requirements import Requirements

_USED = re.compile(
    rb"""^[ \t]*(?:from|import)[ \t][^\n#]*(?:gevent|\b(?:locust|flask_sockets|grequests)\b)"""
    rb"""|["'](?:\w+[.:])*\w*gevent[\w.:]*["'](?![ \t]*(?:not[ \t]+)?in\b)""",
    re.MULTILINE | re.IGNORECASE,
)
"""An import, or the name of a module, a class or an option in a string."""
_DISTRIBUTIONS = ("gevent", "gevent-websocket", "locust", "locustio", "grequests", "psycogreen")
"""What a project requires that runs on gevent."""


def presence(modules: Modules, deployment: Deployment) -> str:
    """Return what says that gevent is used, as the end of a sentence; empty if nothing does.

    Args:
        modules: The project's files.
        deployment: The files that start its processes.
    """
    for word in (*WORDS, "grequests"):
        for path in modules.mentioning(word):
            if _USED.search(modules.data(path)):
                return f"{os.path.relpath(path, modules.root)} names it"
    requirements = Requirements(deployment.tree)
    for name in _DISTRIBUTIONS:
        if name in requirements:
            return f"the project requires {name}"
    found = formats.mention(deployment.tree, (b"gevent", b"locust"))
    return f"{os.path.relpath(found, modules.root)} names it" if found is not None else ""


def is_deployable(deployment: Deployment) -> bool:
    """Return whether a directory is a project by what stands in it beside code.

    That is a list of requirements or a file that starts something: loose scripts have none.
    """
    return bool(deployment.commands) or Requirements(deployment.tree).is_listed
