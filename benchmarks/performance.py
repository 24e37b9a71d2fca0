"""Write the tables of docs/performance.md: cold, warm, one file, memory, growth, other linters.

    python benchmarks/performance.py --service DIR --plain DIR --environment DIR \\
        --repository DIR --peers VENV

Each tree is copied first, so nothing is written beside it. All commands of a table are measured in
one run, in turns, and compared by CPU time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path

from speed import (
    CLEAN,
    RULE,
    Command,
    Sample,
    Tools,
    cpu,
    lines_of,
    machine,
    measure,
    memory,
    python_files,
    run,
    sample_of,
    table,
    wall,
)

MARK = "<!-- Measured by benchmarks/performance.py; what stands above is written by hand. -->"
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
RULES = "rules:\n- id: sleep\n  languages: [python]\n  severity: ERROR\n  message: x\n"
PATTERN = "  pattern: time.sleep(...)\n"
BLOCKING = "import os\n\n\ndef handle():\n    os.system('sync')\n"
CHANGE = 'date "+# %N" >> "$1"; shift; exec "$@"'
"""A shell script that appends a comment to a file, then runs a command."""


class Bench:
    """The tools, and the commands that the tables share.

    Args:
        options: The arguments of the command line.
        directory: A directory for copies and caches.
    """

    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.tools = Tools(options.peers)
        self.runs = options.runs
        self.directory = directory

    def copied(self, tree: str) -> str:
        """Return a copy of a tree."""
        target = self.directory / "trees" / Path(tree).resolve().name
        shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        return str(target)

    def gblock(self, name: str, tree: str, *options: str) -> Command:
        """Return a check, with the cache in a directory of its own."""
        # Not beside the user's directory: a key that lies next to the cache is not believed.
        kept = ["--cache-dir", str(self.directory / "kept" / "gblock-cache")]
        argv = [self.tools.gblock, "check", "-q", *kept, *options]
        return Command(name, argv, tree, (0, 1, 2))

    def ruff(self, name: str, tree: str, *options: str) -> Command:
        """Return ruff's rules on asynchronous code, with the cache in a directory of its own."""
        kept = ["--cache-dir", str(self.directory / "ruff-cache")]
        argv = [str(self.tools.ruff), "check", "-q", "--isolated", "--select", "ASYNC", *kept]
        return Command(name, [*argv, *options], tree)

    def changed(self, command: Command, name: str, file: str) -> Command:
        """Return a command before which a file changes."""
        return command._replace(name=name, argv=["sh", "-c", CHANGE, "sh", file, *command.argv])

    def rows(self, commands: list[Command], base: str, runs: int, lines: int = 0) -> None:
        """Measure some commands, and print a table with CPU times as multiples of one of them.

        Args:
            commands: The commands.
            base: The name of one of them.
            runs: How often each is measured.
            lines: How many lines each checks; 0 to leave out the lines of a second.
        """
        samples = measure(commands, runs)
        least = cpu(samples[base])
        rows = []
        for name, taken in samples.items():
            row = [name, f"{wall(taken):.2f}", f"{cpu(taken):.3f}", _times(taken, least)]
            row += [f"{lines / cpu(taken):,.0f}"] if lines else []
            rows.append([*row, memory(taken)])
        head = ["command", "wall, s", "CPU, s", f"times {base}, CPU"]
        head += ["lines a CPU second"] if lines else []
        table([*head, "peak memory"], rows)


def _times(samples: list[Sample], least: float) -> str:
    return f"{cpu(samples) / least:.1f}"


def start_up(bench: Bench) -> None:
    """Print the table of single files."""
    loose = bench.directory / "files"
    loose.mkdir()
    (loose / "pyproject.toml").touch()
    (loose / "basket.py").write_text(CLEAN)
    (loose / "blocking.py").write_text(BLOCKING)
    tree = str(loose)
    print("## One file\n")
    print(
        "A clean file of 32 lines, and a file with one diagnostic, each named as by pre-commit.\n"
    )
    clean, blocking = ("--isolated", "basket.py"), ("--isolated", "--assume-gevent", "blocking.py")
    commands = [
        Command("`python -c pass`", [bench.tools.python, "-c", "pass"], tree),
        bench.gblock("clean, `--no-cache`", tree, "--no-cache", *clean),
        bench.gblock("clean, unchanged", tree, *clean),
        bench.gblock("diagnostic, `--no-cache`", tree, "--no-cache", *blocking),
        bench.gblock("diagnostic, unchanged", tree, *blocking),
        bench.ruff("ruff, `--no-cache`", tree, "--no-cache", "basket.py"),
    ]
    bench.rows(commands, "`python -c pass`", bench.runs * 4)


def whole(bench: Bench, title: str, tree: str, file: str | None = None, runs: int = 0) -> None:
    """Print the table of one tree: cold, warm, and where a file of it is named that has changed."""
    tree = bench.copied(tree)
    paths = python_files(tree)
    print(f"## {title}\n\n{len(paths):,} files, {lines_of(paths):,} lines.\n")
    everything = ("--isolated", ".")
    commands = [
        bench.ruff("ruff, cold", tree, "--no-cache", "."),
        bench.ruff("ruff, warm", tree, "."),
        bench.gblock("gblock, cold", tree, "--no-cache", *everything),
        bench.gblock("gblock, warm", tree, *everything),
    ]
    if file is not None:
        apart = f"{tree}-changing"  # or the unchanged tree would not stay so
        shutil.copytree(tree, apart, symlinks=True)
        one = bench.gblock("", apart, "--isolated", file)
        commands.append(bench.changed(one, "gblock, one changed file", file))
    bench.rows(commands, "ruff, cold", runs or bench.runs)


def growth(bench: Bench, tree: str, sizes: list[int]) -> None:
    """Print how time and memory grow with the number of a repository's services.

    Args:
        bench: The tools.
        tree: A repository with one service in each directory of ``services``.
        sizes: How many of them each row takes.
    """
    print(
        "## Growth\n\nThe first services of one repository, cold; the largest unit stays the same.\n"
    )
    top = bench.directory / "growth"
    (top / "services").mkdir(parents=True)
    for path in Path(tree).iterdir():
        if path.name != "services":
            _linked(path, top / path.name)
    services = sorted(Path(tree, "services").iterdir(), key=lambda one: one.name)
    rows, placed = [], 0
    for count in [size for size in sizes if size < len(services)] + [len(services)]:
        for service in services[placed:count]:
            _linked(service, top / "services" / service.name)
        placed = count
        paths = python_files(str(top))
        commands = [
            bench.ruff("ruff", str(top), "--no-cache", "."),
            bench.gblock("gblock", str(top), "--no-cache", "--isolated", "."),
        ]
        theirs, ours = (run(command) for command in commands)
        cells = [str(count), f"{len(paths):,}", f"{lines_of(paths):,}", f"{theirs.cpu:.2f}"]
        cells += [f"{ours.cpu:.1f}", f"{ours.cpu / theirs.cpu:.1f}", memory([ours])]
        rows.append(cells)
    head = ["services", "files", "lines", "ruff, CPU, s", "gblock, CPU, s", "times ruff"]
    table([*head, "peak memory of a process"], rows)


def _linked(source: Path, target: Path) -> None:
    """Copy a file or a directory by hard links where the file system has them."""

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copyfile(one, other)

    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=link)
    else:
        link(str(source), str(target))


def peers(bench: Bench, tree: str) -> None:
    """Print how fast linters that are written in Python are, on a sample of a service."""
    paths = sample_of(python_files(tree), 10_000)
    copied = bench.directory / "sample"
    copied.mkdir()
    for number, path in enumerate(paths):
        shutil.copyfile(path, copied / f"m{number}.py")
    directory = str(bench.directory)
    (bench.directory / "rules").mkdir()
    (bench.directory / "rules" / "__init__.py").write_text(RULE)
    (bench.directory / "rules.yml").write_text(RULES + PATTERN)
    settings = '[tool.fixit]\nroot = true\nenable = [".rules"]\ndisable = ["fixit.rules"]\n'
    (bench.directory / "fixit.toml").write_text(settings)
    argv = {
        "flake8 with flake8-async": ["flake8", "--isolated", "--select", "ASYNC", "-j", "1"],
        "Fixit, one rule": ["fixit", "--quiet", "lint"],
        "pylint, one rule": ["pylint", "--rcfile=", "--disable=all", "--enable=W1404", "-j", "1"],
        "semgrep, one rule": ["semgrep", "scan", "--metrics=off", "--disable-version-check"],
    }
    argv["semgrep, one rule"] += ["--quiet", "--config", "rules.yml", "-j", "1"]
    lines = lines_of(paths)
    commands = [bench.gblock("gblock", directory, "--no-cache", "--isolated", "sample")]
    if bench.tools.ruff:
        commands.append(bench.ruff("ruff", directory, "--no-cache", "sample"))
    missing = []
    for name, words in argv.items():
        program = bench.tools.find(words[0])
        if program is None:
            missing.append(words[0])
            continue
        line = [program, *words[1:], "sample"]
        commands.append(Command(name, line, directory, tuple(range(33))))
    print(
        f"## Beside other linters\n\n{len(paths)} files of the service, {lines:,} lines, cold: a whole"
    )
    print("service takes the linters that are written in Python minutes.\n")
    if missing:
        print(f"Not installed, and left out: {', '.join(missing)}.\n")
    bench.rows(commands, "gblock", min(bench.runs, 3), lines)


def main() -> None:
    """Measure everything that was named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--service", help="a service on gevent")
    parser.add_argument("--file", help="a file of it that is changed, relative to it")
    parser.add_argument("--plain", help="a large tree that does not mention gevent")
    parser.add_argument("--environment", help="a large tree that mentions gevent")
    parser.add_argument("--repository", help="a tree with a service in each directory of services/")
    parser.add_argument(
        "--sizes", default="1,4,16", help="how many services to take of it at first"
    )
    parser.add_argument("--runs", type=int, default=5, help="how often each command is measured")
    parser.add_argument("--peers", help="a virtual environment with gblock and the peers")
    options = parser.parse_args()
    measured = io.StringIO()
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(measured):
        directory = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(directory / "user")
        bench = Bench(options, directory)
        load = os.getloadavg()[0]
        print(f"{machine()}; load {load:.1f} at the start. {'; '.join(bench.tools.versions())}.")
        counted = f"{options.runs} runs" if options.runs > 1 else "one run"
        print(f"Medians of {counted} in turns. Other programs share the cores: compare")
        print("the CPU times (user and system) of one table, not the seconds of two.\n")
        start_up(bench)
        if options.service:
            whole(bench, "A service on gevent", options.service, options.file)
        if options.plain:
            whole(bench, "A large tree without gevent", options.plain)
        if options.environment:
            whole(bench, "A large tree that mentions gevent", options.environment, runs=1)
        if options.repository:
            growth(bench, options.repository, [int(one) for one in options.sizes.split(",")])
        if options.service:
            peers(bench, options.service)
    explained, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE.name} has no line {MARK}")
    page = f"{explained}{MARK}\n\n{measured.getvalue().rstrip()}\n"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
