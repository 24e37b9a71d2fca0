"""What identifies a diagnostic from run to run, so that other programs know it again.

As in a baseline no row is part of it: an edit above, a new name of a variable or another format of
the code leaves it as it is. A file that moves has new ones.
"""

from __future__ import annotations

import hashlib

from gblock.diagnostics import order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.diagnostics import Diagnostic


def fingerprints(diagnostics: Iterable[Diagnostic]) -> dict[Diagnostic, str]:
    """Return a fingerprint for each diagnostic, of which no two are the same.

    Args:
        diagnostics: All of a run, hidden ones too: a suppression must not change the others'.
    """
    counts: dict[tuple[str, ...], int] = {}
    found: dict[Diagnostic, str] = {}
    for diagnostic in sorted(set(diagnostics), key=order):
        name = diagnostic.filename.replace("\\", "/")
        what = diagnostic.symbol or ("" if diagnostic.blocker else diagnostic.message)
        key = (name, diagnostic.code, diagnostic.blocker or "", what)
        counts[key] = number = counts.get(key, 0) + 1
        text = "\n".join([*key, str(number)])
        found[diagnostic] = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    return found
