"""The names of distributions, and the requirements that name them (PEP 503, PEP 508)."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FIRST = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?=\s*(?:$|[\[(<>=!~^;@,]))")
"""The name at the start of a requirement of another syntax, such as conda's or a broken one."""
_EGG = re.compile(r"[#&]egg=([\w.-]+)")
_ARCHIVES = (".tar.gz", ".zip", ".whl")
_CHECKOUT = re.compile(r"/([\w.-]+?)(?:\.git)?(?:@[^/]*)?/?(?:#.*)?")


def normalized(name: str) -> str:
    """Return a distribution's name, normalized as in PEP 503."""
    text = name.lower().replace("_", "-").replace(".", "-")
    while "--" in text:
        text = text.replace("--", "-")
    return text


def required(text: str) -> str | None:
    """Return the normalized name that a requirement begins with; None if it names nothing.

    Args:
        text: One requirement: PEP 508, a path or URL of a file, or a similar syntax.
    """
    # They take as long to import as a check of a small project.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return normalized(Requirement(text).name)
    except InvalidRequirement:
        found = _in_location(text) if "/" in text or text.endswith(_ARCHIVES) else None
        first = _FIRST.match(text.strip())
        name = found or (first[1] if first else "")
        return normalized(name) or None


def _in_location(location: str) -> str | None:
    """Return the distribution that a file's name or the URL of a repository names."""
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    egg = _EGG.search(location)
    if egg is not None:
        return egg[1]
    filename = location.partition("#")[0].partition("?")[0].rpartition("/")[2]
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[0]
        if filename.endswith(_ARCHIVES):
            return parse_sdist_filename(filename)[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    checkout = _CHECKOUT.fullmatch(location, location.rfind("/", 0, len(location.rstrip("/"))))
    return checkout[1] if checkout is not None and "://" in location else None


def always_required(lines: Iterable[str]) -> frozenset[str]:
    """Return the normalized names of a distribution's requirements, without those of its extras.

    Args:
        lines: The values of ``Requires-Dist``; a line that cannot be parsed counts by its name.
    """
    return frozenset(name for name in map(_always_required, lines) if name is not None)


def _always_required(line: str) -> str | None:
    from packaging.markers import UndefinedComparison
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        one = Requirement(line)
    except InvalidRequirement:
        return required(line.partition(";")[0]) if "extra" not in line else None
    # Other variables of a marker describe an interpreter, and that may be another than this one.
    if one.marker is not None and "extra" in str(one.marker):
        try:
            if not one.marker.evaluate({"extra": ""}):
                return None
        except UndefinedComparison:  # such as `extra ~= "tests"`: it never holds
            return None
    return normalized(one.name)
