"""Databases that Django's settings name and that nothing queries.

Django demands the setting also of services that keep nothing in a database.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gblock.project.reading.modules import Modules

LANGUAGES = ("django", "django-url")
"""The languages of the strings in ``DATABASES``."""

_QUERIES = re.compile(
    rb"\.objects\b|\b(?:admin|site)\.(?:site|urls)\b|\bget_user_model\b|\b_default_manager\b"
    rb"|\bget_object_or_404\b|\bget_list_or_404\b|\bModelForm\b|\bModel(?:View|Admin|Serializer)"
    rb"|\b(?:from|import)[ \t]+(?:django\.(?:contrib\.gis\.)?db|rest_framework|wagtail)\b"
    rb"|\bfrom[ \t]+django\.contrib\.auth[ \t]+import\b(?:[ \t]*\([^)]*?|[^\n]*?)"
    rb"\b(?:login|authenticate|views|urls)\b"
    rb"|\bfrom[ \t]+django\.contrib\.auth\.(?:views|forms|backends)[ \t]+import\b"
    rb"(?:[ \t]*\([^)]*?|[^\n]*?)\b[A-Z]"
    rb"|\bfrom[ \t]+django\.contrib[ \t]+import\b[^\n]*\b(?:admin|auth)\b"
)
"""Code that queries, or declares what Django queries by itself."""
_INCLUDES = re.compile(rb"\binclude\([ \t\n(\[]*(?:[\"']([\w.]*)[\"'])?")
"""Tables of URLs, with their module if a string names it."""
_SESSIONS = re.compile(rb"^[ \t]*SESSION_ENGINE[ \t]*=[ \t(\n]*[\"']([\w.]+)[\"']", re.MULTILINE)
_PROSE = re.compile(rb"^[ \t]*#[^\n]*|(\"{3}|'{3})[\s\S]*?\1", re.MULTILINE)
"""Comments and docstrings."""
_ELSEWHERE = ("cache", "signed_cookies", "file")
"""The ends of the names of session stores without a database."""


def is_idle(modules: Modules, files: Collection[str]) -> bool:
    """Return whether no code of a service queries the database of its settings.

    Args:
        modules: The project's files.
        files: Those that the service can run.
    """
    code = {path: _PROSE.sub(b"", modules.data(path)) for path in files}
    if any(map(_QUERIES.search, code.values())):
        return False
    stores = {match[1].decode() for one in code.values() for match in _SESSIONS.finditer(one)}
    if not stores or not all(one.rpartition(".")[2] in _ELSEWHERE for one in stores):
        return False  # sessions are in the database by default
    return all(
        match[1] is not None and modules.resolve(match[1].decode(), 0, path) is not None
        for path, data in code.items()
        for match in _INCLUDES.finditer(data)
    )
