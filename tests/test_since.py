"""``--since``: what a change brought, and nothing that was there before."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gblock.cli import main
from gblock.engine.revision import Revision
from gblock.errors import UserError

BAD = 'import os\n\n\ndef sync(name):\n    os.system("sync")\n    return name\n'
ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "x@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def git(*argv):
    run = subprocess.run(
        ["git", *argv], env={**os.environ, **ENV}, capture_output=True, text=True, check=True
    )
    return run.stdout


def commit():
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "x")


@pytest.fixture
def repository(tree, monkeypatch):
    """A repository with one commit."""
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    files = {"pkg/a.py": BAD, "pkg/__init__.py": "", "gblock.toml": "", "clean.py": "x = 1\n"}
    root = tree({**files, "requirements.txt": "gevent", "pkg/requirements.txt": "gevent"})
    git("init", "--quiet", "--initial-branch", "main")
    commit()
    return root


def new(capsys, *argv):
    """The places that are reported."""
    code = main(["check", ".", "--output-format", "json", *(argv or ("--since", "main"))])
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    found = [(one["filename"], one["location"]["row"]) for one in json.loads(out)]
    assert code == bool(found)
    return found


def test_what_was_there_is_not_new_and_is_counted(repository, capsys):
    assert new(capsys) == []
    main(["check", ".", "--since", "main"])
    assert "Nothing to report; 1 not new." in capsys.readouterr().err


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(
    "change",
    {
        "edit above": lambda path: path.write_text("# one\n\n# two\n" + BAD),
        "reformat": lambda path: path.write_text(
            BAD.replace('("sync")', "(\n        'sync',\n    )")
        ),
        "rename": lambda path: path.rename("pkg/b.py"),
        "rename and edit": lambda path: (path.write_text(f"# x\n{BAD}"), path.rename("lib_a.py")),
        "move": lambda path: (os.mkdir("lib"), path.rename("lib/a.py")),
        "move and edit": lambda path: (
            os.mkdir("lib"),
            path.write_text(f"import sys\n{BAD}"),
            path.rename("lib/a.py"),
        ),
        "move the function": lambda path: (
            path.write_text("def kept():\n    return 1\n"),
            Path("clean.py").write_text(BAD),
        ),
    }.values(),
    ids=["edit", "reformat", "rename", "rename+edit", "move", "move+edit", "function"],
)
def test_what_a_change_only_moved_is_not_new(repository, capsys, change, committed):
    git("checkout", "--quiet", "-b", "work")
    change(repository / "pkg" / "a.py")
    if committed:
        commit()
    assert new(capsys) == []


@pytest.mark.parametrize("committed", [True, False])
def test_what_is_added_is_new_where_it_stands(repository, capsys, committed):
    text = 'import os\n\nos.system("new")\n' + BAD.removeprefix("import os\n")
    (repository / "pkg" / "a.py").write_text(text)
    (repository / "b.py").write_text(BAD)
    git("checkout", "--quiet", "-b", "work")
    if committed:
        commit()
    assert new(capsys) == [("b.py", 5), ("pkg/a.py", 3)]


def test_a_call_that_a_change_elsewhere_made_blocking_is_new(repository, capsys):
    factory = "import {0}\n\n\ndef connect():\n    return {0}.connect(host='x')\n"
    (repository / "db.py").write_text(factory.format("pymysql"))
    user = "from db import connect\n\n\ndef query():\n    connect().cursor().execute('')\n"
    (repository / "user.py").write_text(user)
    commit()
    (repository / "db.py").write_text(factory.format("MySQLdb"))
    assert ("user.py", 5) in new(capsys, "--since", "HEAD")


def test_a_stale_branch_is_compared_with_where_it_began(repository, capsys):
    git("checkout", "--quiet", "-b", "work")
    (repository / "pkg" / "c.py").write_text(BAD)
    commit()
    git("checkout", "--quiet", "main")
    (repository / "pkg" / "a.py").write_text("")
    (repository / "pkg" / "c.py").write_text(BAD.replace("sync", "main"))
    commit()
    git("checkout", "--quiet", "work")
    assert new(capsys) == [("pkg/c.py", 5)]


def test_a_project_below_the_top_of_the_repository(repository, capsys, monkeypatch):
    (repository / "pkg" / "gblock.toml").write_text("")
    commit()
    (repository / "pkg" / "d.py").write_text(BAD)
    monkeypatch.chdir(repository / "pkg")
    assert new(capsys, "--since", "HEAD") == [("d.py", 5)]


@pytest.mark.parametrize("name", ["nowhere", "--output=x", "HEAD:pkg", ""])
def test_a_revision_that_does_not_exist_is_an_error(repository, capsys, name):
    assert main(["check", ".", f"--since={name}"]) == 2
    assert "is not a revision here" in capsys.readouterr().err
    assert not Path("x").exists()


def test_what_is_no_repository_is_an_error(tree, capsys, monkeypatch):
    root = tree({"a.py": BAD})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(root.parent))
    assert main(["check", ".", "--since", "HEAD"]) == 2
    assert "not a working tree of a git repository" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")
    assert main(["check", ".", "--since", "HEAD"]) == 2
    assert "git, which is not installed" in capsys.readouterr().err


def test_nothing_that_the_repository_names_is_run(repository, capsys):
    marker = repository / "ran"
    program = f"touch {marker}; cat"
    (repository / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    commit()
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.sshCommand",
        "core.alternateRefsCommand",
    ):
        git("config", key, program)
    hooks = repository / ".git" / "hooks"
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / name).chmod(0o755)
    (repository / "pkg" / "a.py").rename(repository / "pkg" / "z.py")
    (repository / "e.py").write_text(BAD.replace("sync", "e"))
    assert new(capsys, "--since", "HEAD") == [("e.py", 5)]
    assert not marker.exists()


def test_a_tree_that_was_made_by_hand_writes_nothing_outside(repository, tmp_path):
    def made(*argv, text=""):
        run = subprocess.run(["git", *argv], input=text, capture_output=True, text=True, check=True)
        return run.stdout.strip()

    blob = made("hash-object", "-w", "--stdin", text=BAD)
    raw = b"100644 a.py\0" + bytes.fromhex(blob)
    above = subprocess.run(
        ["git", "hash-object", "-w", "--stdin", "-t", "tree", "--literally"],
        input=b"40000 ..\0" + bytes.fromhex(_tree(raw)),
        capture_output=True,
        check=True,
    )
    commit_ = made("commit-tree", above.stdout.decode().strip(), "-m", "x")
    assert Revision(str(repository), commit_).paths == {}


def _tree(raw):
    run = subprocess.run(
        ["git", "hash-object", "-w", "--stdin", "-t", "tree", "--literally"],
        input=raw,
        capture_output=True,
        check=True,
    )
    return run.stdout.decode().strip()


def test_links_and_large_files_are_left_out(repository, tmp_path, monkeypatch):
    os.symlink("/etc/passwd", repository / "link.py")
    (repository / "large.txt").write_text("x" * 100)
    commit()
    monkeypatch.setattr("gblock.engine.revision._LARGEST", 99)
    target = tmp_path / "out"
    target.mkdir()
    Revision(str(repository), "HEAD").write(str(target))
    written = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert {"pkg/a.py", "clean.py"} <= written
    assert not {"link.py", "large.txt"} & written


def test_what_git_refuses_is_one_line(repository, monkeypatch):
    then = Revision(str(repository), "HEAD")
    monkeypatch.setattr(then, "_commit", "no-such-commit")
    with pytest.raises(UserError, match="git ls-tree failed: "):
        then._listed()
