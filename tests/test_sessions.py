"""The commands of the pages' console sessions print what the pages show."""

from __future__ import annotations

import importlib.util
import re
import shutil
import socket
from pathlib import Path

import pytest
import sessions

from gblock.trial import child

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.name
    for path in (ROOT / "docs").glob("*.md")
    if sessions.read(path.read_text(encoding="utf-8"))
)
TIMED = [
    name
    for name in PAGES
    if any(one.timed for one in sessions.read((ROOT / "docs" / name).read_text(encoding="utf-8")))
]
"""Pages with sessions that take time: the tests of those play all sessions of a page."""
NEEDED = ("confluent_kafka", "flask", "gunicorn", "psycogreen", "psycopg2")
ELSEWHERE = {
    "README.md": 2,  # tests/test_probe_servers.py runs them
    "docs/probe.md": 1,  # one line of stderr
}
"""Console blocks that are no sessions."""


def _free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _compare(name, timed, tmp_path, update):
    page = ROOT / "docs" / name
    text = page.read_text(encoding="utf-8")
    shown = [one for one in sessions.read(text) if timed or not one.timed]
    ignored = shutil.ignore_patterns("__pycache__", ".gblock_cache")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored)
    port = _free_port()
    bind = f"--bind 127.0.0.1:{port} --log-level error"
    before = child.stolen()
    played = sessions.play(shown, tmp_path, port, GUNICORN_CMD_ARGS=bind)
    busy = timed and sessions.is_busy(child.stolen() - before)
    if update:
        page.write_text(sessions.written(text, played), encoding="utf-8")
        return
    for expected, found in zip(shown, played, strict=True):
        commands = zip(expected.commands, expected.outputs, found.outputs, strict=True)
        for command, one, other in commands:
            hint = f"{command}run pytest --update"
            assert sessions.alike(one, busy) == sessions.alike(other, busy), hint


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
@pytest.mark.parametrize("name", [name for name in PAGES if name not in TIMED])
def test_a_page_shows_what_its_commands_print(name, tmp_path, request):
    _compare(name, False, tmp_path, request.config.getoption("--update"))


@pytest.mark.live
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED) or not shutil.which("curl"),
    reason=f"needs {', '.join(NEEDED)}, curl",
)
@pytest.mark.parametrize("name", TIMED)
def test_a_page_shows_what_servers_do(name, tmp_path, request):
    _compare(name, True, tmp_path, request.config.getoption("--update"))


def test_each_console_block_is_run():
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        name = str(path.relative_to(ROOT))
        text = path.read_text(encoding="utf-8")
        expected = ELSEWHERE.get(name, len(sessions.read(text)))

        assert expected == text.count("```console"), name


def test_what_differs_from_run_to_run_is_not_compared():
    one = "blocked 2 times, 3.5 s in all\n    1  2.02 s  2026-11-22 15:34:10  waits\n"
    other = "blocked 2 times, 910 ms in all\n  1  13.4 s  2026-12-24 18:00:00  waits\n"

    assert sessions.alike(one) == sessions.alike(other)
    assert sessions.alike(one) != sessions.alike(one.replace("2 times", "3 times"))

    starved = "\n    1  120 ms  2026-11-22 15:34:10  starved\n    the host\n       instead: a\n"
    assert sessions.alike(one) == sessions.alike(one + starved)
    assert sessions.alike(one + "\n$ true\n") == sessions.alike(one + starved + "\n$ true\n")


def test_commands_of_several_lines_are_read_and_written():
    page = (
        "<!-- session -->\n```console\n$ cat <<'E'\n> one\n>\n> two\n> E\none\n\ntwo\n$ true\n"
        "```\n<!-- end -->\n"
    )
    (session,) = sessions.read(page)

    assert ["cat <<'E'\none\n\ntwo\nE\n", "true\n"] == session.commands
    assert ["one\n\ntwo\n", ""] == session.outputs
    assert page == sessions.written(page, [session])
    assert not re.search(r" $", page, re.MULTILINE)


def test_a_session_prints_what_its_commands_print(tmp_path):
    (session,) = sessions.read(
        "<!-- session -->\n```console\n$ cd . && echo a\n$ echo b >&2\n```\n<!-- end -->"
    )

    assert ["a\n", "b\n"] == sessions.play([session], tmp_path)[0].outputs
