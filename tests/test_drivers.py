"""Drivers that strings choose: the catalog's tables, and what decides whether one is reported."""

from __future__ import annotations

import os
import re
import textwrap

import pytest
from harness import CATALOG, check

from gblock import catalog, explain
from gblock.config import Config
from gblock.diagnostics import Severity
from gblock.errors import UserError
from gblock.rules.blocking_driver import BlockingDriver

LANGUAGES = {chooser.language for chooser in CATALOG.choosers}
SERVICE = """\
    from gevent import monkey; monkey.patch_all()
    from sqlalchemy import create_engine

    if __name__ == "__main__":
        engine = create_engine("URL")
    """


@pytest.fixture
def reported(tree):
    """Return the diagnostics of a service whose engine has some URL, with more files beside it."""

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
            ("mysql-connector-python\n", Severity.WARNING),
            ("PyMySQL\n", None),
            ("mysql_replication==1.0.9\n", None),
            ("mysqlclient\nmysql-replication\n", None),
            ("mysqlclient\n", Severity.ERROR),
        ],
    )
    def test_what_brings_pymysql_counts_as_pymysql(self, tree, requirements, severity):
        service = "import gevent\nimport peewee\ndb = peewee.MySQLDatabase('shop')\n"
        files = {"service.py": service, "requirements.txt": requirements}
        root = tree({**files, "serve.sh": "gunicorn -k gevent service:db\n"})
        found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

        drivers = [one for one in found if one.code == "blocking-driver"]
        assert [severity] * (severity is not None) == [one.severity for one in drivers]

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
        options = {"select": ["default", "sqlite-driver"], "min_severity": "note"}

        assert [] == [*reported("sqlite://", **options)]
        assert [] == [*reported("sqlite:///:memory:", **options)]
        assert ["sqlite-driver"] == [
            one.blocker for one in reported("sqlite:///shop.db", **options)
        ]

    def test_a_file_of_this_machine_is_a_note(self, reported):
        assert not reported("sqlite:///shop.db")

    @pytest.mark.parametrize(
        ("requirements", "count"), [("", 1), ("flask\n", 1), ("pymysql\n", 0), ("psycopg2\n", 0)]
    )
    def test_sqlite_counts_where_it_is_the_only_database(self, reported, requirements, count):
        files = {"requirements.txt": requirements}
        found = reported("sqlite:///shop.db", files, min_severity="note")
        assert [("sqlite-driver", Severity.NOTE)] * count == [
            (one.blocker, one.severity) for one in found
        ]

    def test_sqlite_beside_another_driver_is_for_development(self, reported):
        other = 'from sqlalchemy import create_engine\ncreate_engine("mysql://db/shop")\n'
        found = reported("sqlite:///shop.db", {"other.py": other}, min_severity="note")
        assert ["mysqlclient-driver"] == [one.blocker for one in found]

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

    @pytest.mark.parametrize(
        "name",
        ["blocking-driver", "mysqlclient-driver", pytest.param("all", marks=pytest.mark.live)],
    )
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


DSN = '"postgresql://{}/shop".format(self.host)'
SETTINGS = {
    "an attribute": 'SQLALCHEMY_DATABASE_URI = "postgresql://db/shop"',
    "an annotated attribute": 'SQLALCHEMY_DATABASE_URI: str = "postgresql://db/shop"',
    "a field": 'SQLALCHEMY_DATABASE_URI: str = Field(default="postgresql://db/shop")',
    "a positional default": 'SQLALCHEMY_DATABASE_URI: str = Field("postgresql://db/shop", env="D")',
    "a type": 'SQLALCHEMY_DATABASE_URI: PostgresDsn = PostgresDsn("postgresql://db/shop")',
    "a built URL": "SQLALCHEMY_DATABASE_URI = PostgresDsn.build(scheme='postgresql', host='db')",
    "the text of a built URL": "SQLALCHEMY_DATABASE_URI = str(\n"
    "    PostgresDsn.build(scheme='postgresql', host='db'))",
    "a property": f"@property\ndef SQLALCHEMY_DATABASE_URI(self):\n    return {DSN}",
    "a property with a name for the text": "@property\ndef SQLALCHEMY_DATABASE_URI(self):\n"
    f"    uri = {DSN}\n    return uri",
    "a cached property": f"@cached_property\ndef SQLALCHEMY_DATABASE_URI(self):\n    return {DSN}",
    "a computed field": "@computed_field\n@property\ndef SQLALCHEMY_DATABASE_URI(self) -> str:\n"
    f"    return {DSN}",
    "a computed field alone": "@computed_field\ndef SQLALCHEMY_DATABASE_URI(self) -> str:\n"
    f"    return {DSN}",
    "a property of the class": "@classmethod\n@property\ndef SQLALCHEMY_DATABASE_URI(self):\n"
    f"    return {DSN}",
    "a method of the class": f"@classmethod\ndef SQLALCHEMY_DATABASE_URI(self):\n    return {DSN}",
    "a built URL in a property": "@property\ndef SQLALCHEMY_DATABASE_URI(self):\n"
    "    return PostgresDsn.build(scheme='postgresql', host=self.host).unicode_string()",
    "a validator": "SQLALCHEMY_DATABASE_URI: str = None\n"
    "@validator('SQLALCHEMY_DATABASE_URI', pre=True)\ndef assemble(cls, value, values):\n"
    "    if isinstance(value, str):\n        return value\n"
    "    return PostgresDsn.build(scheme='postgresql', host=values.get('HOST'))",
    "a validator of a field": "SQLALCHEMY_DATABASE_URI: str = None\n"
    "@field_validator('SQLALCHEMY_DATABASE_URI', mode='before')\n@classmethod\n"
    "def assemble(cls, value):\n    return value or f'postgresql://{cls.host}/shop'",
    "a validator of the model": "SQLALCHEMY_DATABASE_URI: str = None\n"
    "@model_validator(mode='after')\ndef assemble(self):\n"
    "    self.SQLALCHEMY_DATABASE_URI = f'postgresql://{self.host}/shop'\n    return self",
    "a constructor": "def __init__(self):\n"
    "    self.SQLALCHEMY_DATABASE_URI = f'postgresql://{self.host}/shop'",
}
NO_SETTINGS = {
    "a property for another driver": "@property\ndef SQLALCHEMY_DATABASE_URI(self):\n"
    "    return f'postgresql+pg8000://{self.host}/shop'",
    "a property of another name": f"@property\ndef REPORTS_URL(self):\n    return {DSN}",
    "a function of the method": "@property\ndef SQLALCHEMY_DATABASE_URI(self):\n"
    f"    def shown():\n        return {DSN}\n    log(shown())\n    return load('URL')",
    "a validator of another field": "SQLALCHEMY_DATABASE_URI: str = None\n"
    "@validator('REPORTS_URL')\ndef assemble(cls, value):\n    return 'postgresql://db/shop'",
    "a built URL of another driver": "@property\ndef SQLALCHEMY_DATABASE_URI(self):\n"
    "    return PostgresDsn.build(scheme='postgresql+pg8000', host='db')",
    "no URL that is built": "SQLALCHEMY_DATABASE_URI = house.build(color='postgresql://')",
}


@pytest.mark.parametrize("title", [*SETTINGS, *NO_SETTINGS])
def test_a_setting_chooses_a_driver_however_its_class_defines_it(tree, title):
    body = textwrap.indent({**SETTINGS, **NO_SETTINGS}[title], "    ")
    root = tree(
        {
            "settings.py": "from functools import cached_property\n"
            "from pydantic import Field, PostgresDsn, computed_field, field_validator\n"
            "from pydantic import model_validator, validator\n"
            "from pydantic_settings import BaseSettings\n"
            f"class Settings(BaseSettings):\n    host: str = 'db'\n{body}\n",
            "service.py": "from gevent import monkey; monkey.patch_all()\n"
            "from flask import Flask\nfrom flask_sqlalchemy import SQLAlchemy\n"
            "from settings import Settings\napp = Flask(__name__)\n"
            "app.config.from_object(Settings())\ndb = SQLAlchemy(app)\n",
            "requirements.txt": "psycopg2\npg8000\nflask-sqlalchemy\ngevent\n",
            "Procfile": "web: gunicorn -k gevent service:app\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    drivers = {one.blocker for one in found.diagnostics if one.code == "blocking-driver"}
    assert (title in SETTINGS) == ({"psycopg2-driver"} == drivers), drivers


PONY = "from pony.orm import Database\n"
SCHEDULER = "from apscheduler.schedulers.gevent import GeventScheduler\n"
REGION = "from dogpile.cache import make_region\n"
POSTGRES, MEMCACHED = "psycopg2-driver", "pylibmc-driver"
SQLITE = None  # it is for development where another driver is required
METHODS = {
    "a keyword": (PONY + "db = Database()\ndb.bind(provider='postgres', user='u')\n", POSTGRES),
    "an argument": (PONY + "db = Database()\ndb.bind('postgres', user='u')\n", POSTGRES),
    "the constructor": (PONY + "db = Database('postgres', user='u')\n", POSTGRES),
    "the module": ("from pony import orm\ndb = orm.Database()\ndb.bind('postgres')\n", POSTGRES),
    "a dict": (
        PONY + "HOW = {'provider': 'postgres', 'user': 'u'}\ndb = Database()\ndb.bind(**HOW)\n",
        POSTGRES,
    ),
    "a dict by dict()": (
        PONY + "HOW = dict(provider='postgres')\ndb = Database()\ndb.bind(**HOW)\n", POSTGRES,
    ),
    "a dict as an argument": (
        PONY + "HOW = dict(provider='postgres')\ndb = Database()\ndb.bind(HOW)\n", POSTGRES,
    ),
    "a dict of another provider": (
        PONY + "HOW = {'provider': 'sqlite', 'filename': 'a'}\ndb = Database()\ndb.bind(**HOW)\n",
        SQLITE,
    ),
    "a derived class": (
        PONY + "class Shop(Database):\n    def open(self):\n"
        "        self.bind(provider='postgres')\nShop().open()\n", POSTGRES,
    ),
    "another provider": (PONY + "db = Database()\ndb.bind(provider='sqlite')\n", SQLITE),
    "a derived class with another": (
        PONY + "class Shop(Database):\n    def open(self):\n"
        "        self.bind(provider='sqlite', filename=self.path)\nShop().open()\n", SQLITE,
    ),
    "an object of another module": ("from models import db\ndb.bind('postgres')\n", POSTGRES),
    "another one there": ("from models import db\ndb.bind(provider='sqlite')\n", SQLITE),
    "a provider without a driver here": ("from models import db\ndb.bind('cockroach')\n", None),
    "a provider of the environment": (
        PONY + "import os\ndb = Database()\ndb.bind(provider=os.environ['PROVIDER'])\n", POSTGRES,
    ),
    "a job store": (
        SCHEDULER + "s = GeventScheduler()\ns.add_jobstore('sqlalchemy', url='postgresql://db/a')\n",
        POSTGRES,
    ),
    "a job store in SQLite": (
        SCHEDULER + "s = GeventScheduler()\ns.add_jobstore('sqlalchemy', url='sqlite:///a')\n",
        SQLITE,
    ),
    "a job store in memory": (SCHEDULER + "GeventScheduler().add_jobstore('memory')\n", None),
    "a configured job store": (
        SCHEDULER + "s = GeventScheduler()\ns.configure({'apscheduler.jobstores.default':"
        " {'type': 'sqlalchemy', 'url': 'postgresql://db/a'}})\n", POSTGRES,
    ),
    "a proxy": (
        "from peewee import DatabaseProxy, PostgresqlDatabase\ndb = DatabaseProxy()\n"
        "db.initialize(PostgresqlDatabase('shop'))\n", POSTGRES,
    ),
    "a proxy of a URL": (
        "from peewee import Proxy\nfrom playhouse.db_url import connect\ndb = Proxy()\n"
        "db.initialize(connect('postgresql://db/shop'))\n", POSTGRES,
    ),
    "a proxy of another": (
        "from peewee import Proxy, SqliteDatabase\ndb = Proxy()\n"
        "db.initialize(SqliteDatabase('a'))\n", SQLITE,
    ),
    "a database that is opened later": (
        "from peewee import PostgresqlDatabase\ndb = PostgresqlDatabase(None)\n"
        "db.init('shop', host='db')\n", POSTGRES,
    ),
    "a region": (REGION + "region = make_region()\nregion.configure('dogpile.cache.pylibmc')\n",
        MEMCACHED,
    ),
    "a chained region": (
        REGION + "region = make_region().configure(backend='dogpile.cache.pylibmc')\n", MEMCACHED,
    ),
    "a region in a file of settings": (
        REGION + "make_region().configure_from_config("
        "{'cache.backend': 'dogpile.cache.pylibmc'}, 'cache.')\n", MEMCACHED,
    ),
    "a region in memory": (
        REGION + "region = make_region()\nregion.configure('dogpile.cache.memory')\n", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", METHODS)
def test_a_method_of_an_object_chooses_the_driver_that_it_names(tree, title):
    text, driver = METHODS[title]
    root = tree(
        {
            "models.py": f"{PONY}db = Database()\n",
            "service.py": "from gevent import monkey; monkey.patch_all()\n" + text,
            "requirements.txt": "psycopg2\ngevent\n",
            "Procfile": "worker: python service.py\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config, min_severity="note", select=["blocking-driver"])
    assert [driver] * (driver is not None) == [one.blocker for one in found.diagnostics]


def test_a_property_of_settings_composes_the_string(tree):
    files = {
        "settings.py": """\
                from dataclasses import dataclass
                from functools import cached_property

                @dataclass
                class Database:
                    dialect: str = "mysql+mysqldb"
                    host: str = "db"

                    @property
                    def url(self):
                        return f"{self.dialect}://{self.host}/shop"

                database = Database()
                """,
        "service.py": """\
                from gevent import monkey; monkey.patch_all()
                from functools import cached_property
                from sqlalchemy import create_engine
                from settings import database

                class Store:
                    def __init__(self, url):
                        self._url = url

                    @cached_property
                    def engine(self):
                        return create_engine(self._url)

                class Orders(Store):
                    pass

                if __name__ == "__main__":
                    Orders(database.url).engine.connect()
                """,
    }
    root = tree({name: textwrap.dedent(text) for name, text in files.items()})
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    (one,) = found.diagnostics

    assert ("blocking-driver", 6) == (one.code, one.location.row)


class TestStandIns:
    """Settings of tests and of local development, beside those that are deployed."""

    MANAGE = """\
        import os
        from django.core.management import execute_from_command_line

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings.NAME")
        execute_from_command_line()
        """
    SETTINGS = 'DATABASES = {"default": {"ENGINE": "django.db.backends.mysql"}}\n'

    @pytest.mark.parametrize("name", ["test", "testmysql", "local", "dev", "ci", "test_ci"])
    def test_they_are_not_reported(self, tree, name):
        root = tree(self._files(name))
        assert not self._reported(root)

    @pytest.mark.parametrize("name", ["production", "base", "latest", "device", "contest"])
    def test_what_is_deployed_is(self, tree, name):
        root = tree(self._files(name))
        assert ["blocking-driver"] == self._reported(root)

    @pytest.mark.parametrize(("compose", "count"), [("compose.yml", 1), ("compose.ci.yml", 0)])
    def test_they_are_where_a_process_on_gevent_reads_them(self, tree, compose, count):
        files = self._files("local")
        files[compose] = """\
            services:
              web:
                command: gunicorn -k gevent shop.wsgi
                environment:
                  DJANGO_SETTINGS_MODULE: shop.settings.local
            """
        assert ["blocking-driver"] * count == self._reported(tree(files))

    def _files(self, name):
        return {
            "manage.py": textwrap.dedent(self.MANAGE).replace("NAME", name),
            "shop/__init__.py": "",
            "shop/settings/__init__.py": "",
            f"shop/settings/{name}.py": self.SETTINGS,
            "shop/wsgi.py": "from django.core.wsgi import get_wsgi_application\n"
            "application = get_wsgi_application()\n",
            "Procfile": "web: gunicorn -k gevent shop.wsgi\n" if name != "local" else "",
        }

    def _reported(self, root):
        config = Config(root=str(root), filename=str(root / "gblock.toml"))
        return [one.code for one in check([str(root)], config).diagnostics]


class TestOneDecision:
    """One driver that several strings of a program choose."""

    APP = """\
        from gevent import monkey; monkey.patch_all()
        import os
        import settings
        from flask import Flask
        from flask_sqlalchemy import SQLAlchemy

        app = Flask(__name__)
        app.config.from_object(settings.Config)
        SQLAlchemy(app)

        if __name__ == "__main__":
            app.run()
        """

    def _found(self, tree, text):
        files = {"app.py": textwrap.dedent(self.APP), "settings.py": textwrap.dedent(text)}
        root = tree(files)
        config = Config(root=str(root), filename=str(root / "gblock.toml"))
        return check([str(root)], config).diagnostics

    def test_places_of_production_share_a_cause(self, tree):
        found = self._found(
            tree,
            """\
            import os

            class Config:
                SQLALCHEMY_DATABASE_URI = "mysql://shop@localhost/shop"
                if "HOST" in os.environ:
                    SQLALCHEMY_DATABASE_URI = "mysql://shop@" + os.environ["HOST"]
            """,
        )
        assert 2 == len(found)
        assert 1 == len({one.cause for one in found})

    @pytest.mark.parametrize("name", ["DevConfig", "LocalConfig", "Development"])
    def test_development_stands_beside_production(self, tree, name):
        (one,) = self._found(
            tree,
            f"""\
            class {name}:
                SQLALCHEMY_DATABASE_URI = "mysql://shop@localhost/shop"

            class Config:
                SQLALCHEMY_DATABASE_URI = "mysql://shop@db/shop"
            """,
        )
        assert 5 == one.location.row
        assert ["chosen for development, too"] == [r.message for r in one.related][-1:]

    def test_development_alone_is_reported(self, tree):
        text = 'class DevConfig:\n    SQLALCHEMY_DATABASE_URI = "mysql://shop@localhost/shop"\n'
        assert 1 == len(self._found(tree, text))

    @pytest.mark.parametrize(
        "text",
        [
            'class TestingConfig:\n    SQLALCHEMY_DATABASE_URI = "mysql://localhost/x"\n',
            'if TESTING:\n    SQLALCHEMY_DATABASE_URI = "mysql://localhost/x"\n',
            'SQLALCHEMY_DATABASE_URI = os.getenv("TEST_DB", "mysql://localhost/x")\n',
        ],
    )
    def test_tests_alone_are_not(self, tree, text):
        assert () == self._found(tree, f"import os\nTESTING = False\n{text}")

    @pytest.mark.parametrize(
        ("text", "read", "count"),
        [
            ('{"URL": "mysql://db/x", "TESTING": os.getenv("TESTING")}', 'get("URL")', 1),
            ('{"URL": os.getenv("TEST_DB", "mysql://db/x")}', 'get("URL")', 0),
            ('{"URL": os.getenv("DB") or "mysql://db" + "/x"}', 'get("URL", None)', 1),
            ('{"URL": "mysql://db/x"}', 'get("OTHER")', 0),
            ('{"TESTING": {"URL": "mysql://db/x"}}', '["TESTING"].get("URL")', 0),
            ('{"LIVE": {"URL": "mysql://db/x"}}', '["LIVE"]["URL"]', 1),
        ],
    )
    def test_of_a_dict_only_what_concerns_the_string_counts(self, tree, text, read, count):
        read = read if read.startswith("[") else f".{read}"
        text = (
            f"import os\nSETTINGS = {text}\n"
            f"class Config:\n    SQLALCHEMY_DATABASE_URI = SETTINGS{read}\n"
        )
        assert count == len(self._found(tree, text))

    @pytest.mark.parametrize(
        ("beside", "count"),
        [
            ('"TEST": {"NAME": "TEST"}', 1),
            ('"NAME": "shop"', 1),
            ('"NAME": os.environ["TEST_DB"]', 0),
        ],
    )
    def test_a_name_is_chosen_with_the_values_beside_it(self, tree, beside, count):
        text = f'{{"default": {{"ENGINE": "django.db.backends.mysql", {beside}}}}}'
        assert count == len(self._found(tree, f"import os\nimport django\nDATABASES = {text}\n"))

    @pytest.mark.parametrize("test", ["not TESTING", "KIND != 'test'", "LATEST"])
    def test_what_is_not_for_tests_is(self, tree, test):
        text = f'if {test}:\n    SQLALCHEMY_DATABASE_URI = "mysql://localhost/x"\n'
        assert 1 == len(self._found(tree, f"TESTING = LATEST = KIND = ''\n{text}"))


class TestFromElsewhere:
    """A string that the code does not show, and requirements that show the driver."""

    SERVICE = """\
        from gevent import monkey; monkey.patch_all()
        import os
        IMPORT

        engine = CALL

        if __name__ == "__main__":
            engine.connect()
        """
    ENGINE = "from sqlalchemy import create_engine"

    def _found(self, tree, call, requirements, imported=ENGINE):
        text = textwrap.dedent(self.SERVICE).replace("IMPORT", imported).replace("CALL", call)
        root = tree({"service.py": text, "requirements.txt": requirements})
        config = Config(root=str(root), filename=str(root / "gblock.toml"))
        found = check([str(root)], config).diagnostics
        return [(d.blocker, d.severity) for d in found if d.code == "blocking-driver"]

    @pytest.mark.parametrize(
        ("imported", "call"),
        [
            (ENGINE, 'create_engine(os.environ["URL"])'),
            ("from sqlalchemy import *", 'create_engine(os.environ["URL"])'),
            (ENGINE, 'create_engine(os.getenv("URL"), pool_size=2)'),
            ("import dj_database_url", "dj_database_url.config()"),
        ],
    )
    @pytest.mark.parametrize(
        ("requirements", "driver"),
        [("psycopg2-binary\n", "psycopg2-driver"), ("mysqlclient>2\n", "mysqlclient-driver")],
    )
    def test_the_only_driver_required_is_meant(self, tree, imported, call, requirements, driver):
        found = self._found(tree, call, requirements, imported)
        assert [(driver, Severity.WARNING)] == found

    @pytest.mark.parametrize(
        "requirements",
        ["", "flask\n", "psycopg2\npsycopg\n", "psycopg2\nmysqlclient\n", "mysqlclient\npymysql\n"],
    )
    def test_two_drivers_or_none_leave_it_open(self, tree, requirements):
        assert [] == self._found(tree, 'create_engine(os.environ["URL"])', requirements)

    @pytest.mark.parametrize(
        "call",
        [
            'create_engine(os.environ.get("URL", "sqlite:///x"))',
            'create_engine(os.environ["URL"]) if os.environ else create_engine("mysql+pymysql://")',
        ],
    )
    def test_a_default_is_believed(self, tree, call):
        found = self._found(tree, call, "psycopg2\n")
        assert found == ([] if "get(" in call else [("psycopg2-driver", Severity.WARNING)])


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ('os.environ.get("DATABASE_URL", "sqlite:///x.db")', 1),
        ('os.environ.get("DATABASE_URL") or "sqlite:///" + os.path.join(HERE, "x.db")', 1),
        ('os.getenv("DATABASE_URL", f"sqlite:///{HERE}/x.db")', 1),
        ('config("DATABASE_URL", default="sqlite:///x.db")', 1),
        ('"sqlite:///x.db"', 0),
        ('f"sqlite:///{HERE}/x.db"', 0),
        ('os.environ.get("DATABASE_URL", "postgresql+psycopg://db")', 0),
    ],
)
@pytest.mark.parametrize("server", ["gunicorn -k gevent shop:app", "python shop.py"])
@pytest.mark.parametrize("name", ["Config", "DevelopmentConfig", "TestConfig"])
def test_a_local_default_beside_the_environment(tree, value, count, server, name):
    root = tree(
        {
            "Procfile": f"web: {server}\n",
            "requirements.txt": "mysqlclient\nflask-sqlalchemy\n",
            "shop.py": "from gevent import monkey; monkey.patch_all()\n"
            "import settings\nfrom flask import Flask\nfrom flask_sqlalchemy import SQLAlchemy\n"
            f"app = Flask('shop')\napp.config.from_object(settings.{name})\n"
            "db = SQLAlchemy(app)\n@app.route('/')\ndef shop():\n"
            "    db.session.execute('select 1')\n    return ''\n",
            "settings.py": "import os\nfrom decouple import config\nHERE = '/srv'\n"
            f"class {name}:\n    SQLALCHEMY_DATABASE_URI = {value}\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [d for d in check([str(root)], config).diagnostics if d.code == "blocking-driver"]
    wanted = count if server.startswith("gunicorn") and name == "Config" else 0
    assert ["mysqlclient-driver"] * wanted == [one.blocker for one in found]
    assert ["settings.py"] * wanted == [os.path.basename(one.filename) for one in found]


@pytest.mark.parametrize(
    ("others", "requirements", "severity"),
    [
        ('"mysql+pymysql://db"', "sqlalchemy\n", Severity.NOTE),
        ('"mysql+pymysql://db"', "sqlalchemy\npsycopg2-binary\n", Severity.ERROR),
        ('"mysql+pymysql://db"', "flask\n", Severity.ERROR),  # the list is not complete
        ('"sqlite:///shop.db"', "sqlalchemy\n", Severity.ERROR),  # for development
    ],
)
def test_one_of_several_drivers_is_an_option_that_is_not_required(
    tree, others, requirements, severity
):
    root = tree(
        {
            "Procfile": "web: python shop.py\n",
            "requirements.txt": requirements,
            "shop.py": f"""\
from gevent import monkey; monkey.patch_all()
import sys
from sqlalchemy import create_engine
from gevent.pywsgi import WSGIServer

def url(kind):
    if kind == "postgres":
        return "postgresql+psycopg2://db"
    return {others}

engine = create_engine(url(sys.argv[1]))

def place(environ, start_response):
    engine.connect().execute("select 1")

WSGIServer(("", 80), place).serve_forever()
""",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config, min_severity="note").diagnostics
    drivers = [one for one in found if one.blocker == "psycopg2-driver"]
    assert [severity] == [one.severity for one in drivers]


@pytest.mark.parametrize(
    "statement",
    [
        'app.config.update(SQLALCHEMY_DATABASE_URI=os.environ["SHOP_DB"], R=os.environ["R"])',
        'app.config.update({"R": os.getenv("R"), "SQLALCHEMY_DATABASE_URI": '
        'os.environ["SHOP_DB"]})',
        'app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["SHOP_DB"]',
        'app.config.from_mapping(R=os.environ["R"], SQLALCHEMY_DATABASE_URI=os.environ["SHOP_DB"])',
    ],
)
def test_the_variable_of_the_database_is_shown(tree, statement):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent shop:app\n",
            "requirements.txt": "psycopg2\n",
            "shop.py": "import os\nfrom flask import Flask\n"
            "from flask_sqlalchemy import SQLAlchemy\n"
            f"app = Flask('shop')\n{statement}\ndb = SQLAlchemy(app)\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    (found,) = [d for d in check([str(root)], config).diagnostics if d.code == "blocking-driver"]
    assert "os.environ['SHOP_DB']" in found.message


def test_a_driver_and_its_calls_without_one_recipe_are_one_cause(tree):
    root = tree(
        {
            "service.py": """\
from gevent import monkey; monkey.patch_all()
import psycopg2
from sqlalchemy import create_engine

if __name__ == "__main__":
    while True:
        engine = create_engine("postgresql+psycopg2://db")
        psycopg2.connect("").cursor().execute("select 1")
"""
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics
    assert {"blocking-driver", "blocking-call"} == {one.code for one in found}
    assert {"without psycogreen.gevent.patch_psycopg"} == {one.cause for one in found}


OF_DJANGO = {
    "Procfile": "web: gunicorn -k gevent shop.wsgi:application\n",
    "shop/__init__.py": "",
    "shop/wsgi.py": "import os\n"
    "from django.core.wsgi import get_wsgi_application\n"
    'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n'
    "application = get_wsgi_application()\n",
}
"""A service of Django without its settings."""


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("os.environ['SHOP']", 1),
        ("os.environ.get('SHOP', 'mysql')", 1),
        ("os.environ.get('SHOP', 'other')", 0),
        ("'mysql'", 1),
        ("'other'", 0),
        ("KIND", 1),
    ],
)
def test_settings_may_be_one_of_several(tree, key, count):
    root = tree(
        {
            **OF_DJANGO,
            "shop/settings.py": "import os\n"
            'KIND = "mysql"\n'
            'MYSQL = {"ENGINE": "django.db.backends.mysql"}\n'
            'KNOWN = {"mysql": MYSQL, "other": {"ENGINE": "shop.backend"}}\n'
            f'DATABASES = {{"default": KNOWN[{key}]}}\n',
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics

    assert count == len([one for one in found if one.code == "blocking-driver"])


@pytest.mark.parametrize("read", ["", 'os.environ["DJANGO_SETTINGS_MODULE"]\n'])
def test_settings_that_the_environment_names_are_those_of_the_project(tree, read):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent -c conf.py shop.wsgi\n",
            "conf.py": f"import os\n{read}",
            "manage.py": "import os\n"
            'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings.dev")\n',
            "shop/__init__.py": "",
            "shop/wsgi.py": "from django.core.wsgi import get_wsgi_application\n"
            "application = get_wsgi_application()\n",
            "shop/settings/__init__.py": "",
            "shop/settings/base.py": 'DATABASES = {"default": {"ENGINE": "mssql"}}\n',
            "shop/settings/dev.py": "from shop.settings.base import *\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    (one,) = check([str(root)], config).diagnostics

    assert "gunicorn shop.wsgi" in one.message


def test_a_settings_module_that_deployment_copies_has_the_contents_of_its_variant(tree):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent shop.wsgi\n",
            "shop/__init__.py": "",
            "shop/wsgi.py": "import os\n"
            "from django.core.wsgi import get_wsgi_application\n"
            'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n'
            "application = get_wsgi_application()\n",
            "shop/settings_prod.py": 'DATABASES = {"default": {"ENGINE": "mssql"}}\n',
            "shop/settings_test.py": 'DATABASES = {"default": {"ENGINE": "sqlite3"}}\n',
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    (one,) = check([str(root)], config).diagnostics

    assert one.filename.endswith("settings_prod.py")
    assert "gunicorn shop.wsgi" in one.message


@pytest.mark.parametrize(
    ("pins", "scheme", "is_reported"),
    [
        ("sqlalchemy==1.4.46", "postgres", False),
        ("SQLAlchemy==2.0.30\nflask-sqlalchemy==3.1.1", "postgres", False),
        ("sqlalchemy==1.3.24", "postgres", True),
        ("sqlalchemy>=1.3", "postgres", True),
        ("", "postgres", True),
        ("sqlalchemy==1.4.46", "postgresql", True),
        ("sqlalchemy==1.4.46", "postgresql+psycopg2", True),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        "from sqlalchemy import create_engine\nengine = create_engine(URL)\n",
        "from flask import Flask\nfrom flask_sqlalchemy import SQLAlchemy\napp = Flask('a')\n"
        "app.config['SQLALCHEMY_DATABASE_URI'] = URL\ndb = SQLAlchemy(app)\n",
    ],
)
def test_a_scheme_that_the_pinned_library_does_not_know_chooses_nothing(
    tree, pins, scheme, is_reported, read
):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent app:app\n",
            "requirements.txt": f"gevent\npsycopg2\n{pins}\n",
            "app.py": f'URL = "{scheme}://db/shop"\n{read}',
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))

    assert is_reported == bool(check([str(root)], config).diagnostics)


class TestIdle:
    """Django's settings of a service that keeps nothing in a database."""

    SETTINGS = (
        'DATABASES = {"default": {"ENGINE": "django.db.backends.mysql"}}\n'
        'DEFAULT_AUTO_FIELD = "django.db.models.AutoField"\n'
        'SESSION_ENGINE = "django.contrib.sessions.backends.cache"\n'
    )
    URLS = (
        '"""path("blog/", include("blog.urls"))"""\n'
        "from django.urls import include, path\nfrom shop import views\n"
        'urlpatterns = [path("x", views.show), path("y", include("shop.more"))]\n'
    )
    VIEWS = (
        "from django.contrib import messages\nfrom django.contrib.auth import logout\n"
        "from django.contrib.auth.models import AnonymousUser\n"
        "from django.contrib.auth.views import redirect_to_login\n"
        "def show(request): return logout(request)\n"
    )

    def _found(self, tree, **files):
        texts = {
            "shop/__init__.py": "",
            "shop/settings.py": files.get("settings", self.SETTINGS),
            "shop/urls.py": files.get("urls", self.URLS),
            "shop/more.py": "urlpatterns = []\n",
            "shop/views.py": files.get("views", self.VIEWS),
            "shop/wsgi.py": "import os\nfrom django.core.wsgi import get_wsgi_application\n"
            'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n'
            "application = get_wsgi_application()\n",
            "Procfile": "web: gunicorn -k gevent shop.wsgi\n",
        }
        texts["shop/settings.py"] += 'ROOT_URLCONF = "shop.urls"\n'
        root = tree(texts)
        config = Config(root=str(root), filename=str(root / "gblock.toml"), min_severity="note")
        return [
            one.severity.label
            for one in check([str(root)], config).diagnostics
            if one.code == "blocking-driver"
        ]

    @pytest.mark.parametrize("store", ["cache", "signed_cookies", "file"])
    def test_a_driver_that_nothing_uses_is_a_note(self, tree, store):
        settings = self.SETTINGS.replace("backends.cache", f"backends.{store}")
        assert ["note"] == self._found(tree, settings=settings)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("settings", 'DATABASES = {"default": {"ENGINE": "django.db.backends.mysql"}}\n'),
            ("settings", SETTINGS.replace("backends.cache", "backends.db")),
            ("settings", SETTINGS.replace("backends.cache", "backends.cached_db")),
            ("settings", SETTINGS.replace("SESSION_ENGINE =", "# SESSION_ENGINE =")),
            ("views", "from django.db import models\nclass Order(models.Model): pass\n"),
            ("views", "from shop.orders import Order\ndef show(r): return Order.objects.get()\n"),
            ("views", "from django.contrib.gis.db import models\n"),
            ("views", "from django.contrib.auth import authenticate\n"),
            ("views", "from django.contrib.auth import (\n    logout,\n    login,\n)\n"),
            ("views", "from django.contrib.auth.views import LoginView\n"),
            ("views", "from django.contrib.auth import get_user_model\n"),
            ("views", "from django.shortcuts import get_object_or_404\n"),
            ("views", "from rest_framework import views\n"),
            ("views", "from django.contrib import admin\n"),
            ("urls", URLS.replace("shop.more", "allauth.urls")),
            ("urls", URLS.replace('include("shop.more")', "include(more)")),
            ("urls", URLS.replace('include("shop.more")', "admin.site.urls")),
        ],
    )
    def test_one_that_something_may_use_is_not(self, tree, name, text):
        assert ["warning"] == self._found(tree, **{name: text})


PATCHED = "from gevent import monkey; monkey.patch_all()\n"
RUN = "\nif __name__ == '__main__':\n    db.connect()\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("import peewee\ndb = peewee.PostgresqlDatabase('shop')", (3, 6)),
        ("from peewee import PostgresqlDatabase as P\ndb = P('shop')", (3, 6)),
        ("from peewee import *\ndb = PostgresqlDatabase(None)", (3, 6)),
        (
            "from playhouse.pool import PooledPostgresqlDatabase\n"
            "db = (\n    PooledPostgresqlDatabase(\n        'shop'))",
            (4, 5),
        ),
        ("import peewee\ndb = peewee.Database('shop')", None),
        ("class PostgresqlDatabase: ...\nimport peewee\ndb = PostgresqlDatabase('shop')", None),
    ],
)
def test_a_class_for_one_database_chooses_its_driver(tree, text, place):
    root = tree({"service.py": PATCHED + text + RUN, "requirements.txt": "psycopg2\n"})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics

    assert [("psycopg2-driver", place)] * (place is not None) == [
        (one.blocker, tuple(one.location)) for one in found
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"service.py": "e = create_engine(os.environ['URL'])"}, ["service.py"]),
        (
            {"service.py": "e = create_engine(URL)", "more": "URL = os.environ['URL']"},
            ["service.py"],
        ),
        (
            {
                "service.py": "from db_local import e",
                "db_local.py": "e = create_engine(os.environ['URL'])",
            },
            [],
        ),
        (
            {
                "service.py": "from db import e",
                "db.py": "def test(): return create_engine(url)\ne = test",
            },
            [],
        ),
        (
            {
                "service.py": "from db import e",
                "db.py": "class Local:\n  e = create_engine(url)\ne = Local",
            },
            [],
        ),
    ],
    ids=["environment", "constant", "local file", "function", "class"],
)
def test_a_string_that_the_code_does_not_show_is_reported_for_production(tree, files, expected):
    head = "import os\nfrom sqlalchemy import create_engine\n"
    more = files.pop("more", "")
    written = {name: f"{head}{more}\n{text}\n" for name, text in files.items()}
    written["service.py"] = (
        f"{PATCHED}{written['service.py']}\nif __name__ == '__main__': print(e)\n"
    )
    root = tree({**written, "requirements.txt": "psycopg2\n"})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics

    assert expected == [os.path.basename(one.filename) for one in found]


ENGINE = (
    "from sqlalchemy import create_engine\nengine = create_engine('postgresql+psycopg2://db')\n"
)
REMEDY = "from psycogreen.gevent import patch_psycopg\n"


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"db.py": ENGINE}, 1),
        ({"db.py": ENGINE, "green.py": REMEDY + "patch_psycopg()\n"}, 0),
        ({"db.py": ENGINE, "green.py": REMEDY + "if options.fast:\n    patch_psycopg()\n"}, 1),
    ],
)
def test_a_remedy_anywhere_counts_where_no_process_is_known_to_run_a_file(tree, files, count):
    web = {"Procfile": "web: gunicorn -k gevent web:app\n", "web.py": PATCHED + "app = None\n"}
    root = tree({**web, **files})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))

    assert count == len(check([str(root)], config).diagnostics)


def test_a_string_in_a_file_that_is_not_checked_is_not_reported(tree):
    url = "URL = 'mysql://db'\n"
    main = f"{PATCHED}from sqlalchemy import create_engine\nfrom settings import URL\n"
    main += "if __name__ == '__main__':\n    create_engine(URL)\n"
    root = tree({"service.py": main, "settings.py": url})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))

    assert () == check([str(root / "service.py")], config).diagnostics
    (found,) = check([str(root / "settings.py")], config).diagnostics
    assert "mysqlclient-driver" == found.blocker


def spelled(chooser, argument, name):
    """The string of a driver's name as one argument of a library takes it."""
    prefix = chooser.prefixes[0] if chooser.prefixes else ""
    return name if argument.form == "name" else f"{prefix}{name}://user@host/name"


def calls(argument, text):
    """The calls that pass a string to one argument, by position and by keyword."""
    value = repr({argument.key: text} if argument.key else text)
    if argument.chooses:
        return [f"{argument.symbol}('shop')"]
    given = [f"{argument.keyword}={value}"] if argument.keyword else []
    if argument.position is not None:
        given.append(", ".join(["None"] * argument.position + [value]))
    return [f"{argument.symbol}({one})" for one in given]


@pytest.mark.parametrize("of_sqlite", [False, True], ids=["servers", "SQLite"])
def test_each_reading_finds_the_strings_of_its_language(tree, of_sqlite):
    """SQLite is apart, because beside another database it is for development."""
    lines, expected = ["from gevent import monkey; monkey.patch_all()"], set()
    for chooser in CATALOG.choosers:
        names = [
            (driver.id, name)
            for driver in CATALOG.drivers
            if (driver.id == "sqlite-driver") is of_sqlite
            for choice in driver.chosen_by
            if choice.language == chooser.language and not choice.versions
            for name in choice.names[:1]
        ]
        for number, argument in enumerate(chooser.readings):
            fitting = [one for one in names if argument.chooses in ("", one[1])]
            for driver, name in fitting if number == 0 else fitting[:1]:
                for call in calls(argument, spelled(chooser, argument, name)):
                    assert BlockingDriver.marks.search(call.encode()), call
                    lines += [f"import {call.partition('.')[0]}", call]
                    expected.add((len(lines), call, driver))
        for setting in chooser.settings:
            for _, name in names:
                written = f"{setting.key or setting.name} = '{spelled(chooser, setting, name)}'"
                assert BlockingDriver.marks.search(written.encode()), written
    root = tree({"service.py": "\n".join([*lines, ""])})
    diagnostics = check([str(root)], Config(), min_severity="note").diagnostics
    found = {(one.location.row, one.blocker) for one in diagnostics}
    assert expected
    assert not [one for one in expected if (one[0], one[2]) not in found]


@pytest.mark.parametrize(
    ("settings", "procfile", "count"),
    [
        ('"config.Live"', "web: gunicorn -k gevent web:app\n", 1),
        ('os.environ["SETTINGS"]', "web: gunicorn -k gevent web:app\n", 1),
        ('os.environ["SETTINGS"]', "web: gunicorn web:app\n", 0),
        (
            'os.environ["SETTINGS"]',
            "web: gunicorn -k gevent web:app\napi: gunicorn other:app\n",
            0,
        ),
    ],
)
def test_the_environment_chooses_in_a_class_of_settings(tree, settings, procfile, count):
    web = f"""\
        import os
        from flask import Flask
        from flask_sqlalchemy import SQLAlchemy

        app = Flask(__name__)
        app.config.from_object({settings})
        db = SQLAlchemy(app)
        """
    root = tree(
        {
            "Procfile": procfile,
            "requirements.txt": "gevent\npsycopg2\nflask-sqlalchemy\n",
            "web.py": textwrap.dedent(web),
            "other.py": "app = None\n",
            "config.py": "import os\n\n\nclass Base:\n"
            '    SQLALCHEMY_DATABASE_URI = os.environ.get("DATABASE_URL")\n\n\n'
            "class Live(Base): ...\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    assert count == len([one for one in found.diagnostics if one.code == "blocking-driver"])


def test_a_script_that_the_environment_gives_a_database_is_no_server(tree):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent web:app\n",
            "requirements.txt": "gevent\npsycopg2\nsqlalchemy\n",
            "web.py": "import settings\napp = from_object(settings.NAME)\n",
            "settings.py": "NAME = 'live'\n",
            "load.py": "import os\nfrom sqlalchemy import create_engine\n"
            'engine = create_engine(os.environ["URL"])\n',
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    assert () == found.diagnostics


@pytest.mark.parametrize(
    ("start", "count"), [("", 0), ("gevent.spawn(print)", 1), ("pool = Pool()", 1)]
)
def test_a_program_without_another_greenlet_waits_for_itself(tree, start, count):
    root = tree(
        {
            "setup.py": "from setuptools import setup\n"
            "setup(entry_points={'console_scripts': ['create-db = shop.create:main']})\n",
            "shop/__init__.py": "",
            "shop/create.py": "import gevent, sqlalchemy\ndef main():\n"
            "    engine = sqlalchemy.create_engine('mysql+mysqldb://db/shop')\n"
            f"    engine.execute('CREATE DATABASE shop')\n    {start}\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    assert count == len([one for one in found.diagnostics if one.code == "blocking-driver"])


@pytest.mark.parametrize(
    ("extensions", "is_chosen"),
    [
        ("from flask_sqlalchemy import SQLAlchemy\ndb = SQLAlchemy()\n", True),
        ("from flask_sqlalchemy import SQLAlchemy\nclass Base(SQLAlchemy): pass\n", True),
        ("from flask_sqlalchemy import SQLAlchemy as Database\ndb = Database()\n", True),
        ("import flask_sqlalchemy\ndb = flask_sqlalchemy.SQLAlchemy()\n", True),
        ("from flask_sqlalchemy import *\ndb = SQLAlchemy()\n", True),
        ("from flask_sqlalchemy import SQLAlchemy\n# db = SQLAlchemy()\n", False),
        ("from flask_sqlalchemy import (\n    Pagination,\n    SQLAlchemy,\n)\n", False),
        ('"""A SQLAlchemy is made elsewhere."""\nfrom flask_sqlalchemy import SQLAlchemy\n', False),
    ],
)
def test_a_setting_chooses_nothing_where_the_import_of_its_library_is_left_over(
    tree, extensions, is_chosen
):
    root = tree(
        {
            "settings.py": "SQLALCHEMY_DATABASE_URI = 'mysql://db/shop'\n",
            "extensions.py": extensions,
            "service.py": "from flask import Flask\nimport extensions\napp = Flask(__name__)\n"
            "app.config.from_object('settings')\n",
            "Procfile": "web: gunicorn -k gevent service:app\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename="x")).diagnostics
    assert is_chosen == bool(found)


@pytest.mark.parametrize(
    ("alias", "requirements", "is_reported"),
    [
        ("import pymysql\npymysql.install_as_MySQLdb()\n", "mysqlclient", False),
        ("import pymysql\npymysql.install_as_MySQLdb()\n", "PyMySQL", False),
        ("{fallback}", "mysqlclient", True),
        ("{fallback}", "mysqlclient\nPyMySQL", False),
        ("{fallback}", "", False),
    ],
)
def test_a_fallback_for_a_driver_runs_where_it_is_installed(tree, alias, requirements, is_reported):
    fallback = (
        "try:\n    import MySQLdb\nexcept ImportError:\n    import pymysql\n"
        "    pymysql.install_as_MySQLdb()\n"
    )
    root = tree(
        {
            "db.py": alias.format(fallback=fallback) + "from sqlalchemy import create_engine\n"
            "engine = create_engine('mysql://db/shop')\n",
            "service.py": "from flask import Flask\nimport db\napp = Flask(__name__)\n",
            "requirements.txt": requirements,
            "Procfile": "web: gunicorn -k gevent service:app\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename="x")).diagnostics
    assert is_reported == bool(found)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("", ["blocking-driver"]),
        ("SQLALCHEMY_DATABASE_URI = 'sqlite:///shop.db'\n", []),
        ("SQLALCHEMY_DATABASE_URI = 'mysql+pymysql://db/shop'\n", []),
    ],
)
def test_settings_in_a_file_of_another_kind_choose_the_only_driver(tree, settings, found):
    root = tree(
        {
            "settings.py": settings,
            "service.py": "from flask import Flask\nfrom flask_sqlalchemy import SQLAlchemy\n"
            "app = Flask(__name__)\napp.config.from_pyfile('shop.cfg')\ndb = SQLAlchemy(app)\n",
            "requirements.txt": "mysqlclient\n",
            "Procfile": "web: gunicorn -k gevent service:app\n",
        }
    )
    reported = check([str(root)], Config(root=str(root), filename="x")).diagnostics
    assert found == [one.code for one in reported]


ELSEWHERE = (
    "DATABASES = {'default': secrets.database()}",
    "DATABASES = secrets.databases()",
    "DATABASES = {'default': secrets['db'], 'other': {'ENGINE': 'django.db.backends.sqlite3'}}",
    "DATABASES = json.load(open('/etc/shop.json'))",
    "CONFIG = yaml.safe_load(open('/etc/shop.yml'))\nDATABASES = {'default': CONFIG['db']}",
    "from . import local\nDATABASES = local.DATABASES",
    "from .local import DATABASES",
    "from .local import *",
    "DATABASES = {}\nDATABASES['default'] = secrets.database()",
)
SHOWN = (
    "DATABASES = {}",
    "DATABASES = {'default': {}}",
    "DATABASES = {'default': {'ENGINE': 'django.db.backends.dummy'}}",
    "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': secrets.name()}}",
)


@pytest.mark.parametrize("requirements", ["psycopg2", "psycopg", "psycopg2\nPyMySQL", ""])
@pytest.mark.parametrize("settings", [*ELSEWHERE, *SHOWN])
def test_databases_of_django_that_the_code_does_not_show(tree, settings, requirements):
    root = tree(
        {
            "shop/__init__.py": "",
            "shop/settings.py": f"import json, yaml\nfrom acme import secrets\n{settings}\n",
            "shop/wsgi.py": "import os\nfrom django.core.wsgi import get_wsgi_application\n"
            "os.environ['DJANGO_SETTINGS_MODULE'] = 'shop.settings'\n"
            "application = get_wsgi_application()\n",
            "requirements.txt": f"Django\n{requirements}\n",
            "Procfile": "web: gunicorn -k gevent shop.wsgi\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename="x")).diagnostics
    blockers = {one.blocker for one in found if one.code == "blocking-driver"}
    is_meant = settings in ELSEWHERE and requirements == "psycopg2"
    assert blockers == ({"psycopg2-driver"} if is_meant else set())


BACKEND = "django_auth_ldap.backend.LDAPBackend"
OTHER = "django.contrib.auth.backends.ModelBackend"
LISTS = {
    "a list": (f"AUTHENTICATION_BACKENDS = ['{OTHER}', '{BACKEND}']\n", 1),
    "a sum": (f"BASE = ('{OTHER}',)\nAUTHENTICATION_BACKENDS = BASE + ('{BACKEND}',)\n", 1),
    "more": (
        f"AUTHENTICATION_BACKENDS = ['{OTHER}']\nAUTHENTICATION_BACKENDS += ['{BACKEND}']\n",
        1,
    ),
    "insert": (
        f"AUTHENTICATION_BACKENDS = ['{OTHER}']\nAUTHENTICATION_BACKENDS.insert(0, '{BACKEND}')\n",
        1,
    ),
    "extend": (
        f"AUTHENTICATION_BACKENDS = ['{OTHER}']\nAUTHENTICATION_BACKENDS.extend(['{BACKEND}'])\n",
        1,
    ),
    "a class of the project": ("AUTHENTICATION_BACKENDS = ['shop.auth.OfGroups']\n", 1),
    "another class": ("AUTHENTICATION_BACKENDS = ['shop.auth.Plain', 'shop.auth.Absent']\n", 0),
    "a base of it": ("AUTHENTICATION_BACKENDS = ['shop.auth.Both']\n", 1),
    "others": (
        f"AUTHENTICATION_BACKENDS = ['{OTHER}', 'django_python3_ldap.auth.LDAPBackend']\n",
        0,
    ),
    "no list": ("AUTHENTICATION_BACKENDS = None\n", 0),
}


@pytest.mark.parametrize(("settings", "count"), LISTS.values(), ids=LISTS)
def test_a_list_of_classes_chooses_the_drivers_of_each(tree, settings, count):
    root = tree(
        {
            **OF_DJANGO,
            "shop/auth.py": "from django_auth_ldap.backend import LDAPBackend\n"
            "class Plain: ...\n"
            "class OfGroups(LDAPBackend): ...\n"
            "class Both(Plain, OfGroups): ...\n",
            "shop/settings.py": settings,
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics

    assert ["python-ldap-driver"] * count == [one.blocker for one in found]


GIVEN_LATER = {
    "partial": "from functools import partial\nlater = partial(make, 'mysql://db')\nlater()\n",
    "by keyword": "from functools import partial\nlater = partial(make, url='mysql://db')\n",
    "second": "from functools import partial\nlater = partial(connect, 5, 'mysql://db')\n",
    "a provider": "from dependency_injector import providers\n"
    "engine = providers.Singleton(make, 'mysql://db')\n",
    "the library's function": "from functools import partial\n"
    "later = partial(create_engine, 'mysql://db', echo=True)\n",
    "a provider of it": "from dependency_injector import providers\n"
    "engine = providers.Singleton(create_engine, 'mysql://db')\n",
    "members": "import enum\nclass Place(str, enum.Enum):\n    MAIN = 'mysql://db'\n"
    "ENGINES = {place: create_engine(place.value) for place in Place}\n",
    "members in a loop": "import enum\nclass Place(enum.Enum):\n    MAIN = 'mysql://db'\n"
    "for place in Place:\n    make(place.value)\n",
    "a greenlet": "import gevent\ngevent.spawn(make, 'mysql://db')\n",
}


@pytest.mark.parametrize("text", GIVEN_LATER.values(), ids=GIVEN_LATER)
def test_a_string_that_is_not_written_where_it_is_read_chooses_a_driver(tree, text):
    root = tree(
        {
            "service.py": "from gevent import monkey; monkey.patch_all()\n"
            "from sqlalchemy import create_engine\n"
            "def make(url):\n    return create_engine(url)\n"
            "def connect(size, url):\n    return create_engine(url, pool_size=size)\n" + text,
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics

    assert ["mysqlclient-driver"] == [one.blocker for one in found]


PYDANTIC = """\
from pydantic_settings import BaseSettings
class Base(BaseSettings):
    debug: bool = False
class Settings({base}):
    database_url: str = {value}
settings = Settings()
"""
QUERYING = """\
from flask import Flask
from sqlalchemy import create_engine
from settings import settings
app = Flask(__name__)
engine = create_engine(settings.database_url)
@app.route("/")
def shop():
    with engine.connect() as connection:
        connection.execute("select 1")
    return ""
"""


@pytest.mark.parametrize(
    ("base", "value", "count"),
    [
        ("BaseSettings", '"sqlite://"', 1),
        ("Base", '"sqlite:///x.db"', 1),
        ("object", '"sqlite://"', 0),
        ("BaseSettings", '"postgresql+psycopg://db"', 0),
    ],
)
def test_a_field_of_settings_is_a_default_beside_the_environment(tree, base, value, count):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent shop:app\n",
            "requirements.txt": "mysqlclient\nsqlalchemy\nflask\ngevent\npydantic-settings\n",
            "settings.py": PYDANTIC.format(base=base, value=value),
            "shop.py": QUERYING,
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [one.blocker for one in check([str(root)], config).diagnostics]
    assert ["mysqlclient-driver"] * count == found


@pytest.mark.parametrize(
    ("sent", "worker", "count"),
    [
        ('celery.send_task("shop.tasks.place", args=[1])', "", 0),
        ("celery.send_task(\n        'shop.tasks.place')", "", 0),
        ('celery.signature("shop.tasks.place").delay()', "", 0),
        ('queue.enqueue("shop.tasks.place", 1)', "", 0),
        ('celery.send_task("shop.tasks.place", args=[1])', " -P gevent", 1),
        ('import_string("shop.tasks.place")()', "", 1),
    ],
)
def test_who_sends_a_task_by_its_name_does_not_load_it(tree, sent, worker, count):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent shop.web:app\n"
            f"worker: celery -A shop.tasks worker{worker}\n",
            "shop/__init__.py": "",
            "shop/celeryapp.py": "from celery import Celery\ncelery = Celery('shop')\n",
            "shop/db.py": "from sqlalchemy import create_engine\n"
            "engine = create_engine('postgresql+psycopg2://db/shop')\n",
            "shop/tasks.py": "from shop.celeryapp import celery\nfrom shop.db import engine\n"
            "@celery.task\ndef place(order):\n    engine.connect().execute('select 1')\n",
            "shop/web.py": "from flask import Flask\nfrom shop.celeryapp import celery\n"
            "from werkzeug.utils import import_string\nfrom shop.queues import queue\n"
            f"app = Flask(__name__)\n@app.post('/')\ndef start():\n    {sent}\n    return ''\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [d for d in check([str(root)], config).diagnostics if d.code == "blocking-driver"]
    assert ["psycopg2-driver"] * count == [one.blocker for one in found]


def test_services_side_by_side_with_the_same_command(tree):
    files = {}
    for name in ("orders", "prices"):
        files |= {
            f"{name}/run.sh": "exec gunicorn --worker-class=gevent rest:app\n",
            f"{name}/requirements.txt": "flask\ngevent\nflask-sqlalchemy\npsycopg2-binary\n",
            f"{name}/rest.py": "from flask import Flask\nfrom api import db\napp = Flask('rest')\n"
            "@app.route('/')\ndef query():\n    db.session.execute('select 1')\n    return ''\n",
            f"{name}/api.py": "import os\nfrom flask import Flask\n"
            "from flask_sqlalchemy import SQLAlchemy\napp = Flask('api')\n"
            "app.config['SQLALCHEMY_DATABASE_URI'] = os.environ.get('URI', 'sqlite:///x')\n"
            "db = SQLAlchemy(app)\n",
        }
    root = tree(files)
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [d.filename for d in check([str(root)], config).diagnostics]
    assert ["orders/api.py", "prices/api.py"] == found


def test_a_driver_for_asyncio_is_none_of_an_engine_that_waits(tree):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent shop:app\n",
            "requirements.txt": "flask\nsqlalchemy\npsycopg2-binary\nasyncpg\n",
            "settings.py": "import os\nclass Settings:\n    database_url = os.environ['URL']\n"
            "settings = Settings()\n",
            "shop.py": QUERYING,
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [one.blocker for one in check([str(root)], config).diagnostics]
    assert ["psycopg2-driver"] == found
