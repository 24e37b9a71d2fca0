"""Drivers that strings choose: the catalog's tables, and what decides whether one is reported."""

from __future__ import annotations

import re
import textwrap

import pytest
from harness import CATALOG, check

from gblock import catalog, explain
from gblock.config import Config
from gblock.diagnostics import Severity
from gblock.errors import UserError
from gblock.project.reading.requirements import Requirements
from gblock.project.reading.tree import Tree

LANGUAGES = {chooser.language for chooser in CATALOG.choosers}
SERVICE = """\
    from gevent import monkey; monkey.patch_all()
    from sqlalchemy import create_engine

    if __name__ == "__main__":
        engine = create_engine("URL")
    """


@pytest.fixture
def reported(tree):
    """What is reported of a service whose engine has some URL, with more files beside it."""

    def run(url, files=None, config=None, **options):
        service = textwrap.dedent(SERVICE).replace("URL", url)
        root = tree({"service.py": service, **(files or {})})
        settings = Config(root=str(root), filename=str(root / "gblock.toml"), **(config or {}))
        return check([str(root)], settings, **options).diagnostics

    return run


class TestTheCatalog:
    @pytest.mark.parametrize("driver", CATALOG.drivers, ids=lambda driver: driver.id)
    def test_a_driver_is_well_formed(self, driver):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-driver", driver.id)
        assert driver.why.endswith(".")
        assert driver.instead.endswith(".")
        assert {choice.language for choice in driver.chosen_by} <= LANGUAGES
        assert driver.blocker is None or driver.blocker in CATALOG.by_id
        assert driver.evidence.measured or driver.evidence.reference
        re.compile(driver.unless_written or "")
        re.compile(driver.harmless or "")

    @pytest.mark.parametrize("driver", CATALOG.drivers, ids=lambda driver: driver.id)
    def test_what_was_measured_did_block_the_hub(self, driver):
        if driver.evidence.measured:
            assert driver.evidence.max_gap >= 0.3

    def test_they_stand_in_order_and_no_string_chooses_two(self):
        ids = [driver.id for driver in CATALOG.drivers]
        names = [
            (choice.language, name)
            for driver in CATALOG.drivers
            for choice in driver.chosen_by
            for name in choice.names
        ]
        assert sorted(ids) == ids
        assert len(set(names)) == len(names)

    def test_no_id_is_a_blockers(self):
        assert not {driver.id for driver in CATALOG.drivers} & set(CATALOG.by_id)

    def test_a_driver_is_made_cooperative_by_what_helps_its_blocker(self):
        (psycopg2,) = (d for d in CATALOG.drivers if d.id == "psycopg2-driver")

        assert "psycogreen.gevent.patch_psycopg" in CATALOG.remedies_of(psycopg2)
        assert CATALOG.remedies_of(psycopg2) <= CATALOG.remedies

    def test_each_is_explained(self):
        for driver in CATALOG.drivers:
            page = explain.page(driver.id)

            assert page.startswith(f"# {driver.id}\n")
            assert driver.instead in page
            assert all(f"`{name}`" in page for c in driver.chosen_by for name in c.names)

    def test_a_wrong_one_is_an_error_that_names_it(self, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text('[[driver]]\nid = "shop-driver"\nchosen = []\n')

        with pytest.raises(UserError, match=r"'shop-driver': unknown key 'chosen'; did you mean"):
            _ = catalog.load((str(path),)).drivers

    def test_the_users_own_are_found(self, reported, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text(
            '[[driver]]\nid = "shop-driver"\ndistribution = "shopdb"\nlevel = "error"\n'
            'why = "It waits."\ninstead = "Do not."\n'
            'chosen_by = [{ language = "sqlalchemy", names = ["shop"] }]\n'
            '[driver.evidence]\nreference = "https://example.org"\n'
        )
        (one,) = reported("shop://", config={"extend_catalog": (str(path),)})

        assert ("shop-driver", Severity.ERROR) == (one.blocker, one.severity)


class TestWhichDriver:
    @pytest.mark.parametrize(
        ("requirements", "severity"),
        [
            ("", Severity.WARNING),
            ("psycopg2-binary==2.9\n", Severity.ERROR),
            ("psycopg2\npsycopg\n", Severity.ERROR),
            ("psycopg[binary]\n", None),
            ("# psycopg2\npsycopg\n", None),
        ],
    )
    def test_the_requirements_tell_what_postgresql_means(self, reported, requirements, severity):
        found = reported("postgresql://db", {"requirements.txt": requirements})

        assert [severity] * (severity is not None) == [one.severity for one in found]

    def test_a_doubt_is_told(self, reported):
        (one,) = reported("postgresql://db")

        assert "means psycopg2, unless psycopg takes its place" in one.message

    def test_in_memory_nothing_is_waited_for(self, reported):
        select = ["default", "sqlite-driver"]

        assert [] == [*reported("sqlite://", select=select)]
        assert [] == [*reported("sqlite:///:memory:", select=select)]
        assert ["sqlite-driver"] == [
            one.blocker for one in reported("sqlite:///shop.db", select=select)
        ]
        assert () == reported("sqlite:///shop.db")

    @pytest.mark.parametrize(
        "options",
        [
            {"ignore": ["mysqlclient-driver"]},
            {"ignore": ["blocking-driver"]},
            {"select": ["blocking-call"]},
            {"select": ["psycopg2-driver"]},
            {"config": {"assume_cooperative": ("mysqlclient",)}},
            {"config": {"per_file_ignores": (("service.py", ("mysqlclient-driver",)),)}},
        ],
    )
    def test_it_can_be_switched_off(self, reported, options):
        assert () == reported("mysql://db", **options)

    @pytest.mark.parametrize("name", ["blocking-driver", "mysqlclient-driver", "all"])
    def test_it_can_be_chosen(self, reported, name):
        assert ["blocking-driver"] == [one.code for one in reported("mysql://db", select=[name])]

    @pytest.mark.parametrize("name", ["blocking-driver", "mysqlclient-driver"])
    def test_a_comment_hides_it(self, reported, name):
        assert () == reported(f'mysql://db")  # gblock: ignore[{name}]\nprint("')


class TestTheMessage:
    def test_it_stands_on_the_string(self, reported):
        (one,) = reported("mysql://db")

        assert ((5, 28), (5, 40)) == (tuple(one.location), tuple(one.end_location))

    def test_it_names_the_processes(self, tree):
        root = tree(
            {
                "Procfile": "web: gunicorn -k gevent -c conf.py web:app\n"
                "tasks: celery -A tasks worker -P gevent\n",
                "conf.py": "from psycogreen.gevent import patch_psycopg\n"
                "def post_fork(server, worker):\n    patch_psycopg()\n",
                "web.py": "import db\n",
                "tasks.py": "import db\n",
                "db.py": "from sqlalchemy import create_engine\n"
                "engine = create_engine('postgresql+psycopg2://db')\n",
            }
        )
        config = Config(root=str(root), filename=str(root / "gblock.toml"))
        (one,) = check([str(root)], config).diagnostics

        assert "blocks the hub of `celery tasks`" in one.message
        assert "cooperative in `gunicorn web:app` only" in one.message

    def test_columns_count_characters(self, tree):
        text = textwrap.dedent(SERVICE).replace('("URL")', '("mysql://é", echo="é")')
        root = tree({"service.py": text.replace("engine = ", "é = ")})
        (one,) = check([str(root)], Config(root=str(root), filename="x")).diagnostics

        assert ((5, 23), (5, 34)) == (tuple(one.location), tuple(one.end_location))


@pytest.mark.parametrize(
    ("name", "text", "required"),
    [
        ("requirements.txt", "Psycopg2_Binary>=2  # or psycopg\n", ["psycopg2-binary"]),
        ("requirements/prod.txt", "-r base.txt\npsycopg[binary]==3.2\n", ["psycopg"]),
        ("pyproject.toml", '[project]\ndependencies = ["psycopg2~=2.9"]\n', ["psycopg2"]),
        ("setup.cfg", "[options]\ninstall_requires =\n  psycopg2\n", ["psycopg2"]),
        ("Pipfile", '[packages]\npsycopg2-binary = "*"\n', ["psycopg2-binary"]),
        ("Dockerfile", "RUN pip install psycopg2-binary gevent\n", ["psycopg2-binary"]),
        (
            "poetry.lock",
            '[[package]]\nname = "sqlalchemy"\n[package.extras]\npg = ["psycopg2"]\n',
            [],
        ),
        ("uv.lock", '[[package]]\nname = "psycopg"\nversion = "3"\n', ["psycopg"]),
        ("Pipfile.lock", '{\n    "default": {\n        "psycopg2": {\n', ["psycopg2"]),
        ("notes.txt", "psycopg2 and psycopg\n", []),
    ],
)
def test_what_a_project_requires(tree, name, text, required):
    requirements = Requirements(Tree(str(tree({name: text}))))
    drivers = ("psycopg", "psycopg2", "psycopg2-binary")

    assert required == [one for one in drivers if one in requirements]
