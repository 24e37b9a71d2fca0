"""Names that are common in a large repository change nothing of what a service does."""

import shutil
from pathlib import Path

import pytest
from harness import sampled, unrelated

from gblock import config
from gblock.engine import Check, Request

PROJECTS = Path(__file__).parent / "fixtures" / "projects"
ALL = sampled(sorted(path for path in PROJECTS.iterdir() if path.is_dir()))


def checked(folder):
    """Return the places, blockers and contexts of a project, whatever their severity.

    The size of a project decides whether a call of unknown callers is a note.
    """
    request = Request(
        [str(folder)], config.find(str(folder)), all_contexts=True, min_severity="note"
    )
    return sorted(
        (one.filename, one.location, one.code, one.blocker or "", one.context or "")
        for one in Check(request).report().diagnostics
    )


@pytest.mark.parametrize("path", ALL)
def test_modules_that_use_the_same_names_change_nothing(tmp_path, monkeypatch, path):
    folder = tmp_path / path.name
    shutil.copytree(path, folder)
    monkeypatch.chdir(folder)
    alone = checked(folder)
    files = {
        str(one.relative_to(folder)): one.read_text(encoding="utf-8", errors="replace")
        for one in folder.rglob("*.py")
    }
    for name, text in unrelated(files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    assert alone == checked(folder)
