"""Evidence that a repository uses gevent: code, requirements, deployment files."""

from __future__ import annotations

import os
import re

from gblock.project.processes import formats
from gblock.project.processes.deployment import Deployment
from gblock.project.reading.modules import WORDS, Modules
from gblock.project.reading.requirements import Requirements
from gblock.project.reading.tree import Tree

_USED = re.compile(
    rb"""^[ \t]*(?:from|import)[ \t][^\n#]*"""
    rb"""(?:gevent|\b(?:locust|flask_sockets|gnsq|grequests|steam|zerorpc)\b)"""
    rb"""|["'](?:\w+[.:])*\w*gevent[\w.:]*["'](?![ \t]*(?:not[ \t]+)?in\b)""",
    re.MULTILINE | re.IGNORECASE,
)
"""An import, or the name of a module, a class or an option in a string."""
_DISTRIBUTIONS = (
    "gevent",
    "gevent-websocket",
    "gnsq",
    "grequests",
    "locust",
    "locustio",
    "psycogreen",
    "zerorpc",
)
"""Distributions whose requirement shows that a project runs on gevent."""


def presence(modules: Modules, deployment: Deployment) -> str:
    """Return evidence that gevent is used, as the end of a sentence; empty if there is none.

    Args:
        modules: The project's files.
        deployment: The files that start its processes.
    """
    for word in (*WORDS, "grequests"):
        for path in modules.mentioning(word):
            if _USED.search(modules.data(path)):
                return f"{os.path.relpath(path, modules.root)} names it"
    for name in _DISTRIBUTIONS:
        if name in deployment.requirements:
            return f"the project requires {name}"
    found = formats.mention(deployment.tree, (b"gevent", b"UWSGI_GEVENT", b"locust"))
    return f"{os.path.relpath(found, modules.root)} names it" if found is not None else ""


def is_required(tree: Tree) -> bool:
    """Return whether the files below a directory require a distribution that runs on gevent."""
    required = Requirements(tree)
    return any(name in required for name in _DISTRIBUTIONS)


def is_deployable(deployment: Deployment) -> bool:
    """Return whether a directory is a project, judging by its files other than code.

    A project has a list of requirements or a file that starts processes; loose scripts have none.
    """
    return bool(deployment.commands) or deployment.requirements.is_listed
