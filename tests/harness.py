"""One snippet, or a small project, against the ``# expect:`` markers on its lines.

The whole list of (file, row, rule) must be equal: a wrong row, a second report or a report of
another rule fails. Two markers hold known limits, and fail the day that the limit is gone:
``# todo-expect: name`` a miss, ``# todo-silent: name`` a false alarm.
"""

from __future__ import annotations

import builtins
import keyword
import os
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

from gblock import engine, measurements
from gblock.config import Config
from gblock.diagnostics import Report
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.modules import Modules

CATALOG = measurements.load()
"""The catalog with its figures: reading it takes a third of a second."""

INSTALLED = str(Path(__file__).parent / "fixtures" / "environment")
"""The packages that `unknown-native-call` finds installed."""

PATCHING = ("gevent", "monkey", "patch_all")
"""Names whose mere presence decides which files may belong to a process on gevent."""

_MARKER = re.compile(r"#\s*(expect|todo-expect|todo-silent):\s*([\w, -]+)")


def measured():
    """The environment of a process whose coverage is measured, if that of the tests is."""
    settings = os.environ.get("COVERAGE_SETTINGS")
    return {**os.environ, "COVERAGE_PROCESS_START": settings} if settings else dict(os.environ)


def every(entries, name="id"):
    """Run a test once over all entries; its failure names each entry that fails, and why.

    The catalog has thousands, and the package hundreds of modules: pytest takes longer to start a
    test than most of them take.
    """

    def decorated(test):
        def over_all():
            failed = {}
            for one in entries:
                try:
                    test(one)
                except AssertionError as error:
                    failed[getattr(one, name, str(one))] = str(error)
            assert {} == failed

        over_all.__name__, over_all.__doc__ = test.__name__, test.__doc__
        return over_all

    return decorated


def unrelated(files):
    """Return many modules that use each name of a project for something of their own.

    Args:
        files: The texts of the project's modules by their paths.
    """
    words = {word for text in files.values() for word in re.findall(r"[^\W\d]\w*", text)}
    words -= {*keyword.kwlist, *dir(builtins), *PATCHING}
    words -= {part for name in files for part in Path(name).with_suffix("").parts}
    used = ", ".join(f"own.{word}" for word in sorted(words))
    return {f"elsewhere/part{n}.py": f"def used(own): return [{used}]\n" for n in range(40)}


def sampled(paths):
    """Parameters: each path, of which the smallest with each rule's markers are not ``live``.

    What holds of one project or file is tried on all of them, which takes minutes.
    """
    missing = {name for path in paths for name in _names(path)}
    few = set()
    for path in sorted(paths, key=lambda one: (len(_text(one)), one.name)):
        if missing & _names(path):
            few.add(path)
            missing -= _names(path)
    return [
        pytest.param(
            path,
            id=f"{path.parent.name}/{path.name}",
            marks=() if path in few else pytest.mark.live,
        )
        for path in paths
    ]


def _names(path):
    return {name for _, name in expected(_text(path))}


@cache
def _text(path):
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def check(paths, config: Config, **options: object) -> Report:
    """Check some paths; the options are fields of a request.

    Most snippets say nothing of gevent: they are judged as if they ran on it.
    """
    return engine.check(engine.Request(paths, config, **{"assume_gevent": True, **options}))


def expected(text: str) -> list[tuple[int, str]]:
    """The rows and names that are reported of a text today, by its markers, sorted."""
    return _marked(text, ("expect", "todo-silent"))


def _marked(text: str, kinds: tuple[str, ...]) -> list[tuple[int, str]]:
    return sorted(
        (row, name.strip())
        for row, line in enumerate(text.split("\n"), 1)  # not at form feeds, as Python does
        for kind, names in _MARKER.findall(line)
        if kind in kinds
        for name in names.split(",")
    )


def _overcome(text: str, got: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The known limits of a text that hold no longer: their markers are to be changed."""
    found = [one for one in _marked(text, ("todo-expect",)) if one in got]
    return found + [one for one in _marked(text, ("todo-silent",)) if one not in got]


def report_of(directory: Path, text: str, **options: object) -> Report:
    """Check one snippet as the only file of a project."""
    path = directory / "service.py"
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return check([str(path)], Config(root=str(directory), python=INSTALLED), **options)


def assert_exactly(directory: Path, text: str, **options: object) -> None:
    """Fail unless a snippet's diagnostics are those that its markers ask for."""
    text = textwrap.dedent(text).lstrip("\n")
    report = report_of(directory, text, **options)
    got = sorted((d.location.row, d.code) for d in report.diagnostics)

    assert not report.problems, report.problems
    assert not _overcome(text, got), "a limit is gone: change its todo marker"
    assert expected(text) == got, "\n".join(f"{d.location.row}: {d}" for d in report.diagnostics)


def assert_project(root: Path, **options: object) -> None:
    """Fail unless the diagnostics of a whole project are those of its markers."""
    files = sorted(path for path in root.rglob("*.py"))
    wanted = [
        (str(path.relative_to(root)), row, name)
        for path in files
        for row, name in expected(path.read_text(encoding="utf-8"))
    ]
    config = Config(root=str(root), filename=str(root / "gblock.toml"), python=INSTALLED)
    report = check([str(root)], config, **options)
    got = [
        (str(Path(d.filename).resolve().relative_to(root.resolve())), d.location.row, d.code)
        for d in report.diagnostics
    ]

    assert not report.problems, report.problems
    for path in files:
        name = str(path.relative_to(root))
        here = [(row, code) for filename, row, code in got if filename == name]
        assert not _overcome(path.read_text(encoding="utf-8"), here), f"{name}: a limit is gone"
    assert sorted(wanted) == sorted(got), "\n".join(map(str, report.diagnostics))


def inferring(root: Path, files: dict[str, str], sources: tuple[str, ...] = ()) -> Inference:
    """Return the inference for a project of these files, with the whole catalog."""
    paths = []
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        paths.append(str(path))
    return Inference(Modules(str(root), paths, sources), CATALOG)


def symbols(inference: Inference, path: Path) -> list[tuple[int, list[str]]]:
    """The row of each call in a file, with the dotted names of what it can call."""
    summary = inference.modules.summary(str(path))
    return [
        (call.row, found)
        for call in summary.calls
        if (found := inference.callees.of_call(call, Place(str(path), call.scope, call.path)))
    ]
