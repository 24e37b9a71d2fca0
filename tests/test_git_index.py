"""The index of git: which files `.gitignore` leaves out, and which it does not."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess

import pytest

from gblock import files, opened
from gblock.git_index import GitIndex, listed
from gblock.project.processes import formats
from gblock.project.processes.deployment import Deployment
from gblock.project.reading.tree import Tree

IGNORED = {
    ".gitignore": "run.sh\nlocal.py\nsecret.txt\nold/\n",
    "run.sh": "gunicorn -k gevent shop:app\n",
    "local.py": "",
    "secret.txt": "",
    "old/local.py": "",
    "app.py": "",
}


def git(*arguments):
    subprocess.run(["git", *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tree):
    """Return a repository with files that `.gitignore` names, none of which is committed."""
    root = tree(IGNORED)
    git("init", "-q")
    git("add", ".")
    return root


def found():
    """Return the Python files below the working directory, and those of the deployment."""
    deployed = Tree(os.getcwd(), matters=formats.matters).files
    return files.find(["."]).files, sorted(os.path.relpath(path) for path in deployed)


def test_what_is_only_in_the_directory_is_ignored(repository):
    assert found() == (["app.py"], [".gitignore", "app.py"])


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_is_committed_is_not(repository, version):
    git("add", "-f", "run.sh", "local.py", "secret.txt", "old/local.py")
    git("update-index", "--force-write-index", "--index-version", version)
    if version == "3":  # git writes this version where an entry has extended flags
        (repository / "later.py").touch()
        git("add", "-N", "later.py")
    data = (repository / ".git" / "index").read_bytes()
    later = ["later.py"] * (version == "3")

    assert int(version) == struct.unpack_from(">L", data, 4)[0]
    assert {b"old/local.py", b"run.sh", b"secret.txt"} <= listed(data)
    # A text of another name is not looked for, and an ignored directory is not entered.
    assert found() == (
        ["app.py", *later, "local.py"],
        [".gitignore", "app.py", *later, "local.py", "run.sh"],
    )


def test_a_committed_script_starts_processes(repository):
    assert not Deployment(str(repository)).commands
    git("add", "-f", "run.sh")
    assert [one.text for one in Deployment(str(repository)).commands] == [
        "gunicorn -k gevent shop:app"
    ]


def test_the_settings_exclude_what_is_committed(repository):
    git("add", "-f", "run.sh", "local.py")
    assert files.find(["."], ["local.py"], str(repository)).files == ["app.py"]
    assert not Deployment(str(repository), ("*.sh",)).commands


def test_a_directory_below_the_top_has_the_index_of_the_top(tree):
    tree({".gitignore": "*.py\n", "shop/a.py": "", "shop/b.py": ""})
    git("init", "-q")
    git("add", "-f", "shop/a.py")
    assert files.find(["shop"]).files == ["shop/a.py"]


@pytest.mark.parametrize(("names", "is_read"), [("*.txt\n", False), ("app.py\n", True)])
def test_the_index_is_read_where_a_file_matters(tree, names, is_read):
    root = tree({".gitignore": names, "app.py": "", "a.txt": ""})
    git("init", "-q")
    begun = opened.begin()
    found()
    assert is_read is (str(root / ".git" / "index") in begun.paths)


def entries(*names, version=2, size=20):
    """Return an index of some files, without a checksum, as git leaves it out on request."""
    data = struct.pack(">4sLL", b"DIRC", version, len(names))
    for name in names:
        one = bytes(40) + b"#" * size + struct.pack(">H", min(len(name), 0xFFF)) + name
        data += one + bytes(8 - len(one) % 8)
    return data + bytes(size)


@pytest.mark.parametrize("size", [20, 32])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7, 8, 255, 4095, 4096])
def test_paths_of_any_length_are_listed(size, length):
    names = [b"a" * length, b"b" * length, b"c"]
    assert frozenset(names) == listed(entries(*names, size=size))


LONG = entries(b"a" * 5000)
WHOLE = entries(b"a.py", b"b.py")
GROWING = struct.pack(">4sLL", b"DIRC", 4, 400) + b"".join(
    bytes(60) + struct.pack(">H", 10 * number) + b"\0" + b"a" * 10 + b"\0"
    for number in range(1, 401)
)
"""Paths that each repeat the one before: a small file that would become a large list."""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"DIRC",
        b"DIRX" + WHOLE[4:],
        entries(b"a.py", version=1),
        entries(b"a.py", version=5),
        WHOLE[:12],
        WHOLE[:70],
        WHOLE[:-30],
        WHOLE.replace(b"b.py", b"b.p\0"),
        LONG,
        struct.pack(">4sLL", b"DIRC", 4, 1) + bytes(60) + b"\0\1" + b"\1a\0",
        struct.pack(">4sLL", b"DIRC", 4, 1) + bytes(60) + b"\0\1" + b"\xff" * 9 + b"a\0",
        GROWING,
        hashlib.sha256(b"").digest() * 9,
    ],
)
def test_a_damaged_index_lists_nothing(data):
    assert not listed(data)


def test_an_index_that_is_no_file_of_the_repository_is_not_read(tree, tmp_path_factory):
    root = tree({".gitignore": "a.py\n", "a.py": "", ".git/HEAD": ""})
    outside = tmp_path_factory.mktemp("outside") / "index"
    outside.write_bytes(entries(b"a.py"))
    index = root / ".git" / "index"
    index.symlink_to(outside)
    assert files.find(["."]).files == []
    index.unlink()
    os.mkfifo(index)
    assert files.find(["."]).files == []
    index.unlink()
    index.write_bytes(outside.read_bytes())
    assert files.find(["."]).files == ["a.py"]


def test_a_large_index_is_not_read(tree, monkeypatch):
    root = tree({".git/HEAD": "", "a.py": ""})
    (root / ".git" / "index").write_bytes(WHOLE)
    assert str(root / "a.py") in GitIndex(str(root))
    monkeypatch.setattr("gblock.git_index._LARGEST", len(WHOLE) - 1)
    assert str(root / "a.py") not in GitIndex(str(root))
