"""The options of the command line, which hold for all folders of the workspace."""

from __future__ import annotations

from typing import NamedTuple


class ServerOptions(NamedTuple):
    """The options of ``gblock server``; nothing of a workspace can change them."""

    config: str | None = None
    """A file of settings, instead of those of each folder."""
    isolated: bool = False
    """True if no file of settings is read."""
    min_severity: str | None = None
    """``note``, ``warning`` or ``error``; None for the setting of each folder."""
    all_contexts: bool = False
    """True if calls in commands, migrations and tests are reported too."""
    observed: tuple[str, ...] = ()
    """Files and directories of records."""
