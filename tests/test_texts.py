"""The ways in which services spell the string that chooses a driver."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config

SERVICE = """\
from gevent import monkey; monkey.patch_all()
import os
from sqlalchemy import create_engine
BEFORE

if __name__ == "__main__":
    create_engine(URL).connect()
"""
SPELLED = {
    "a constant": ("", '"mysql://db/x"'),
    "pieces": ('HOST = "db"', 'f"mysql://{HOST}/x"'),
    "the first piece is a name": ('DIALECT = "mysql"', 'f"{DIALECT}://db/x"'),
    "a sum": ('DIALECT = "mysql"', 'DIALECT + "://" + os.environ["HOST"]'),
    "percent with a tuple": ("", '"%s://%s/x" % ("mysql", os.environ["HOST"])'),
    "percent with one value": ("", '"%s://db/x" % "mysql"'),
    "percent with names": ("", '"%(kind)s://db" % {"kind": "mysql"}'),
    "format by position": ("", '"{}://{}/x".format("mysql", os.environ["HOST"])'),
    "format by number": ("", '"{0}://{1}/x".format("mysql", os.environ["HOST"])'),
    "format by name": ("", '"{kind}://db/x".format(kind="mysql")'),
    "replace of a start": ("", '"postgres://db/x".replace("postgres", "mysql")'),
    "replace further on": ("", '"mysql://HOST/x".replace("HOST", os.environ["HOST"])'),
    "stripped": ("", '" mysql://db/x".strip()[0:] if False else "mysql://db/x ".rstrip()'),
    "a default of the environment": ("", 'os.environ.get("URL", "mysql://db/x")'),
    "a default by keyword": (
        "from environs import Env\nenv = Env()",
        'env.str("URL", default="mysql://db/x")',
    ),
    "a parameter's default": (
        'def url(kind="mysql"):\n    return f"{kind}://db/x"',
        "url()",
    ),
    "a parameter": ('def url(kind):\n    return f"{kind}://db/x"', 'url("mysql")'),
    "a method's parameter": (
        'class Urls:\n    def of(self, kind):\n        return kind + "://db/x"',
        'Urls().of("mysql")',
    ),
    "a class's attribute": ('class Settings:\n    URL = "mysql://db/x"', "Settings.URL"),
    "an attribute of self": (
        'class Settings:\n    def __init__(self):\n        self.url = "mysql://db/x"',
        "Settings().url",
    ),
    "an inherited attribute": (
        'class Base:\n    URL = "mysql://db/x"\nclass Production(Base):\n    pass',
        "Production.URL",
    ),
    "a property": (
        'class Settings:\n    @property\n    def url(self):\n        return "mysql://db/x"',
        "Settings().url",
    ),
    "an element": ('URLS = {"main": "mysql://db/x"}', 'URLS["main"]'),
    "an element with get": ('URLS = {"main": "mysql://db/x"}', 'URLS.get("main")'),
    "an element of dict()": ('URLS = dict(main="mysql://db/x")', 'URLS["main"]'),
    "an element stored later": ('URLS = {}\nURLS["main"] = "mysql://db/x"', 'URLS["main"]'),
    "an element of an element": ('ALL = {"a": {"url": "mysql://db/x"}}', 'ALL["a"]["url"]'),
    "a setting of an application": (
        'from flask import Flask\napp = Flask("x")\napp.config["URL"] = "mysql://db/x"',
        'app.config["URL"]',
    ),
    "a setting with get": (
        'from flask import Flask\napp = Flask("x")\napp.config["URL"] = "mysql://db/x"',
        'app.config.get("URL")',
    ),
    "a setting of an application's object": (
        'from flask import Flask, current_app\nclass Production:\n    URL = "mysql://db/x"\n'
        'app = Flask("x")\napp.config.from_object(Production)',
        'current_app.config["URL"]',
    ),
    "a setting of a mapping": (
        'from flask import Flask, current_app\napp = Flask("x")\n'
        'app.config.from_mapping(URL="mysql://db/x")',
        'current_app.config["URL"]',
    ),
    "an element under an unknown key": ('URLS = {"main": "mysql://db/x"}', "URLS[NAME]"),
    "the values of a dict": (
        'URLS = {"main": "mysql://db/x"}',
        "next(iter(URLS.values()))",
    ),
    "a loop over values": ('for url in {"main": "mysql://db/x"}.values(): pass', "url"),
    "a loop over items": ('for name, url in {"main": "mysql://db/x"}.items(): pass', "url"),
    "a loop over keys": (
        'URLS = {"main": "mysql://db/x"}\nfor name in URLS: pass',
        "URLS[name]",
    ),
    "a loop over what a constructor is passed": (
        "class Urls:\n    def __init__(self, urls):\n"
        "        for name, url in urls.items():\n            self.url = url",
        'Urls({"main": "mysql://db/x"}).url',
    ),
    "a merged dict": (
        'BASE = {"main": "mysql://db/x"}\nURLS = {**BASE, "tests": "sqlite://"}',
        'URLS["main"]',
    ),
    "a union of dicts": (
        'BASE = {"main": "mysql://db/x"}\nURLS = BASE | {"tests": "sqlite://"}',
        'URLS["main"]',
    ),
    "a dict comprehension": (
        'URLS = {name: url for name, url in [("main", "mysql://db/x")]}',
        'URLS["main"]',
    ),
    "the next of a list": ("", 'next(iter(["mysql://db/x"]))'),
    "any of a list": ("import random", 'random.choice(["mysql://db/x"])'),
    "a field of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Source:\n    name: str\n"
        '    url: str\nSOURCES = [Source("main", "mysql://db/x")]',
        "SOURCES[0].url",
    ),
    "a field by keyword": (
        "from dataclasses import dataclass\n@dataclass\nclass Source:\n    name: str\n"
        '    url: str\nsource = Source(name="main", url="mysql://db/x")',
        "source.url",
    ),
    "a member of an enumeration": (
        'from enum import Enum\nclass Urls(Enum):\n    MAIN = "mysql://db/x"',
        "Urls.MAIN.value",
    ),
    "a setting of Django": ("from django.conf import settings as conf", "conf.URL"),
    "a setting of Django by its name": (
        "from django.conf import settings as conf",
        'getattr(conf, "URL", None)',
    ),
    "a default of getattr": ("import settings", 'getattr(settings, "DSN", "mysql://db/x")'),
    "a fallback of a file of settings": (
        "from configparser import ConfigParser\nparser = ConfigParser()",
        'parser.get("db", "url", fallback="mysql://db/x")',
    ),
    "one of two": ('URL = os.environ.get("URL") or "mysql://db/x"', "URL"),
    "a choice": ("", '"mysql://db/x" if os.environ.get("PROD") else "mysql://test/x"'),
    "another module": ("import settings", "settings.URL"),
    "a name of another module": ("from settings import URL", "URL"),
    "all names of another module": ("from settings import *", "URL"),
    "through a module with a star": ("from every import URL", "URL"),
    "made by a function": (
        "from sqlalchemy.engine.url import make_url",
        'make_url("mysql://db/x")',
    ),
    "URL.create": (
        "from sqlalchemy.engine import URL as Url",
        'Url.create("mysql", host="db")',
    ),
}
SETTINGS = {"settings.py": 'URL = "mysql://db/x"\n', "every.py": "from settings import *\n"}


def drivers(tree, before, url):
    service = textwrap.dedent(SERVICE).replace("BEFORE", before).replace("URL)", f"{url})")
    root = tree({"service.py": service, **SETTINGS})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    return {
        d.blocker for d in check([str(root)], config).diagnostics if d.code == "blocking-driver"
    }


@pytest.mark.parametrize(("before", "url"), SPELLED.values(), ids=SPELLED)
def test_a_driver_is_found_however_its_url_is_spelled(tree, before, url):
    assert {"mysqlclient-driver"} == drivers(tree, before, url)


@pytest.mark.parametrize(("before", "url"), SPELLED.values(), ids=SPELLED)
def test_a_driver_in_python_is_silent_however_its_url_is_spelled(tree, before, url):
    """The same text with another driver: nothing but the text may decide."""
    before, url = (one.replace("mysql", "mysql+pymysql") for one in (before, url))
    settings = {name: text.replace("mysql", "mysql+pymysql") for name, text in SETTINGS.items()}
    service = SERVICE.replace("BEFORE", before).replace("URL)", f"{url})")
    root = tree({"service.py": service, **settings})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))

    found = check([str(root)], config).diagnostics
    assert [] == [d.message for d in found if d.code == "blocking-driver"]


@pytest.mark.parametrize(
    "url",
    [
        'os.environ["URL"]',
        "f\"{os.environ['KIND']}://mysql/x\"",
        '"{}://mysql".format(*os.environ)',
        '"%s://mysql" % ()',
        'str(os.getenv("mysql://"))',
        '"URL".replace("mysql://db")',
    ],
)
def test_a_url_whose_start_is_unknown_chooses_nothing(tree, url):
    assert set() == drivers(tree, "", url)
