"""Files of a git revision, read without running anything that the repository names.

Only commits and blobs are read, never the working tree: a comparison with it would run the
filters, hooks and monitors that a repository's configuration and attributes name.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from gblock.errors import UserError

_SAFE = (
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "diff.external="),
)
_QUIET = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
_LARGEST = 10_000_000
"""Bytes: a larger file is irrelevant to a project's calls and processes."""
_BLOB = b"blob"
_LINK = b"120000"


class Revision:
    """The content of a directory at the merge base of the current branch and a revision.

    Args:
        directory: A directory in the working tree of a repository.
        name: The revision, such as ``main`` or ``HEAD~3``.

    Raises:
        UserError: if there is no git, no repository, or no such revision.
    """

    def __init__(self, directory: str, name: str) -> None:
        self._directory = directory
        program = shutil.which("git")
        if program is None:
            raise UserError("gblock check", "--since needs git, which is not installed")
        self._program = program
        top = self._line("rev-parse", "--show-toplevel")
        if top is None:
            raise UserError(directory, "--since: not a working tree of a git repository")
        named = self._line(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        if named is None:
            message = f"--since: {name} is not a revision here; a shallow clone must fetch it first"
            raise UserError(directory, message)
        self._commit = self._line("merge-base", named, "HEAD") or named
        within = os.path.relpath(os.path.realpath(directory), os.path.realpath(top))
        self._prefix = "" if within == "." else within.replace(os.sep, "/") + "/"
        self._blobs = self._listed()

    @property
    def paths(self) -> dict[str, str]:
        """The files, relative to the directory, with the ids of their contents."""
        return self._blobs

    def renamed(self) -> dict[str, str]:
        """Return the files that later commits renamed: the new names with the old ones."""
        compared = ("-r", "-M", "-z", "--name-status", "--no-ext-diff", "--no-textconv")
        fields = self._git("diff-tree", *compared, self._commit, "HEAD").split(b"\0")
        found, rest = {}, iter(fields)
        for status in rest:
            old = os.fsdecode(next(rest, b""))
            if status[:1] in (b"R", b"C"):
                new = os.fsdecode(next(rest, b""))
                if status[:1] == b"R" and old.startswith(self._prefix):
                    found[new[len(self._prefix) :]] = old[len(self._prefix) :]
        return found

    def write(self, target: str) -> None:
        """Write the files below a directory, without links and missing blobs."""
        command = [*self._command(), "cat-file", "--batch"]
        pipe = subprocess.PIPE
        with subprocess.Popen(  # noqa: S603 - git, found on the user's own path
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=os.environ | _QUIET
        ) as git:
            if git.stdin is None or git.stdout is None:  # pragma: no cover - both are pipes
                return
            for path, blob in self._blobs.items():
                git.stdin.write(f"{blob}\n".encode())
                git.stdin.flush()
                _, kind, size = [*git.stdout.readline().split(), b"", b"0"][:3]
                if kind != _BLOB:
                    continue
                data = git.stdout.read(int(size) + 1)[:-1]
                if len(data) <= _LARGEST:
                    _place(os.path.join(target, path), data)

    def _listed(self) -> dict[str, str]:
        listing = self._git("ls-tree", "-r", "-z", "--full-tree", self._commit)
        found = {}
        for entry in listing.split(b"\0"):
            facts, _, raw = entry.partition(b"\t")
            path = os.fsdecode(raw)
            if not raw or not path.startswith(self._prefix):
                continue
            mode, kind, blob = facts.split()
            path = path[len(self._prefix) :]
            if kind == _BLOB and mode != _LINK and _is_harmless(path):
                found[path] = blob.decode()
        return found

    def _line(self, *arguments: str) -> str | None:
        try:
            return os.fsdecode(self._git(*arguments)).strip("\n") or None
        except UserError:
            return None

    def _git(self, *arguments: str) -> bytes:
        command = [*self._command(), *arguments]
        run = subprocess.run(  # noqa: S603 - git, found on the user's own path
            command, capture_output=True, env=os.environ | _QUIET, stdin=subprocess.DEVNULL
        )
        if run.returncode:
            lines = os.fsdecode(run.stderr).strip().splitlines() or ["no reason was given"]
            raise UserError(self._directory, f"git {arguments[0]} failed: {lines[-1]}")
        return run.stdout

    def _command(self) -> list[str]:
        return [self._program, *_SAFE, "-C", self._directory]


def _is_harmless(path: str) -> bool:
    """Return whether a path stays below the target directory: a git tree can be forged."""
    parts = path.split("/")
    return not os.path.isabs(path) and not {"", ".", "..", ".git"}.intersection(parts)


def _place(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
    except OSError:  # names may clash on a case-insensitive file system
        return
