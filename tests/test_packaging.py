from __future__ import annotations

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import zipfile
from importlib import metadata
from pathlib import Path

import probed
import pytest

import gblock
from gblock.outline import Outlines
from gblock.project.triage import vocabulary, words

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def built(kind, folder):
    """A distribution, built from the sources that git would carry, without the network."""
    command = [
        sys.executable,
        "-m",
        "build",
        f"--{kind}",
        "--no-isolation",
        "--outdir",
        folder,
        ROOT,
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory):
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel(wheel_file):
    with zipfile.ZipFile(wheel_file) as archive:
        yield archive


@pytest.mark.live
def test_the_sdist_carries_everything_that_its_tests_read(tmp_path):
    path = built("sdist", tmp_path)
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    (folder,) = (one for one in tmp_path.iterdir() if one.is_dir())
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    assert set(tracked.stdout.splitlines()) <= packed

    # These read files of the whole tree.
    files = [f"tests/test_{name}.py" for name in ("packaging", "docs", "extras", "catalog")]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "0", *files]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert run.returncode == 0, run.stdout[-3000:]


# A service whose main module patches, blocks once and says how it ended.
SERVICE = """
from gevent import monkey
monkey.patch_all()
import sys
import gevent, gevent.monkey
def block():
    gevent.monkey.get_original("time", "sleep")(0.4)
gevent.sleep(0.1)
gevent.spawn(block).join()
gevent.sleep(0.3)
own = {name.partition(".")[0] for name in sys.modules}
print(sorted(own & {"libcst", "msgspec", "rich", "yaml", "pathspec", "packaging", "jinja2"}))
print(sorted(name for name in sys.modules if name.startswith("gblock")))
"""
OF_THE_SERVICE = ("gevent", "greenlet", "zope.event", "zope.interface", "gunicorn", "packaging")


@pytest.fixture(scope="module")
def image(wheel_file, tmp_path_factory):
    """An environment that has gevent and gunicorn, and gblock installed without dependencies."""
    folder = tmp_path_factory.mktemp("image")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    words = ["install", "--quiet", "--no-deps", "--no-index", wheel_file]
    sites = [sysconfig.get_path("purelib", vars={"base": str(folder)})]
    for name in OF_THE_SERVICE:
        for file in metadata.files(name) or ():
            if not str(file).startswith(".."):
                target = Path(sites[0], file)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), target)
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *words], check=True)
    return python


def path_of(image):
    return {"PATH": f"{image.parent}{os.pathsep}{os.environ['PATH']}"}


def in_image(image, folder, *words, **settings):
    env = probed.environment(None, **path_of(image), **settings)
    return subprocess.run([image, *words], capture_output=True, text=True, cwd=folder, env=env)


@pytest.mark.live
def test_the_probe_of_a_wheel_without_dependencies_records_a_service(image, tmp_path):
    (tmp_path / "service.py").write_text(SERVICE, encoding="utf-8")
    quiet = in_image(image, tmp_path, "service.py")
    assert ("[]\n['gblock', 'gblock.probing', 'gblock.probing.hook']\n", "") == (
        quiet.stdout,
        quiet.stderr,
    )

    run = in_image(
        image, tmp_path, "service.py", GBLOCK_PROBE=1, GBLOCK_PROBE_DIR=tmp_path / "records"
    )
    assert (0, "") == (run.returncode, run.stderr)
    assert "gblock.runtime_probe" in run.stdout
    found = probed.Probed(tmp_path / "records").at("block")
    assert [True] == [block["duration"] >= 0.35 for block, _ in found]


@pytest.mark.live
def test_a_worker_of_gunicorn_is_recorded_without_the_linters_packages(image, tmp_path):
    app = "import fcntl, os, time\ndef app(environ, start):\n    start('200 OK', [])\n"
    app += "    os.system('sleep 0.4')\n    return [b'ok']\n"
    (tmp_path / "service.py").write_text(app, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"GBLOCK_PROBE": 1, "GBLOCK_PROBE_DIR": tmp_path / "records"}
    env = probed.environment(None, **path_of(image), **settings)
    words = ["-m", "gunicorn", "-k", "gevent", "-b", f"127.0.0.1:{port}", "service:app"]
    server = subprocess.Popen(
        [image, *words], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
    )
    try:

        def answers():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=20) as answer:
                    return answer.read() == b"ok"
            except OSError:
                return False

        assert probed.wait_until(answers)
    finally:
        server.terminate()
        said = server.communicate(timeout=20)[1]
    assert probed.Probed(tmp_path / "records").at("app"), said


@pytest.mark.live
def test_a_command_without_its_packages_says_how_to_install_them(image, tmp_path):
    (tmp_path / "a.py").write_text("import os\nimport gevent\nos.system('x')\n", encoding="utf-8")
    run = in_image(image, tmp_path, "-m", "gblock", "check", "a.py")

    assert (2, "") == (run.returncode, run.stdout)
    assert run.stderr.endswith(" is not installed: python -m pip install gblock\n")
    assert 0 == in_image(image, tmp_path, "-m", "gblock", "run", "--", image, "-c", "").returncode


@pytest.mark.live
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


@pytest.mark.live
def test_the_wheel_carries_the_words_of_its_catalog(wheel):
    expected = words.module(vocabulary.told(Outlines()))
    assert expected == wheel.read(f"gblock/project/triage/{words.MODULE}.py").decode()


@pytest.mark.live
def test_the_wheel_says_what_it_is(wheel):
    folder = f"gblock-{gblock.__version__}.dist-info"
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert f"Version: {gblock.__version__}\n" in metadata
    assert "Requires-Python: >=3.10\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert b"gblock = gblock.cli:main" in wheel.read(f"{folder}/entry_points.txt")
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


@pytest.mark.live
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
    own = imported - set(sys.stdlib_module_names) - {"gblock", "greenlet"}
    assert own <= declared


def test_the_hook_checks_the_project_once_and_what_the_project_excludes_not_at_all():
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "- id: gblock\n" in hooks
    assert "  entry: gblock check --force-exclude\n" in hooks
    assert "  types_or: [python]\n" in hooks
    assert "  require_serial: true\n" in hooks
