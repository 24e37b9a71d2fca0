"""The rules' own examples, and what all rules have in common."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest
from harness import assert_exactly, assert_project, expected

import gblock.rules
from gblock.catalog.blockers import Kind
from gblock.rule import HEADINGS, Rule, name_of

RULES = gblock.rules.load_all()
FIXTURES = Path(__file__).parent / "fixtures"
EXAMPLES = [
    pytest.param(rule, kind, title, snippet, id=f"{rule.name}: {title}")
    for rule in RULES
    for kind in ("VALID", "INVALID")
    for title, snippet in getattr(rule, kind).items()
]
STORIES = [
    pytest.param(path, id=str(path.relative_to(FIXTURES)))
    for path in sorted(FIXTURES.glob("*/*.py"))
    if path.parent.name != "projects"
]
PROJECTS = [
    pytest.param(path, id=path.name)
    for path in sorted((FIXTURES / "projects").glob("*"))
    if path.is_dir()
]


@pytest.mark.parametrize(("rule", "kind", "title", "snippet"), EXAMPLES)
def test_an_example_gives_exactly_what_it_expects(rule, kind, title, snippet, tmp_path):
    wanted = {name for _, name in expected(snippet)}

    assert (kind == "INVALID") == (rule.name in wanted), title
    selected = ["default"] if rule.on_by_default else ["default", rule.name]
    assert_exactly(tmp_path, snippet, select=selected)


@pytest.mark.parametrize("path", STORIES)
def test_a_story_gives_exactly_what_it_expects(path, tmp_path):
    assert_exactly(tmp_path, path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("root", PROJECTS)
def test_a_project_gives_exactly_what_it_expects(root):
    assert_project(root)


def test_the_folder_of_rules_holds_what_the_table_of_contents_lists():
    folder = Path(gblock.rules.__file__).parent
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--"}

    assert files == set(gblock.rules.NAMES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_one_name(rule: type[Rule]):
    assert name_of(rule.__name__) == rule.name
    assert rule.__module__.rpartition(".")[2] == rule.name.replace("-", "_")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_a_whole_page(rule: type[Rule]):
    page = inspect.getdoc(rule)

    assert list(HEADINGS) == re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)
    assert rule.VALID
    assert rule.INVALID


def test_each_kind_of_blocker_is_reported_by_one_rule():
    kinds = [kind for rule in RULES for kind in rule.kinds]

    assert set(get_args(Kind)) == set(kinds)
    assert len(kinds) == len(set(kinds))
