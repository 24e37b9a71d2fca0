"""How the names of distributions are compared."""

from __future__ import annotations

import re


def normalized(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
