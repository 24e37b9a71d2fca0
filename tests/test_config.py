from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblock import config
from gblock.cli import main
from gblock.errors import UserError

SETTINGS = {
    "assume_cooperative",
    "baseline",
    "exclude",
    "extend_catalog",
    "ignore",
    "min_severity",
    "per_file_ignores",
    "select",
    "src",
}


def settings(found):
    return {name: getattr(found, name) for name in SETTINGS}


def error_of(tree, text, name="gblock.toml"):
    tree({name: text})
    with pytest.raises(UserError) as caught:
        config.find(".")
    return caught.value


def test_nothing_configured_gives_the_defaults(tree):
    root = str(tree({}))
    found = config.find(".")
    assert found.filename is None
    assert root == found.root
    assert settings(found) == {
        "assume_cooperative": (),
        "baseline": None,
        "exclude": (),
        "extend_catalog": (),
        "ignore": (),
        "min_severity": None,
        "per_file_ignores": (),
        "select": (),
        "src": (root, f"{root}/src"),
    }


def test_every_key_is_read_and_paths_start_at_the_file(tree):
    root = tree(
        {
            "pyproject.toml": """
                [tool.gblock]
                src = ["lib", "/opt/shared"]
                exclude = ["generated/"]
                select = ["blocking-call"]
                ignore = ["uuid-heavy-path"]
                extend-catalog = ["our_blockers.toml"]
                assume-cooperative = ["pymysql"]
                baseline = ".gblock-baseline.json"
                min-severity = "warning"
                [tool.gblock.per-file-ignores]
                "scripts/*" = ["blocking-call", "foreign-call"]
                """,
            "lib/app/views.py": "",
        }
    )
    found = config.find("lib/app/views.py")
    assert str(root / "pyproject.toml") == found.filename
    assert str(root) == found.root
    assert settings(found) == {
        "assume_cooperative": ("pymysql",),
        "baseline": str(root / ".gblock-baseline.json"),
        "exclude": ("generated/",),
        "extend_catalog": (str(root / "our_blockers.toml"),),
        "ignore": ("uuid-heavy-path",),
        "min_severity": "warning",
        "per_file_ignores": (("scripts/*", ("blocking-call", "foreign-call")),),
        "select": ("blocking-call",),
        "src": (str(root / "lib"), "/opt/shared"),
    }


def test_the_settings_can_be_sent_to_another_process(tree):
    tree({"gblock.toml": 'select = ["blocking-call"]'})
    found = config.find(".")
    assert settings(found) == settings(pickle.loads(pickle.dumps(found)))


def test_gblock_toml_wins_over_the_pyproject_beside_it(tree):
    root = tree(
        {"gblock.toml": 'select = ["a"]', "pyproject.toml": '[tool.gblock]\nselect = ["b"]'}
    )
    found = config.find(".")
    assert str(root / "gblock.toml") == found.filename
    assert found.select == ("a",)


def test_the_nearest_file_wins_and_is_not_merged_with_those_above(tree):
    tree({"gblock.toml": 'ignore = ["a"]', "inner/gblock.toml": "", "inner/x.py": ""})
    found = config.find("inner/x.py")
    assert found.ignore == ()
    assert found.filename.endswith("inner/gblock.toml")


@pytest.mark.parametrize(
    "text",
    [
        '[project]\nname = "app"',
        '[project]\ndependencies = ["gblock"]',
        '[tool.ruff]\nselect = ["gblock"]',
        'tool = "gblock"',
    ],
)
def test_a_pyproject_without_the_table_is_passed_by(tree, text):
    tree({"pyproject.toml": '[tool.gblock]\nignore = ["a"]', "inner/pyproject.toml": text})
    assert config.find("inner").ignore == ("a",)


@pytest.mark.parametrize(
    "text",
    [
        '[tool.gblock]\nignore = ["a"]',
        '[tool]\ngblock.ignore = ["a"]',
        'tool.gblock = {ignore = ["a"]}',
        '[ tool . "gblock" ]\r\nignore = ["a"]\r\n',
        '\ufeff[tool.gblock]\nignore = ["a"]',
    ],
)
def test_the_table_is_found_in_every_spelling(tree, text):
    tree({"pyproject.toml": text})
    assert config.find(".").ignore == ("a",)


def test_a_directory_named_like_the_file_is_passed_by(tree):
    tree({"gblock.toml/x.py": "", "pyproject.toml": '[tool.gblock]\nignore = ["a"]'})
    assert config.find(".").ignore == ("a",)


def test_a_path_that_does_not_exist_is_looked_up_from_where_it_would_stand(tree):
    tree({"gblock.toml": 'ignore = ["a"]'})
    assert config.find("no/such/file.py").ignore == ("a",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("selct = []", "gblock.toml:1:1: selct: unknown setting; did you mean select?"),
        ("\n\n  zzz = 1", "gblock.toml:3:3: zzz: unknown setting"),
        ('select = "a"', "gblock.toml:1:1: select: expected a list of strings, got 'a'"),
        ("ignore = [1]", "gblock.toml:1:1: ignore: expected a list of strings, got [1]"),
        ("baseline = 3", "gblock.toml:1:1: baseline: expected a path as a string, got 3"),
        (
            'min-severity = "eror"',
            "gblock.toml:1:1: min-severity: expected one of note, warning and error, got 'eror'",
        ),
        (
            '[per-file-ignores]\n"a" = 1',
            "gblock.toml:1:2: per-file-ignores: expected a table of patterns with lists of names"
            ", got {'a': 1}",
        ),
        (
            f"select = {[10**30] * 5}",
            "gblock.toml:1:1: select: expected a list of strings, got "
            f"[1{30 * '0'}, 1{22 * '0'}...",
        ),
        ("select = [", "gblock.toml:1:11: invalid TOML: "),
        ("a = 1\na = 2", "gblock.toml:2:6: invalid TOML: "),
        ("\nx =", "gblock.toml:2:4: invalid TOML: "),
        (b'x = "\xe9"', "gblock.toml:1:6: this byte is not valid UTF-8, which TOML requires"),
    ],
)
def test_a_wrong_setting_is_one_line_with_its_place(tree, text, expected):
    root = tree({"gblock.toml": text})
    with pytest.raises(UserError) as caught:
        config.find(".")
    # What is wrong with TOML is in the words of the reader, which change with Python.
    message = str(caught.value).removeprefix(f"{root}/")
    assert expected == (message[: len(expected)] if expected.endswith(": ") else message)


def test_a_wrong_setting_in_a_pyproject_names_the_table(tree):
    root = tree({"pyproject.toml": 'selct = 1\n[tool.x]\nselct = 1\n[tool.gblock]\nselct = ["a"]'})
    with pytest.raises(UserError) as caught:
        config.find(".")
    assert (
        f"{root}/pyproject.toml:5:1: [tool.gblock] selct: unknown setting; did you mean select?"
    ) == str(caught.value)


def test_a_wrong_setting_in_an_inline_table_still_names_file_and_key(tree):
    root = tree({"pyproject.toml": "tool = {gblock = {zzz = 1}}"})
    with pytest.raises(UserError) as caught:
        config.find(".")
    assert f"{root}/pyproject.toml: [tool.gblock] zzz: unknown setting" == str(caught.value)


def test_a_table_that_is_none_is_an_error(tree):
    error = error_of(tree, "[tool]\ngblock = 3", "pyproject.toml")
    assert (2, 1, "tool.gblock has to be a table") == (error.row, error.column, error.message)


def test_nesting_beyond_the_recursion_limit_is_an_error_and_no_traceback(tree):
    error = error_of(tree, "select = " + "[" * 100_000)
    assert "nested too deeply" in error.message


def test_a_file_that_may_not_be_read_is_an_error(tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    tree({"gblock.toml": ""})
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(UserError, match=r"gblock.toml: it cannot be read: Permission denied"):
        config.find(".")


def test_a_named_file_is_read_and_its_paths_start_at_the_working_directory(tree):
    root = tree({"etc/strict.toml": 'baseline = "known.json"'})
    found = config.load("etc/strict.toml")
    assert str(root / "known.json") == found.baseline
    assert str(root) == found.root


def test_a_named_file_that_does_not_exist_is_an_error(tree):
    tree({})
    with pytest.raises(UserError, match=r"^nope.toml: this configuration file does not exist"):
        config.load("nope.toml")


def test_a_named_pyproject_without_the_table_is_an_error(tree):
    tree({"pyproject.toml": ""})
    with pytest.raises(UserError, match=r"it has no \[tool.gblock\] table"):
        config.load("pyproject.toml")


def test_nothing_heavy_is_imported_where_nothing_is_configured(tree):
    tree({"pyproject.toml": "[project]"})
    program = (
        "import sys; from gblock import config; config.find('.');"
        "print({'typing', 'msgspec', 'tomli', 'dataclasses', 'inspect'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(config.__file__).parents[1])},
    )
    assert (run.stderr, run.stdout) == ("", "set()\n")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(key=st.sampled_from(sorted(name.replace("_", "-") for name in SETTINGS)), value=VALUES)
def test_any_value_is_taken_or_refused_in_one_line(key, value):
    source = config._TableOrigin("gblock.toml", "/root", "", "", "/root")
    try:
        found = config._config({key: value}, source)
    except UserError as caught:
        error = str(caught)
    else:
        error = found.filename + key
    assert "\n" not in error
    assert key in error


def test_a_setting_that_names_nothing_is_noted(tree, capsys):
    tree(
        {
            "gblock.toml": 'src = [".", "lib"]\npython = ".venv"\n'
            'exclude = ["vendor/", "deep", "*.old", "some/where", "/gone"]\n',
            "app.py": "",
            "inner/deep/x.txt": "",
            "inner/y.py": "",
        }
    )
    assert 0 == main(["check"])
    notes = capsys.readouterr().err

    assert "gblock.toml: src: `lib` is not a directory" in notes
    assert "gblock.toml: python: `.venv` does not exist" in notes
    for pattern in ("vendor/", "some/where", "/gone"):
        assert f"gblock.toml: exclude: nothing is named `{pattern}`" in notes
    assert "`deep`" not in notes
    assert "*.old" not in notes
    assert "`.`" not in notes
