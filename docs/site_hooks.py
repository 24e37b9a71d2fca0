"""Adapts the pages, which are written for GitHub, to the site.

Links that leave ``docs/`` lead to GitHub, and a table without titles keeps its empty head, without
which Python-Markdown sees no table.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

REPOSITORY = "https://github.com/gblock/gblock"
_NO_TITLES = re.compile(r"^\|(?= *\|(?: *\|)*\n\|[-: |]+\|$)", re.MULTILINE)
_UPWARDS = re.compile(r"(?<=\]\()(\.\./[^)\s]*)(?=\))")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page as the site needs it."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def address(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        if path.startswith("docs/"):
            return match[1]
        kind = "blob" if "." in posixpath.basename(path) else "tree"
        return f"{REPOSITORY}/{kind}/main/{path}"

    return _NO_TITLES.sub("| &nbsp;", _UPWARDS.sub(address, markdown))
