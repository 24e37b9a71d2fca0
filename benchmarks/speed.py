"""Measure gblock beside its peers, alternately in the same run: medians and ratios, no gates.

    python benchmarks/speed.py [--tree DIR ...] [--service DIR ...] [--runs 5] [--peers VENV]

Prints Markdown and installs nothing: it measures the tools in the virtual environment that --peers
names, or on PATH. README.md beside this file explains how to create one.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SAMPLE = 10_000
"""Lines of a service that the slow peers are given, unless --sample says more."""
EXCLUDED = {".git", "node_modules", "site-packages", "build", "dist", "venv", ".venv", ".tox"}
CLEAN = '''"""What a pre-commit hook is given most often: a file with nothing to report."""

import json
import logging

logger = logging.getLogger(__name__)


class Basket:
    """What a customer is about to buy."""

    def __init__(self, customer):
        self.customer = customer
        self.lines = []

    def put(self, article, number=1):
        """Add some of an article."""
        if number < 1:
            raise ValueError(number)
        self.lines.append({"article": article, "number": number})

    def total(self, prices):
        """The sum in cents."""
        return sum(prices[line["article"]] * line["number"] for line in self.lines)

    def dump(self):
        """The basket as text."""
        logger.info("%d lines", len(self.lines))
        return json.dumps({"customer": self.customer, "lines": self.lines})
'''
RULE = '''
import libcst
from fixit import Invalid, LintRule, Valid


class NoSleep(LintRule):
    """One rule of the textbook kind: a call by its name."""

    VALID = [Valid("sleep()")]
    INVALID = [Invalid("time.sleep(1)")]

    def visit_Call(self, node: libcst.Call) -> None:
        if libcst.matchers.matches(
            node.func,
            libcst.matchers.Attribute(
                value=libcst.matchers.Name("time"), attr=libcst.matchers.Name("sleep")
            ),
        ):
            self.report(node, "time.sleep")
'''


class Sample(NamedTuple):
    """The time and memory of one run of a command."""

    wall: float
    cpu: float
    memory: int
    """Peak resident memory in bytes of the largest process; never less than this script's own."""
    code: int


class Command(NamedTuple):
    """Something to be measured."""

    name: str
    argv: list[str]
    directory: str
    expected: tuple[int, ...] = (0, 1)
    lines: int = 0


# -- measuring


def run(command: Command) -> Sample:
    """Run a command once; its output goes nowhere, but its errors are shown if it fails."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RUFF_"))}
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command.argv,
            cwd=command.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = code = os.waitstatus_to_exitcode(status)
        if code not in command.expected:
            errors.seek(0)
            text = errors.read()[-2000:].decode(errors="replace")
            raise SystemExit(f"{command.name} ended with {code}:\n{text}")
    scale = 1 if sys.platform == "darwin" else 1024
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, code)


def measure(commands: list[Command], runs: int) -> dict[str, list[Sample]]:
    """Each command once to warm the page cache, then all of them in turns, in changing order."""
    samples: dict[str, list[Sample]] = {command.name: [] for command in commands}
    for command in commands:
        run(command)
    order = list(commands)
    for _ in range(runs):
        random.shuffle(order)
        for command in order:
            samples[command.name].append(run(command))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples


def wall(samples: list[Sample]) -> float:
    return statistics.median(sample.wall for sample in samples)


def cpu(samples: list[Sample]) -> float:
    return statistics.median(sample.cpu for sample in samples)


def memory(samples: list[Sample]) -> str:
    return f"{max(sample.memory for sample in samples) / 1e6:.0f} MB"


# -- what is measured


class Tools:
    """The programs, from a virtual environment or from PATH."""

    def __init__(self, venv: str | None) -> None:
        self._bin = Path(venv, "Scripts" if os.name == "nt" else "bin") if venv else None
        self.python = self.find("python") or sys.executable
        self.gblock = self.find("gblock") or sys.exit("gblock is not installed: see README.md")
        self.ruff = self.find("ruff")
        self.flake8 = self.find("flake8")
        self.fixit = self.find("fixit")

    def find(self, name: str) -> str | None:
        """The path of a program, None where there is none."""
        if self._bin is not None:
            return shutil.which(name, path=str(self._bin.resolve()))
        return shutil.which(name)

    def versions(self) -> list[str]:
        """Return the measurements, one line each."""
        asked = [
            ("CPython", [self.python, "-c", "import platform; print(platform.python_version())"]),
            ("gblock", [self.gblock, "--version"]),
            ("ruff", [self.ruff, "--version"]),
            ("flake8", [self.flake8, "--version"]),
            ("Fixit", [self.fixit, "--version"]),
            ("pylint", [self.find("pylint"), "--version"]),
            ("semgrep", [self.find("semgrep"), "--version"]),
        ]
        found = []
        for name, argv in asked:
            if argv[0] is None:
                found.append(f"{name}: not found, left out")
                continue
            out = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
            text = " ".join(out.split())
            found.append(text if text.lower().startswith(name.lower()) else f"{name} {text}")
        return found


def python_files(tree: str) -> list[Path]:
    """The Python files of a tree, without what every tool leaves out by itself."""
    found = []
    for directory, names, files in os.walk(tree):
        names[:] = [name for name in names if name not in EXCLUDED]
        found += [Path(directory, file) for file in files if file.endswith(".py")]
    return sorted(found)


def lines_of(paths: list[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def sample_of(paths: list[Path], lines: int) -> list[Path]:
    """Some of many files, the same ones every time, until there are enough lines."""
    chosen = []
    for path in random.Random(0).sample(paths, len(paths)):
        if lines <= 0:
            break
        lines -= path.read_bytes().count(b"\n")
        chosen.append(path)
    return chosen


# -- what is printed


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def start_up(tools: Tools, runs: int, directory: str) -> None:
    """One clean file, as pre-commit names it."""
    Path(directory, "basket.py").write_text(CLEAN)
    nothing = Command("`python -c pass`", [tools.python, "-c", "pass"], directory)
    commands = [
        nothing,
        Command(
            "`gblock check basket.py`",
            [tools.gblock, "check", "--no-cache", "basket.py"],
            directory,
            (0,),
        ),
    ]
    if tools.ruff:
        argv = [tools.ruff, "check", "--isolated", "--select", "ASYNC", "--no-cache", "basket.py"]
        commands.append(Command("`ruff check --select ASYNC --no-cache`", argv, directory, (0,)))
    samples = measure(commands, runs)
    base = samples[nothing.name]
    print("### Start-up: one clean file of 32 lines\n")
    table(
        ["command", "wall, ms", "CPU, ms", "times `python -c pass`, wall", "CPU"],
        [
            [
                name,
                f"{wall(s) * 1e3:.1f}",
                f"{cpu(s) * 1e3:.1f}",
                f"{wall(s) / wall(base):.1f}",
                f"{cpu(s) / cpu(base):.1f}",
            ]
            for name, s in samples.items()
        ],
    )


def cold(tools: Tools, tree: str, runs: int) -> None:
    """A whole tree without any cache, beside ruff."""
    paths = python_files(tree)
    lines = lines_of(paths)
    commands = [
        Command(
            "`gblock check .`",
            [tools.gblock, "check", ".", "--isolated", "--no-cache"],
            tree,
            (0, 1, 2),
        )
    ]
    if tools.ruff:
        argv = [tools.ruff, "check", "--isolated", "--select", "ASYNC", "--no-cache", "."]
        commands.append(Command("`ruff check --select ASYNC --no-cache`", argv, tree))
    samples = measure(commands, runs)
    base = list(samples.values())[-1]
    reported = run(commands[0]).code == 1
    print(f"### Cold run: {Path(tree).name}, {len(paths):,} files, {lines:,} lines\n")
    print(f"gblock reports {'something' if reported else 'nothing'} here.\n")
    table(
        ["command", "wall, s", "CPU, s", "times ruff, wall", "times ruff, CPU", "peak memory"],
        [
            [
                name,
                f"{wall(s):.2f}",
                f"{cpu(s):.2f}",
                f"{wall(s) / wall(base):.1f}",
                f"{cpu(s) / cpu(base):.1f}",
                memory(s),
            ]
            for name, s in samples.items()
        ],
    )


def service(tools: Tools, tree: str, runs: int, sample: int, directory: str) -> None:
    """A gevent service, beside linters that are written in Python."""
    paths = python_files(tree)
    lines = lines_of(paths)
    some = [str(path.resolve()) for path in sample_of(paths, sample)]
    lines_of_some = lines_of([Path(path) for path in some])
    argv = [tools.gblock, "check", ".", "--isolated", "--no-cache"]
    commands = [Command("`gblock check .`", argv, tree, (0, 1, 2), lines)]
    names = os.path.join(directory, "names.txt")
    Path(names).write_text("\n".join(some))
    if tools.flake8:
        argv = [tools.flake8, "--isolated", "--select", "ASYNC", "-j", "1", *some]
        name = "`flake8 --select ASYNC -j 1`, flake8-async"
        commands.append(Command(name, argv, tree, (0, 1), lines_of_some))
    if tools.fixit:
        rules = Path(directory, "rules")
        rules.mkdir(exist_ok=True)
        (rules / "__init__.py").write_text(RULE)
        copied = Path(directory, "sample")
        copied.mkdir(exist_ok=True)
        for number, path in enumerate(some):
            shutil.copyfile(path, copied / f"m{number}.py")
        Path(directory, "fixit.toml").write_text(
            '[tool.fixit]\nroot = true\nenable = [".rules"]\ndisable = ["fixit.rules"]\n'
        )
        argv = [tools.fixit, "--quiet", "lint", "sample"]
        name = "`fixit lint`, one rule"
        commands.append(Command(name, argv, directory, (0, 1), lines_of_some))
    samples = measure(commands, runs)
    print(f"### Service: {Path(tree).name}, {len(paths):,} files, {lines:,} lines\n")
    print(
        f"flake8 and Fixit are given {len(some)} files of it, {lines_of_some:,} lines, drawn at "
        "random: all of it would take them minutes. flake8 runs in one process, Fixit in as many "
        "as there are cores. What each takes to load itself is counted. gblock reads all files, "
        "but those that are tests it reads only for what they say of others.\n"
    )
    rates = {
        c.name: (c.lines / wall(samples[c.name]), c.lines / cpu(samples[c.name])) for c in commands
    }
    ours = rates[commands[0].name]
    table(
        [
            "command",
            "lines",
            "wall, s",
            "CPU, s",
            "lines a second",
            "lines a CPU second",
            "gblock is faster, wall",
            "CPU",
            "peak memory",
        ],
        [
            [
                c.name,
                f"{c.lines:,}",
                f"{wall(samples[c.name]):.2f}",
                f"{cpu(samples[c.name]):.2f}",
                f"{rates[c.name][0]:,.0f}",
                f"{rates[c.name][1]:,.0f}",
                "" if c is commands[0] else f"{ours[0] / rates[c.name][0]:.0f} times",
                "" if c is commands[0] else f"{ours[1] / rates[c.name][1]:.0f} times",
                memory(samples[c.name]),
            ]
            for c in commands
        ],
    )


def machine() -> str:
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{os.cpu_count()} cores of {model}, {platform.system()} {platform.release()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", action="append", default=[], help="a big tree, beside ruff")
    parser.add_argument("--service", action="append", default=[], help="beside flake8 and Fixit")
    parser.add_argument("--runs", type=int, default=5, help="how often each command is measured")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="lines for the slow peers")
    parser.add_argument("--peers", help="a virtual environment with gblock and the peers")
    options = parser.parse_args()
    tools = Tools(options.peers)
    print(f"Machine: {machine()}; load at the start {os.getloadavg()[0]:.1f}.  ")
    print(f"Versions: {'; '.join(tools.versions())}.  ")
    print(f"Medians of {options.runs} runs in turns, after one that warms the page cache.\n")
    with tempfile.TemporaryDirectory() as directory:
        start_up(tools, max(options.runs * 4, 20), directory)
        for tree in options.tree:
            cold(tools, tree, options.runs)
        for number, tree in enumerate(options.service):
            own = Path(directory, str(number))
            own.mkdir()
            service(tools, tree, options.runs, options.sample, str(own))


if __name__ == "__main__":
    main()
