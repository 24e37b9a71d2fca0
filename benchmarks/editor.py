"""Measure how long an editor waits for ``gblock server`` after a keystroke in a large service.

    python -m benchmarks.editor DIRECTORY [FILE ...] [--keys 20]

Starts a server on the directory as an editor does, opens each file, types, and measures the time
from each change until its diagnostics arrive: wall time, and the CPU time of the server's process
for it. Files that are not named are those with the most diagnostics and the longest ones. Nothing
is written. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.editor import Editor, uri

TICK = os.sysconf("SC_CLK_TCK")
PAUSE = 0.05
"""Seconds between two keys of one burst."""


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--keys", type=int, default=20)
    options = parser.parse_args()
    root = os.path.abspath(options.directory)
    command = [sys.executable, "-m", "gblock", "check", "--no-cache", "--jobs", "1"]
    before = children()
    checked = subprocess.run([*command, "--output-format", "json", root], stdout=subprocess.PIPE)
    print(f"gblock check --no-cache --jobs 1: CPU {children() - before:.2f} s")
    files = options.files or chosen(root, json.loads(checked.stdout))
    begun = time.perf_counter()
    with Editor(root) as editor:
        paths = [os.path.join(root, name) for name in files]
        texts = [Path(path).read_text(encoding="utf-8") for path in paths]
        editor.open(paths[0])
        editor.wait_until(lambda: editor.diagnostics, "a diagnostic")
        print(
            f"start: diagnostics after {time.perf_counter() - begun:.2f} s, CPU {cpu(editor):.2f} s, "
            f"memory {memory(editor)} MB"
        )
        print(
            "\n| file | lines | median | slowest | CPU, median | folder, CPU |\n|---|---:|---:|---:|---:|---:|"
        )
        slowest = 0.0
        for path, text in zip(paths, texts, strict=True):
            if path != paths[0]:
                editor.open(path)
                settled(editor)
            waits, costs = typed(editor, path, text, options.keys)
            slowest = max(slowest, *waits)
            used = cpu(editor)
            settled(editor)
            print(
                f"| {os.path.relpath(path, root)} | {text.count(chr(10)):,} "
                f"| {1000 * statistics.median(waits):.0f} ms | {1000 * max(waits):.0f} ms "
                f"| {1000 * statistics.median(costs):.0f} ms | {cpu(editor) - used:.1f} s |",
                flush=True,
            )
        print(f"\nslowest answer: {1000 * slowest:.0f} ms; memory {memory(editor)} MB")
    return 0


def chosen(root: str, found: list[dict[str, object]]) -> list[str]:
    """Return files with many diagnostics, and long files of the service."""
    names = [os.path.relpath(str(one["filename"]), root) for one in found]
    weighty = sorted(set(names), key=lambda name: (-names.count(name), name))
    listed = subprocess.run(
        [sys.executable, "-m", "gblock", "check", "--show-files", root],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    every = listed.stdout.splitlines()
    long = sorted(every, key=lambda name: -os.path.getsize(os.path.join(root, name)))
    return list(dict.fromkeys([*weighty[:4], *long[:6]]))


def typed(editor: Editor, path: str, text: str, keys: int) -> tuple[list[float], list[float]]:
    """Type a statement into a file, key by key, and return the seconds and CPU seconds of each."""
    line = "\nsomething_is_typed"
    waits, costs = [], []
    for number in range(keys):
        now = text + line[: 1 + number % len(line)]
        used = cpu(editor)
        begun = time.perf_counter()
        version = editor.change(path, now)
        answered(editor, path, version)
        waits.append(time.perf_counter() - begun)
        costs.append(cpu(editor) - used)
        time.sleep(PAUSE)
    editor.change(path, text)
    return waits, costs


def answered(editor: Editor, path: str, version: int) -> None:
    """Wait until the diagnostics of a version have arrived."""
    key = uri(path)
    editor.wait_until(
        lambda: (editor.diagnostics.get(key) or {}).get("version", 0) == version, "an answer"
    )


def settled(editor: Editor) -> None:
    """Wait until the server has been idle for some time."""
    idle, last = 0, cpu(editor)
    while idle < 30:
        time.sleep(0.1)
        now = cpu(editor)
        idle = idle + 1 if now - last < 2 / TICK else 0
        last = now


def cpu(editor: Editor) -> float:
    """Return the CPU seconds of the server's process."""
    total = 0
    for task in Path(f"/proc/{editor.process.pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def memory(editor: Editor) -> int:
    """Return the resident memory of the server's process in megabytes."""
    pages = int(Path(f"/proc/{editor.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def children() -> float:
    """Return the CPU seconds of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
