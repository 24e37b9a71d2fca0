"""The pages that are generated are up to date, and what is written by hand is true."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gblock import catalog, explain, rules
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
    known = catalog.load()
    for blocker in known.blockers:
        page = explain.blocker_page(blocker, known)

        assert page.startswith(f"# {blocker.id}\n")
        assert blocker.instead in page
        assert "Measured with" in page or "Not measured." in page


@pytest.mark.parametrize("belief", catalog.load().beliefs, ids=lambda belief: belief.id)
def test_every_belief_is_explained(belief):
    for name in (belief.id, *belief.symbols):
        page = explain.page(name)

        assert page.startswith(f"# {belief.id}\n")
        assert f"Belief: {belief.evidence.belief}" in page


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
