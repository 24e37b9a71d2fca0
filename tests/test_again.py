"""One changed file of a project in memory has the diagnostics of a check of the whole project."""

import os
import shutil
from pathlib import Path

import pytest
from harness import sampled

from gblock import config
from gblock.engine import Check, Request
from gblock.engine.again import Again
from gblock.rules import OF_PROCESSES

PROJECTS = Path(__file__).parent / "fixtures" / "projects"
ALL = sampled(sorted(path for path in PROJECTS.iterdir() if path.is_dir()))
EDITS = {
    "none": lambda text: text,
    "a row above": lambda text: b"\n" + text,
    "a row below": lambda text: text + b"\ntyped = 1\n",
    "half a name": lambda text: text + b"\nty",
    "a function below": lambda text: text + b"\n\ndef typed(x):\n    return x\n",
    "as before": lambda text: text,
    "one half": lambda text: text[: text.rfind(b"\n", 0, len(text) // 2) + 1],
}


def checked(folder, given=None):
    check = Check(Request([str(folder)], config.find(str(folder)), given=given or {}))
    return check, check.report()


def of(report, path):
    return [one for one in report.diagnostics if os.path.abspath(one.filename) == path]


def essence(diagnostics):
    return [(*one[:5], one.blocker, one.symbol, one.context) for one in about_calls(diagnostics)]


def about_calls(diagnostics):
    return [one for one in diagnostics if one.code not in OF_PROCESSES]


@pytest.fixture
def project(tmp_path, monkeypatch):
    def copied(path):
        folder = tmp_path / path.name
        shutil.copytree(path, folder)
        monkeypatch.chdir(folder)
        return folder

    return copied


@pytest.mark.parametrize("path", ALL)
def test_an_unchanged_file_has_the_same_diagnostics(project, path):
    folder = project(path)
    check, report = checked(folder)
    again = Again(check)
    for path in list(check.codebase.reported):
        found = again.diagnostics(path, Path(path).read_bytes())
        assert found is None or found == about_calls(of(report, path)), path


@pytest.mark.parametrize("path", ALL)
def test_a_changed_file_has_the_diagnostics_of_a_whole_check(project, path):
    folder = project(path)
    check, report = checked(folder)
    again = Again(check)
    paths = [path for path in check.codebase.reported if of(report, path)][:2]
    for path in paths:
        expected = {}
        for edit, change in EDITS.items():
            data = change(Path(path).read_bytes())
            if data not in expected:
                _, whole = checked(folder, {path: data})
                expected[data] = essence(of(whole, path))
            found = again.diagnostics(path, data)
            assert found is not None
            assert essence(found) == expected[data], (path, edit)
        again.diagnostics(path, Path(path).read_bytes())


def test_what_a_file_adds_is_taken_back(project):
    folder = project(PROJECTS / "cyclic")
    check, report = checked(folder)
    again = Again(check)
    (path, *_) = [path for path in check.codebase.reported if of(report, path)]
    again.prepare([path])
    before = [len(table) for table, _ in again._memos._tables]
    again.diagnostics(path, Path(path).read_bytes())

    assert [len(table) for table, _ in again._memos._tables] == before
    again.close()
