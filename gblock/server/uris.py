"""Paths of files as URIs, and back; a path need not be UTF-8."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote_to_bytes, urlsplit

_DRIVE = 2
"""The length of a drive's letter and its colon."""


def path_of(uri: str) -> str | None:
    """Return the absolute path of a ``file`` URI, None for any other, such as ``untitled``."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if os.name == "nt":
        path = path.lstrip("/") if path[_DRIVE : _DRIVE + 1] == ":" else path
    if not path or "\0" in path:
        return None
    return os.path.normpath(path)


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    quoted = quote(os.fsencode(path.replace(os.sep, "/")))
    return f"file://{quoted if quoted.startswith('/') else f'/{quoted}'}"
