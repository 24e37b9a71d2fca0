"""The names of programs that run the Python code of a project."""

from __future__ import annotations

import re

SERVERS = frozenset(
    "gunicorn uwsgi uvicorn hypercorn daphne waitress-serve chaussette pserve".split()
)
"""Servers of requests."""
OTHERS = frozenset("flask locust twistd django-admin pytest py.test tox nox nosetests".split())
"""Other programs that run code of a project."""
_MENTION = re.compile(
    rf"\b(?:python|gevent|workers?|{'|'.join(sorted(map(re.escape, SERVERS | OTHERS)))})\b|\.py\b"
)


def may_run_python(text: str) -> bool:
    """Return whether the text of some commands may start a process of Python."""
    return _MENTION.search(text) is not None
