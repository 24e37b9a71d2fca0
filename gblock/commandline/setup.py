"""``gblock init``: settings, a baseline, a pre-commit hook and a CI job for a project."""

from __future__ import annotations

import os
import re

from gblock import __version__
from gblock.errors import UserError
from gblock.writing import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple

BASELINE = "gblock-baseline.json"
_HOOK = f"""\
  - repo: https://github.com/gblock/gblock
    rev: v{__version__}
    hooks:
      - id: gblock
"""
_WORKFLOW = """\
name: gblock
on:
  pull_request:
  push:
    branches: [main, master]
permissions:
  contents: read
  security-events: write
jobs:
  gblock:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.x"
      - run: python -m pip install gblock
      - run: gblock check . --output-format github --output-format sarif --output-file gblock.sarif
      - uses: github/codeql-action/upload-sarif@v3
        if: always()
        with:
          sarif_file: gblock.sarif
"""
GITLAB = """\
gblock:
  image: python:3-slim
  script:
    - python -m pip install gblock
    - gblock check . --output-format text --output-format gitlab --output-file gblock.json
  artifacts:
    when: always
    reports:
      codequality: gblock.json
"""
_SKIPPED = ("vendor", "third_party", "thirdparty", "_vendor", "extern")
"""Names of directories that hold code of others."""


class SetUpFile(NamedTuple):
    """One file of a set-up."""

    path: str
    done: str
    """The action, or the reason why nothing was done."""


class Setup:
    """Sets up one project.

    Args:
        directory: The project's directory.
        force: True to replace existing files.
    """

    def __init__(self, directory: str, *, force: bool = False) -> None:
        if not os.path.isdir(directory):
            raise UserError(directory, "not a directory; pass the project's directory")
        self._directory = directory
        self._force = force
        self._pyproject = self._path("pyproject.toml")

    @property
    def baseline(self) -> str:
        """The path of the baseline."""
        return self._path(BASELINE)

    @property
    def writes_baseline(self) -> bool:
        """Return whether there is no baseline yet, or it is to be replaced."""
        return self._force or not os.path.exists(self.baseline)

    def settings(self) -> SetUpFile:
        """Write the settings, to ``pyproject.toml`` if it exists.

        Raises:
            UserError: if the file cannot be read or written.
        """
        own = self._path("gblock.toml")
        if os.path.isfile(own) and not self._force:
            return SetUpFile(own, "has settings already; --force replaces them")
        lines = list(self._lines())
        if os.path.isfile(own) or not os.path.isfile(self._pyproject):
            write(own, "\n".join(lines) + "\n")
            return SetUpFile(own, "written")
        text = _read(self._pyproject)
        table = re.compile(r"^\[tool\.gblock\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)
        section = "\n".join(["[tool.gblock]", *lines]) + "\n"
        found = table.search(text)
        if found or re.search(r"^\[tool\.gblock\.", text, re.MULTILINE):
            if not (found and self._force):
                message = "has [tool.gblock] already; --force replaces it"
                return SetUpFile(self._pyproject, message)
            text = f"{text[: found.start()]}{section}{text[found.end() :]}"
        else:
            text = f"{text.rstrip()}\n\n{section}" if text.strip() else section
        write(self._pyproject, text)
        return SetUpFile(self._pyproject, "[tool.gblock] written")

    def hook(self) -> SetUpFile:
        """Add the pre-commit hook to the hooks of the project.

        Raises:
            UserError: if the file cannot be read or written.
        """
        path = self._path(".pre-commit-config.yaml")
        if not os.path.isfile(path):
            write(path, f"repos:\n{_HOOK}")
            return SetUpFile(path, "written")
        text = _read(path)
        if "gblock" in text:
            return SetUpFile(path, "has gblock already")
        entry = re.search(r"^([ ]*)- repo:", text, re.MULTILINE)
        repos = re.search(r"^repos:[ \t]*(?:#[^\n]*)?\n", text, re.MULTILINE)
        if repos is None or entry is None:
            return SetUpFile(path, f"has no `repos` list; add:\n{_HOOK}")
        # Indented like the existing entries: YAML allows a list at its key's own column.
        hook = "".join(f"{entry[1]}{line[2:]}" for line in _HOOK.splitlines(keepends=True))
        at = repos.end()
        write(path, f"{text[:at]}{hook}{text[at:]}")
        return SetUpFile(path, "hook added")

    def pipeline(self) -> SetUpFile:
        """Write a workflow for GitHub, or print the job for GitLab's pipeline.

        Raises:
            UserError: if the file cannot be written.
        """
        gitlab = self._path(".gitlab-ci.yml")
        if os.path.isfile(gitlab):
            if "gblock" in _read(gitlab):
                return SetUpFile(gitlab, "has gblock already")
            return SetUpFile(gitlab, f"was not changed; add this job:\n{GITLAB}")
        workflow = self._path(".github/workflows/gblock.yml")
        if os.path.exists(workflow) and not self._force:
            return SetUpFile(workflow, "exists already; --force replaces it")
        try:
            os.makedirs(os.path.dirname(workflow), exist_ok=True)
        except OSError as error:
            raise UserError(workflow, f"cannot be written: {error.strerror}") from None
        write(workflow, _WORKFLOW)
        return SetUpFile(workflow, "written")

    def _lines(self) -> Iterator[str]:
        if os.path.isdir(self._path("src")):
            yield 'src = ["src"]'
        others = [name for name in _SKIPPED if os.path.isdir(self._path(name))]
        if others:
            listed = ", ".join(f'"{name}/"' for name in others)
            yield f"exclude = [{listed}]"
        yield f'baseline = "{BASELINE}"'
        yield 'min-severity = "warning"'

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, *name.split("/"))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UserError(path, f"cannot be read: {reason}") from None
