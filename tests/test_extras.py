"""The optional dependencies, and the error of a command that lacks one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tomli
from probing import fleet

from gblock import extras
from gblock.cli import main
from gblock.distribution import required
from gblock.errors import FaultError
from gblock.output.report import html

PROJECT = tomli.loads(
    Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
)["project"]
PACKAGES = {"pyyaml": "yaml"}
"""The packages of distributions that are called differently."""
BAD = "import gevent\nimport os\n\n\ndef run():\n    os.system('sync')\n\n\ngevent.spawn(run)\n"
WITHOUT = (
    "import sys; sys.modules[sys.argv.pop(1)] = None\n"
    "from gblock.cli import main\n"
    "if __name__ == '__main__': sys.exit(main())\n"
)


def packages(requirements):
    names = map(required, requirements)
    return {PACKAGES.get(name, name.replace("-", "_")) for name in names}


def test_the_linter_installs_no_more_than_it_needs():
    assert packages(PROJECT["dependencies"]) == extras.DEPENDENCIES
    assert extras.DEPENDENCIES.isdisjoint(extras.EXTRAS)


def test_each_extra_brings_the_package_that_is_missing():
    declared = PROJECT["optional-dependencies"]
    for package, extra in extras.EXTRAS.items():
        if package not in ("greenlet", "opentelemetry"):  # gevent's own, and the host's
            assert package in packages(declared[extra])
    (everything,) = declared["all"]
    assert set(everything.removeprefix("gblock[").rstrip("]").split(",")) == set(
        extras.EXTRAS.values()
    ) | {"trial"}


@pytest.mark.parametrize(
    ("package", "argv", "wanted"),
    [
        ("libcst", ("check", "bad.py"), "gblock"),
        pytest.param(
            "libcst", ("check", "bad.py", "--jobs", "2"), "gblock", marks=pytest.mark.live
        ),
        ("msgspec", ("blockers",), "gblock"),
        pytest.param(
            "rich", ("check", "bad.py", "--color", "always"), "gblock", marks=pytest.mark.live
        ),
        ("packaging", ("deps", "."), "gblock"),
        ("jinja2", ("report", "records", "--format", "html"), "'gblock[report]'"),
    ],
)
def test_a_missing_package_is_one_line_with_the_command_that_installs_it(
    tree, package, argv, wanted
):
    root = tree({"bad.py": BAD, "requirements.txt": "gevent\n"})
    fleet(root / "records")
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT, package, *argv], capture_output=True, text=True
    )

    assert 2 == run.returncode
    expected = f"error: this command needs a package: {package} is not installed: "
    assert f"{expected}python -m pip install {wanted}\n" == run.stderr
    assert "" == run.stdout


@pytest.mark.parametrize("is_inside", [False, True], ids=["a command", "the check of a file"])
def test_a_missing_package_is_no_fault_of_gblocks(stand_in, capsys, is_inside):
    def check(request, _progress=None, facts=None):
        try:
            raise ModuleNotFoundError("no", name="libcst.metadata")
        except ModuleNotFoundError as error:
            if is_inside:
                raise FaultError("a.py") from error
            raise

    stand_in("engine", Request=lambda *values, **options: None, Check=check)

    assert 2 == main(["check", "a.py", "--isolated"])
    expected = "error: this command needs a package: libcst is not installed: "
    assert ("", f"{expected}python -m pip install gblock\n") == tuple(capsys.readouterr())


@pytest.mark.parametrize("name", ["gblock.absent", None])
def test_another_module_that_is_missing_is_a_fault(stand_in, capsys, name):
    def check(request, _progress=None, facts=None):
        raise ModuleNotFoundError("no", name=name)

    stand_in("engine", Request=lambda *values, **options: None, Check=check)

    assert 2 == main(["check", "a.py", "--isolated"])
    assert "gblock itself failed" in capsys.readouterr().err


def test_the_html_page_names_its_extra(tree, monkeypatch, capsys):
    fleet(tree({}) / "records")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    html._page.cache_clear()  # another test may have rendered a page in this process

    assert 2 == main(["report", "records", "--format", "html", "--isolated"])
    assert "python -m pip install 'gblock[report]'\n" in capsys.readouterr().err


def test_another_package_has_no_remedy():
    assert extras.remedy("gblock.absent") is None
    assert extras.remedy(None) is None
