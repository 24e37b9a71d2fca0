"""The packages that only some commands need, and how each is installed."""

from __future__ import annotations

EXTRAS = {
    "gevent": "probe",
    "greenlet": "probe",
    "jinja2": "report",
    "lsprotocol": "server",
    "opentelemetry": "metrics",
    "prometheus_client": "metrics",
    "pygls": "server",
}
"""The extra of gblock that brings a package, by the package's first name."""
DEPENDENCIES = frozenset({"libcst", "msgspec", "packaging", "pathspec", "rich", "tomli", "yaml"})
"""The packages that come with gblock, except with ``pip install --no-deps``."""


def remedy(module: str | None) -> str | None:
    """Return what is missing and the command that installs it, None for any other package.

    Args:
        module: The dotted name that could not be imported.
    """
    package = (module or "").partition(".")[0]
    if package in EXTRAS:
        wanted = f"'gblock[{EXTRAS[package]}]'"
    elif package in DEPENDENCIES:
        wanted = "gblock"
    else:
        return None
    return f"{package} is not installed: python -m pip install {wanted}"
