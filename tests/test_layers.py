"""Imports run downwards only, from one layer to those above it in the list."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import re
from pathlib import Path

import pytest
from harness import every

import gblock
from gblock.commandline import parser

PACKAGE = Path(gblock.__file__).parent
# From the ground up. A layer may import those above it in this list; members of one set may not
# import one another. A folder's own modules may, unless it has layers too.
LAYERS = (
    {
        "__init__",
        "opened",
        "errors",
        "lean",
        "suggestion",
        "decoding",
        "distribution",
        "collecting",
    },
    {"boundary"},
    {
        "diagnostics",
        "extras",
        "git_index",
        "installed",
        "patterns",
        "outline",
        "repairs",
        "writing",
    },
    {"files", "config", "catalog", "events", "metrics", "native"},
    {"cache"},
    {"observations", "measurements", "trial", "pytest_plugin"},
    {"project"},
    {"units"},
    {"codebase"},
    {"fixes"},
    {"packages"},
    {"output"},
    {"candidate", "source", "rule"},
    {"call_rule"},
    {"rules"},
    {"engine"},
    {"explain", "launch"},
    {"commandline"},
    {"server"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
WINGS = ("reading", "triage", "names", "processes", "calls", "remarks")
"""The floors of `gblock.project`, from the ground up."""
BESIDE = {"triage", "names"}
"""Wings of `gblock.project` that stand on the same floor: neither imports the other."""
CIRCLE = "names"
"""The one wing whose modules may import one another in a circle: inference is recursive."""
ALONE = {"runtime_probe", "probing"}


@functools.cache
def tree(path):
    """The tree of a file, by its absolute path."""
    return ast.parse(path.read_bytes())


@functools.cache
def nodes_of(path):
    """All nodes of a file, by its absolute path: eight tests look at all of them."""
    return tuple(ast.walk(tree(path)))


@pytest.fixture(scope="module", autouse=True)
def forget_trees():
    yield
    tree.cache_clear()
    nodes_of.cache_clear()


@functools.cache
def modules():
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def dotted(path):
    """The module's name below gblock: ``output.text``, and ``output`` for its __init__."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


@functools.cache
def imports(path, *, for_types):
    """Every module that a file imports, at its top or in a function, or for its types alone."""
    found = []
    for node in _statements(tree(PACKAGE / path), for_types=for_types):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                inner = PACKAGE.parent.joinpath(*node.module.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                found.append(f"{node.module}.{alias.name}" if is_module else node.module)
    return tuple(found)


def _statements(node, *, for_types):
    """All statements of a tree, without the expressions in them, which take most of the time."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for one in getattr(node, name, ()):
            for_checker = isinstance(one, ast.If) and ast.unparse(one.test).endswith("CHECKING")
            if for_types or not for_checker:
                yield one
                yield from _statements(one, for_types=for_types)


def own(path, **options):
    """Return a file's imports of gblock, by the name below it; gblock itself is its __init__."""
    for name in imports(path, **options):
        if name == "gblock":
            yield "__init__"
        elif name.startswith("gblock."):
            yield name.removeprefix("gblock.")


def level(module):
    head = module.partition(".")[0]
    (found,) = [index for index, layer in enumerate(LAYERS) if head in layer] or [None]
    return found


def test_every_module_has_its_layer():
    missing = {dotted(path).partition(".")[0] for path in modules()} - set().union(*LAYERS)
    assert missing <= ALONE


@every(modules())
def test_a_module_imports_from_layers_below_it_or_from_its_own_folder(path):
    here = dotted(path)
    if here.partition(".")[0] in ALONE:
        return
    for other in own(path, for_types=True):
        same_folder = here.partition(".")[0] == other.partition(".")[0]
        assert same_folder or level(other) < level(here), f"{here} imports {other}"


def test_the_wings_of_the_project_stand_one_upon_another():
    for path in (PACKAGE / "project").rglob("*.py"):
        here = dotted(path.relative_to(PACKAGE)).split(".")
        if here == ["project"]:
            continue
        for other in own(path.relative_to(PACKAGE), for_types=True):
            if other.startswith("project."):
                wing = other.split(".")[1]
                if wing != here[1]:
                    assert WINGS.index(wing) < WINGS.index(here[1]), f"{here} imports {other}"
                    assert {wing, here[1]} != BESIDE, f"{here} imports {other}"


def test_no_imports_go_round_in_a_circle_but_in_one_wing():
    arrows = {dotted(path): set(own(path, for_types=True)) for path in modules()}
    circles = {here for here in arrows if here in below(arrows, here)}
    assert {f"project.{CIRCLE}"} == {here.rpartition(".")[0] for here in circles}, circles


def below(arrows, here):
    """Every module that one imports, directly or through others."""
    found, queue = set(), [here]
    while queue:
        new = arrows.get(queue.pop(), set()) - found
        found |= new
        queue += new
    return found


def test_the_plain_values_import_nothing_of_gblock():
    assert set(own(Path("diagnostics.py"), for_types=True)) == {"lean"}


def test_output_makes_pages_of_values_and_reads_nothing():
    for path in (PACKAGE / "output").glob("*.py"):
        for other in own(path.relative_to(PACKAGE), for_types=False):
            assert other in {"__init__", "diagnostics", "files"} or other.startswith("output"), (
                path.name
            )


def test_what_runs_in_the_host_imports_next_to_nothing_of_gblock():
    assert {"errors", "extras"} == set(own(Path("metrics.py"), for_types=True))
    assert {"catalog", "extras"} == set(own(Path("pytest_plugin.py"), for_types=True))


def test_rules_never_import_one_another():
    for path in (PACKAGE / "rules").glob("*.py"):
        if path.name != "__init__.py":
            for other in own(path.relative_to(PACKAGE), for_types=True):
                assert not other.startswith("rules"), f"{path.name}: {other}"


def test_the_project_is_read_without_libcst():
    for path in (PACKAGE / "project").rglob("*.py"):
        for name in imports(path.relative_to(PACKAGE), for_types=True):
            assert name.partition(".")[0] != "libcst", path.name
            assert not name.startswith(("gblock.rule", "gblock.source")), path.name


def test_the_probe_imports_nothing_of_gblock():
    for path in modules():
        if dotted(path).partition(".")[0] in ALONE:
            for other in own(path, for_types=True):
                allowed = {"__init__", *ALONE} | (
                    {"events", "metrics"} if path.name == "hook.py" else set()
                )
                assert other.partition(".")[0] in allowed, path


def test_the_plug_ins_import_os_alone_at_their_top():
    body = tree(PACKAGE / "probing" / "hook.py").body
    names = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert names == ["from __future__ import annotations", "import os"]


def test_gevent_is_imported_by_the_probe_and_the_trial_alone():
    importing = {
        dotted(path)
        for path in modules()
        for name in imports(path, for_types=True)
        if name.partition(".")[0] in ("gevent", "greenlet")
    }
    assert importing <= {"runtime_probe", "probing.monitor", "trial.child"}


def test_what_is_handed_to_another_python_imports_nothing_of_gblock():
    assert [] == list(own(Path("trial/child.py"), for_types=True))


def test_one_module_plans_processes_and_others_hand_it_their_work():
    """``Jobs`` decides what runs where: other modules have work done by one function."""
    importing = {dotted(path) for path in modules() if "engine.jobs" in own(path, for_types=True)}
    others = {"engine.divided", "engine.observing", "commandline.watching", "commands.deps"}
    assert {"engine.plan", *others} == importing

    named, forking = {}, set()
    for path in modules():
        for node in nodes_of(PACKAGE / path):
            if isinstance(node, ast.ImportFrom) and node.module == "gblock.engine.jobs":
                named.setdefault(dotted(path), set()).update(one.name for one in node.names)
            if isinstance(node, ast.Attribute) and node.attr in {"fork", "sched_getaffinity"}:
                forking.add(dotted(path))
    assert {"Job", "Jobs"} == named.pop("engine.plan")
    assert set(others) == set(named)
    assert {"apart", "each", "shared"} == set().union(*named.values())
    assert {"engine.jobs"} == {one for one in forking if one.partition(".")[0] not in ALONE}


def test_the_command_line_prints_and_nothing_else_does():
    for path in modules():
        nodes = nodes_of(PACKAGE / path)
        calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
        assert "print" not in calls, path
        if path.name not in ("cli.py", "console.py", "launch.py", "progress.py"):
            assert not [call for call in calls if call.startswith(("sys.stdout", "sys.stderr"))]


def test_each_command_is_a_module_with_its_name():
    names = {path.stem for path in (PACKAGE / "commands").glob("*.py")} - {"__init__"}
    assert names == set(parser.arguments())


def test_a_class_of_another_noun_has_another_name():
    same = {
        "Store",  # the cache's and the machine code's, each in a directory of its own
        "Unused",  # a rule names what it needs of an unused comment
    }
    found: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                found[node.name] = found.get(node.name, 0) + 1

    assert same == {name for name, number in found.items() if number > 1}


def test_no_answer_is_kept_under_the_identity_of_an_object():
    """Another object may have it later. The probe names objects that the host keeps alive."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in {"runtime_probe.py", "probing", "events.py"}
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id"
    ]

    assert found == []


def test_nothing_is_called_utils():
    names = {part for path in modules() for part in path.with_suffix("").parts}
    assert set() == names & {"utils", "helpers", "common", "misc"}


def _own_nodes(function):
    """The nodes of a function, without those of functions and classes in it."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            waiting += ast.iter_child_nodes(node)


def test_a_docstring_says_yield_of_a_generator_and_return_of_another_function():
    false = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in nodes_of(path):
            if not isinstance(node, ast.FunctionDef):
                continue
            first = (ast.get_docstring(node) or "-").split()[0]
            yields = any(isinstance(x, ast.Yield | ast.YieldFrom) for x in _own_nodes(node))
            returns = ast.unparse(node.returns).partition("[")[0] if node.returns else ""
            is_lazy = yields or returns in ("Iterator", "Iterable")
            is_context = any("contextmanager" in ast.unparse(x) for x in node.decorator_list)
            if (first == "Yield" and not is_lazy) or (
                first == "Return" and yields and not is_context
            ):
                false.append(f"{path.name}:{node.lineno} {node.name}")
    assert [] == false


def _is_there(name):
    """Return whether a dotted name is a module, an attribute or a field of a class."""
    parts = name.split(".")
    found = gblock
    for end, part in enumerate(parts[1:], 2):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(".".join(parts[:end]))
        if not hasattr(found, part) and part not in getattr(found, "__annotations__", ()):
            return False
        found = getattr(found, part, None)
    return True


def test_every_name_that_a_module_exports_or_a_docstring_refers_to_exists():
    named = re.compile(r"`(gblock(?:\.[A-Za-z_]\w*)+)`")
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        names = set(named.findall(text)) - {"gblock.toml"}
        module = ".".join(["gblock", *dotted(path.relative_to(PACKAGE)).split(".")])
        for node in tree(path).body if "__all__" in text else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names |= {f"{module}.{name}" for name in ast.literal_eval(node.value)}
        missing += [f"{path.name}: {name}" for name in names if not _is_there(name)]
    assert [] == missing


SETS = ("Values", "set", "frozenset", "AbstractSet")
ANY_ORDER = frozenset("any all set frozenset sorted sum len union update bool isdisjoint".split())


def returning_sets(trees):
    """The names of functions that return a set wherever they are defined."""
    annotations = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                annotation = ast.unparse(node.returns).partition("[")[0].rpartition(".")[2]
                annotations.setdefault(node.name, set()).add(annotation in SETS)
    return {name for name, are_sets in annotations.items() if are_sets == {True}}


def called(node):
    """The last name of what a call calls, of ``map(f, x)`` that of the call `x`."""
    if not isinstance(node, ast.Call):
        return ""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return called(node.args[-1]) if name in ("map", "filter", "iter") and node.args else name


def decides(statement):
    """Return whether a statement in a loop ends it with, or hands out, what belongs to one turn."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant):
            return node.value is not None and bool(
                {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
            )
    return False


def test_no_first_one_of_a_set_decides():
    """A loop over a set returns the first, or yields, only in an order that does not vary."""
    trees = {path: tree(path) for path in sorted(PACKAGE.rglob("*.py"))}
    names = returning_sets(trees.values())
    assert {"infer", "called_symbols", "named_values"} <= names
    found = []
    for path in trees:
        all_nodes = nodes_of(path)
        if not any(isinstance(one, ast.Call) and called(one) in names for one in all_nodes):
            continue
        for function in (one for one in all_nodes if isinstance(one, ast.FunctionDef)):
            nodes = list(ast.walk(function))
            sets = {
                node.targets[0].id
                for node in nodes
                if isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and called(node.value) in names
            }
            for node in nodes:
                loops = node.generators if isinstance(node, ast.GeneratorExp) else [node]
                over = [one.iter for one in loops if isinstance(one, ast.For | ast.comprehension)]
                if not any(called(x) in names or getattr(x, "id", "") in sets for x in over):
                    continue
                if isinstance(node, ast.For) and any(map(decides, node.body)):
                    found.append(f"{path.name}:{function.name}")
            for node in nodes:
                if isinstance(node, ast.Call) and called(node) in ("next", "islice"):
                    first = node.args[0]
                    over = [one.iter for one in getattr(first, "generators", ())] or [first]
                    if any(called(x) in names or getattr(x, "id", "") in sets for x in over):
                        found.append(f"{path.name}:{function.name}")
    assert sorted(found) == []
