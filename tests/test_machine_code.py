"""`gblock deps --native`: what the machine code of installed packages says."""

from __future__ import annotations

import json
import os
import zipfile

import pytest
from elf_images import RELEASE, TAKE, Module
from harness import CATALOG
from installed import environment, install

from gblock import catalog, cli, outline
from gblock.config import Config
from gblock.engine import Request, check
from gblock.errors import UserError
from gblock.native import linking
from gblock.native.packages import dotted
from gblock.native.store import Store, read_all
from gblock.packages import comparison, machine_code, unknown, wrappers
from gblock.packages import environment as environments
from gblock.packages.spellings import Spellings
from gblock.project.reading.modules import Modules

SO = "cpython-311-x86_64-linux-gnu.so"
WRAPPER = """
from . import _shop
from ._shop import Scanner as _Scanner, open_device


class Scanner(_Scanner):
    def read_all(self):
        return [self.read() for _ in range(3)]

    def label(self):
        return "scanner"


class Till:
    def __init__(self):
        self._scanner = Scanner()

    def scan(self):
        return self._take()

    def _take(self):
        return self._scanner.read_all()


def connect(device):
    return open_device(device)


def harmless():
    return _shop.version()
"""


def shop(*, newer=False):
    """A compiled module with a type and functions."""
    module = Module()
    read = module.function("scanner_read", RELEASE, "read_device", TAKE)
    wait = module.function("scanner_wait", RELEASE, "poll", TAKE)
    opened = module.function("shop_open", "connect")
    plain = module.function("shop_version", "memcpy")
    rows = [("read", wait), ("close", read), ("size", plain)]
    if newer:
        rows = [("read", wait), ("close", wait), ("flush", wait)]
    module.methods(*rows, owner="shop.Scanner")
    functions = [("open_device", opened), ("version", plain)]
    module.methods(*functions, owner="_shop", is_type=False)
    return module.image()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An environment with one compiled package, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    root, site = environment(tmp_path / "venv")
    install(site, "shop-scanner", "2.0", ["shop/__init__.py", f"shop/_shop.{SO}"])
    install(site, "plain", "1.0", ["plain/__init__.py"])
    (site / "shop" / "__init__.py").write_text(WRAPPER)
    (site / "shop" / f"_shop.{SO}").write_bytes(shop())
    return root


def read(root, *names, store=None):
    known = catalog.load(())
    return machine_code.read(environments.read(str(root)), known, names, store)


def test_native_methods_and_what_ends_in_them_are_told(installed):
    (one,) = read(installed)

    told = {each.symbol: (each.reading.tier, each.through) for each in one.methods}
    assert ("waits", ()) == told["shop._shop.Scanner.read"]
    assert ("held", ()) == told["shop._shop.open_device"]
    assert ("leaves", ()) == told["shop._shop.Scanner.close"]
    assert ("held", ("shop._shop.open_device",)) == told["shop.connect"]
    assert ("waits", ("shop._shop.Scanner.read",)) == told["shop.Scanner.read_all"]
    assert ("waits", ("shop._shop.Scanner.read",)) == told["shop.Scanner.read"]
    way = ("shop.Till._take", "shop.Scanner.read_all", "shop._shop.Scanner.read")
    assert ("waits", way) == told["shop.Till.scan"]
    assert not {"shop.harmless", "shop.Scanner.label", "shop._shop.version"} & set(told)
    assert ("shop-scanner", "2.0", "unknown", 1) == (one.name, one.version, one.kind, one.modules)
    assert 5 == len(one.natives)


def test_the_catalog_is_named_beside_what_was_read(tmp_path, installed):
    (tmp_path / "own.toml").write_text(
        '[[blocker]]\nid = "shop-read"\ndistribution = "shop-scanner"\n'
        'symbols = ["shop.Scanner.read", "shop.open_device"]\nkind = "waits"\nlevel = "error"\n'
        'why = "It waits."\ninstead = "Use the threadpool."\n'
        '[blocker.evidence]\nreference = "its source"\n'
    )
    known = catalog.load((str(tmp_path / "own.toml"),))
    (one,) = machine_code.read(environments.read(str(installed)), known, ["Shop_Scanner"])

    ids = {each.symbol: each.blockers for each in one.methods}
    assert "blocks" == one.kind
    assert ("shop-read",) == ids["shop._shop.Scanner.read"] == ids["shop._shop.open_device"]
    assert () == ids["shop._shop.Scanner.close"]


def test_a_name_that_is_not_installed_is_an_error(installed):
    with pytest.raises(UserError, match="did you mean shop-scanner"):
        read(installed, "shop-scaner")


def test_nothing_is_told_of_python_alone(installed):
    (one,) = read(installed, "plain")
    assert (0, ()) == (one.modules, one.methods)


def counted(monkeypatch):
    from gblock.native import reading

    seen = []
    original = reading.read

    def read(path, **more):
        seen.append(path)
        return original(path, **more)

    monkeypatch.setattr(reading, "read", read)
    return seen


def test_what_was_read_is_kept_until_the_bytes_change(tmp_path, installed, monkeypatch):
    seen = counted(monkeypatch)
    first = read(installed, store=Store())
    assert first == read(installed, store=Store())
    assert 1 == len(seen)

    (path,) = installed.rglob(f"_shop.{SO}")
    path.write_bytes(shop(newer=True))
    newer = read(installed, store=Store())

    assert 2 == len(seen)
    assert newer != first
    (installed / "lib/python3.11/site-packages/shop/__init__.py").write_text("")
    (one,) = read(installed, store=Store())
    assert all(each.is_native for each in one.methods)
    assert 2 == len(seen)


def test_a_damaged_cache_is_made_again(tmp_path, installed, monkeypatch):
    first = read(installed, store=Store())
    entries = list((tmp_path / "cache").rglob("*.json"))
    assert entries
    for number, path in enumerate(entries):
        path.write_bytes([b"", b"{", b"[" * 100_000, b"\xff"][number % 4])
    seen = counted(monkeypatch)

    assert first == read(installed, store=Store())
    assert 1 == len(seen)


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path, installed, monkeypatch):
    first = read(installed)
    (tmp_path / "file").write_text("")
    assert first == read(installed, store=Store(str(tmp_path / "file" / "below")))


def test_a_library_that_changes_is_read_again(tmp_path, monkeypatch):
    library, module = Module(), Module()
    library.function("send_all", "memcpy")
    number = module.function("shop_send", RELEASE, "send_all", TAKE)
    module.methods(("send", number), owner="shop.Client")
    module.needed = ["libshop.so"]
    (tmp_path / "shop.so").write_bytes(module.image())
    path = str(tmp_path / "shop.so")

    def tiers():
        store = Store(str(tmp_path / "cache"))
        (found,) = read_all([path], store)
        store.close()
        return [one.tier for one in found.methods], found.absent

    assert (["leaves"], ("libshop.so",)) == tiers()
    (tmp_path / "libshop.so").write_bytes(library.image())
    (tmp_path / "shop.so").touch()
    store = Store(str(tmp_path / "other"))
    read_all([path], store)
    library.function("send_more", "send")
    library.functions[0] = ("send",)
    (tmp_path / "libshop.so").write_bytes(library.image())
    (found,) = read_all([path], store)
    assert ["waits"] == [one.tier for one in found.methods]


def test_the_cache_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("gblock.native.store._MOST_BYTES", 2_000)
    store = Store(str(tmp_path))
    for number in range(30):
        store.keep(f"key{number}", "x" * 200)
        os.utime(tmp_path / f"key{number}.json", (number, number))
    store.close()

    left = sorted(path.name for path in tmp_path.glob("key*.json"))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2_100
    assert "key29.json" in left
    assert "key0.json" not in left
    assert ["x" * 200] * 2 == [store.value(f"key{n}", str) for n in (28, 29)]
    assert store.value("key29", int) is None


def test_several_processes_give_the_same(tmp_path, monkeypatch):
    paths = []
    for number in range(5):
        paths.append(str(tmp_path / f"m{number}.so"))
        (tmp_path / f"m{number}.so").write_bytes(shop(newer=bool(number % 2)))
    shares = []

    def share(work, items, size, worth):
        assert sum(map(size, items)) == sum(os.path.getsize(path) for path in paths)
        shares.extend((items[1::2], items[::2]))
        return [work(one) for one in shares]

    assert read_all(paths, None) == read_all([*paths, *paths], None, share)[:5]
    assert [2, 3] == [len(one) for one in shares]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (f"shop/_shop.{SO}", "shop._shop"),
        (f"apsw/__init__.{SO}", "apsw"),
        ("_cffi_backend.abi3.so", "_cffi_backend"),
    ],
)
def test_a_file_has_the_name_that_is_imported(file, name):
    assert name == dotted(file)


# -- two versions


def wheel(path, *, newer=False):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"shop/_shop.{SO}", shop(newer=newer))
        archive.writestr("shop/__init__.py", WRAPPER)
        archive.writestr("../outside.py", "")
        archive.writestr("/etc/absolute.py", "")
    return str(path)


def test_two_wheels_are_compared(tmp_path):
    old = wheel(tmp_path / "shop_scanner-1.0-cp311-cp311-linux_x86_64.whl")
    new = wheel(tmp_path / "shop_scanner-2.0-cp311-cp311-linux_x86_64.whl", newer=True)

    found = comparison.compare(old, new, catalog.load(()))

    native = {
        one.symbol: (one.kind, one.old, one.new)
        for one in found.changes
        if one.symbol.startswith("shop._shop.")
    }
    assert {
        "shop._shop.Scanner.close": ("changed", "leaves", "waits"),
        "shop._shop.Scanner.flush": ("new", "", "waits"),
    } == native
    (flush,) = (one for one in found.changes if one.symbol == "shop._shop.Scanner.flush")
    assert (("poll",), ("scanner_wait", "poll")) == (flush.waits, flush.chain)
    back = comparison.compare(new, old, catalog.load(()))
    assert ("gone", "waits") in {(one.kind, one.old) for one in back.changes}
    assert not (tmp_path.parent / "outside.py").exists()


def test_what_is_no_wheel_is_an_error(tmp_path):
    (tmp_path / "shop-1-x.whl").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(UserError, match="it is no wheel"):
        comparison.compare(str(tmp_path / "shop-1-x.whl"), "absent.whl", catalog.load(()))
    with pytest.raises(UserError, match="No such file"):
        comparison.compare(str(tmp_path / "absent.whl"), "absent.whl", catalog.load(()))


def test_a_wheel_that_never_ends_is_not_unpacked(tmp_path, monkeypatch):
    path = wheel(tmp_path / "shop-1-x.whl")
    monkeypatch.setattr("gblock.packages.wheel._MOST_BYTES", 500)
    with pytest.raises(UserError, match="larger than"):
        comparison.compare(path, path, catalog.load(()))
    monkeypatch.setattr("gblock.packages.wheel._MOST_FILES", 1)
    with pytest.raises(UserError, match="more than 1 files"):
        comparison.compare(path, path, catalog.load(()))


# -- the command


def test_the_command_writes_text_and_json(installed, capsys):
    assert 0 == cli.main(["deps", "--native", "--python", str(installed), "--isolated"])
    out, err = capsys.readouterr()
    assert "shop-scanner 2.0: 5 methods in 1 module; the catalog says unknown" in out
    assert "    shop._shop.Scanner.read\n      scanner_wait → poll\n" in out
    assert "Python functions of the package end in these: see --all" in out
    assert "    Scanner.close\n" in out
    assert "5 methods in 1 module of 1 distribution: 1 waits, 1 held, 1 leaves." in err
    assert "may block, too" in err

    command = ["deps", "--native", "shop-scanner", "--python", str(installed), "--json", "-q"]
    assert 0 == cli.main([*command, "--no-cache", "--isolated"])
    out, err = capsys.readouterr()
    (one,) = json.loads(out)
    told = {each["symbol"]: each for each in one["told"]}
    assert {
        "symbol": "shop._shop.Scanner.read",
        "tier": "waits",
        "releases_gil": True,
        "waits": ["poll"],
        "classes": ["network"],
        "through": [],
        "chain": ["scanner_wait", "poll"],
        "blockers": [],
    } == told["shop._shop.Scanner.read"]
    assert told["shop._shop.open_device"]["releases_gil"] is None
    assert "" == err


def test_everything_is_listed_on_request(installed, capsys):
    command = ["deps", "--native", "--all", "--python", str(installed), "--isolated"]
    assert 0 == cli.main(command)
    out, _ = capsys.readouterr()
    way = "shop.Till._take → shop.Scanner.read_all → shop._shop.Scanner.read → scanner_wait → poll"
    assert f"    shop.Till.scan\n      {way}\n" in out


def test_what_is_not_read_is_said(installed, capsys):
    (path,) = installed.rglob(f"_shop.{SO}")
    path.write_bytes(b"\x7fELF")
    assert 0 == cli.main(["deps", "--native", "--python", str(installed), "--isolated"])
    out, err = capsys.readouterr()
    assert f"not read as a whole: shop/_shop.{SO}: not 64-bit" in out
    assert "1 module not read as a whole" in err


def test_missing_libraries_are_named(installed, capsys):
    module = Module()
    number = module.function("f", RELEASE, "go", TAKE)
    module.methods(("go", number), owner="shop.T")
    module.needed = ["libgone-1a.so.3"]
    (path,) = installed.rglob(f"_shop.{SO}")
    path.write_bytes(module.image())
    assert 0 == cli.main(["deps", "--native", "--python", str(installed), "--isolated"])
    assert "libraries that were not found: libgone-1a.so.3" in capsys.readouterr().out


def test_the_command_compares(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old, new = wheel(tmp_path / "shop-1.0-x.whl"), wheel(tmp_path / "shop-2.0-x.whl", newer=True)

    assert 0 == cli.main(["deps", "--compare", old, new, "--isolated"])
    out, _ = capsys.readouterr()
    assert out.startswith("shop 1.0 and shop 2.0\n")
    assert "  changed  shop._shop.Scanner.close: leaves, now waits\n" in out
    assert "  new      shop._shop.Scanner.flush: waits\n           scanner_wait → poll\n" in out

    assert 0 == cli.main(["deps", "--compare", new, old, "--json", "--isolated"])
    rows = {one["symbol"]: one for one in json.loads(capsys.readouterr().out)}
    assert "gone" == rows["shop._shop.Scanner.flush"]["change"]
    assert 0 == cli.main(["deps", "--compare", new, old, "--isolated"])
    assert "  gone     shop._shop.Scanner.flush, was waits\n" in capsys.readouterr().out


def test_drafts_are_entries_of_a_catalog(installed, capsys):
    command = ["deps", "--native", "--suggest", "--python", str(installed), "--isolated"]
    assert 0 == cli.main(command)
    out, _ = capsys.readouterr()

    drafted = catalog.parse(outline.Outline(out.encode(), "drafts")).blockers
    symbols = {symbol for one in drafted for symbol in one.symbols}
    assert {"shop._shop.Scanner.read", "shop.Scanner.read", "shop.Till.scan"} <= symbols
    assert "shop._shop.open_device" not in symbols  # it keeps the GIL: no thread helps
    assert all(one.releases_gil for one in drafted)
    (one,) = (one for one in drafted if "shop._shop.Scanner.read" in one.symbols)
    assert "not measured" in one.evidence.reference
    assert "scanner_wait → poll" in one.evidence.reference
    assert "around poll" in one.why


def test_nothing_is_drafted_where_nothing_waits(installed, capsys):
    (path,) = installed.rglob(f"_shop.{SO}")
    path.write_bytes(Module().image())
    command = ["deps", "--native", "--suggest", "--python", str(installed), "--isolated"]
    assert 0 == cli.main(command)
    assert "# The machine code names no wait" in capsys.readouterr().out


def test_a_symbol_is_asked_for_a_sentence(installed):
    said = machine_code.Descriptions(environments.read(str(installed)), catalog.load(()), None)

    assert (
        "The machine code releases the GIL around poll: "
        "shop.Scanner.read_all → shop._shop.Scanner.read → scanner_wait → poll."
    ) == said("shop.Till._take")
    assert said("shop._shop.open_device").startswith("The machine code keeps the GIL and may reach")
    assert "for an unknown reason." in said("shop._shop.Scanner.close")
    assert "" == said("shop.harmless") == said("elsewhere.read")


def test_calls_into_unknown_packages_say_what_the_machine_code_says(tmp_path, installed):
    (tmp_path / "app.py").write_text(
        "import shop\nfrom shop import Scanner, connect\n\n"
        "def take(device):\n    Scanner().read()\n    connect(device)\n    shop.harmless()\n"
    )
    request = Request(
        [str(tmp_path / "app.py")],
        Config(root=str(tmp_path), python=str(installed)),
        select=["unknown-native-call"],
    )

    messages = [(one.location.row, one.message) for one in check(request).diagnostics]

    by_row = dict(messages)
    assert "its machine code releases the GIL around poll" in by_row[5]
    assert "its machine code keeps the GIL and may reach connect" in by_row[6]
    assert "compiled code without a measurement" in by_row[7]


def test_a_large_package_is_not_read_by_a_check(installed, monkeypatch):
    made = unknown.outline(environments.read(str(installed)), CATALOG)
    assert len(catalog.parse(made).blockers) > 1
    monkeypatch.setattr("gblock.packages.unknown._MOST_BYTES", 10)
    made = unknown.outline(environments.read(str(installed)), CATALOG)
    assert 1 == len(catalog.parse(made).blockers)
    (path,) = installed.rglob(f"_shop.{SO}")
    path.unlink()
    made = unknown.outline(environments.read(str(installed)), CATALOG)
    assert 1 == len(catalog.parse(made).blockers)


def test_a_check_writes_no_cache(tmp_path, installed):
    unknown.outline(environments.read(str(installed)), CATALOG)
    assert not (tmp_path / "cache").exists()


def test_names_are_compared_by_type_and_method():
    blocker = catalog.parse(
        outline.Outline(
            b'[[blocker]]\nid = "x"\ndistribution = "shop"\n'
            b'symbols = ["shop.extensions.cursor.execute", "shop.Client", "shop.connect"]\n'
            b'kind = "waits"\nlevel = "error"\nwhy = "a."\ninstead = "b."\n'
            b'[blocker.evidence]\nreference = "r"\n',
            "x",
        )
    ).blockers[0]
    named = machine_code.Named([blocker], frozenset({"cursor"}))

    for symbol in ("shop._c.cursor.execute", "shop._c.Client.__init__", "shop._c.connect"):
        assert ("x",) == named.ids(symbol), symbol
    for symbol in ("shop._c.execute", "shop.Client.close", "shop.Pool.connect", "shop.cursor"):
        assert () == named.ids(symbol), symbol


# -- Python code above native methods

ABOVE = {
    "shop/__init__.py": "from shop.backend import Base\nfrom shop.core import Client\n",
    "shop/backend.py": "import os\nglobals().update(vars(__import__(os.environ['B'])))\n",
    "shop/core.py": """
from shop.backend import Scanner as Base

class Client(Base):
    def take(self):
        return super().read()

    def __enter__(self):
        self.take()
        return self

    def __exit__(self, *error):
        pass

def run():
    with Client() as client:
        pass

def outer():
    def inner():
        run()
    return inner

class Deep:
    def close(self):
        self.close()

def import_(x):
    return x.read()
""",
}


def test_a_base_that_is_chosen_at_import_is_found_by_its_name(tmp_path):
    from gblock.native.packages import Asked
    from gblock.native.packages import read as read_packages

    for name, text in ABOVE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "shop" / f"_shop.{SO}").write_bytes(shop())
    (package,) = read_packages([Asked("shop", "1", str(tmp_path), (f"shop/_shop.{SO}",))], None)

    found = {
        one.symbol: one.through[-1]
        for one in wrappers.read(str(tmp_path), tuple(ABOVE), package.modules)
    }

    native = "shop._shop.Scanner.read"
    for symbol in (
        "shop.core.Client.take",
        "shop.core.Client.read",
        "shop.core.Client.__enter__",
        "shop.core.run",
        "shop.core.outer",
        "shop.Client.take",
        "shop.Client.read",
    ):
        assert native == found[symbol], symbol
    assert "shop.core.import_" not in found
    assert "shop.core.Deep.close" not in found
    assert [] == wrappers.read(str(tmp_path), tuple(ABOVE), ())


BASE = """
class Base:
    def __init__(self, job):
        self._run = job
    def f(self):
        self._run()
class Queue(Base):
    def __init__(self, full):
        super().__init__(%s)
def read():
    Scanner().read()
def made():
    return Queue(read)
"""
"""A class that passes the argument of its constructor on to its base."""
FORMS = {
    "a call": "def f():\n    Scanner().read()",
    "an import as another name": "from shop._shop import Scanner as S\ndef f():\n    S().read()",
    "an import from another file": "from shop.names import Again\ndef f():\n    Again().read()",
    "a variable": "def f():\n    take = Scanner().read\n    take()",
    "an attribute": """
class Client:
    def __init__(self):
        self._take = Scanner().read
    def f(self):
        self._take()
""",
    "an argument": """
def run(job):
    job()
def f():
    run(Scanner().read)
""",
    "a keyword argument": """
def run(*, job):
    job()
def f():
    run(job=Scanner().read)
""",
    "a default": "def f(job=Scanner().read):\n    job()",
    "what a function returns": """
def chosen():
    return Scanner().read
def f():
    chosen()()
""",
    "what a function returns, in a variable": """
def chosen():
    return Scanner().read
def f():
    take = chosen()
    take()
""",
    "a partial": "import functools\ndef f():\n    functools.partial(Scanner().read)()",
    "a table": "JOBS = {'read': Scanner().read}\ndef f():\n    JOBS['read']()",
    "a list": "def f():\n    for job in [Scanner().read]:\n        job()",
    "a decorator": """
def twice(function):
    def inner():
        function()
        function()
    return inner
@twice
def g():
    Scanner().read()
def f():
    g()
""",
    "a decorator with arguments": """
def times(number):
    def decorator(function):
        def inner():
            function()
        return inner
    return decorator
@times(2)
def g():
    Scanner().read()
def f():
    g()
""",
    "a property": """
class Client:
    @property
    def take(self):
        return Scanner().read
def f():
    Client().take()
""",
    "a constructor": """
class Client:
    def __init__(self):
        Scanner().read()
def f():
    Client()
""",
    "an inherited constructor": """
class Client:
    def __init__(self):
        Scanner().read()
class Better(Client):
    pass
class Best(Better):
    def __init__(self):
        super().__init__()
def f():
    Best()
def g():
    Better()
""",
    "a class method": """
class Client:
    def __init__(self):
        Scanner().read()
    @classmethod
    def made(cls):
        return cls()
def f():
    Client.made()
""",
    "a class in a variable": """
class Client:
    def __init__(self):
        Scanner().read()
KIND = Client
def f():
    KIND()
""",
    "a with statement": """
class Client:
    def __enter__(self):
        Scanner().read()
        return self
    def __exit__(self, *error):
        pass
def f():
    with Client() as client:
        print(client)
""",
    "a for statement": """
class Client:
    def __iter__(self):
        Scanner().read()
        return iter(())
def f():
    for one in Client():
        print(one)
""",
    "an inherited method": """
class Client:
    def take(self):
        Scanner().read()
class Better(Client):
    def f(self):
        super().take()
""",
    "an argument of a base's constructor": BASE % "full",
    "a keyword argument of a base's constructor": BASE % "job=full",
    "a variable of the function around": """
def f():
    take = Scanner().read
    def inner():
        take()
    inner()
""",
    "a class of a function": """
def outer():
    class Inner(Scanner):
        def f(self):
            self.read()
    Inner().f()
""",
    "nothing": "def f():\n    Scanner().label()",
}


class _EveryName(set):
    def __contains__(self, name):
        return True


class _EveryCall(Spellings):
    """Finds all calls for each name: what inference makes of them is the answer."""

    def names(self, asked):
        for path in self._modules.files:
            self._take(path)
        return _EveryName()

    def of(self, name, owner):
        self.names(())
        return sorted(place for places in self._calls.values() for place in places)


@pytest.mark.parametrize("form", FORMS)
def test_only_calls_that_are_spelled_like_a_method_are_resolved(tmp_path, monkeypatch, form):
    from gblock.native.packages import Asked
    from gblock.native.packages import read as read_packages

    text = f"from shop._shop import Scanner\n{FORMS[form]}\n"
    files = {
        "shop/__init__.py": "from shop.core import *\nfrom shop.core import f as offered\n",
        "shop/names.py": "from shop._shop import Scanner\nAgain = Scanner\n",
        "shop/core.py": text,
    }
    for name, code in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    (tmp_path / "shop" / f"_shop.{SO}").write_bytes(shop())
    (package,) = read_packages([Asked("shop", "1", str(tmp_path), (f"shop/_shop.{SO}",))], None)

    def found():
        return wrappers.read(str(tmp_path), tuple(files), package.modules)

    few = found()
    monkeypatch.setattr(wrappers, "Spellings", _EveryCall)
    assert found() == few
    is_known = any(one.symbol.rpartition(".")[2] == "f" for one in few)
    assert is_known == (form != "nothing")


def test_a_variable_of_one_function_names_nothing_in_another(tmp_path):
    path = tmp_path / "core.py"
    path.write_text(
        "def one():\n    value = take\n    value()\n\n\n"
        "def other(value):\n    value()\n    kept = value\n    return len(kept)\n"
    )
    modules = Modules(str(tmp_path), [str(path)])

    assert [(0, 0)] == Spellings(modules).of("take", "")


def test_names_are_followed_up_to_a_distance(tmp_path):
    path = tmp_path / "core.py"
    path.write_text("".join(f"name_{n + 1} = name_{n}\nname_{n + 1}()\n" for n in range(40)))
    modules = Modules(str(tmp_path), [str(path)])
    spellings = Spellings(modules)

    few = spellings.of("name_0", "")
    assert 0 < len(few) < 40
    assert spellings.of("name_3", "")


def test_a_stub_is_python_that_can_be_parsed(tmp_path):
    from gblock.native.packages import Asked
    from gblock.native.packages import read as read_packages
    from gblock.packages.wrappers import stub

    module = Module()
    wait = module.function("f", RELEASE, "poll", TAKE)
    module.methods(("cursor", wait), ("class", wait), ("import", wait), owner="shop.connection")
    module.methods(("execute", wait), owner="shop.cursor")
    module.methods(("connection", wait), ("print", wait), owner="_shop", is_type=False)
    (tmp_path / "_shop.so").write_bytes(module.image())
    (package,) = read_packages([Asked("shop", "1", str(tmp_path), ("_shop.so",))], None)

    text = stub(package.modules[0])

    compile(text, "stub", "exec")
    assert "def cursor(self, *args, **kwargs): return cursor()" in text
    assert "import" not in text


LOADED = """
import ctypes
import os
from ctypes import CDLL, cdll

_libc = ctypes.CDLL("libc.so.6", use_errno=True)
_python = ctypes.PyDLL(None)


class Device:
    def __init__(self):
        self._lib = CDLL(os.path.join(os.path.dirname(__file__), "libdevice.so"))

    def read(self):
        return self._lib.device_read(self)

    def size(self):
        return self._lib.device_size(self)


def wait(descriptors):
    return _libc.poll(descriptors, 1, -1)


def receive():
    return cdll.LoadLibrary("libc.so.6").recv(0)


def held():
    return _python.recv(0)


def identity():
    return _libc.getpid()
"""


@pytest.fixture
def loaded(tmp_path):
    """An environment with a package that loads its own library."""
    library = Module()
    library.function("device_read", "recv")
    library.function("device_size", "memcpy")
    root, site = environment(tmp_path / "venv")
    install(site, "device", "1.0", ["device/__init__.py", "device/libdevice.so", "device/api.py"])
    install(site, "plain", "1.0", ["plain/__init__.py"])
    (site / "device" / "__init__.py").write_text(LOADED)
    (site / "device" / "api.py").write_text("")
    (site / "device" / "libdevice.so").write_bytes(library.image())
    return root, site


def test_functions_that_ctypes_calls_are_told(loaded):
    root, site = loaded
    (one,) = read(root)

    told = {each.symbol: (each.reading.tier, each.reading.waits) for each in one.methods}
    assert {
        "device.Device.read": ("waits", ("recv",)),
        "device.Device.size": ("leaves", ()),
        "device.wait": ("waits", ("poll",)),
        "device.receive": ("waits", ("recv",)),
        "device.held": ("held", ("recv",)),
    } == told
    (way,) = (each for each in one.methods if each.symbol == "device.Device.read")
    assert (("ctypes.CDLL.device_read",), ("device_read", "recv")) == (
        way.through,
        way.reading.chain,
    )
    (site / "device" / "libdevice.so").write_bytes(b"no library")
    (one,) = read(root)
    assert "device.Device.read" not in {each.symbol for each in one.methods}


def test_a_library_may_be_called_in_a_file_that_imports_the_one_that_loads_it(loaded):
    root, site = loaded
    (site / "device" / "api.py").write_text(
        "from device import _libc\n\n\ndef ready(x):\n    return _libc.select(x)\n"
    )
    (one,) = read(root)
    assert "device.api.ready" in {each.symbol for each in one.methods}


def test_what_releases_the_gil_is_not_followed_in_a_package_that_computes(loaded, monkeypatch):
    root, _ = loaded
    monkeypatch.setattr("gblock.packages.wrappers._MOST_LEAVES", 0)
    (one,) = read(root)
    assert {"waits", "held"} == {each.reading.tier for each in one.methods}


def test_the_cache_knows_nothing_of_a_file_that_cannot_be_read(tmp_path):
    store = Store(str(tmp_path / "cache"))
    (one,) = read_all([str(tmp_path / "absent.so")], store)
    assert one.not_read
    assert store.get(str(tmp_path / "absent.so")) is None
    assert not (tmp_path / "cache").exists()


def test_a_result_of_another_format_is_unknown(tmp_path, monkeypatch):
    path = tmp_path / "m.so"
    path.write_bytes(shop())
    (one,) = read_all([str(path)], Store(str(tmp_path)))
    assert one == Store(str(tmp_path)).get(str(path))
    monkeypatch.setattr("gblock.native.store.FORMAT", -1)
    assert Store(str(tmp_path)).get(str(path)) is None


def test_a_cache_that_only_reads_gives_the_same_and_writes_nothing(tmp_path):
    path = tmp_path / "m.so"
    path.write_bytes(shop())
    reader = Store(str(tmp_path / "cache"), keeps=False)
    (one,) = read_all([str(path)], reader)
    reader.close()
    assert not (tmp_path / "cache").exists()
    read_all([str(path)], Store(str(tmp_path / "cache")))
    assert one == Store(str(tmp_path / "cache"), keeps=False).get(str(path))


def test_an_entry_that_cannot_be_put_in_its_place_leaves_no_rest(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "m.so"
    path.write_bytes(shop())
    monkeypatch.setattr(os, "replace", refused)
    read_all([str(path)], Store(str(tmp_path / "cache")))
    assert [] == list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize(("library", "known"), [("libshop.so", False), ("./libshop.so", True)])
def test_a_result_counts_until_a_library_that_was_absent_is_there(
    tmp_path, monkeypatch, library, known
):
    path = tmp_path / "m.so"
    path.write_bytes(shop())
    store = Store(str(tmp_path))
    (one,) = read_all([str(path)], None)
    store.put(str(path), one._replace(absent=(library,)))
    assert store.get(str(path)) is not None
    (tmp_path / "libshop.so").write_bytes(b"")
    system = {machine: (str(tmp_path),) for machine in linking._SYSTEM}
    monkeypatch.setattr(linking, "_SYSTEM", system)
    # A path is one of the package, whose files the other keys describe.
    assert known is (store.get(str(path)) is not None)
