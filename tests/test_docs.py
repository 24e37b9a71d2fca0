"""Generated pages are up to date, and handwritten pages are true and in plain English."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

import generated
import pytest
from harness import CATALOG, every

from gblock import explain, repairs, rules
from gblock.catalog.blockers import Blocker, Evidence
from gblock.cli import main
from gblock.errors import UserError
from gblock.observations import schema

ROOT = Path(__file__).parent.parent
DOCUMENTED = (3, 11)
"""The Python whose help is in the README."""


def _anchor(heading: str) -> str:
    """Return GitHub's fragment for a heading."""
    kept = (c for c in heading.lower() if c.isalnum() or c in " -_")
    return "".join(kept).replace(" ", "-")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("rules.md", generated.rules_document),
        ("blockers.md", generated.blockers_document),
        ("beliefs.md", generated.beliefs_document),
        ("records.md", schema.document),
        ("records.schema.json", schema.text),
    ],
)
def test_a_generated_page_is_up_to_date(name, make, request):
    path = ROOT / "docs" / name
    if request.config.getoption("--update"):
        path.write_text(make(), encoding="utf-8")

    assert path.read_text(encoding="utf-8") == make(), "run pytest --update"


def test_each_package_has_a_page(request):
    folder, pages = ROOT / "docs" / "blockers", generated.package_documents()
    if request.config.getoption("--update"):
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")

    assert sorted(pages) == sorted(path.name for path in folder.iterdir()), "run pytest --update"
    for name, text in pages.items():
        assert (folder / name).read_text(encoding="utf-8") == text, "run pytest --update"
        assert len(text) < 200_000
    index = generated.blockers_document()
    assert sorted(set(re.findall(r"\]\(blockers/(.*?)\)", index))) == sorted(pages)
    assert len(index) < 150_000


def test_beliefs_link_to_headings_that_exist():
    pages = {}
    for target in re.findall(r"\]\(([^)]*)\)", generated.beliefs_document()):
        name, _, fragment = target.partition("#")
        if name not in pages:
            text = (ROOT / "docs" / name).read_text(encoding="utf-8")
            pages[name] = {_anchor(h) for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}

        assert fragment in pages[name], target


def test_every_kind_of_fix_is_described():
    text = (ROOT / "docs" / "fixes.md").read_text(encoding="utf-8")
    for kind, (applicability, *_) in repairs.KINDS.items():
        assert f"| `{kind}` | {applicability} |" in text
        section = text.partition(f"\n### {kind}\n")[2].partition("\n#")[0]
        assert f"\n{applicability.capitalize()}:" in section, kind


def test_every_rule_is_named_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [] == [name for name in rules.NAMES if f"`{name}`" not in readme]


def test_the_readme_links_only_to_files_that_exist():
    for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)

        assert [] == [link for link in links if not (ROOT / link).exists()], document


@pytest.mark.parametrize("name", rules.NAMES)
def test_a_rule_is_explained(name):
    page = explain.page(name)

    assert page.startswith(f"# {name}\n")
    assert "```python" in page


def test_every_blocker_is_explained():
    known = CATALOG
    for blocker in known.blockers:
        page = explain.blocker_page(blocker, known)

        assert page.startswith(f"# {blocker.id}\n")
        assert blocker.remedy() in page
        assert "Measured with" in page or "Not measured." in page
        assert " is .\n" not in page
        assert "` .\n" not in page


@every(CATALOG.beliefs)
def test_every_belief_is_explained(belief):
    for name in (belief.id, *belief.symbols):
        page = explain.page(name)

        assert f"# {belief.id}\n" in page
        assert f"Belief: {belief.evidence.belief}" in page


def test_the_page_of_beliefs_tells_what_blocks_from_what_does_not():
    known = CATALOG
    stop, rest = generated.beliefs_document().split("\n## They do not\n")
    surprises = [blocker.id for blocker in known.blockers if blocker.evidence.belief]
    mistaken = [one.id for one in known.beliefs if one.verdict in ("blocks", "cpu")]

    assert surprises
    assert mistaken
    for belief in known.beliefs:
        assert (f"| `{belief.id}`" in stop) is (belief.id in mistaken)
        assert (f"| `{belief.id}`" in rest) is (belief.id not in mistaken)
    assert sorted(surprises) == sorted(
        re.findall(r"^\| \[([^\]]*)\]\(blockers", stop, re.MULTILINE)
    )


def test_a_belief_is_told_with_its_figures_and_versions():
    evidence = Evidence(
        version="2.0", call="wait()", elapsed=4.0, max_gap=3.5, returned=False,
        belief="It is quick.", found="1.9 is.", gevent="25.5.1",
    )  # fmt: skip
    blocker = Blocker(
        id="shop-wait", distribution="shop", symbols=("shop.wait",), kind="cpu", level="error",
        why="", instead="", evidence=evidence, releases_gil=False,
    )  # fmt: skip

    assert generated.measured_line(blocker) == (
        "wait(): 4.00 s (stopped), the hub's longest gap 3.500 s (shop 2.0, gevent 25.5.1). "
        "It keeps the GIL. 1.9 is."
    )
    assert _anchor("Flask-Bcrypt") == "flask-bcrypt"
    assert _anchor("zope.interface 2") == "zopeinterface-2"


def test_a_blocker_is_explained_by_its_symbol():
    page = explain.page("confluent_kafka.Producer.flush")

    assert page.startswith("# confluent-kafka-producer-flush\n")


def test_an_unknown_name_is_an_error_with_a_suggestion():
    with pytest.raises(UserError, match="did you mean blocking-call"):
        explain.page("blocking-cal")


def _blocks(text):
    """The blocks of the README that a command writes: the marker's kind and command, the text."""
    block = r"<!-- (example|help): (.*?) -->\n```\n(.*?)```\n<!-- end -->"
    return re.findall(block, text, re.DOTALL)


def _output(command, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    main(command.split()[1:])
    out, err = capsys.readouterr()
    return out + ("\n" + err if err else "")


def test_the_readme_shows_what_the_commands_print(monkeypatch, capsys, request):
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    shown = {command: block for _, command, block in _blocks(text)}
    printed = {command: _output(command, monkeypatch, capsys) for command in shown}
    if request.config.getoption("--update"):
        for command, block in shown.items():
            old = f": {command} -->\n```\n{block}```\n"
            text = text.replace(old, f": {command} -->\n```\n{printed[command]}```\n")
        path.write_text(text, encoding="utf-8")
    elif sys.version_info[:2] != DOCUMENTED:
        # argparse writes its help differently from version to version.
        shown = {command: block for command, block in shown.items() if "--help" not in command}

    assert len(printed) == 2
    for command in shown:
        assert printed[command] in path.read_text(encoding="utf-8"), "run pytest --update"


DIALECT = {
    r"\b(?:told|tells?)\b": "is passed, shows, means, reports, distinguishes",
    r"\b(?:whoever|nobody|somebody)\b": "the caller, the user, the process",
    r"\bfor ever\b": "indefinitely",
    r"\b(?:guilty|dear|ought|nought|wherefore)\b": "archaic",
    r"\b(?:is|are) asked\b": "is called, is searched",
    r"\bgo(?:es)? round\b": "repeats",
    r"\bhas it that\b": "means",
    r"\bstands? in\b": "is in",
    r"\b(?:is|are) known of\b": "is unknown",
    r"\bbelongs? to nobody\b": "has no owner",
    r"\ball the same\b": "nevertheless",
}
"""Phrases that the project's English avoids, with what to write instead."""
OPENINGS = ("What", "Whether", "Which", "How", "Where", "Who", "It", "Do it", "Nothing")
"""First words of docstrings that make no sense without the code below them."""
QUOTED = re.compile(r"`[^`]*`|\b(?:lobject|Optimizer)\.tell\b|\"told\"|\"-u\", \"nobody\"")
"""Names in code, which are no English: methods of psycopg2 and skopt, a field of the JSON."""
WRITTEN = (
    *(
        ROOT.glob(name)
        for name in ("*.md", "docs/*.md", "*.py", "gblock/**/*.py", "gblock/known_*")
    ),
    *(ROOT.glob(f"{name}/**/*.py") for name in ("benchmarks", "tests", "examples")),
)
FOREIGN = {"fixtures", "test_docs.py", "written_words.py"}
"""Code of others, this list itself, and words of the catalog."""
PROSE = sorted(path for paths in WRITTEN for path in paths if not FOREIGN & set(path.parts))


def prose(path, text):
    """Yield the rows and lines that people read: a whole page; comments and texts of a module."""
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from enumerate(node.value.splitlines(), node.lineno)


def test_the_english_is_plain():
    any_phrase = re.compile("|".join(f"(?:{phrase})" for phrase in DIALECT), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{row}: {match[0]!r}; write: {instead}"
        for path in PROSE
        if any_phrase.search(text := path.read_text(encoding="utf-8"))
        for row, line in prose(path, text)
        if any_phrase.search(QUOTED.sub("", line))
        for phrase, instead in DIALECT.items()
        for match in re.finditer(phrase, QUOTED.sub("", line), re.IGNORECASE)
    ]

    assert [] == found


def test_a_docstring_makes_sense_alone():
    opening = re.compile(rf"(?:{'|'.join(OPENINGS)})\b")
    quoted = re.compile(rf"[\"']{opening.pattern}")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value.value.splitlines()[0]}"
        for path in PROSE
        if path.suffix == ".py" and quoted.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and opening.match(node.value.value)
    ]

    assert [] == found
