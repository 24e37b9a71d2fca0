"""Each recipe of CONTRIBUTING.md, applied to a copy of the tree with the files that it names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[1]
RECIPES = dict(
    re.findall(
        r"^\*\*(.+?)\.\*\* (.+)$",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)
LEFT_OUT = shutil.ignore_patterns(
    ".*_cache", ".git", ".ci", ".hypothesis", ".venv", "__pycache__", "build", "dist", "venv",
    "written_words.py",
)  # fmt: skip
GENERATED = ("docs/", "tests/snapshots/", "README.md", "gblock/measurements.toml")
"""The files that ``pytest --update`` and the evidence write; the README holds help texts."""
RULE = '''
"""``shop-patch``: a process patches events, which nothing of ours needs."""

from __future__ import annotations

import re

from gblock.diagnostics import Severity
from gblock.project.remarks.remark import Remark, Span
from gblock.rule import ProcessRule, Wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from gblock.project.remarks.service import Service


class ShopPatch(ProcessRule):
    """A process patches events.

    ## What it does

    Reports `patch_all(Event=True)`.

    ## Why it blocks the hub

    It does not.

    ## Use instead

    `monkey.patch_all()`.

    ## Limits

    A variable as argument is not seen.
    """

    name = "shop-patch"
    since = "0.1.0"
    marks = re.compile(rb"Event=True")

    VALID = {
        "all": """
            from gevent import monkey

            monkey.patch_all()
            """
    }
    INVALID = {
        "an argument": """
            from gevent import monkey

            monkey.patch_all(Event=True)  # expect: shop-patch
            """
    }

    @classmethod
    def find(cls, service: Service, _paths: Collection[str]) -> Iterator[Remark]:
        """Yield a remark for each such patch."""
        for process in service.processes.all():
            for patch in process.patches:
                if "Event=True" in patch.text:
                    yield Remark(patch.path, Span(patch.row, 1, patch.row, 2), patch.text)

    @classmethod
    def worded(cls, remark: Remark, _name_of: Callable[[str], str]) -> Wording:
        """Return the message for one patch."""
        return Wording(Severity.WARNING, f"`{remark.facts}`", "Leave it out.")
'''
BLOCKER = """
[[blocker]]
id = "os-stream-readinto"
distribution = "stdlib"
symbols = ["io.FileIO.readinto"]
kind = "waits"
level = "warning"
why = "It waits in the kernel for data; gevent does not patch it."
instead = "Run it in the hub's threadpool."
releases_gil = true
"""
SCENARIO = """
[[scenario]]
blocker = "os-stream-readinto"
title = "readinto() from a pipe, data after 0.5 s"
setup = '''
import gevent, io
reader, writer = os.pipe()
stream = io.FileIO(reader)
later(0.6, os.write, writer, b"x")
'''
call = "stream.readinto(bytearray(10))"
remedy = "gevent.get_hub().threadpool.apply(stream.readinto, (bytearray(10),))"
"""
ENTRY = """
[[entry]]
framework = "zzz"
context = "request"
decorators = ["zzz.route"]
"""

REPORT = """
self.report(
                    node,
                    self.severity_of(found),
                    "an identifier",
                    "Number them.",
                    found=found,
                    why=found.blocker.why,
                    repair=Repair("shop-number", ("str(1)",)),
                )
"""
FIX = '''"""A call for an identifier: a literal takes its place."""

from __future__ import annotations

from gblock.fixes import calls


def edits(diagnostic, repair, tree_of):
    """Return the edit, None where no plain call stands there."""
    place = calls.place(diagnostic, tree_of(diagnostic.filename))
    if place is None:
        return None
    return [place.tree.replaced(diagnostic.location, diagnostic.end_location, repair.names[0])]
'''


class Copy:
    """A copy of the tree, and which of its files were edited."""

    def __init__(self, root, title):
        self.root, self.recipe, self.edited = root, RECIPES[title], set()
        shutil.copytree(ROOT, root, ignore=LEFT_OUT)
        self.before = self.files()

    def files(self):
        paths = [path for path in self.root.rglob("*") if path.is_file()]
        names = {str(path.relative_to(self.root)): path for path in paths}
        return {
            name: path.read_bytes()
            for name, path in names.items()
            if not re.search(r"__pycache__|_cache/|\.hypothesis/", name)
        }

    def edit(self, name, change):
        """Change a file's text by a function; a file that is not there has an empty one."""
        path = self.root / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        new = change(old)
        assert new != old, name
        path.write_text(new, encoding="utf-8")
        self.edited.add(name)

    def put(self, name, before, line):
        """Insert a line before a text that a file has once."""
        self.edit(name, lambda text: re.sub(before, lambda m: line + m[0], text, count=1))

    def run(self, *words, code=0):
        # CI may not record snapshots; the author of a change does.
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        done = subprocess.run(
            [sys.executable, "-m", *words],
            capture_output=True,
            text=True,
            cwd=self.root,
            env=environment,
        )
        assert code == done.returncode, done.stdout[-5000:] + done.stderr[-5000:]
        return done.stdout

    def proven(self):
        """Run what the recipe says; nothing but what it names, and what is generated, changed."""
        (chosen,) = re.findall(r"Then `pytest (tests/[\w/. ]+)`", self.recipe)
        self.run("pytest", "-q", "-n", "0", "--update", *chosen.split())
        named = {name.rstrip("/") for name in re.findall(r"[`(]([\w./-]+)[`)]", self.recipe)}
        folders = named | {str(Path(name).parent) for name in named}
        for name in self.edited:
            assert name in named or str(Path(name).parent) in folders, name
        after = self.files()
        changed = {
            name for name in {*self.before, *after} if self.before.get(name) != after.get(name)
        }
        unnamed = {name for name in changed - self.edited if not name.startswith(GENERATED)}
        assert unnamed <= {"gblock/project/triage/written_words.py"}

    def check(self, files, *options, code=1):
        """Check a project with the copy."""
        project = self.root / "build" / "project"
        for name, text in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        words = ("gblock", "check", str(project), "--isolated", "--assume-gevent", *options)
        return self.run(*words, code=code)


@pytest.fixture
def copy(tmp_path):
    return lambda title: Copy(tmp_path / "copy", title)


def test_every_recipe_has_a_proof():
    own = Path(__file__).read_text(encoding="utf-8")
    recipes = {title for title, text in RECIPES.items() if "Then `pytest tests/" in text}

    # A page is text: the tests that its recipe names read all pages.
    assert recipes - {"A page"} == set(re.findall(r'copy\("([^"]+)"\)', own))


def test_a_blocker(copy):
    tree = copy("A blocker")
    tree.put("gblock/known_blockers.toml", r'\n\[\[blocker\]\]\nid = "os-system"', BLOCKER)
    tree.edit("tests/evidence/stream.toml", lambda _: SCENARIO)
    tree.run("tests.evidence", "--only", "os-stream-readinto", "--update")
    tree.proven()

    code = "import io\n\n\ndef run(file: io.FileIO, data):\n    file.readinto(data)\n"
    assert "`file.readinto(data)` blocks the hub" in tree.check({"service.py": code})
    assert "data after 0.5 s |" in tree.run("gblock", "explain", "os-stream-readinto")


def test_a_cooperation_recipe(copy):
    tree = copy("A cooperation recipe")
    owner = r'(?<=id = "psycopg2-cursor-execute"\n)(?:.+\n)*?(cooperative_after = \[)'
    tree.edit(
        "gblock/known_blockers.toml",
        lambda text: re.sub(owner, lambda m: m[0] + '"shop.green.patch", ', text, count=1),
    )
    tree.proven()

    code = (
        "import psycopg2\nimport shop.green\n\n{}\n\n\ndef run():\n"
        "    psycopg2.connect('').cursor().execute('')\n"
    )
    options = ("--output-format", "concise")  # without an excerpt of the line
    assert ".execute(" in tree.check({"service.py": code.format("")}, *options)
    patched = code.format("shop.green.patch()")
    assert ".execute(" not in tree.check({"service.py": patched}, *options)


def test_an_entry(copy):
    tree = copy("An entry")
    tree.edit("gblock/known_entries.toml", lambda text: text + ENTRY)
    tree.proven()

    code = "import os\nimport zzz\n\n\n@zzz.route\ndef run():\n    os.system('sync')\n"
    assert "request" in tree.check({"service.py": code})


@pytest.mark.parametrize("kind", ["about calls", "about processes"])
def test_a_rule(copy, kind):
    tree = copy("A rule")
    if kind == "about calls":
        name, table = "shop-call", "OF_CALLS"
        file = ROOT / "gblock" / "rules" / "uuid_per_request.py"
        text = file.read_text(encoding="utf-8").replace("uuid-per-request", name)
        text = text.replace("UuidPerRequest", "ShopCall")
        code = "import uuid\nfrom celery import shared_task\n\n\n"
        code += "@shared_task\ndef run():\n    uuid.uuid4()\n"
    else:
        name, table, text = "shop-patch", "OF_PROCESSES", RULE.lstrip()
        code = "from gevent import monkey\n\nmonkey.patch_all(Event=True)\n"
    tree.edit(f"gblock/rules/{name.replace('-', '_')}.py", lambda _: text)
    tree.put("gblock/rules/__init__.py", rf"(?<={table} = \(\n)", f'    "{name}",\n')
    tree.put("README.md", r"\| `unused-ignore` \|", f"| `{name}` | A new rule. |\n")
    tree.proven()

    options = ("--select", f"{name},uuid-uuid4", "--min-severity", "note")
    found = tree.check({"service.py": code}, *options, "--output-format", "concise")
    assert f"[{name}]" in found


def test_a_kind_of_fix(copy):
    tree = copy("A kind of fix")
    tree.edit("gblock/fixes/shop_number.py", lambda _: FIX)
    line = '    "shop-number": Kind(UNSAFE, "Takes a number"),\n'
    tree.put("gblock/repairs.py", r"(?<=KINDS = \{\n)", line)
    tree.put(
        "docs/fixes.md", r"\| `remove-ignore` \|", "| `shop-number` | unsafe | takes a number |\n"
    )
    section = "### shop-number\n\nA number.\n\nUnsafe: it is not unique.\n\n"
    tree.put("docs/fixes.md", r"### remove-ignore", section)
    rule = "gblock/rules/uuid_per_request.py"
    tree.put(rule, r"    since = ", '    fixes = ("shop-number",)\n')
    tree.put(rule, r"from gblock.call_rule", "from gblock.diagnostics import Repair\n")
    report = 'self.report_repeated(node, found, f"once for every {runs}")\n'
    tree.edit(rule, lambda text: text.replace(report, REPORT.lstrip()))
    tree.proven()

    code = (
        "import uuid\nfrom celery import shared_task\n\n\n"
        "@shared_task\ndef run():\n    return uuid.uuid4().hex\n"
    )
    options = ("--select", "uuid-per-request,uuid-uuid4", "--diff", "--unsafe-fixes")
    assert "+    return str(1).hex" in tree.check({"service.py": code}, *options)


def test_an_output_format(copy):
    tree = copy("An output format")
    text = (ROOT / "gblock" / "output" / "concise.py").read_text(encoding="utf-8")
    tree.edit("gblock/output/terse.py", lambda _: text.replace("{where}: {kind}", "{where} {kind}"))
    line = '    "terse": Format("gblock.output.terse"),\n'
    tree.put("gblock/output/__init__.py", r"(?<=FORMATS = \{\n)", line)
    tree.proven()

    code = "import fcntl\n\n\ndef run(file):\n    fcntl.flock(file, 2)\n"
    found = tree.check({"service.py": code}, "--output-format", "terse")
    assert re.fullmatch(r"\S+service\.py:5:5 warning\[blocking-call\][^\n]+\n", found)
    assert "" == tree.check({"service.py": ""}, "--output-format", "terse", code=0)


def test_a_deployment_format(copy):
    tree = copy("A deployment format")
    folder = "gblock/project/processes/deployment"
    text = (ROOT / folder / "procfile.py").read_text(encoding="utf-8")
    tree.edit(f"{folder}/shopfile.py", lambda _: text.replace("Procfile", "Shopfile"))
    line = '    DeploymentFormat("shopfile", r"shopfile"),\n'
    tree.put("gblock/project/processes/formats.py", r"(?<=FORMATS = \(\n)", line)
    tree.proven()

    files = {"Shopfile": "web: gunicorn -k gevent wsgi\n", "wsgi.py": "app = None\n"}
    tree.check(files, code=0)
    assert "gunicorn" in tree.run("gblock", "processes", str(tree.root / "build" / "project"))
