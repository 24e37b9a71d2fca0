"""Compare gblock with other tools that look for blocking calls, on one service.

    python -m venv peers
    peers/bin/pip install blockbuster confluent-kafka flake8-async gevent psycopg2-binary py-spy ruff
    python -m benchmarks.comparison --peers peers               prints the table
    python -m benchmarks.comparison --peers peers --update      writes docs/comparison.md

``compared/service.py`` has calls that block and calls that do not, and measures which are which.
Linters that know only asyncio get the same functions as ``async def``, too. A tool that is not
installed is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import pages
from benchmarks.stories.story import ROOT, Machine, clean_environment, probing

FOLDER = Path(__file__).parent / "compared"
PAGE = ROOT / "docs" / "comparison.md"
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_CASE = re.compile(r"\b((?:blocks|cooperates)_\w+)")
TICK = 0.02
"""Seconds between two samples of py-spy."""
RUNNER = """
import asyncio
import blockbuster, service

async def all_of_them():
    for name, function in vars(service).items():
        if name.startswith("blocks_"):
            try:
                await function()
            except blockbuster.BlockingError:
                print(name)

with blockbuster.blockbuster_ctx():
    asyncio.run(all_of_them())
"""


class Missing(Exception):  # noqa: N818 - it says what is not here
    """A tool that is not installed."""


class Tool(NamedTuple):
    """One row of the table."""

    name: str
    """With {} where the version belongs."""
    package: str | None
    """The distribution whose version is shown."""
    program: str
    """A program that has to be in the environment of the peers."""
    on_gevent: Callable[[Bench], set[str]] | None
    """Names the cases that it reports of the service; None if it cannot watch one."""
    on_asyncio: Callable[[Bench], set[str]] | None = None
    """The same of the functions as ``async def``."""


class Bench:
    """The service, its variant for asyncio, and the environment of the tools."""

    def __init__(self, peers: Path, folder: Path) -> None:
        self.peers = peers
        self.own = FOLDER
        self.asyncio = folder / "asyncio"
        self.asyncio.mkdir()
        text = (FOLDER / "service.py").read_text(encoding="utf-8")
        self.functions = _FUNCTION.findall(text)
        text = text.partition("\nwith watched(")[0]
        text = text.replace("from gevent import monkey\n\nmonkey.patch_all()\n\n", "")
        text = re.sub(r"^def ", "async def ", text, flags=re.MULTILINE)
        (self.asyncio / "service.py").write_text(text, encoding="utf-8")
        surroundings = (FOLDER / "surroundings.py").read_text(encoding="utf-8")
        (self.asyncio / "surroundings.py").write_text(surroundings, encoding="utf-8")

    def program(self, name: str) -> str:
        """Return the path of a program of the peers.

        Raises:
            Missing: if it is not there.
        """
        path = self.peers / "bin" / name
        if not path.exists():
            raise Missing(name)
        return str(path)

    def run(self, command: list[str], cwd: Path, **more: str) -> str:
        """Run a tool and return all that it prints; linters exit with 1."""
        done = subprocess.run(
            command,
            cwd=cwd,
            env=clean_environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stdout[-2000:]}")
        return done.stdout

    def functions_of(self, rows: set[int], directory: Path) -> set[str]:
        """Return the functions whose call that blocks is in one of the rows.

        Of a function without such a call, any row counts.
        """
        found, name = set(), ""
        lines = (directory / "service.py").read_text(encoding="utf-8").splitlines()
        for row, line in enumerate(lines, 1):
            if match := _FUNCTION.match(line):
                name = match[1]
            if row in rows and line.startswith(" "):
                if line.endswith("# blocks") or name.startswith("cooperates_"):
                    found.add(name)
        return found

    def version(self, package: str | None) -> str:
        """Return the version of a package of the peers, as the table shows it."""
        if package is None:
            return ""
        code = f"from importlib.metadata import version; print(version({package!r}))"
        done = subprocess.run(
            [self.program("python"), "-c", code], capture_output=True, text=True, cwd=ROOT
        )
        return done.stdout.strip() or "?"


def _gblock(bench: Bench) -> set[str]:
    command = [sys.executable, "-m", "gblock", "check", "--isolated", "--no-cache"]
    out = bench.run([*command, "-q", "--output-format", "concise", "."], bench.own)
    rows = {int(row) for row in re.findall(r"^service\.py:(\d+):", out, re.MULTILINE)}
    return bench.functions_of(rows, bench.own)


def _probe(bench: Bench) -> set[str]:
    with tempfile.TemporaryDirectory() as folder:
        bench.run([sys.executable, "service.py"], bench.own, **probing(folder))
        command = [sys.executable, "-m", "gblock", "report", "--exit-zero", "--format", "json"]
        done = subprocess.run(
            [*command, folder], capture_output=True, text=True, env=clean_environment(), check=True
        )
    sites = json.loads(done.stdout)["sites"]
    return {site["function"] for site in sites if site["blamed"] and site["function"]}


def _monitor(bench: Bench) -> set[str]:
    out = bench.run(
        [sys.executable, "service.py"],
        bench.own,
        GEVENT_MONITOR_THREAD_ENABLE="1",
        GEVENT_MAX_BLOCKING_TIME="0.1",
    )
    return {match[1] for match in re.finditer(r"(\w+)> appears to be blocked", out)}


def _linted(*command: str) -> Callable[[Bench], set[str]]:
    def run(bench: Bench, directory: Path) -> set[str]:
        words = [bench.program(command[0]), *command[1:], "service.py"]
        out = bench.run(words, directory)
        rows = {int(row) for row in re.findall(r"service\.py:(\d+):", out)}
        return bench.functions_of(rows, directory)

    return run


def _on_gevent(run: Callable[..., set[str]]) -> Callable[[Bench], set[str]]:
    return lambda bench: run(bench, bench.own)


def _on_asyncio(run: Callable[..., set[str]]) -> Callable[[Bench], set[str]]:
    return lambda bench: run(bench, bench.asyncio)


def _blockbuster(bench: Bench) -> set[str]:
    (bench.asyncio / "runner.py").write_text(RUNNER, encoding="utf-8")
    out = bench.run([bench.program("python"), "runner.py"], bench.asyncio)
    return set(_CASE.findall(out))


def _blockbuster_on_gevent(bench: Bench) -> set[str]:
    code = "import blockbuster, runpy\nwith blockbuster.blockbuster_ctx():\n"
    code += "    runpy.run_path('service.py', run_name='__main__')"
    out = bench.run([bench.program("python"), "-c", code], bench.own)
    return set(re.findall(r"BlockingError.*?\b((?:blocks|cooperates)_\w+)", out, re.DOTALL))


def _py_spy(*options: str) -> Callable[[Bench], set[str]]:
    def run(bench: Bench) -> set[str]:
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder) / "raw"
            command = [bench.program("py-spy"), "record", "--rate", f"{1 / TICK:g}", *options]
            command += ["--format", "raw", "-o", str(raw), "--", sys.executable, "service.py"]
            bench.run(command, bench.own)
            samples: Counter[str] = Counter()
            for line in raw.read_text(encoding="utf-8").splitlines():
                stack, _, count = line.rpartition(" ")
                for case in set(_CASE.findall(stack)):
                    samples[case] += int(count)
        return {case for case, count in samples.items() if count * TICK >= 0.1}

    return run


RUFF = _linted("ruff", "check", "--isolated", "--no-cache", "--preview", "--select", "ASYNC2", "--output-format", "concise")  # fmt: skip
FLAKE8 = _linted("flake8", "--isolated", "--select", "ASYNC2")
TOOLS = (
    Tool("`gblock check`", None, "python", _gblock),
    Tool("gblock's probe", None, "python", _probe),
    Tool("gevent {}, its monitor", "gevent", "python", _monitor),
    Tool("ruff {}, `ASYNC2`", "ruff", "ruff", _on_gevent(RUFF), _on_asyncio(RUFF)),
    Tool(
        "flake8-async {}, `ASYNC2`",
        "flake8-async",
        "flake8",
        _on_gevent(FLAKE8),
        _on_asyncio(FLAKE8),
    ),
    Tool("blockbuster {}", "blockbuster", "python", _blockbuster_on_gevent, _blockbuster),
    Tool("py-spy {}, `record`", "py-spy", "py-spy", _py_spy()),
    Tool("py-spy {}, `record --idle`", "py-spy", "py-spy", _py_spy("--idle")),
)


def truth(bench: Bench) -> dict[str, float]:
    """Return the longest gap of a heartbeat in each case, in seconds."""
    return json.loads(bench.run([sys.executable, "service.py"], bench.own).splitlines()[-1])


def _told(found: set[str] | None, wanted: list[str]) -> str:
    if found is None:
        return "–"
    hits = [name for name in wanted if name in found]
    names = ", ".join(name.partition("_")[2].replace("_", " ") for name in hits)
    some = f": {names}" if hits and len(hits) < len(wanted) else ""
    return f"{len(hits)} of {len(wanted)}{some}"


def table(peers: Path) -> str:
    """Run all tools and return the tables."""
    machine = Machine()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(peers, Path(folder))
        gaps = truth(bench)
        blocks = [name for name in bench.functions if name.startswith("blocks_")]
        cooperates = [name for name in bench.functions if name.startswith("cooperates_")]
        assert min(gaps[name] for name in blocks) > 0.1
        lines = [
            f"| | the service on gevent: {len(blocks)} calls that block | {len(cooperates)} that do not, reported wrongly | the {len(blocks)} as `async def` |",
            "|---|---|---|---|",
        ]
        for tool in TOOLS:
            cells, name = [], tool.name.replace(" {}", "")
            try:
                bench.program(tool.program)
                name = tool.name.format(bench.version(tool.package))
                found = tool.on_gevent(bench) if tool.on_gevent else None
                cells = [_told(found, blocks), _told(found, cooperates)]
                cells.append(_told(tool.on_asyncio(bench) if tool.on_asyncio else None, blocks))
            except Missing as error:
                cells = [f"not installed: {error}", "–", "–"]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    shown = ", ".join(
        f"{name.partition('_')[2].replace('_', ' ')} {gaps[name]:.2f} s" for name in blocks
    )
    worst = max(gaps[name] for name in cooperates)
    lines.append("")
    lines.append(
        f"The longest gap of a heartbeat in each of the calls that block: {shown}. In those that do "
        f"not: at most {worst * 1000:.0f} ms. Gaps of 0.1 s and more count. {machine.sentence()}"
    )
    return "\n".join([*lines, ""])


def main() -> int:
    """Compare, and print or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", type=Path, required=True, help="the environment of the tools")
    parser.add_argument("--update", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    shown = table(options.peers.absolute())
    if options.update:
        pages.write(PAGE, shown)
    else:
        print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
