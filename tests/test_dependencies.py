"""`gblock deps`: what the catalog says of what is installed, and where the project imports it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from harness import CATALOG
from installed import environment, install

from gblock import catalog, cli, outline
from gblock.config import Config
from gblock.output import dependencies as table
from gblock.packages import dependencies
from gblock.packages import environment as environments
from gblock.packages.unknown import outline as unknown
from gblock.packages.verdicts import Verdicts

ROOT = Path(__file__).parent.parent
_SPEC = importlib.util.spec_from_file_location("harmless", ROOT / "benchmarks" / "harmless.py")
harmless = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(harmless)
DOCUMENTS = Path(__file__).parent.parent
SO = "cpython-311-x86_64-linux-gnu.so"
FIELDS = {
    "distribution": str,
    "version": str,
    "verdict": str,
    "compiled": list,
    "libraries": list,
    "modules": list,
    "source": (str, type(None)),
    "blockers": list,
    "remedies": list,
    "harmless": (str, type(None)),
    "measured": (dict, type(None)),
    "files": int,
    "imports": list,
    "required_by": list,
}


@pytest.fixture
def installed(tmp_path):
    """An environment of one distribution of each kind."""
    root, site = environment(tmp_path / "venv")
    install(
        site,
        "confluent-kafka",
        "2.16.1",
        ["confluent_kafka/__init__.py", f"confluent_kafka/_native.{SO}"],
    )
    install(
        site, "psycopg2-binary", "2.9.13", files=["psycopg2/__init__.py", f"psycopg2/_psycopg.{SO}"]
    )
    install(site, "psycogreen", files=["psycogreen/__init__.py", "psycogreen/gevent.py"])
    install(site, "MarkupSafe", files=["markupsafe/__init__.py", f"markupsafe/_speedups.{SO}"])
    install(site, "orjson", files=["orjson/__init__.py", f"orjson/orjson.{SO}"])
    install(site, "shop-scanner", files=["shop_scanner/__init__.py", f"shop_scanner/_device.{SO}"])
    install(site, "Werkzeug", files=["werkzeug/__init__.py"])
    install(site, "ldappool", files=["ldappool/__init__.py"])
    install(site, "kombu", files=["kombu/__init__.py"])
    install(
        site,
        "itsdangerous",
        files=["itsdangerous/__init__.py"],
        metadata="Requires-Dist: MarkupSafe>=2\n",
    )
    return root


def run(capsys, *argv):
    code = cli.main(["deps", *map(str, argv)])
    out, err = capsys.readouterr()
    return code, out, err


def kinds(installed, paths, config=None):
    found = dependencies.read([str(path) for path in paths], config or Config(), str(installed))
    return {one.distribution.name: one.kind for one in found.all}


class TestVerdicts:
    def test_each_kind_has_its_verdict(self, installed, tree):
        root = tree({"a.py": ""})
        assert {
            "confluent-kafka": "blocks",
            "psycopg2-binary": "blocks",
            "psycogreen": "pure",
            "MarkupSafe": "harmless",
            "orjson": "opt-in",
            "shop-scanner": "unknown",
            "kombu": "costly",
            "Werkzeug": "blocks",
            "ldappool": "blocks",
            "itsdangerous": "pure",
        } == kinds(installed, [root / "a.py"])

    def test_a_fork_is_known_by_its_modules(self):
        verdicts = Verdicts(CATALOG)
        one = environments.Distribution(
            "psycopg2-of-ours", "1", ("psycopg2/x.so",), (), ("psycopg2",)
        )
        other = one._replace(modules=("psycopg2_of_ours",))

        assert "psycopg2-connect" in {b.id for b in verdicts.of(one).blockers}
        assert "unknown" == verdicts.of(other).kind

    @pytest.mark.parametrize(
        ("name", "blocker"),
        [
            ("argon2-cffi-bindings", "argon2-password-hasher-hash"),
            ("opencv_python", "cv2-video-capture-read"),
            ("Psycopg2.Binary", "psycopg2-connect"),
            ("pycryptodomex", "pycryptodome-scrypt"),
        ],
    )
    def test_a_distribution_is_known_by_its_other_names(self, name, blocker):
        verdict = Verdicts(CATALOG).of(environments.Distribution(name, "1", ("x.so",)))

        assert "blocks" == verdict.kind
        assert all(one.distribution == verdict.blockers[0].distribution for one in verdict.blockers)

    def test_what_the_project_calls_makes_it_cooperative(self, installed, tree):
        root = tree(
            {
                "pyproject.toml": "",
                "wsgi.py": "from psycogreen.gevent import patch_psycopg\n\npatch_psycopg()\n",
                "db.py": "import psycopg2\n",
            }
        )
        (one,) = [
            one
            for one in dependencies.read([str(root)], Config(), str(installed)).all
            if one.distribution.name == "psycopg2-binary"
        ]

        assert "cooperative" == one.kind
        assert [("psycogreen.gevent.patch_psycopg", str(root / "wsgi.py"), 3)] == [
            remedy[:3] for remedy in one.remedies
        ]
        assert "psycopg2-connect" not in {blocker.id for blocker in one.left}
        assert not one.matters

    def test_what_the_configuration_declares_cooperative_is(self, installed, tree):
        root = tree({"db.py": "import psycopg2\n"})
        config = Config(assume_cooperative=("psycopg2",))

        assert "cooperative" == kinds(installed, [root / "db.py"], config)["psycopg2-binary"]

    def test_a_catalog_of_the_users_own_makes_it_harmless(self, installed, tree):
        text = (
            '[[harmless]]\ndistribution = "shop_scanner"\nwhy = "Nothing."\n'
            '[harmless.evidence]\nreference = "us"\n'
        )
        root = tree({"a.py": "", "own.toml": text})
        config = Config(extend_catalog=(str(root / "own.toml"),))

        assert "harmless" == kinds(installed, [root / "a.py"], config)["shop-scanner"]


class TestImports:
    def of(self, installed, tree, files, name="shop-scanner", **settings):
        root = tree({"pyproject.toml": "", **files})
        config = Config(root=str(root), **settings)
        found = dependencies.read([str(root)], config, str(installed))
        (one,) = [one for one in found.all if one.distribution.name == name]
        return [(i.path.removeprefix(f"{root}/"), i.row, i.column) for i in one.imports]

    @pytest.mark.parametrize(
        "line",
        [
            "import shop_scanner",
            "import os, shop_scanner as s",
            "import shop_scanner._device",
            "from shop_scanner import Scanner",
            "from shop_scanner.device import (\n  x,\n)",
            "from shop_scanner import *",
        ],
    )
    def test_all_forms_of_an_import_are_found(self, installed, tree, line):
        files = {"a.py": f'"""import shop_scanner"""\n{line}\n{line}\n'}
        assert [("a.py", 2, 1)] == self.of(installed, tree, files)

    def test_an_import_in_a_function_has_its_column(self, installed, tree):
        files = {"a.py": "def f():\n    import shop_scanner\n", "b.py": "import shop_scanner\n"}
        assert [("a.py", 2, 5), ("b.py", 1, 1)] == self.of(installed, tree, files)

    @pytest.mark.parametrize(
        "files",
        [
            {"a.py": "import shop_scanner\n", "shop_scanner.py": ""},
            {"p/__init__.py": "", "p/a.py": "from . import shop_scanner\n"},
            {"a.py": "import shop_scanners\nfrom shop import shop_scanner\n"},
            {"tests/test_a.py": "import shop_scanner\n"},
            {"a.py": "text = 'import shop_scanner'\n"},
        ],
    )
    def test_what_is_no_import_of_it_is_none(self, installed, tree, files):
        assert [] == self.of(installed, tree, files)

    def test_the_setting_src_tells_what_is_the_projects_own(self, installed, tree):
        files = {"app/a.py": "import shop_scanner\n", "code/shop_scanner/__init__.py": ""}
        root = tree({})
        assert [("app/a.py", 1, 1)] == self.of(installed, tree, files, src=(f"{root}/src",))
        assert [] == self.of(installed, tree, files, src=(f"{root}/code",))

    def test_a_namespace_is_no_import_of_all_that_is_in_it(self, tmp_path, tree):
        root, site = environment(tmp_path / "venv")
        for name in ("a", "b"):
            install(
                site, f"google-{name}", files=[f"google/{name}/__init__.py", f"google/{name}/x.so"]
            )
        files = {"x.py": "from google import a\nimport google.a.c\n"}
        assert [("x.py", 1, 1)] == self.of(root, tree, files, "google-a")
        assert [] == self.of(root, tree, {}, "google-b")


class TestCommand:
    def test_the_table(self, capsys, installed, tree, snapshot):
        tree(
            {
                "pyproject.toml": "",
                "orders/worker.py": "import os\nfrom confluent_kafka import Consumer\n",
                "orders/more.py": "import confluent_kafka\n",
                "orders/db.py": "import psycopg2\n",
                "orders/scan.py": "import shop_scanner\n",
                "orders/page.py": "import markupsafe\n",
                "wsgi.py": "from psycogreen.gevent import patch_psycopg\npatch_psycopg()\n",
            }
        )
        code, out, err = run(capsys, ".", "--python", "venv", "--color", "never")

        assert 1 == code
        snapshot("deps.txt", out)
        assert f"```\n{out}```\n" in (DOCUMENTS / "README.md").read_text(encoding="utf-8")
        assert err == (
            "10 distributions in venv, 5 compiled: 3 blocks, 1 cooperative, 1 unknown, 1 costly, "
            "1 opt-in, 1 harmless. 7 not shown: see --all. "
            "Measure a call of what is unknown with `gblock trial`.\n"
        )
        code, out, _ = run(capsys, ".", "--python", "venv", "--color", "never", "--all")
        assert 1 == code
        snapshot("deps-all.txt", out)

    def test_a_terminal_of_80_columns_holds_it(self, capsys, installed, tree, monkeypatch):
        tree(
            {"orders/a/rather/long/path/to/the/worker.py": "import confluent_kafka, shop_scanner\n"}
        )
        monkeypatch.setenv("COLUMNS", "80")
        out = run(capsys, ".", "--python", "venv", "--color", "always", "--all")[1]

        import re

        lines = re.sub(r"\x1b\[[\d;]*m", "", out).splitlines()
        assert "\x1b[1;31mblocks" in out
        assert max(map(len, lines)) <= 80
        assert any("worker.py:1" in line for line in lines)

    def test_json(self, capsys, installed, tree):
        tree({"orders/worker.py": "import confluent_kafka\nimport markupsafe\n"})
        code, out, _ = run(capsys, "orders", "--python", "venv", "--json", "--all")
        found = json.loads(out)
        page = (DOCUMENTS / "docs" / "deps.md").read_text(encoding="utf-8")

        assert 1 == code
        assert [] == [name for name in FIELDS if f"`{name}`" not in page]
        assert (
            out == run(capsys, "orders", "--python", "venv", "--output-format", "json", "--all")[1]
        )
        for one in found:
            assert list(FIELDS) == list(one)
            assert all(isinstance(one[name], kind) for name, kind in FIELDS.items()), one
        by_name = {one["distribution"]: one for one in found}
        kafka = by_name["confluent-kafka"]
        assert [f"confluent_kafka/_native.{SO}"] == kafka["compiled"]
        assert {"id", "level", "cooperative_after", "cooperative"} == set(kafka["blockers"][0])
        place = {"filename": "orders/worker.py", "location": {"row": 1, "column": 1}}
        assert ([place], 1) == (kafka["imports"], kafka["files"])
        assert {"version", "call", "seconds", "max_gap"} == set(by_name["MarkupSafe"]["measured"])
        assert ["itsdangerous"] == by_name["MarkupSafe"]["required_by"]

    @pytest.mark.parametrize(
        ("source", "argv", "expected"),
        [
            ("import markupsafe, orjson, jinja2, kombu\n", [], 0),
            ("import confluent_kafka\n", [], 1),
            ("import werkzeug\n", [], 0),
            ("import ldappool\n", [], 1),
            ("import shop_scanner\n", [], 1),
            ("import shop_scanner\n", ["--exit-zero"], 0),
            ("import shop_scanner\nx = (\n", [], 2),
        ],
    )
    def test_the_exit_code_says_what_came_of_it(
        self, capsys, installed, tree, source, argv, expected
    ):
        tree({"a.py": source})
        assert expected == run(capsys, "a.py", "--python", "venv", *argv)[0]

    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            (["--python", "gone"], "error: gone: does not exist; pass an interpreter"),
            (["--python", "src"], "error: src: not a Python environment; pass an"),
            (["--pyton", "x"], "error: gblock deps: unrecognized arguments: --pyton; did you mean"),
        ],
    )
    def test_what_cannot_be_done_is_one_line_and_exit_2(self, capsys, tree, argv, expected):
        tree({"src/a.py": ""})
        code, out, err = run(capsys, *argv)

        assert (2, "", 1) == (code, out, err.count("\n"))
        assert err.startswith(expected)

    def test_a_path_that_does_not_exist_is_a_problem(self, capsys, installed, tree):
        tree({})
        code, _, err = run(capsys, "gone", "--python", "venv", "-q")

        assert code == 2
        assert err.startswith("gone: error: ")

    def test_the_configuration_names_the_environment(self, capsys, installed, tree):
        tree({"gblock.toml": 'python = "venv"', "src/a.py": "import shop_scanner\n"})
        code, out, _ = run(capsys, "src")

        assert code == 1
        assert "shop-scanner" in out
        assert "pytest" not in run(capsys, "src", "--all")[1]

    def test_what_is_imported_and_not_installed_is_noted(self, capsys, installed, tree):
        source = "import zmq, os\nfrom google.cloud import pubsub_v1\nimport confluent_kafka\n"
        tree({"a.py": source})
        err = run(capsys, ".", "--python", "venv")[2]

        assert "not installed in venv: google-cloud-pubsub, pyzmq; name" in err

    def test_the_project_itself_is_no_dependency(self, capsys, installed, tree, tmp_path):
        root = tree({"pyproject.toml": "", "shop/__init__.py": "", f"shop/x.{SO}": ""})
        site = next(installed.glob("lib/*/site-packages"))
        direct = {"url": root.as_uri(), "dir_info": {"editable": True}}
        install(site, "the-shop", files=["_s.pth"], direct_url_json=json.dumps(direct))

        assert "the-shop" not in run(capsys, ".", "--python", "venv", "--all")[1]

    def test_this_environment_can_be_had(self, capsys, tree):
        tree({"a.py": "import yaml\n"})
        code, out, _ = run(capsys, ".", "--all", "--json")

        assert code == 0
        assert "opt-in" == {o["distribution"]: o["verdict"] for o in json.loads(out)}["PyYAML"]


class TestHarmless:
    """The yardstick is that of the benchmark, which measures them."""

    ALL = CATALOG.harmless

    def test_they_stand_in_alphabetical_order_each_once(self):
        names = [environments.normalized(one.distribution) for one in self.ALL]

        assert sorted(set(names)) == sorted(names)
        assert [n.distribution for n in self.ALL] == sorted(
            (n.distribution for n in self.ALL), key=str.lower
        )

    def test_nothing_that_blocks_is_called_harmless(self):
        blocking = {
            environments.normalized(one.distribution)
            for one in CATALOG.blockers
            if not one.patched_by
        }

        assert [] == [o for o in self.ALL if environments.normalized(o.distribution) in blocking]

    @pytest.mark.parametrize("one", ALL, ids=lambda one: one.distribution)
    def test_each_was_measured_and_gave_the_hub_its_turn(self, one):
        assert one.why.endswith(".")
        assert one.evidence.version
        assert one.evidence.call
        assert one.evidence.reference or one.evidence.elapsed < harmless.limit(one)


class TestUnknownBlocks:
    def test_they_are_blocks_of_a_catalog_that_can_be_read(self, installed):
        made = unknown(environments.read(str(installed)), CATALOG)
        (blocker,) = catalog.parse(made).blockers

        assert "unknown-native-call-shop-scanner" == blocker.id
        assert ("shop_scanner.**",) == blocker.symbols

    def test_a_whole_package_is_found_below_its_name(self, installed):
        known = catalog.merged(
            [
                catalog.parse(outline.read()),
                catalog.parse(unknown(environments.read(str(installed)), CATALOG)),
            ]
        )

        assert known.lookup("shop_scanner.deep.Scanner.read")
        assert known.lookup("shop_scanner.read")
        assert not known.lookup("shop_scanner")
        assert not known.lookup("shop_scanners.read")


def test_a_table_without_packages_is_empty():
    assert "" == table.render("text", [], None)
    assert "" == table.render("text", [], 80)
    assert "[]\n" == table.render("json", [], None)
