"""The catalog: its schema, its order, and that each symbol is found in code."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from harness import CATALOG as BUILT_IN
from harness import check, every
from ways import arguments, switch_on

from gblock import catalog, outline, rules
from gblock.catalog.libraries import Library
from gblock.catalog.lookup import Catalog
from gblock.config import Config
from gblock.errors import UserError
from gblock.outline import Outlines

TEXT = Path(outline.BUILT_IN).read_text(encoding="utf-8")

HEAD = '[measured-on]\npython = "3.11.7"\n'
BLOCK = """
[[blocker]]
id = "shop-wait"
distribution = "shop"
symbols = ["shop.wait"]
kind = "waits"
level = "error"
why = "It waits."
instead = "Do not."
[blocker.evidence]
reference = "https://example.org"
"""


def test_blockers_stand_in_the_order_of_their_ids():
    ids = [blocker.id for blocker in BUILT_IN.blockers]

    assert sorted(set(ids)) == ids


def test_the_catalog_is_as_broad_as_it_claims():
    measured = [blocker for blocker in BUILT_IN.blockers if blocker.evidence.measured]

    assert len(BUILT_IN.blockers) >= 650
    assert len(measured) >= 620
    assert len({blocker.distribution for blocker in BUILT_IN.blockers}) >= 190


@every(BUILT_IN.blockers)
def test_a_blocker_is_well_formed(blocker):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", blocker.id)
    assert all(re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*(\.\*)?", symbol) for symbol in blocker.symbols)
    assert blocker.why.endswith(".")
    assert blocker.instead.endswith(".")
    assert "\n" not in blocker.why + blocker.instead
    assert blocker.evidence.measured or blocker.evidence.reference


@every([*BUILT_IN.blockers, *BUILT_IN.beliefs])
def test_a_belief_is_a_sentence(one):
    for text in filter(None, (one.evidence.belief, one.evidence.found)):
        assert text.endswith(".")
        assert "\n" not in text


@every(BUILT_IN.beliefs)
def test_a_belief_that_is_no_blockers_is_well_formed(belief):
    evidence = belief.evidence

    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", belief.id)
    assert belief.id not in BUILT_IN.by_id
    assert evidence.belief
    assert evidence.measured
    assert belief.rule in (None, *rules.NAMES)
    # What blocks only without gevent's patch, or after another call, is another matter.
    found = [blocker for symbol in belief.symbols for blocker in BUILT_IN.lookup(symbol)]
    assert all(one.patched_by or one.blocks_after for one in found), "it is a blocker's"
    if belief.verdict in ("blocks", "cpu"):
        assert evidence.max_gap >= 0.05
    else:
        assert evidence.max_gap < 0.05 or evidence.max_gap <= 0.1 * evidence.elapsed


def test_beliefs_stand_in_the_order_of_their_ids():
    ids = [belief.id for belief in BUILT_IN.beliefs]

    assert sorted(set(ids)) == ids


def test_a_process_cuts_and_parses_the_catalog_once():
    chunk = next(chunk for chunk in outline.read().chunks if chunk.kind == "blocker")

    assert outline.read() is outline.read()
    assert catalog.block_of(chunk, "x") is catalog.block_of(chunk, "x")
    with_figures = catalog.block_of(chunk, "x", {chunk.id: {"elapsed": 7.0}})
    assert with_figures.evidence.elapsed == 7.0
    assert catalog.block_of(chunk, "x").evidence != with_figures.evidence


def test_a_run_does_not_parse_beliefs():
    text = outline.Outline(b'[[belief]]\nid = "a"\nsymbols = ["shop.wait"]\n', "x")

    assert text.about(frozenset({"shop"})) == []


@every(BUILT_IN.blockers)
def test_what_was_measured_did_block_the_hub(blocker):
    evidence = blocker.evidence
    if blocker.kind in ("costly", "sends"):
        assert blocker.seconds_each
    elif evidence.measured and blocker.level != "opt-in":
        assert evidence.max_gap >= 0.05 or not evidence.returned


@every(BUILT_IN.blockers)
def test_the_threadpool_is_offered_only_where_it_helps(blocker):
    if blocker.releases_gil is False:
        offers = re.search(r"(?<!not )(?:in|use|with) (?:the hub's )?threadpool", blocker.instead)

        assert not (offers and "does not" not in blocker.instead), blocker.instead


@every(BUILT_IN.blockers)
def test_a_remedy_names_the_function_that_was_called(blocker):
    for name in re.findall(r"threadpool\.apply\(([\w.]+)", blocker.instead):
        last = name.rpartition(".")[2]
        own = {symbol.rpartition(".")[2] for symbol in blocker.symbols}

        assert last in ("f", "work", "next") or own <= {last, "__exit__"} or last in blocker.id
    assert "{call}" not in blocker.remedy("hash")


@every(BUILT_IN.blockers)
def test_a_remedy_can_be_pasted_and_weakens_nothing(blocker):
    assert "gevent.sleep()" not in blocker.instead, "without a figure a loop spins"
    assert not re.search(r"getrandbits|random\.random|itertools\.count", blocker.instead)


@every(BUILT_IN.blockers)
def test_the_headline_and_the_reason_agree(blocker):
    """Of a call that returns at once it is not said that it blocks until it returns."""
    if re.search(r"returns at once|background thread|although no code calls", blocker.why):
        assert blocker.kind == "spawns"


def test_no_symbol_stands_in_two_blocks():
    double = {s: [b.id for b in found] for s, found in BUILT_IN.by_symbol.items() if len(found) > 1}

    assert {} == double


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="the modules are those of Linux")
def test_classes_of_the_standard_library_are_known_by_their_constructors():
    """A class in lower case, such as `mmap.mmap`, is one only if a `[[library]]` block says so."""
    owners = {
        symbol.rpartition(".")[0]
        for b in BUILT_IN.blockers
        if b.distribution == "stdlib"
        for symbol in b.symbols
    }
    found = []
    for module, _, name in (owner.rpartition(".") for owner in sorted(owners)):
        with contextlib.suppress(ImportError):
            if inspect.isclass(getattr(importlib.import_module(module or "builtins"), name, None)):
                found.append(f"{module}.{name}")

    assert "mmap.mmap" in found
    assert [] == [name for name in found if BUILT_IN.canonical(name) not in BUILT_IN.classes]


def test_the_outline_and_the_catalog_read_the_same_symbols():
    chunks = outline.read().chunks
    outlined = {c.id: (set(c.symbols), c.is_off) for c in chunks if c.kind == "blocker"}
    parsed = {
        b.id: (set(b.symbols), b.level == "opt-in" and not b.uploaded) for b in BUILT_IN.blockers
    }

    assert parsed == outlined


@pytest.mark.parametrize(
    "is_patched",
    [pytest.param(False, id="always", marks=pytest.mark.live), pytest.param(True, id="unpatched")],
)
def test_every_symbol_of_a_blocker_is_found_where_it_is_called(is_patched, tmp_path):
    """`import M; M.f()` for functions, an annotated parameter for methods: no fixture by hand."""
    wanted = {}
    switch_on(BUILT_IN, tmp_path)
    for blocker in BUILT_IN.blockers:
        if bool(blocker.patched_by) is is_patched:
            path = tmp_path / f"{blocker.id.replace('-', '_')}_calls.py"
            lines, rows = calls(blocker)
            path.write_text("\n".join(lines), encoding="utf-8")
            wanted[path.name] = [(blocker.id, each) for each in rows]
    opt_in = {blocker.id for blocker in BUILT_IN.blockers if blocker.level == "opt-in"}
    options = {"select": ["default", *opt_in], "min_severity": "note"}
    report = check([str(tmp_path)], Config(root=str(tmp_path)), **options)

    found = {name: [] for name in wanted}
    for one in report.diagnostics:
        name = Path(one.filename).name
        if one.blocker is None or name not in found:
            continue
        # A call that several blockers describe is reported once for each that is selected.
        if one.blocker not in opt_in or (one.blocker, one.location.row) in wanted[name]:
            found[name].append((one.blocker, one.location.row))
    assert {} == {
        name: both
        for name in wanted
        if (both := (wanted[name], sorted(found[name], key=by_row)))[0] != both[1]
    }


def by_row(found):
    return found[1]


def calls(blocker):
    """The lines that call each symbol of a blocker in a loop, and the rows of the calls."""
    # Some block only in a process that runs on gevent and patches nothing.
    lines, rows = ["import gevent", 'if __name__ == "__main__":', "    gevent.wait()", ""], []
    if not blocker.patched_by:
        lines.clear()
    # Hundreds of functions of one name are no project: each may call the other.
    function = blocker.id.replace("-", "_")
    for number, symbol in enumerate(blocker.symbols):
        owner, _, name = symbol.rpartition(".")
        if owner == "builtins" or name == "*" or name.startswith("__"):
            continue
        if owner in BUILT_IN.classes:
            module, _, cls = owner.rpartition(".")
            lines += [f"from {module} import {cls} as Known{number}", ""]
            lines += [f"def {function}_{number}(known: Known{number}, *args):"]
            call = f"known.{name}({arguments(blocker)})"
        else:
            lines += [f"import {owner}", "", f"def {function}_{number}(*args):"]
            call = f"{owner}.{name}({arguments(blocker)})"
        lines += ["    for _ in args:", f"        {call}", ""]
        rows.append(len(lines) - 1)
    return lines, rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "waits"', 'kind = "weights"'), "'shop-wait': kind: Invalid enum value"),
        (('level = "error"', "level = 3"), "'shop-wait': level: Expected `str`, got `int`"),
        (("instead =", "insted ="), "unknown key 'insted'; did you mean instead?"),
        (("instead =", "hopeless ="), "unknown key 'hopeless'; known keys: "),
        (("reference =", "refrence ="), "unknown key 'refrence' in evidence; did you mean"),
        (('why = "It waits."\n', ""), "'shop-wait': the key 'why' is missing"),
        (('why = "It waits."', "why = It waits."), "invalid TOML: Invalid value"),
    ],
)
def test_a_wrong_block_is_an_error_that_names_it(change, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + BLOCK.replace(*change))

    with pytest.raises(UserError) as caught:
        catalog.load((str(path),))

    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


def test_a_catalog_of_the_users_own_adds_to_the_built_in_one(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + BLOCK + BLOCK.replace("shop-wait", "os-system"))
    known = catalog.load((str(path),))

    assert "shop" == known.by_id["shop-wait"].distribution
    assert "shop" == known.by_id["os-system"].distribution
    assert len(BUILT_IN.blockers) + 1 == len(known.blockers)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_catalog_that_cannot_be_read_is_an_error(content, tmp_path):
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(UserError, match=r"mine\.toml"):
        catalog.load((str(path),))


def test_aliases_in_a_circle_come_to_an_end():
    library = Library(distribution="x", aliases={"a.b": "a.c", "a.c": "a.b"})
    known = Catalog((), (library,))

    assert known.canonical("a.b.f") in ("a.b.f", "a.c.f")


def test_a_method_is_looked_up_along_the_bases_of_its_class():
    found = BUILT_IN.lookup("ldap.ldapobject.ReconnectLDAPObject.search_s")

    assert "python-ldap-search" == found[0].id


@every(sorted(BUILT_IN.immediate))
def test_a_call_that_returns_at_once_is_none_of_all_methods(symbol):
    found = BUILT_IN.lookup(symbol)

    assert all(symbol in map(BUILT_IN.canonical, blocker.symbols) for blocker in found)


def test_a_pattern_of_a_base_says_which_methods_return_at_once():
    library = Library(
        distribution="shop",
        bases={"google.cloud.dlp.DlpServiceClient": ("google.api_core.gapic_v1.Client",)},
        immediate=(
            "google.api_core.gapic_v1.Client.*_path",
            "google.api_core.gapic_v1.Client.close",
        ),
    )
    blocker = BUILT_IN.by_id["google-cloud-dlp-client"]
    client, known = "google.cloud.dlp.DlpServiceClient", Catalog((blocker,), (library,))

    assert known.lookup(f"{client}.inspect_content") == (blocker,)
    assert known.lookup(f"{client}.path_of") == (blocker,)
    assert known.lookup(f"{client}.dlp_job_path") == ()
    assert known.lookup(f"{client}.close") == ()


@pytest.mark.parametrize(
    ("symbol", "found"),
    [
        ("google.cloud.video.stitcher_v1.VideoStitcherServiceClient.get_slate", True),
        ("google.cloud.video.stitcher_v1.VideoStitcherServiceClient.slate_path", False),
        ("google.cloud.video.stitcher_v1.VideoStitcherServiceAsyncClient.get_slate", False),
        ("google.cloud.compute_v1.InstancesClient.list", False),
        ("google.cloud.datastore_v1.Client.get", False),
        ("google.cloud.pubsub_v1.PublisherClient.stop", False),
    ],
)
def test_a_pattern_of_packages_is_for_classes_that_nothing_else_names(symbol, found):
    ids = [blocker.id for blocker in BUILT_IN.lookup(symbol)]

    assert ("google-api-core-client" in ids) is found
    client = symbol.rpartition(".")[0]
    assert bool(BUILT_IN.conditions_of(client)) is ("VideoStitcherServiceClient" in client)


_OF_A_CURSOR = ("execute", "executemany", "callproc", "fetchone", "fetchmany", "fetchall")
_OF_A_CONNECTION = ("commit", "rollback")
_WITHOUT = {
    ("adbc-driver-manager", "callproc"): "it raises NotSupportedError",
    ("apsw", "callproc"): "the class has no such method",
    ("apsw", "fetchmany"): "the class has no such method",
    ("apsw", "commit"): "it is a statement",
    ("apsw", "rollback"): "it is a statement",
    ("chdb", "executemany"): "the methods that wait call execute()",
    ("chdb", "callproc"): "there are no procedures",
    ("chdb", "fetchone"): "the result is in memory after execute()",
    ("chdb", "fetchmany"): "the result is in memory after execute()",
    ("chdb", "fetchall"): "the result is in memory after execute()",
    ("chdb", "commit"): "it does nothing",
    ("chdb", "rollback"): "it does nothing",
    ("databend-driver", "callproc"): "the class has no such method",
    ("databend-driver", "commit"): "the class has no such method",
    ("databend-driver", "rollback"): "the class has no such method",
    ("jaydebeapi", "callproc"): "the class has no such method",
    ("libsql", "callproc"): "the class has no such method",
    ("mssql-python", "callproc"): "it raises NotSupportedError",
    ("PyGreSQL", "fetchone"): "the result is in memory after execute()",
    ("PyGreSQL", "fetchmany"): "the result is in memory after execute()",
    ("PyGreSQL", "fetchall"): "the result is in memory after execute()",
    ("pymgclient", "callproc"): "the class has no such method",
    ("pymgclient", "executemany"): "the class has no such method",
    ("pyodbc", "callproc"): "the class has no such method",
    ("pysqlite3", "callproc"): "the class has no such method",
    ("sqlcipher3", "callproc"): "the class has no such method",
    ("stdlib", "callproc"): "the class has no such method",
    ("taos-ws-py", "callproc"): "the class has no such method",
    ("taos-ws-py", "commit"): "there are no transactions",
    ("taos-ws-py", "executemany"): "the method is called execute_many",
    ("taos-ws-py", "rollback"): "there are no transactions",
    ("taospy", "callproc"): "it does nothing",
    ("taospy", "commit"): "there are no transactions",
    ("taospy", "rollback"): "there are no transactions",
}


def _methods_of_drivers():
    """The methods of cursors and connections in the catalog, by driver."""
    found = {}
    for blocker in BUILT_IN.blockers:
        for symbol in blocker.symbols:
            owner, _, method = symbol.rpartition(".")
            kind = owner.lower().endswith("cursor"), owner.lower().endswith("connection")
            if any(kind) and not blocker.patched_by:
                found.setdefault(blocker.distribution, set()).add((kind, method))
    wanted = {((True, False), one) for one in _OF_A_CURSOR}
    wanted |= {((False, True), one) for one in _OF_A_CONNECTION}
    return {
        driver: {method for _, method in wanted - methods}
        for driver, methods in found.items()
        if ((True, False), "execute") in methods
    }


def test_a_driver_waits_in_all_methods_of_its_cursors_and_connections_or_a_reason_is_known():
    lacking = {(driver, one) for driver, names in _methods_of_drivers().items() for one in names}
    assert lacking == set(_WITHOUT)


def test_the_commands_of_workers_are_known_before_their_blocks_are_parsed():
    assert "celery" in BUILT_IN.worker_commands
    assert BUILT_IN.worker_commands == Outlines().workers
