from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblock.diagnostics import Diagnostic, Location, Severity
from gblock.engine.suppressions import read

KNOWN = ("blocking-call", "cpu-bound-call", "plyvel-db-get", "unused-ignore")


def diagnostic(code="blocking-call", blocker="plyvel-db-get"):
    place = Location(1, 1)
    return Diagnostic("a.py", place, place, code, Severity.ERROR, "", "", blocker=blocker)


def messages(suppressions, judged=None):
    return [unused.message for unused in suppressions.unused(KNOWN, judged)]


@pytest.mark.parametrize(
    "comment",
    [
        "# gblock: ignore",
        "#gblock:ignore",
        "# gblock: ignore - runs before the hub starts",
        "# GBLOCK: Ignore",
        "# type: ignore  # gblock: ignore",
        "# gblock: ignore  # type: ignore[no-untyped-call]",
        "# gblock: ignore[blocking-call]",
        "# gblock: ignore [blocking-call]",
        "# gblock: ignore[ cpu-bound-call , blocking-call, ]",
        "# gblock: ignore[plyvel-db-get] runs before the hub starts",
        "# gblock: ignore[cpu-bound-call]  # gblock: ignore[blocking-call]",
    ],
)
def test_a_comment_hides_what_it_names(comment):
    assert read(f"f()  {comment}\n").hides(diagnostic(), 1, 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# gblock: ignore[cpu-bound-call]",
        "# gblock: ignore[]",
        "# gblock: ignore[blocking-call",
        "# gblock: ignore(blocking-call)",
        "# gblock: ingore",
        "# gblock: ignored",
        "# gblock:",
        "# gblock ignore",
        "# see gblock: ignore",
        "",
    ],
)
def test_a_comment_hides_nothing_else(comment):
    assert not read(f"f()  {comment}\n").hides(diagnostic(), 1, 1)


def test_a_comment_counts_on_the_first_and_last_row_of_a_statement():
    suppressions = read("f(  # gblock: ignore\n    1,  # gblock: ignore\n)  # gblock: ignore\nx\n")
    assert suppressions.hides(diagnostic(), 1, 3)
    assert messages(suppressions) == ["this comment hides nothing"]
    assert [unused.location for unused in suppressions.unused(KNOWN)] == [Location(2, 9)]
    assert not suppressions.hides(diagnostic(), 4, 4)


def test_text_in_a_string_is_no_comment():
    suppressions = read('f("# gblock: ignore")\nx = """\n# gblock: ignore\n"""\n')
    assert not suppressions
    assert not suppressions.hides(diagnostic(), 1, 3)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_and_columns_are_those_of_an_editor(end):
    lines = ["\ufeffx = 1", "y = '漢\t'  # gblock: ignore[zzz]  # and so on", "\x0c", ""]
    (unused,) = read(end.join(lines)).unused(KNOWN)
    assert ((2, 11), (2, 32)) == (unused.location, unused.end_location)


def test_a_comment_that_hid_something_is_not_unused():
    suppressions = read(
        "f()  # gblock: ignore\ng()  # gblock: ignore[blocking-call, unused-ignore]\n"
    )
    suppressions.hides(diagnostic(), 1, 1)
    suppressions.hides(diagnostic(), 2, 2)
    assert messages(suppressions) == []


def test_names_that_hid_nothing_are_unused_one_by_one():
    suppressions = read(
        "f()  # gblock: ignore[blocking-call, cpu-bound-call]\n# gblock: ignore[cpu-bound-call]\n"
    )
    suppressions.hides(diagnostic(), 1, 1)
    assert [
        (("cpu-bound-call",), "ignore[cpu-bound-call] hides nothing", "Delete what hides nothing."),
        (("cpu-bound-call",), "ignore[cpu-bound-call] hides nothing", "Delete the comment."),
    ] == [(unused.names, unused.message, unused.help) for unused in suppressions.unused(KNOWN)]


def test_a_comment_for_all_rules_cannot_hide_that_it_hides_nothing():
    suppressions = read("f()  # gblock: ignore\n")
    assert not suppressions.hides(diagnostic("unused-ignore", None), 1, 1)
    assert messages(suppressions) == ["this comment hides nothing"]


def test_a_comment_by_name_can():
    assert read("# gblock: ignore[unused-ignore]").hides(diagnostic("unused-ignore", None), 1, 1)


def test_what_the_run_did_not_look_for_is_not_judged():
    text = "f()  # gblock: ignore\ng()  # gblock: ignore[cpu-bound-call, blocking-call]\n"
    assert messages(read(text), ["blocking-call"]) == ["ignore[blocking-call] hides nothing"]
    assert messages(read(text), []) == []


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("ingore", "ingore is not a gblock instruction; did you mean ignore?"),
        ("off", "off is not a gblock instruction"),
        ("", "nothing stands after gblock:"),
        ("ignore[]", "the brackets are empty"),
        ("ignore[ , ]", "the brackets are empty"),
        ("ignore[blocking-call", "the bracket after ignore is not closed"),
        ("ignore(blocking-call)", "( after ignore: names belong in square brackets"),
        (
            "ignore[blockin-call]",
            "unknown rule or blocker blockin-call; did you mean blocking-call?",
        ),
        ("ignore[zzz]", "unknown rule or blocker zzz"),
    ],
)
def test_a_misspelt_comment_is_reported_with_what_was_meant(comment, expected):
    for judged in (None, ()):
        assert [expected] == messages(read(f"f()  # gblock: {comment}\n"), judged)


def test_comments_before_a_place_that_cannot_be_split_into_tokens_still_count():
    suppressions = read("f()  # gblock: ignore\nif x:\n        y\n    z\n'''never closed\n")
    assert suppressions.hides(diagnostic(), 1, 1)


@given(st.text())
def test_any_text_can_be_read(text):
    suppressions = read(f"f()  # gblock: {text}")
    suppressions.hides(diagnostic(), 1, 1)
    for unused in suppressions.unused(KNOWN):
        assert unused.location < unused.end_location


@given(st.text(alphabet="#gblock: ignore[]-,\n\r\t\f\x00'\"\\({a漢"))
def test_any_text_like_a_comment_can_be_read(text):
    list(read(f"{text}# gblock: ignore{text}").unused(KNOWN))


@given(
    names=st.lists(st.sampled_from(KNOWN[:3]), min_size=1, unique=True),
    asked=st.lists(st.sampled_from(KNOWN[:3]), unique=True),
)
def test_each_name_is_used_or_unused(names, asked):
    suppressions = read(f"f()  # gblock: ignore[{', '.join(names)}]\n")
    hidden = [code for code in asked if suppressions.hides(diagnostic(code, None), 1, 1)]
    unused = [name for each in suppressions.unused(KNOWN) for name in each.names]
    assert sorted(names) == sorted(hidden + unused)
