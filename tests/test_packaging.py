from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import gblock
from gblock.outline import Outlines
from gblock.project.triage import vocabulary, words

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the sources that git would carry, without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.mark.slow
def test_the_wheel_carries_the_package_whole_and_nothing_else(wheel):
    # Directories that Python makes are not part of the package.
    expected = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gblock").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"gblock/known_blockers.toml", "gblock/py.typed"} <= expected
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert expected == packed


@pytest.mark.slow
def test_the_wheel_carries_the_words_of_its_catalog(wheel):
    expected = words.module(vocabulary.told(Outlines()))
    assert expected == wheel.read(f"gblock/project/triage/{words.MODULE}.py").decode()


@pytest.mark.slow
def test_the_wheel_says_what_it_is(wheel):
    folder = f"gblock-{gblock.__version__}.dist-info"
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert f"Version: {gblock.__version__}\n" in metadata
    assert "Requires-Python: >=3.10\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert b"gblock = gblock.cli:main" in wheel.read(f"{folder}/entry_points.txt")
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


@pytest.mark.slow
def test_the_wheel_runs_without_what_lies_beside_it(wheel, tmp_path):
    wheel.extractall(tmp_path / "site")
    program = (
        "import sys; sys.path.insert(0, 'site'); from gblock.cli import main; sys.exit(main())"
    )
    (tmp_path / "worker.py").write_text(
        "from confluent_kafka import Producer\n\nProducer({}).flush()\n", encoding="utf-8"
    )
    command = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-I", "-c", program]
    run = subprocess.run(
        [*command, "check", "worker.py", "--output-format", "concise", "-q"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={},
    )
    assert run.stderr == ""
    assert run.stdout.startswith("worker.py:3:1: warning[blocking-call] ")


def test_every_library_that_is_imported_is_declared():
    declared = set(re.findall(r'^    "([\w-]+)[^"]*",$', PROJECT, re.MULTILINE))
    imported = set()
    for path in (ROOT / "gblock").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.partition(".")[0])
    # The packages whose names on PyPI are others.
    imported = {
        {"prometheus_client": "prometheus-client", "opentelemetry": "opentelemetry-sdk"}.get(n, n)
        for n in imported
    }
    own = imported - set(sys.stdlib_module_names) - {"gblock", "tomllib", "greenlet"}
    assert own <= declared


def test_the_hook_checks_the_project_once_and_what_the_project_excludes_not_at_all():
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "- id: gblock\n" in hooks
    assert "  entry: gblock check --force-exclude\n" in hooks
    assert "  types_or: [python]\n" in hooks
    assert "  require_serial: true\n" in hooks
