"""Fingerprints: stable identities of diagnostics across runs, for other programs.

As in a baseline, no row is included, so edits above, renamed variables and reformatting change
nothing. A file that is moved gets new fingerprints.
"""

from __future__ import annotations

import hashlib

from gblock.diagnostics import order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.diagnostics import Diagnostic


def fingerprints(diagnostics: Iterable[Diagnostic]) -> dict[Diagnostic, str]:
    """Return a unique fingerprint for each diagnostic.

    Args:
        diagnostics: All of a run, hidden ones too, so that a suppression changes no other one.
    """
    counts: dict[tuple[str, ...], int] = {}
    found: dict[Diagnostic, str] = {}
    for diagnostic in sorted(dict.fromkeys(diagnostics), key=order):
        name = diagnostic.filename.replace("\\", "/")
        what = diagnostic.symbol or ("" if diagnostic.blocker else diagnostic.message)
        key = (name, diagnostic.code, diagnostic.blocker or "", what)
        counts[key] = number = counts.get(key, 0) + 1
        text = "\n".join([*key, str(number)])
        found[diagnostic] = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    return found
