"""An editor for tests: a client of ``gblock server`` over its standard input and output."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from urllib.parse import quote

from harness import measured

PATIENCE = 60
"""Seconds to wait for what has to come."""
_CAPABILITIES = {
    "workspace": {
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}},
}


def uri(path):
    return "file://" + quote(os.fsencode(path))


def started(arguments, directory):
    """Start a server as an editor does."""
    return subprocess.Popen(
        [sys.executable, "-m", "gblock", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=directory,
        env=measured(),
    )


class Editor:
    """One editor with some folders open.

    Args:
        folders: The folders.
        arguments: Further arguments of the server.
        capabilities: The capabilities of the editor.
        start: Starts a process of ``gblock``.
    """

    def __init__(self, *folders, arguments=(), capabilities=None, start=started):
        directory = folders[0] if folders else os.getcwd()
        self.process = start(["server", *arguments], directory)
        self.notices = []
        self.diagnostics = {}
        self._answers = {}
        self._arrived = threading.Condition()
        self._number = 0
        self._versions = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        opened = [{"uri": uri(folder), "name": os.path.basename(folder)} for folder in folders]
        self.capabilities = self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "workspaceFolders": opened or None,
                "capabilities": capabilities or _CAPABILITIES,
            },
        )["capabilities"]
        self.tell("initialized", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process.poll() is None:
            try:
                self.ask("shutdown", None)
                self.tell("exit", None)
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired, AssertionError):
                self.process.kill()
        returncode = self.process.wait()
        self._reader.join(5)
        with suppress(OSError):
            self.process.stdin.close()
        self.process.stdout.close()
        return returncode

    # -- messages

    def tell(self, method, params):
        self._write({"method": method, "params": params})

    def ask(self, method, params):
        self._number += 1
        number = self._number
        self._write({"id": number, "method": method, "params": params})
        self.wait_until(lambda: number in self._answers, f"an answer to {method}")
        answer = self._answers.pop(number)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _write(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self):
        out = self.process.stdout
        while header := out.readline():
            length = int(header.partition(b":")[2])
            while out.readline().strip():
                pass
            message = json.loads(out.read(length))
            with self._arrived:
                if "method" not in message:
                    self._answers[message["id"]] = message
                else:
                    self.notices.append((message["method"], message["params"]))
                    if message["method"] == "textDocument/publishDiagnostics":
                        self.diagnostics[message["params"]["uri"]] = message["params"]
                self._arrived.notify_all()
            if "method" in message and "id" in message:
                with suppress(OSError, ValueError):  # it is closed
                    self._write({"id": message["id"], "result": None})

    def wait_until(self, condition, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        with self._arrived:
            while not condition():
                left = end - time.monotonic()
                assert left > 0, f"{what} did not come; what came: {self.notices}"
                assert self.process.poll() is None, f"the server ended before {what}"
                self._arrived.wait(min(left, 1))

    def messages(self):
        return [params["message"] for name, params in self.notices if name == "window/showMessage"]

    def wait_for_message(self, word):
        self.wait_until(
            lambda: any(word in one for one in self.messages()), f"a message with {word}"
        )

    # -- documents

    def open(self, path, text=None):
        if text is None:
            with open(path, encoding="utf-8", newline="") as file:
                text = file.read()
        self._versions[path] = 1
        document = {"uri": uri(path), "languageId": "python", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, path, text):
        self._versions[path] += 1
        document = {"uri": uri(path), "version": self._versions[path]}
        changes = [{"text": text}]
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        return self._versions[path]

    def save(self, path):
        self.tell("textDocument/didSave", {"textDocument": {"uri": uri(path)}})

    def close(self, path):
        self.tell("textDocument/didClose", {"textDocument": {"uri": uri(path)}})

    def of(self, path):
        """The diagnostics of a file, as the editor has them now."""
        with self._arrived:
            return self.diagnostics.get(uri(path), {}).get("diagnostics", [])

    def codes(self, path):
        return [one["code"] for one in self.of(path)]

    def wait(self, path, codes, version=None):
        """Wait until the diagnostics of a file have these codes; return them."""

        def has_come():
            sent = self.diagnostics.get(uri(path))
            if sent is None:
                return False
            found = [one["code"] for one in sent["diagnostics"]]
            return found == codes and version in (None, sent.get("version"))

        self.wait_until(has_come, f"{codes} for {path}")
        return self.of(path)

    def actions(self, path, diagnostic, only=None):
        context = {"diagnostics": [diagnostic]} | ({"only": only} if only else {})
        params = {"textDocument": {"uri": uri(path)}, "range": diagnostic["range"]}
        return self.ask("textDocument/codeAction", {**params, "context": context})

    def hover(self, path, line, character):
        position = {"line": line, "character": character}
        found = self.ask(
            "textDocument/hover", {"textDocument": {"uri": uri(path)}, "position": position}
        )
        return found and found["contents"]["value"]
