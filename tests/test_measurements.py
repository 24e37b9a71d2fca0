"""The figures of the catalog: where they come from, and who reads them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from harness import CATALOG

from gblock import catalog, measurements, outline
from gblock.errors import UserError

OWN = """
[[blocker]]
id = "os-read"
distribution = "shop"
symbols = ["shop.read"]
kind = "waits"
level = "error"
why = "It waits."
instead = "Do not."
"""


def test_an_entry_has_its_figures_beside_what_a_person_wrote():
    written = catalog.load().by_id
    for blocker in CATALOG.blockers:
        before = written[blocker.id].evidence
        for key in ("belief", "found", "reference"):
            assert getattr(before, key) == getattr(blocker.evidence, key)
        assert not before.measured


def test_a_users_entry_of_a_known_id_does_not_get_the_built_in_figures(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN, encoding="utf-8")
    known = measurements.load((str(path),))

    assert not known.by_id["os-read"].evidence.measured
    assert known.by_id["os-write"].evidence.measured


def test_a_users_entry_may_keep_its_evidence(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"{OWN}[blocker.evidence]\nelapsed = 0.5\nmax_gap = 0.5\n", encoding="utf-8")

    assert measurements.load((str(path),)).by_id["os-read"].evidence.max_gap == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[blocker.a]\nelapsed = ", "invalid TOML"),
        ("blocker = 3", "Expected `object`, got `int`"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_of_figures_that_is_wrong_is_an_error(tmp_path, text, message):
    path = tmp_path / "measurements.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    with pytest.raises(UserError, match=r"measurements\.toml") as caught:
        measurements.read(str(path))
    assert message in str(caught.value)


def test_a_figure_of_a_wrong_type_is_an_error():
    with pytest.raises(UserError, match="elapsed"):
        catalog.parse(outline.read(), figures={"blocker": {"os-read": {"elapsed": "long"}}})


@pytest.mark.live
def test_a_check_does_not_read_the_figures(tmp_path):
    path = tmp_path / "shop.py"
    path.write_text("import os\n\nos.system('x')\n", encoding="utf-8")
    code = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        "from gblock.cli import main\n"
        f"code = main(['check', {str(path)!r}])\n"
        "assert any(name.endswith('known_blockers.toml') for name in opened), opened\n"
        "assert not any(name.endswith('measurements.toml') for name in opened)\n"
        "assert 'gblock.measurements' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
    assert "os.system" in run.stdout
