"""Times as people write them on a command line."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from gblock.errors import UserError

_AGO = re.compile(r"(\d+(?:\.\d+)?)([smhd])(?: ago)?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def moment(text: str, now: float) -> float:
    """Return the epoch seconds that a text means.

    Args:
        text: A date or a date with a time of ISO 8601, in UTC where it names no zone; epoch
            seconds; or a time ago such as ``90m``, ``6h``, ``2d``.
        now: The current time in epoch seconds.

    Raises:
        UserError: for a text that is none of them.
    """
    text = text.strip()
    if match := _AGO.fullmatch(text):
        return now - float(match[1]) * _UNITS[match[2]]
    if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
        return float(text)
    try:
        # Python 3.10 does not know the Z of ISO 8601.
        found = datetime.fromisoformat(text.removesuffix("Z"))
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        raise UserError(
            text, "is not a time: write 2026-11-22T14:00, epoch seconds or 6h"
        ) from None
