"""`unknown-native-call` looks at what is installed, and at nothing unless it is selected."""

from __future__ import annotations

import pytest
from harness import INSTALLED, assert_exactly, check, report_of

from gblock.config import Config
from gblock.errors import UserError
from gblock.packages import environment

RULE = "unknown-native-call"


@pytest.mark.parametrize(
    "text",
    [
        "from shop_scanner import Scanner as S\nS('x')  # expect: unknown-native-call\n",
        "from shop_scanner.deep import go\ngo()  # expect: unknown-native-call\n",
        "import shop_scanner.deep as d\nd.other.go()  # expect: unknown-native-call\n",
        """
        import shop_scanner

        class Till:
            def __init__(self):
                self.scanner = shop_scanner.Scanner()  # expect: unknown-native-call

            def read(self):
                return self.scanner.read()  # expect: unknown-native-call
        """,
        """
        import shop_scanner

        with shop_scanner.Scanner() as s:  # expect: unknown-native-call
            pass
        """,
        """
        from shop import codec, orders

        codec.encode([])  # expect: unknown-native-call
        orders.make()
        """,
        """
        import gevent
        import shop_scanner

        gevent.get_hub().threadpool.apply(shop_scanner.read, ())
        """,
        "import shop_scanner\ntry:\n    f()\nexcept shop_scanner.ScannerError:\n    g()\n",
        "import shop_scanner\nhandler = shop_scanner.read\n",
        "import markupsafe, pluggy\nmarkupsafe.escape('')\npluggy.x()\n",
        "shop_scanner.read()\n",
    ],
)
def test_calls_into_unknown_packages_are_reported(text, tmp_path):
    assert_exactly(tmp_path, text, select=["default", RULE])


def test_an_object_is_followed_to_other_files(tmp_path):
    files = {
        "device.py": "import shop_scanner\n\nscanner = shop_scanner.Scanner()\n",
        "till.py": "from device import scanner\n\n\ndef read():\n    return scanner.read()\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"), python=INSTALLED)
    for paths in ([tmp_path], [tmp_path / "till.py"]):
        report = check([str(path) for path in paths], config, select=[RULE])

        assert ("till.py", 5) in {
            (d.filename.rpartition("/")[2], d.location.row) for d in report.diagnostics
        }


def test_the_diagnostic_names_the_package_and_the_way_to_measure_it(tmp_path):
    text = "import shop_scanner\nshop_scanner.read()\n"
    (one,) = report_of(tmp_path, text, select=[RULE]).diagnostics

    assert "goes into shop-scanner, compiled code" in one.message
    assert "gblock trial" in one.help
    assert "[[harmless]]" in one.help
    assert "warning" == one.severity.label
    assert "unknown-native-call-shop-scanner" == one.blocker


def test_a_comment_hides_it(tmp_path):
    text = "import shop_scanner\nshop_scanner.read()  # gblock: ignore[unknown-native-call]\n"
    report = report_of(tmp_path, text, select=["default", RULE])

    assert ((), 1) == (report.diagnostics, report.suppressed)


@pytest.mark.parametrize("options", [{}, {"select": ["all"], "ignore": [RULE]}])
def test_it_costs_nothing_where_it_is_not_selected(tmp_path, monkeypatch, options):
    def chosen(python, config):
        raise AssertionError("the environment was read")

    monkeypatch.setattr(environment, "chosen", chosen)
    path = tmp_path / "service.py"
    path.write_text("import shop_scanner\nshop_scanner.read()\n")
    config = Config(root=str(tmp_path))

    assert () == check([str(path)], config, **options).diagnostics
    with pytest.raises(AssertionError, match="was read"):
        check([str(path)], config, select=[RULE])


def test_the_command_line_goes_before_the_configuration(tmp_path):
    text = "import shop_scanner\nshop_scanner.read()\n"

    with pytest.raises(UserError, match="does not exist"):
        report_of(tmp_path, text, select=[RULE], python=str(tmp_path / "gone"))


def test_what_is_off_by_default_stays_off_beside_a_rule_that_is_selected(tmp_path):
    text = "import json\n\n\ndef f(text):\n    return json.loads(text)\n"

    assert () == report_of(tmp_path, text, select=["default", RULE]).diagnostics
