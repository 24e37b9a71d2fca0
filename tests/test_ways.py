"""Each symbol and alias of the catalog is known wherever code reaches it by public names.

`check` reports the call, `deps` knows the package, `report` names the blocker of a record, and
`explain` has its page.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from harness import CATALOG as KNOWN
from harness import check
from ways import Ways, arguments, switch_on

from gblock import explain, measurements
from gblock.codebase import Codebase
from gblock.config import Config
from gblock.engine.plan import Plan
from gblock.engine.request import Request
from gblock.engine.wanted import Wanted
from gblock.observations import gathering
from gblock.observations.records import SiteSeen
from gblock.packages.environment import Distribution
from gblock.packages.verdicts import Verdicts

WAYS = Ways(KNOWN)
ALL = [
    (blocker, name, lines and [one.replace("(*args)", f"({arguments(blocker)})") for one in lines])
    for blocker, name, lines in (*WAYS.calls, *WAYS.named(), *WAYS.steps(), *WAYS.aliases())
    if not blocker.patched_by
]
ALL.sort(key=lambda one: one[0].distribution)
FIRST = list({blocker.id: (blocker, *rest) for blocker, *rest in reversed(ALL)}.values())[::10]
"""One way to each tenth blocker: all ways to all of them take minutes."""
PARTS = 12
"""The projects that the pieces of code are divided into, each of a few packages."""
SHARES = [
    pytest.param(FIRST, id="one of each tenth blocker"),
    *(
        pytest.param(
            ALL[len(ALL) * part // PARTS : len(ALL) * (part + 1) // PARTS],
            id=f"part {part + 1}",
            marks=pytest.mark.live,
        )
        for part in range(PARTS)
    ),
]
OPT_IN = [blocker.id for blocker in KNOWN.blockers if blocker.level == "opt-in"]


def test_a_public_name_leads_to_each_symbol():
    assert [] == [name for _, name, lines in ALL if lines is None]
    assert len(ALL) > 2000
    for _, _, lines in ALL:
        ast.parse("\n".join(lines))


@pytest.mark.parametrize("opt_in", [False, True])
@pytest.mark.parametrize(
    "ways",
    [
        pytest.param(FIRST, id="one of each tenth blocker"),
        pytest.param(ALL, id="all", marks=pytest.mark.live),
    ],
)
def test_code_that_reaches_a_symbol_passes_triage(tmp_path, ways, opt_in):
    """Each piece as the only file of a project: no other file holds a word that helps."""
    path = tmp_path / "service.py"
    options = {"select": OPT_IN} if opt_in else {}
    config, dropped = Config(root=str(tmp_path)), []
    request = Request([str(path)], config, **options)
    wanted = Wanted(request, Codebase([], config))  # read once for all
    for blocker, name, lines in ways:
        if (blocker.level == "opt-in") is opt_in:
            path.write_text("\n".join(lines), encoding="utf-8")
            if not Plan(Codebase([str(path)], config), wanted, request)._chosen():
                dropped.append((blocker.id, name))

    assert [] == dropped


@pytest.mark.parametrize("ways", SHARES)
def test_code_that_reaches_a_symbol_is_reported(tmp_path, ways):
    wanted = {}
    switch_on(KNOWN, tmp_path)
    for number, (blocker, name, lines) in enumerate(ways):
        path = tmp_path / f"service_{number}.py"
        # Thousands of functions of one name are no project: each may call the other.
        text = "\n".join([*lines, ""]).replace("def handle(", f"def handle_{number}(")
        path.write_text(text, encoding="utf-8")
        wanted[path.name, len(lines)] = blocker.id, name
    options = {"select": ["default", *OPT_IN], "min_severity": "note"}
    report = check([str(tmp_path)], Config(root=str(tmp_path)), **options)
    found = {(Path(d.filename).name, d.location.row, d.blocker) for d in report.diagnostics}

    assert not report.problems
    missed = [
        (blocker, name)
        for (filename, row), (blocker, name) in wanted.items()
        if (filename, row, blocker) not in found
    ]
    assert [] == missed


def test_words_are_found_out_from_either_spelling_of_a_key(tmp_path):
    """Bare keys and quoted ones, one line and several, mean the same."""
    entry = (
        '[[blocker]]\nid = "shop-wait"\ndistribution = "shop"\nsymbols = ["shop.Till.wait"]\n'
        'kind = "waits"\nlevel = "error"\nwhy = "It waits."\ninstead = "Do not."\n'
    )
    code = "import stall\n\ndef handle():\n    stall.make().wait()\n"
    (tmp_path / "service.py").write_text(code, encoding="utf-8")
    for tables in (
        'aliases = { stall = "shop" }\nreturns = { "shop.make" = "shop.Till" }\n',
        'aliases={"stall"="shop"}\nreturns={"shop.make"="shop.Till"}\n',
        '[library.aliases]\nstall = "shop"\n[library.returns]\n"shop.make" = "shop.Till"\n',
    ):
        mine = tmp_path / "mine.toml"
        text = f'[[library]]\ndistribution = "shop"\n{tables}\n{entry}'
        mine.write_text(text, encoding="utf-8")
        config = Config(root=str(tmp_path), extend_catalog=(str(mine),))
        report = check([str(tmp_path)], config)

        assert ["shop-wait"] == [d.blocker for d in report.diagnostics], tables


def _names():
    """Each symbol and each alias of one, with the ids of its blockers."""
    others = {}
    for library in KNOWN.libraries:
        for alias in library.aliases:
            others.setdefault(KNOWN.canonical(alias), []).append(alias)
    for symbol, blockers in KNOWN.by_symbol.items():
        owner, _, name = symbol.rpartition(".")
        own = [s for b in blockers for s in b.symbols if KNOWN.canonical(s) == symbol]
        names = [*own, *others.get(symbol, ())]
        names += [f"{other}.{name}" for other in others.get(owner, ())]
        yield from ((one, {blocker.id for blocker in blockers}) for one in names)


@pytest.mark.live
def test_explain_has_a_page_for_each_symbol_and_alias(monkeypatch):
    monkeypatch.setattr(measurements, "load", lambda: KNOWN)  # read once for all names
    names = list(_names())

    assert len(names) > 2000
    for name, ids in names:
        page = explain.page(name)
        assert all(f"# {one}\n" in page for one in ids), name


def test_a_record_of_the_probe_is_matched_by_each_symbol_and_alias():
    for name, ids in _names():
        site = SiteSeen(site=1, symbol=name)
        symbol = gathering._symbol(site, KNOWN)
        assert ids == {blocker.id for blocker in KNOWN.lookup(symbol)}, name


def test_deps_knows_a_package_by_each_name_that_its_modules_have():
    verdicts = Verdicts(KNOWN)
    for blocker in KNOWN.blockers:
        if blocker.patched_by or blocker.distribution == "stdlib":
            continue
        named = verdicts.of(Distribution(blocker.distribution, "1"))
        assert blocker in (*named.blockers, *named.others)


def test_deps_knows_a_fork_by_the_other_names_of_its_package():
    """A distribution that the catalog does not have, of which only the modules are known."""
    verdicts, roots = Verdicts(KNOWN), set()
    for library in KNOWN.libraries:
        for alias, name in library.aliases.items():
            below = verdicts._below(KNOWN.canonical(name))
            if "." not in alias and below:
                roots.add(alias)
                found = verdicts.of(Distribution("fork-of-ours", "1", modules=(alias,)))
                assert below.keys() == {one.id for one in (*found.blockers, *found.others)}

    assert {"Cryptodome", "_duckdb", "_mssql"} <= roots


@pytest.mark.parametrize("root", ["google", "google.cloud", "google.protobuf"])
def test_a_namespace_of_several_distributions_is_none_of_a_fork(root):
    found = Verdicts(KNOWN).of(Distribution("protobuf-of-ours", "1", modules=(root,)))

    assert not found.blockers
