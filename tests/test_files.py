from __future__ import annotations

import os
import socket
import subprocess

import pytest

from gblock import files
from gblock.diagnostics import Problem
from gblock.project.reading.tree import Tree

SCRIPT = "#!/usr/bin/env python3\nprint()\n"


def test_files_are_found_below_a_directory_and_sorted(tree):
    tree({"b.py": "", "a/z.pyw": "", "a/b.py": "", "a/c.pyi": "", "a/d.txt": "", "README": ""})
    assert files.find(["."]).files == ["a/b.py", "a/z.pyw", "b.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", "src/a.py"),
        ("src", "src/a.py"),
        ("src/", "src/a.py"),
        ("./src//", "src/a.py"),
        ("src/../src/a.py", "src/a.py"),
        ("../here/src", "../here/src/a.py"),
    ],
)
def test_a_file_is_spelled_as_its_path_spells_it(tree, monkeypatch, path, expected):
    root = tree({"here/src/a.py": ""})
    monkeypatch.chdir(root / "here")
    assert files.find([path]).files == [expected]


def test_an_absolute_path_stays_absolute(tree):
    root = tree({"src/a.py": ""})
    assert files.find([f"{root}/src"]).files == [f"{root}/src/a.py"]


def test_a_file_that_is_named_twice_is_found_once(tree):
    root = tree({"src/a.py": ""})
    assert files.find(["src", "src/a.py", f"{root}/src", "./src"]).files == ["src/a.py"]


def test_a_name_is_relative_where_it_lies_under_the_working_directory(tree, monkeypatch):
    root = tree({"here/a.py": ""})
    monkeypatch.chdir(root / "here")
    assert files.relative_name("a.py") == "a.py"
    assert files.relative_name(f"{root}/here/b/../a.py") == "a.py"
    assert files.relative_name("../a.py") == f"{root}/a.py"
    assert files.relative_name(f"{root}/hereabouts.py") == f"{root}/hereabouts.py"


def test_the_usual_directories_are_left_out_but_not_files_of_their_names(tree):
    tree({f"{name}/a.py": "" for name in files.ALWAYS_EXCLUDED} | {"x/build.py": ""})
    assert files.find(["."]).files == ["x/build.py"]


def test_a_virtual_environment_is_left_out_whatever_its_name_is(tree):
    tree(
        {
            "app.py": "",
            "env39/pyvenv.cfg": "",
            "env39/bin/activate_this.py": "",
            "env39/lib/python3.9/site.py": "",
        }
    )
    assert files.find(["."]).files == ["app.py"]
    assert Tree(os.getcwd()).files == [os.path.abspath("app.py")]
    assert files.find(["env39/bin"]).files == ["env39/bin/activate_this.py"]
    assert len(files.find(["env39"]).files) == 2


def test_the_files_that_pip_installed_into_a_directory_are_left_out(tree):
    """Those alone: what was added beside them, and the project itself, are checked."""
    record = '{0}/__init__.py,,\n"{0}/a, b.py",,\n../outside.py,,\n{0}.py,,\n"'
    tree(
        {
            "app.py": "",
            "outside.py": "",
            "libs/shop-1.dist-info/RECORD": record.format("shop"),
            "libs/shop/__init__.py": "",
            "libs/shop/a, b.py": "",
            "libs/shop/local.py": "",
            "libs/shop.py": "",
            "libs/own-1.dist-info/RECORD": record.format("own"),
            "libs/own-1.dist-info/direct_url.json": '{"dir_info": {}}',
            "libs/own.py": "",
            "libs/bare-1.dist-info/METADATA": "",
            "libs/bare.py": "",
        }
    )
    expected = ["app.py", "libs/bare.py", "libs/own.py", "libs/shop/local.py", "outside.py"]
    assert files.find(["."]).files == expected
    python = [path for path in Tree(os.getcwd()).files if path.endswith(".py")]
    assert sorted(python) == [os.path.abspath(path) for path in expected]
    assert files.find(["libs/shop"]).files == [
        "libs/shop/__init__.py",
        "libs/shop/a, b.py",
        "libs/shop/local.py",
    ]
    assert len(files.find(["libs"]).files) == 6


def test_what_is_named_is_always_taken(tree):
    tree(
        {
            ".gitignore": "*\n",
            "venv/a.py": "",
            "lib/b.py": "",
            "lib/script": "",
            "notes.txt": "",
        }
    )
    assert files.find(["notes.txt", "lib/b.py", "lib/script"], ["lib"]).files == [
        "lib/b.py",
        "lib/script",
        "notes.txt",
    ]
    assert files.find(["venv"], ["lib"]).files == ["venv/a.py"]


def test_a_script_without_an_ending_is_found_by_its_first_line(tree):
    root = tree(
        {
            "bin/manage": SCRIPT,
            "bin/serve": "from gevent import monkey\n",
            "bin/work": "import os, sys\n",
            "bin/shell": "#!/bin/sh\n",
            "bin/text": "python",
            "bin/prose": "import duties are due\n",
            "bin/empty": "",
        }
    )
    (root / "bin/manage").chmod(0o755)
    assert files.find(["."]).files == ["bin/manage", "bin/serve", "bin/work"]


def test_a_script_that_may_not_be_read_is_no_script(tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    root = tree({"manage": SCRIPT})
    (root / "manage").chmod(0o755)
    monkeypatch.setattr("builtins.open", refuse)
    assert files.find(["."]).files == []


def test_gitignore_files_are_honoured_the_innermost_last(tree):
    tree(
        {
            ".gitignore": "# generated\n*_pb2.py\n/local.py\nold/\n!kept_pb2.py\n",
            "a_pb2.py": "",
            "kept_pb2.py": "",
            "local.py": "",
            "x/local.py": "",
            "x/old/a.py": "",
            "x/.gitignore": "!again_pb2.py\nhere.py\n",
            "x/again_pb2.py": "",
            "x/here.py": "",
            "x/y/here.py": "",
            "here.py": "",
        }
    )
    assert files.find(["."]).files == ["here.py", "kept_pb2.py", "x/again_pb2.py", "x/local.py"]


def test_gitignore_files_above_count_up_to_the_top_of_the_repository(tree):
    tree(
        {
            ".gitignore": "outer.py\n",
            "repo/.git/info/exclude": "private.py\n",
            "repo/.gitignore": "/src/generated/\nb.py\n",
            "repo/src/a.py": "",
            "repo/src/b.py": "",
            "repo/src/outer.py": "",
            "repo/src/private.py": "",
            "repo/src/generated/c.py": "",
        }
    )
    assert files.find(["repo/src"]).files == ["repo/src/a.py", "repo/src/outer.py"]
    # A directory that is ignored and yet named is wanted.
    assert files.find(["repo/src/generated"]).files == ["repo/src/generated/c.py"]


def test_without_a_repository_they_count_up_to_the_working_directory(tree, monkeypatch):
    root = tree(
        {".gitignore": "a.py\nb.py\n", "x/.gitignore": "!a.py\n", "x/y/a.py": "", "x/y/b.py": ""}
    )
    assert files.find(["x/y"]).files == ["x/y/a.py"]
    monkeypatch.chdir(root / "x" / "y")
    assert files.find([f"{root}/x/y"]).files == [f"{root}/x/y/a.py", f"{root}/x/y/b.py"]
    assert files.find([".."]).files == ["../y/a.py", "../y/b.py"]


@pytest.mark.parametrize(
    "lines",
    [
        "*\n!lib/\n!lib/*\n",
        "*\n!lib/\n!lib/*\n!lib/*/*\n",
        "*\n!*/\n!*.py\n",
        "*\n!lib\n!lib/a.py\n",
        "/*\n!/lib/\n",
        "lib/\n!lib/sub/\n",
        "*/\n!lib/\n",
        "lib/*\n!lib/sub/\n",
        "!lib/\n*\n",
        "**/sub/\n!lib/**\n",
    ],
)
def test_git_gives_back_the_same_directories(tree, lines):
    root = tree({".gitignore": lines, "lib/a.py": "", "lib/sub/b.py": "", "lib/sub/c/d.py": ""})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    kept = sorted(one for one in listed.stdout.split() if one.endswith(".py"))
    assert kept == files.find(["."]).files


@pytest.mark.parametrize(
    "lines",
    ["/out/\n", "out\n", "/out/*\n", "*\n!lib/\n", "out/built/\n", "**/built/\n", "out/*/new\n"],
)
@pytest.mark.parametrize("inner", [".", "lib"])
def test_a_named_directory_below_an_ignored_one_is_searched(tree, lines, inner):
    tree(
        {
            ".git/HEAD": "",
            ".gitignore": lines,
            "out/built/new/a.py": "",
            "out/built/new/lib/b.py": "",
        }
    )
    named = os.path.normpath(f"out/built/new/{inner}")
    assert f"{named}/{'a.py' if inner == '.' else 'b.py'}" in files.find([named]).files


def test_git_ignores_the_same_files(tree):
    root = tree(
        {
            ".gitignore": "*.log\n/only_top.py\ndeep/**/x.py\n[ab].py\n!b.py\n"
            "\\#c.py\nd d.py \n!\n",
            "only_top.py": "",
            "sub/only_top.py": "",
            "deep/x.py": "",
            "deep/1/2/x.py": "",
            "sub/deep/x.py": "",
            "a.py": "",
            "b.py": "",
            "#c.py": "",
            "d d.py": "",
            "sub/.gitignore": "*.py\n!keep/\n!e.py\n",
            "sub/e.py": "",
            "sub/keep/f.py": "",
        }
    )
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    listed = subprocess.run(
        ["git", "-c", "core.quotePath=off", "ls-files", "-oc", "--exclude-standard", "*.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert sorted(listed) == files.find(["."]).files


def test_a_gitignore_that_is_no_file_or_says_nothing_is_passed_by(tree):
    root = tree(
        {"a.py": "", "x/.gitignore": "\n# nothing\n", "x/b.py": "", "y/.gitignore/c.py": ""}
    )
    os.mkfifo(root / ".gitignore")
    assert files.find(["."]).files == ["a.py", "x/b.py", "y/.gitignore/c.py"]


def test_a_gitignore_that_cannot_be_read_is_said(tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    root = tree({".gitignore": "a.py", "a.py": ""})
    monkeypatch.setattr("builtins.open", refuse)
    found = files.find(["."])
    assert found.files == ["a.py"]
    assert found.notes == [
        f"{root}/.gitignore cannot be read, nothing is ignored: Permission denied"
    ]


def test_exclude_is_written_like_gitignore_and_starts_at_its_root(tree):
    root = tree(
        {
            "migrations/a.py": "",
            "x/migrations/b.py": "",
            "x/gen/c.py": "",
            "gen/d.py": "",
            "e.py": "",
        }
    )
    assert files.find(["."], ["migrations", "/gen/"], str(root)).files == ["e.py", "x/gen/c.py"]
    assert files.find(["."], ["x/**", "e.*"], str(root)).files == ["gen/d.py", "migrations/a.py"]
    # Outside the root a name still counts.
    assert files.find(["gen", "."], ["e.py"], "/nowhere").files == [
        "gen/d.py",
        "migrations/a.py",
        "x/gen/c.py",
        "x/migrations/b.py",
    ]


def test_links_to_files_are_followed_and_links_to_directories_are_not(tree):
    root = tree({"real/a.py": ""})
    (root / "b.py").symlink_to("real/a.py")
    (root / "loop").symlink_to(".")
    (root / "package.py").symlink_to("real")
    found = files.find(["."])
    assert found.files == ["b.py", "real/a.py"]
    assert found.problems == []


def test_links_that_lead_nowhere_are_problems_unless_emacs_made_them(tree):
    root = tree({"a.py": ""})
    (root / "gone.py").symlink_to("nothing.py")
    (root / "round.py").symlink_to("round.py")
    (root / ".#a.py").symlink_to("me@host.1234:5678")
    found = files.find(["."])
    assert found.files == ["a.py"]
    assert [
        Problem("gone.py", "this link is broken: No such file or directory"),
        Problem("round.py", "this link is broken: Too many levels of symbolic links"),
    ] == sorted(found.problems)


def test_what_is_no_file_is_never_opened(tree):
    root = tree({"a.py": ""})
    os.mkfifo(root / "pipe.py")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        found = files.find([".", "pipe", "/dev/null"])
    assert found.files == ["a.py"]
    assert [
        Problem("/dev/null", "a device, not a Python file: leave it out"),
        Problem("pipe", "a FIFO, not a Python file: leave it out"),
        Problem("pipe.py", "a FIFO, not a Python file: exclude it"),
        Problem("socket.py", "a socket, not a Python file: exclude it"),
    ] == sorted(found.problems)


def test_a_path_that_does_not_exist_is_a_problem_and_the_rest_is_found(tree):
    tree({"src/worker.py": "", "a.py": ""})
    found = files.find(["src/workr.py", "no/where", "a.py", "a.py/b.py"])
    assert found.files == ["a.py"]
    assert found.problems == [
        Problem("src/workr.py", "no such file or directory; did you mean src/worker.py?"),
        Problem("no/where", "no such file or directory"),
        Problem("a.py/b.py", "this cannot be read: Not a directory"),
    ]


def test_a_directory_that_cannot_be_read_is_a_problem(tree, monkeypatch):
    scandir = os.scandir

    def refuse(path):
        if path.endswith("/closed/"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    tree({"closed/a.py": "", "b.py": ""})
    monkeypatch.setattr(os, "scandir", refuse)
    found = files.find(["."])
    assert found.files == ["b.py"]
    assert found.problems == [Problem("closed", "this directory cannot be read: Permission denied")]


def test_a_directory_without_python_is_noted_and_no_problem(tree):
    tree({"docs/a.txt": ""})
    found = files.find(["docs"])
    assert ([], [], ["no Python files found under docs"]) == (
        found.files,
        found.problems,
        found.notes,
    )


def test_a_name_that_is_not_unicode_is_found(tree):
    root = os.fsencode(tree({}))
    with open(root + b"/\xe9.py", "wb"):
        pass
    assert files.find(["."]).files == ["\udce9.py"]


def test_what_is_named_can_be_excluded_by_force(tree):
    root = tree({"venv/a.py": "", "gen/b.py": "", "gen/x/c.py": "", "d.py": "", "e.py": ""})
    named = ["venv/a.py", "gen/b.py", "gen/x/c.py", "gen/x", "d.py", "e.py"]
    assert files.find(named, ["gen/", "d.py"], str(root), force_exclude=True).files == ["e.py"]
    assert files.find(named[3:], (), str(root), force_exclude=True).files == [
        "d.py",
        "e.py",
        "gen/x/c.py",
    ]
    # What lies outside the root is not the configuration's to exclude.
    assert files.find(["e.py"], ["e.py"], "/nowhere", force_exclude=True).files == ["e.py"]


@pytest.fixture
def outside(tree, monkeypatch):
    """A repository, with files beside it that links in it lead to."""
    root = tree(
        {
            "repository/.git/HEAD": "",
            "repository/a.py": "",
            "outside/b.py": "",
            "outside/c.py": "",
            "outside/script": SCRIPT,
            "outside/rules": "a.py\n",
        }
    )
    (root / "outside/script").chmod(0o755)
    monkeypatch.chdir(root / "repository")

    def link(*names):
        for name in names:
            os.symlink(f"../outside/{name}", ".gitignore" if name == "rules" else name)
        return files.find(["."])

    return link


def test_a_link_that_leads_outside_the_repository_is_noted(outside):
    found = outside("b.py")
    assert found.files == ["a.py"]
    note = "b.py leads outside the repository and was not read; pass it to check it"
    assert found.notes == [note]


def test_several_links_that_lead_outside_are_one_note(outside):
    found = outside("c.py", "b.py")
    assert found.files == ["a.py"]
    assert found.notes == [
        "2 links lead outside the repository and were not read, b.py among them; "
        "pass them to check them"
    ]


def test_an_ignore_file_outside_the_repository_is_not_obeyed(outside):
    found = outside("rules")
    assert found.files == ["a.py"]
    (note,) = found.notes
    assert note.endswith(".gitignore leads outside the repository and was not read")


def test_a_script_outside_the_repository_is_not_read(outside):
    assert outside("script").files == ["a.py"]
