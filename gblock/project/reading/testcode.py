"""Recognition of tests: files that run under a test runner, not in the service."""

from __future__ import annotations

import os
import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_DIRECTORIES = {"test", "tests", "testing"}.union(
    f"{kind}{between}{name}"
    for kind in ("unit", "integration", "functional", "acceptance", "regression", "smoke", "e2e")
    for between in ("_", "-", "")
    for name in ("test", "tests")
)
_STAND_IN = (
    r"(?:.*[^a-z])?(?:tests?|testing|ci|dev|devel|develop|development|local|localhost|acceptance"
    r"|e2e|travis|vagrant)(?:[^a-z].*)?|tests?\w*"
)
"""The part of a path that marks settings for tests or development."""
_OF_SETTINGS = {"settings", "config", "conf", "configs", "environments", "envs"}


def is_test(path: str, root: str, read: Callable[[str], bytes]) -> bool:
    """Return whether a file's name, or a directory between it and the root, marks it as a test.

    Args:
        path: The file.
        root: The directory to check; its own name does not count.
        read: Returns a file's bytes. A name such as ``load_test.py`` alone proves nothing.
    """
    relative = path[len(root) :].lstrip(os.sep) if path.startswith(root) else path
    if "test" not in relative.lower():  # fast path
        return False
    *directories, name = relative.split(os.sep)
    stem = name.rpartition(".")[0]
    return (
        (stem.startswith("test_") and not _is_of_package(path, stem, read))
        or (stem.endswith(("_test", "_tests")) and _names_runner(read(path)))
        or stem in ("conftest", "tests")
        or not _DIRECTORIES.isdisjoint(one.lower() for one in directories)
    )


def _is_of_package(path: str, stem: str, read: Callable[[str], bytes]) -> bool:
    """Return whether the package of a module imports it: a view can be called ``test_report``."""
    package = os.path.join(os.path.dirname(path), "__init__.py")
    if not os.path.exists(package):
        return False
    data, name = read(package), re.escape(stem.encode())
    return stem.encode() in data and bool(
        re.search(
            rb"^[ \t]*(?:from[ \t][^\n]*\bimport[ \t]*(?:\([^)]*|[^\n#]*)|import[ \t][^\n#]*"
            rb"|from[ \t]+[\w.]*)(?<!\w)%s\b" % name,
            data,
            re.MULTILINE,
        )
    )


def _names_runner(data: bytes) -> bool:
    return b"pytest" in data or b"unittest" in data


def is_stand_in(path: str, root: str) -> bool:
    """Return whether a file's name marks it as the settings of tests or of local development.

    Args:
        path: The file: ``settings/test_mysql.py``, ``settings_local.py``, ``compose.ci.yml``.
        root: The directory to check; its own name does not count.
    """
    relative = path[len(root) :].lstrip(os.sep) if path.startswith(root) else path
    *directories, name = relative.lower().split(os.sep)
    parts = [name.partition(".")[0] if name.endswith(".py") else name]
    if len(directories) > 1 and directories[-2] in _OF_SETTINGS:
        parts.append(directories[-1])
    return not _DIRECTORIES.isdisjoint(directories) or any(map(_stand_in().fullmatch, parts))


@cache
def _stand_in() -> re.Pattern[str]:
    # Compiled on demand: it takes longer than to check a clean file.
    return re.compile(_STAND_IN)
