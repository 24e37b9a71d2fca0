"""Processes of gblock that are forked from one which has imported everything.

Imports take most of the time until a server answers. A fork starts no interpreter: tests about the
start itself start one.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_LONGEST = 65_536
"""Bytes of one order: the arguments, the directory."""


class Forks:
    """One process that has imported gblock, and forks for each order."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._socket, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-I", __file__, str(there.fileno())],
                pass_fds=[there.fileno()],
                env=environment,
                # Where there is no directory of this name, coverage takes `gblock` for a package.
                cwd=tempfile.gettempdir(),
            )

    def start(self, arguments: list[str], directory: str) -> Fork:
        """Run ``gblock`` with some arguments, in a directory."""
        stdin, stdout, status = os.pipe(), os.pipe(), os.pipe()
        order = json.dumps([arguments, directory]).encode()
        theirs = [stdin[0], stdout[1], status[1]]
        socket.send_fds(self._socket, [order], theirs)
        for one in theirs:
            os.close(one)
        return Fork(stdin[1], stdout[0], status[0])

    def close(self) -> None:
        """End the process, once it has written what coverage measured."""
        self._socket.close()
        self._process.wait()


class Fork:
    """A forked process, with the part of `subprocess.Popen` that an editor needs."""

    def __init__(self, stdin: int, stdout: int, status: int) -> None:
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self._status = os.fdopen(status, "rb", buffering=0)
        self._pid = int(self._status.read(16))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return the exit code."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("gblock", timeout or 0)
        return code

    def kill(self) -> None:
        """End it at once."""
        os.kill(self._pid, signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(self._status.read(16))
            self._status.close()
        return self.returncode


def _serve(orders: socket.socket) -> None:
    """Fork for each order, until no more can come."""
    while True:
        order, files, _, _ = socket.recv_fds(orders, _LONGEST, 3)
        if not order:
            break
        if not os.fork():
            orders.close()
            _attend(*json.loads(order), *files)
        for one in files:
            os.close(one)
        while _buried(os.WNOHANG):
            pass
    while _buried(0):
        pass


def _buried(options: int) -> bool:
    """Return whether a forked process has ended; its time counts as that of this one."""
    with suppress(ChildProcessError):
        return os.waitpid(-1, options) != (0, 0)
    return False


def _attend(arguments: list[str], directory: str, stdin: int, stdout: int, status: int) -> None:
    """Run one order in another process, and write its id and its exit code."""
    pid = os.fork()
    if pid:
        os.close(stdin)
        os.close(stdout)
        os.write(status, b"%16d" % pid)
        _, ended = os.waitpid(pid, 0)
        os.write(status, b"%16d" % os.waitstatus_to_exitcode(ended))
        os.kill(os.getpid(), signal.SIGKILL)  # it measures nothing
    os.close(status)
    for number, one in enumerate((stdin, stdout)):
        os.dup2(one, number)
        os.close(one)
    # The old ones remember what kind of file they had.
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    os.chdir(directory)
    code = 1
    try:
        from gblock.cli import main

        code = main(arguments)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _prepare() -> None:
    """Import what a server and a check need, and read the catalog, by one check of a call."""
    import gc
    from importlib import import_module

    from gblock.cli import main

    for name in ("language", "actions", "hover", "diagnostics"):
        import_module(f"gblock.server.{name}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "app.py")
        path.write_text("import os\n\n\ndef wait():\n    os.wait()\n", encoding="utf-8")
        main(["check", "-q", "--no-cache", "--isolated", "--output-file", os.devnull, str(path)])
    gc.freeze()


if __name__ == "__main__":
    _prepare()
    with socket.socket(fileno=int(sys.argv[1])) as found:
        _serve(found)
