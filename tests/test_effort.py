"""The amount of work of a check, counted: nothing is read or inferred without need."""

from __future__ import annotations

from harness import CATALOG, check, inferring

from gblock.config import Config
from gblock.project.calls.callers import Callers
from gblock.project.calls.queries import Sent
from gblock.project.calls.sites import Sites
from gblock.project.calls.unpatched import ORIGINALS
from gblock.project.names.places import Place
from gblock.project.processes import surroundings
from gblock.project.reading.expressions import last_name
from gblock.project.reading.modules import Modules
from gblock.project.remarks.engines import Engines


def test_inferences_with_several_catalogs_share_what_the_files_decide(tmp_path):
    inference = inferring(tmp_path, {"a.py": "def run():\n    pass\n\nrun()\n"})
    path = str(tmp_path / "a.py")
    inference.calling.calls_by_name(path)
    other = inference.with_catalog(CATALOG)
    assert other.calling.calls_by_name(path) is inference.calling.calls_by_name(path)
    for one, same in (
        (inference.calling, other.calling),
        (inference.classes, other.classes),
        (inference.definitions, other.definitions),
        (inference.keeping, other.keeping),
        (inference.outside, other.outside),
    ):
        assert one.OF_FILES
        assert all(vars(one)[name] is vars(same)[name] for name in one.OF_FILES)
    assert other.solved is not inference.solved


def test_final_bases_are_inferred_once(tmp_path, monkeypatch):
    inference = inferring(
        tmp_path,
        {"a.py": "class A:\n    pass\n\nclass B(A):\n    pass\n\nclass C(B):\n    pass\n"},
    )
    path = str(tmp_path / "a.py")
    (found,) = [
        index for index, one in enumerate(inference.modules.summary(path).scopes) if one.name == "C"
    ]
    first = inference.classes.ancestry(path, found)
    assert len(first) == 3
    monkeypatch.setattr(inference, "infer", None)
    assert inference.classes.ancestry(path, found) == first


def test_functions_of_one_name_ask_for_a_call_once(tmp_path, monkeypatch):
    files = {
        "a.py": "class A:\n    def run(self):\n        pass\n",
        "b.py": "class B:\n    def run(self):\n        pass\n",
        "c.py": "from a import A\nfrom b import B\n\nA().run()\nB().run()\n",
    }
    inference = inferring(tmp_path, files)
    asked = []
    infer = inference.infer

    def counted(expression, place):
        if place.path.endswith("c.py") and getattr(expression, "name", "") == "run":
            asked.append(expression)
        return infer(expression, place)

    monkeypatch.setattr(inference, "infer", counted)
    callers = Callers(inference)
    for name in ("a.py", "b.py"):
        path = str(tmp_path / name)
        scopes = inference.modules.summary(path).scopes
        (method,) = [index for index, one in enumerate(scopes) if one.kind == "function"]
        assert [one.row for one in callers.of(path, method) if one.is_certain] == [
            4 if name == "a.py" else 5
        ]
    assert len(asked) == 2


def test_calls_of_what_a_container_keeps_are_inferred_once_for_all_that_it_keeps(
    tmp_path, monkeypatch
):
    text = "def f():\n    pass\n\ndef g():\n    pass\n\nTABLE = {'f': f, 'g': g}\n\n"
    text += "def run(key):\n    TABLE[key]()\n"
    inference = inferring(tmp_path, {"a.py": text})
    path, keeping = str(tmp_path / "a.py"), inference.keeping
    summary = inference.modules.summary(path)

    def calls(name):
        (index,) = [number for number, one in enumerate(summary.scopes) if one.name == name]
        found = keeping.callers(keeping.containers(summary, index), path, index)
        return [call.row for _, call in found]

    assert calls("f") == [10]
    monkeypatch.setattr(keeping, "_targets_of", None)
    assert calls("g") == [10]


def test_objects_on_which_a_module_sets_an_attribute_are_inferred_once(tmp_path, monkeypatch):
    text = "class A:\n    pass\n\nclass B:\n    pass\n\na = A()\na.x = 1\nb = B()\nb.x = 2\n"
    inference = inferring(tmp_path, {"a.py": text})
    summary = inference.modules.summary(str(tmp_path / "a.py"))
    one, other = [index for index, scope in enumerate(summary.scopes) if scope.kind == "class"]
    assert [b.row for b in inference.classes._set_from_outside(summary, one, "x")] == [8]
    monkeypatch.setattr(inference, "infer", None)
    assert [b.row for b in inference.classes._set_from_outside(summary, other, "x")] == [10]


def test_the_imports_of_tests_are_not_read(tmp_path):
    (tmp_path / "app.py").write_text("import gevent\n")
    (tmp_path / "test_app.py").write_text("import app\n")
    paths = [str(tmp_path / name) for name in ("app.py", "test_app.py")]
    config = Config(root=str(tmp_path))
    found = surroundings.of_project(Modules(str(tmp_path), paths), config, workers=())
    assert list(found.imports) == paths[:1]


def test_only_calls_by_the_name_of_an_original_are_asked_for_originals(tmp_path, monkeypatch):
    """A file calls many functions that gevent has patched, and hardly an original."""
    text = "from gevent import monkey; monkey.patch_all()\nimport urllib.request\n"
    text += "sleep = monkey.get_original('time', 'sleep')\n"
    text += "def wait(connection):\n    urllib.request.urlopen('http://shop')\n    sleep(1)\n"
    (tmp_path / "a.py").write_text(text)
    asked = set()
    found = Sites._found

    def counted(sites, call, place, expression):
        if any(symbol.startswith(ORIGINALS) for symbol in sites.inference.catalog.by_symbol):
            asked.add(last_name(call.expression.callee))
        return found(sites, call, place, expression)

    monkeypatch.setattr(Sites, "_found", counted)
    report = check([str(tmp_path)], Config(root=str(tmp_path)))
    assert [one.code for one in report.diagnostics if one.code == "original-call"]
    assert "sleep" in asked
    assert "urlopen" not in asked


def test_chains_of_queries_in_chains_of_queries_are_followed_once(tmp_path, monkeypatch):
    filters = "".join(f".filter(q{number}, other=q{number})" for number in range(1, 4))
    lines = [
        f"    q{number} = session.query(q{number + 1}, q{number + 1}){filters}"
        for number in range(12, 0, -1)
    ]
    text = "\n".join(["def place(session, q13):", *lines, "    q1.all()", ""])
    inference = inferring(tmp_path, {"a.py": text})
    path = str(tmp_path / "a.py")
    (last,) = [
        one
        for one in inference.modules.summary(path).calls
        if last_name(one.expression.callee) == "all"
    ]
    place = Place(path, last.scope, last.path)
    followed = []
    symbols = inference.callees.called_symbols

    def counted(callee, where):
        followed.append(callee)
        assert len(followed) < 3_000
        return symbols(callee, where)

    monkeypatch.setattr(inference.callees, "called_symbols", counted)
    sent = Sent(place, last.row, 0, "sqlalchemy.orm.Query.all", last.expression.callee.base)
    assert not Engines(inference, ()).of(sent)
    assert followed
