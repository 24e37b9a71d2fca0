"""`check` follows calls into the packages of the environment that `python` names."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from elf_images import RELEASE, TAKE, Module
from harness import check
from installed import environment, install

from gblock.config import Config
from gblock.outline import Outlines
from gblock.packages import environment as environments
from gblock.packages import followed
from gblock.packages.followed import Followed, imports

FLUSHING = """
    import confluent_kafka

    class Base:
        def __init__(self):
            self.producer = confluent_kafka.Producer({})

        def wait(self):
            self._wait()

        def _wait(self):
            self.producer.flush()

        def poll(self):
            self.producer.poll(0)

    class Client(Base):
        def send(self, text):
            self.producer.produce("topic", text)
            self.wait()

        async def later(self):
            self.wait()

        def start(self):
            import gevent

            gevent.get_hub().threadpool.apply(self.wait)

    def connect():
        return Client()

    def flushed():
        with Session() as session:
            session.go()

    class Session:
        def __enter__(self):
            Client().wait()
            return self

        def go(self): pass
"""
WAITING = "import shoplib\ndef f():\n    shoplib.Client().wait()\n"
PACKAGE = {
    "shoplib/__init__.py": "from .client import Client, Session, connect as open\n",
    "shoplib/client.py": FLUSHING,
}


def made(root: Path, packages, code):
    """Write packages into an environment, and a service beside it that runs some code."""
    env, site = environment(root / "venv")
    for name, files in packages.items():
        install(site, name, files=files)
        for file, text in files.items():
            (site / file).write_text(textwrap.dedent(text))
    service = root / "service"
    service.mkdir()
    (service / "gblock.toml").write_text("")
    lines = ["from gevent import monkey", "monkey.patch_all()", *textwrap.dedent(code).splitlines()]
    (service / "service.py").write_text("\n".join(lines) + "\n")
    return service, str(env)


def reported(service, python, **options):
    config = Config(root=str(service), filename=str(service / "gblock.toml"), python=python)
    report = check([str(service)], config, **options)
    text = (service / "service.py").read_text().splitlines()
    assert all(one.filename.endswith("service.py") for one in report.diagnostics)
    return {text[one.location.row - 1].strip(): one for one in report.diagnostics}


@pytest.mark.parametrize(
    ("call", "is_blocking"),
    [
        ("shoplib.Client().send('x')", True),
        ("shoplib.client.Client().send('x')", True),
        ("shoplib.Client().wait()", True),
        ("shoplib.open().wait()", True),
        ("shoplib.client.connect().send('x')", True),
        ("shoplib.Client().poll()", False),
        ("shoplib.Client().start()", False),
        ("shoplib.Client()", False),
        ("await_(shoplib.Client().later())", False),
        ("with shoplib.Session(): pass", True),
        ("gevent.get_hub().threadpool.apply(shoplib.Client().wait)", False),
    ],
)
def test_a_call_is_reported_if_the_package_runs_a_blocker(tmp_path, call, is_blocking):
    code = f"import gevent, shoplib\nimport shoplib.client\ndef f():\n    {call}\n"
    service, env = made(tmp_path, {"shoplib": PACKAGE}, code)

    assert set() == set(reported(service, None))
    assert ({call} if is_blocking else set()) == set(reported(service, env))


def test_the_message_shows_the_path_into_the_package(tmp_path):
    code = "import shoplib\ndef f():\n    shoplib.Client().send('x')\n"
    service, env = made(tmp_path, {"shoplib": PACKAGE}, code)
    (one,) = reported(service, env).values()

    path = ["shoplib/client.py:20 Base.wait", "shoplib/client.py:9 Base._wait"]
    path.append("shoplib/client.py:12 confluent_kafka.Producer.flush")
    assert "".join(f" → {step}" for step in path) in one.message
    assert ("blocking-call", "warning") == (one.code, one.severity.label)
    assert "confluent-kafka-producer-flush-in-shoplib" == one.blocker
    assert "librdkafka" in one.why


def test_packages_are_followed_into_the_packages_that_they_import(tmp_path):
    above = {"above.py": "import shoplib\ndef push(x):\n    shoplib.open().send(x)\n"}
    code = "import above\ndef f():\n    above.push('x')\n"
    service, env = made(tmp_path, {"shoplib": PACKAGE, "above": above}, code)
    (one,) = reported(service, env).values()

    assert " → above.py:3 " in one.message
    assert " → shoplib/client.py:12 confluent_kafka.Producer.flush" in one.message


def test_objects_travel_between_files_of_the_service(tmp_path):
    code = "from till import c\ndef f():\n    c.wait()\n"
    service, env = made(tmp_path, {"shoplib": PACKAGE}, code)
    (service / "till.py").write_text("import shoplib\n\nc = shoplib.open()\n")

    assert {"c.wait()"} == set(reported(service, env))


def test_what_a_base_class_leaves_to_derived_classes_is_not_blamed_on_it(tmp_path):
    package = {
        "kinds.py": """
            import confluent_kafka

            class Kind:
                def run(self):
                    return self.work()

                def work(self):
                    raise NotImplementedError

            class Slow(Kind):
                def work(self):
                    confluent_kafka.Producer({}).flush()

            class Quick(Kind):
                def work(self):
                    return 1
        """
    }
    code = "import kinds\ndef f():\n    kinds.Quick().run()\n    kinds.Slow().work()\n"
    service, env = made(tmp_path, {"kinds": package}, code)

    assert {"kinds.Slow().work()"} == set(reported(service, env))


@pytest.mark.parametrize("name", ["confluent-kafka", "requests", "Flask"])
def test_the_catalog_takes_precedence_over_the_source(tmp_path, name):
    service, env = made(tmp_path, {name: PACKAGE}, WAITING)

    assert {} == reported(service, env)


def test_a_module_of_the_service_hides_a_package(tmp_path):
    service, env = made(tmp_path, {"shoplib": PACKAGE}, WAITING)
    (service / "shoplib.py").write_text("class Client:\n    def wait(self): pass\n")

    assert {} == reported(service, env)


def test_remedies_and_the_configuration_apply(tmp_path):
    service, env = made(tmp_path, {"shoplib": PACKAGE}, WAITING)
    name = "confluent-kafka-producer-flush-in-shoplib"

    assert {} == reported(service, env, ignore=[name])
    assert {"shoplib.Client().wait()"} == set(reported(service, env, select=[name]))


def test_files_that_lead_out_of_the_environment_are_not_read(tmp_path):
    service, env = made(tmp_path, {"shoplib": PACKAGE}, WAITING)
    (path,) = Path(env).rglob("client.py")
    secret = tmp_path / "elsewhere.py"
    os.rename(path, secret)
    path.symlink_to(secret)

    assert {} == reported(service, env)


def test_it_costs_nothing_without_an_environment(tmp_path, monkeypatch):
    def chosen(python, config):
        raise AssertionError("the environment was read")

    service, _ = made(tmp_path, {"shoplib": PACKAGE}, WAITING)
    monkeypatch.setattr(environments, "chosen", chosen)

    assert {} == reported(service, None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"import a, b.c as d\n", {"a", "b.c"}),
        (b"from a.b import c\n", {"a.b"}),
        (b"    import a  # why\n", {"a"}),
        (b"from . import a\nfrom .b import c\n", set()),
        (b"x = 'import a'\n", set()),
        (b"try:\n    import a; f()\nexcept: pass\n", {"a"}),
        (b"import a, \\\n    b.c as d, \\\r\n    e\nf\n", {"a", "b.c", "e"}),
        (b'"""\nimport one, (or two)\n"""\n', {"one"}),
    ],
)
def test_imports_are_read_from_lines(text, names):
    assert names == imports(text)


def blocks(env, *names, compiled=False):
    """The calls into packages that block, each with the blocker that is made for it."""
    outlines = Outlines()
    Followed(environments.read(env), outlines, compiled=compiled).add(names)
    return {
        symbol: chunk.id
        for chunk in outlines.chunks
        if chunk.id in outlines.own_ids
        for symbol in chunk.symbols
    }


LONG = "".join(f"def f{n}():\n    f{n + 1}()\n\n" for n in range(followed._LONGEST))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f():\n    Producer({}).flush()\n", ["f"]),
        ("class C:\n    def __init__(self):\n        Producer({}).flush()\n", ["C"]),
        ("class C:\n    def __del__(self):\n        Producer({}).flush()\n", []),
        ("class C:\n    def __call__(self):\n        Producer({}).flush()\n", ["C.__call__"]),
        ("class C:\n    value = Producer({}).flush()\n", []),
        ("Producer({}).flush()\n", []),
        ("def f(all):\n    return [Producer({}).flush() for one in all]\n", ["f"]),
        ("def f():\n    return lambda: Producer({}).flush()\n", []),
        ("def f():\n    def g():\n        Producer({}).flush()\n    return g\n", []),
        ("async def f():\n    Producer({}).flush()\n", []),
        ("def f():\n    Producer({}).poll(0)\n", []),
        ("def flush(one):\n    one.flush()\n", []),
        (
            "class A:\n    def f(self):\n        Producer({}).flush()\n\n"
            "class B(A):\n    pass\n\nclass C(B):\n    def f(self):\n        pass\n",
            ["A.f", "B.f"],
        ),
        (
            f"{LONG}def f{followed._LONGEST}():\n    Producer({{}}).flush()\n",
            [f"f{n}" for n in range(1, followed._LONGEST + 1)],
        ),
    ],
)
def test_the_functions_that_run_a_blocker_are_blockers(tmp_path, code, names):
    package = {"shoplib.py": f"from confluent_kafka import Producer\n\n{code}"}
    _, env = made(tmp_path, {"shoplib": package}, "")
    found = blocks(env, "shoplib")

    assert {f"shoplib.{name}" for name in names} == found.keys()
    assert {"confluent-kafka-producer-flush-in-shoplib"} >= set(found.values())


def test_a_function_has_each_name_under_which_its_package_exports_it(tmp_path):
    package = {
        "shoplib/__init__.py": "from .inner import *\nfrom .inner.work import f as run\n",
        "shoplib/inner/__init__.py": "from .work import f\n",
        "shoplib/inner/work.py": "import confluent_kafka\n\n"
        "def f():\n    confluent_kafka.Producer({}).flush()\n",
        "shoplib/other/__init__.py": "f = 1\n",
    }
    _, env = made(tmp_path, {"shoplib": package}, "")
    names = ("shoplib.f", "shoplib.run", "shoplib.inner.f", "shoplib.inner.work.f")

    assert {*names} == blocks(env, "shoplib.inner").keys()


@pytest.mark.parametrize(
    ("limit", "value"), [("_MOST_FILES", 1), ("_MOST_BYTES", 10), ("_MOST_PACKAGES", 0)]
)
def test_a_package_above_the_limits_is_not_followed(tmp_path, monkeypatch, limit, value):
    _, env = made(tmp_path, {"shoplib": PACKAGE}, "")
    assert blocks(env, "shoplib")
    monkeypatch.setattr(followed, limit, value)

    assert {} == blocks(env, "shoplib")


def test_packages_are_followed_no_further_than_the_limit(tmp_path, monkeypatch):
    above = {"above.py": "import shoplib\ndef push(x):\n    shoplib.open().send(x)\n"}
    _, env = made(tmp_path, {"shoplib": PACKAGE, "above": above}, "")
    assert "above.push" in blocks(env, "above")
    monkeypatch.setattr(followed, "_DEEPEST", 1)

    assert {} == blocks(env, "above")


def test_methods_whose_machine_code_waits_are_blockers(tmp_path, monkeypatch):
    module = Module()
    wait = module.function("scanner_wait", RELEASE, "poll", TAKE)
    lock = module.function("scanner_lock", RELEASE, "sem_wait", TAKE)
    held = module.function("scanner_open", "connect")
    rows = [("read", wait), ("join", lock), ("open", held)]
    module.methods(*rows, owner="shop.Scanner")
    file = "shop/_shop.cpython-311-x86_64-linux-gnu.so"
    env, site = environment(tmp_path / "venv")
    install(site, "shop-scanner", files=["shop/__init__.py", file])
    (site / file).write_bytes(module.image())
    (site / "shop" / "__init__.py").write_text(
        "from ._shop import Scanner\n\ndef scan(one: Scanner):\n    return one.read()\n"
    )
    native = "shop-scanner-native-1"
    expected = {"shop._shop.Scanner.read": native, "shop.Scanner.read": native, "shop.scan": native}

    assert expected == blocks(str(env), "shop", compiled=True)
    assert {} == blocks(str(env), "shop")
    monkeypatch.setattr(followed, "_MOST_COMPILED", 10)
    assert {} == blocks(str(env), "shop", compiled=True)
