"""Imports left over: code imports a library and no longer uses what the import binds.

``SQLALCHEMY_DATABASE_URI`` chooses nothing where ``db = SQLAlchemy()`` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import without_prose

_FROM = rb"^[ \t]*from[ \t]+%s(?:\.\w+)*[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)"
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n#]*)|import[ \t][^\n#]*)",
    re.MULTILINE,
)


def is_left_over(modules: Modules, packages: Iterable[str]) -> bool:
    """Return whether code imports names of packages, and none of them occurs anywhere else.

    Args:
        modules: The project's files.
        packages: The names of a library's packages.

    Returns:
        False if nothing imports a name, or something imports a whole package.
    """
    names, importing = set[bytes](), dict[str, bytes]()
    for package in packages:
        written = re.compile(_FROM % re.escape(package.encode()), re.MULTILINE)
        for path in modules.mentioning(package):
            data = without_prose(modules.data(path))
            bound, code = [match[1] for match in written.finditer(data)], _IMPORT.sub(b"", data)
            if package.encode() in (code if bound else data):
                return False
            if bound:
                importing[path] = code
                names.update(re.findall(rb"[\w*]+", b" ".join(bound)))
    if not names or not names.isdisjoint((b"as", b"*")):
        return False
    used = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(names)))
    if any(map(used.search, importing.values())):
        return False
    return all(importing.keys() >= {*modules.mentioning(x.decode(), whole=True)} for x in names)
