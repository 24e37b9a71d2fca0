"""The pages that are generated are up to date, and what is written by hand is true."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gblock import catalog, explain, measurements, rules
from gblock.cli import main
from gblock.errors import UserError

ROOT = Path(__file__).parent.parent
DOCUMENTED = (3, 11)
"""The Python whose help stands in the README."""


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("rules.md", explain.rules_document),
        ("blockers.md", explain.blockers_document),
        ("beliefs.md", explain.beliefs_document),
    ],
)
def test_a_generated_page_is_up_to_date(name, make, request):
    path = ROOT / "docs" / name
    if request.config.getoption("--update"):
        path.write_text(make(), encoding="utf-8")

    assert path.read_text(encoding="utf-8") == make(), "run pytest --update"


def test_beliefs_link_to_headings_that_exist():
    pages = {}
    for target in re.findall(r"\]\(([^)]*)\)", explain.beliefs_document()):
        name, _, fragment = target.partition("#")
        if name not in pages:
            text = (ROOT / "docs" / name).read_text(encoding="utf-8")
            pages[name] = {explain._anchor(h) for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}

        assert fragment in pages[name], target


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
    known = measurements.load()
    for blocker in known.blockers:
        page = explain.blocker_page(blocker, known)

        assert page.startswith(f"# {blocker.id}\n")
        assert blocker.remedy() in page
        assert "Measured with" in page or "Not measured." in page


@pytest.mark.parametrize("belief", measurements.load().beliefs, ids=lambda belief: belief.id)
def test_every_belief_is_explained(belief):
    for name in (belief.id, *belief.symbols):
        page = explain.page(name)

        assert f"# {belief.id}\n" in page
        assert f"Belief: {belief.evidence.belief}" in page


def test_the_page_of_beliefs_tells_what_blocks_from_what_does_not():
    known = measurements.load()
    stop, rest = explain.beliefs_document().split("\n## They do not\n")
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
    evidence = catalog.Evidence(
        version="2.0", call="wait()", elapsed=4.0, max_gap=3.5, returned=False,
        belief="It is quick.", found="1.9 is.", gevent="25.5.1",
    )  # fmt: skip
    blocker = catalog.Blocker(
        id="shop-wait", distribution="shop", symbols=("shop.wait",), kind="cpu", level="error",
        why="", instead="", evidence=evidence, releases_gil=False,
    )  # fmt: skip

    assert explain._found(blocker) == (
        "wait(): 4.00 s (stopped), the hub's longest gap 3.500 s (shop 2.0, gevent 25.5.1). "
        "It keeps the GIL. 1.9 is."
    )
    assert explain._anchor("Flask-Bcrypt") == "flask-bcrypt"
    assert explain._anchor("zope.interface 2") == "zopeinterface-2"


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
