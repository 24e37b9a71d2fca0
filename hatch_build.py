"""When gblock is installed, the words of its catalog are written down beside it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Runs for wheels, those of editable installations included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write them; nothing of gblock's but the catalog and the standard library is needed."""
        sys.path.insert(0, self.root)
        try:
            from gblock.outline import Outlines
            from gblock.project.triage import vocabulary, words
        finally:
            sys.path.remove(self.root)
        path = Path(self.root, "gblock", "project", "triage", f"{words.MODULE}.py")
        with suppress(OSError):  # without it a run is slower, with the same result
            path.write_text(words.module(vocabulary.told(Outlines())), encoding="utf-8")
