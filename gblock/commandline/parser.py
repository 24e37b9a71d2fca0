"""The complete command-line parser, based on argparse, with one-line errors."""

from __future__ import annotations

import argparse
import os
import re

from gblock.commandline.completion import SHELLS
from gblock.commandline.meanings import MEANINGS
from gblock.commandline.options import Options
from gblock.errors import UserError
from gblock.output import FORMATS
from gblock.output.report import FORMATS as REPORT_FORMATS
from gblock.suggestion import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


class _Parser(argparse.ArgumentParser):
    """An argparse parser with one-line errors, suggestions and no abbreviations."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=_formatter,
        )

    def error(self, message: str) -> NoReturn:
        if match := re.search(r"invalid choice: '?([^' ]*)'? \(choose from (.*)\)", message):
            message += did_you_mean(match[1], re.findall(r"[\w-]+", match[2]))
        elif message.startswith("unrecognized arguments: -"):
            word = message.split()[2].partition("=")[0]
            known = [name for action in self._actions for name in action.option_strings]
            message += did_you_mean(word, known, MEANINGS)
        raise UserError(self.prog, message)


def _formatter(prog: str) -> argparse.HelpFormatter:
    # argparse makes a formatter for every argument. Without a width it imports shutil for the
    # terminal's width, which takes 20 % of the start-up.
    return argparse.RawDescriptionHelpFormatter(prog, width=80)


def parse(argv: list[str]) -> Options:
    """Return the options of one command, its name among them.

    Raises:
        UserError: for invalid arguments.
        SystemExit: after ``--help`` or ``--version``, whose text has been printed.
    """
    if argv and argv[0] in _COMMANDS:
        parser = _of(argv[0])
        options = Options(argv[0])
        if argv[0] == "run" and "--" in argv:
            # The arguments after it belong to the command.
            at = argv.index("--")
            argv, options.words = argv[:at], argv[at + 1 :]
        return parser.parse_intermixed_args(argv[1:], options)
    parser = _overview()
    if not argv:
        parser.error("no command given; try gblock check, or gblock --help")
    parser.parse_known_args(argv[:1])
    word = argv[0]
    if word.startswith("-"):
        parser.error(f"unrecognized arguments: {word}")
    meant = did_you_mean(word, _COMMANDS, MEANINGS)
    if os.path.exists(word):
        meant = f"; did you mean gblock check {word}?"
    raise UserError(parser.prog, f"{word} is no command{meant}")


def _overview() -> _Parser:
    from gblock import __version__

    listed = "\n".join(
        f"  {name:<11} {description}" for name, (description, _) in _COMMANDS.items()
    )
    description = "Find the calls that block the gevent hub."
    parser = _Parser(
        "gblock", description, f"commands:\n{listed}\n\ngblock COMMAND --help shows more"
    )
    parser.usage = "gblock COMMAND [ARGUMENTS]"
    parser.add_argument("--version", action="version", version=f"gblock {__version__}")
    return parser


def _check(parser: _Parser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and directories; `-` reads standard input")
    formats = "format of diagnostics; may be repeated, each with an --output-file"
    add("--output-format", choices=FORMATS, action=_OutputFormat, help=formats)
    file = "write the preceding format to this file, not to standard output"
    add("--output-file", dest="outputs", metavar="FILE", action=_OutputFile, help=file)
    names = "names of rules or ids of blockers, separated by commas"
    add("--select", type=_names, action="extend", metavar="NAME", help=names)
    more = "the same, in addition to the settings"
    add("--extend-select", type=_names, action="extend", metavar="NAME", help=more)
    for flag in ("--ignore", "--extend-ignore"):
        add(flag, dest="ignore", type=_names, action="extend", metavar="NAME", help=more)
    pairs = "PATTERN:NAME, separated by commas, instead of the settings' per-file-ignores"
    add("--per-file-ignores", type=_pairs, action="extend", metavar="LIST", help=pairs)
    patterns = "exclude files that match these patterns, instead of the settings' exclude"
    add("--exclude", type=_names, action="extend", metavar="LIST", help=patterns)
    patterns = "exclude files that match these patterns too"
    add("--extend-exclude", type=_names, action="extend", metavar="LIST", help=patterns)
    add(
        "--min-severity",
        choices=("note", "warning", "error"),
        help="hide diagnostics below it",
    )
    add("--statistics", action="store_true", help="show counts instead of places")
    add("--exit-zero", action="store_true", help="exit 0 even if there are diagnostics")
    add("--stdin-filename", metavar="PATH", help="the name of the file on standard input")
    add("--show-unresolved", action="store_true", help="list calls on objects of unknown type")
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--baseline", metavar="FILE", help="hide the diagnostics in this file")
    known.add_argument("--write-baseline", metavar="FILE", help="write it, and hide all of it")
    add("--show-paths", action="store_true", help="show all paths to a call, not only the shortest")
    add("--sort", choices=("weight", "path"), help="the order of text output; default: weight")
    add("--all-contexts", action="store_true", help="report commands, migrations and tests too")
    since = "report only diagnostics that are new since the merge base with a git revision"
    add("--since", metavar="REV", help=since)
    hide = "add a # gblock: ignore comment to each reported line"
    add("--add-ignore", action="store_true", help=hide)
    add("--fix", action="store_true", help="apply the fixes that are safe")
    unsafe = "apply, show or count also fixes after which the code may do something else"
    add("--unsafe-fixes", action="store_true", help=unsafe)
    shown = "print what --fix would change, write nothing, and exit 1 if that is anything"
    add("--diff", action="store_true", help=shown)
    add("--watch", action="store_true", help="check again whenever something changes")
    add("--show-files", action="store_true", help="list the files that would be checked")
    add("--show-settings", action="store_true", help="show the settings that would be used")
    add("--all-processes", action="store_true", help="report code that never runs on gevent too")
    add("--assume-gevent", action="store_true", help="check a project that never mentions gevent")
    add("--force-exclude", action="store_true", help="apply the exclusions to each PATH too")
    seen = "mark diagnostics that probes confirmed: files and directories of records"
    add("--observed", action="append", metavar="DIR", help=seen)
    installed = "the environment that calls are followed into"
    add("--python", metavar="PATH", help=installed)
    add("--color", choices=("auto", "always", "never"), help="when to colour")
    add("--no-cache", action="store_true", help="neither read nor write the cache of results")
    kept = "the directory of the cache; default: .gblock_cache beside the settings"
    add("--cache-dir", metavar="DIR", help=kept)
    processes = "number of parallel processes; default: one for each CPU"
    add("-j", "--jobs", type=_number, metavar="N", help=processes)
    _add_settings(parser)
    add("-q", "--quiet", action="store_true", help="write diagnostics and errors only")


def _add_settings(parser: _Parser) -> None:
    """Add the options that say which settings hold."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--config", metavar="FILE", help="take the settings of this file")
    group.add_argument("--isolated", action="store_true", help="take no settings from any file")


def _report(parser: _Parser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help=f"files and directories of records{_RECORDS}")
    add("--format", dest="output_format", choices=REPORT_FORMATS, help="how it is written")
    add("--output", metavar="FILE", help="write to this file")
    add("--project", metavar="DIR", help="check this project, and add what gblock check reports")
    moment = "2026-11-22, 2026-11-22T14:00 (UTC), epoch seconds, or 90m, 6h, 2d ago"
    add("--since", metavar="TIME", help=f"omit blocks that began before: {moment}")
    add("--until", metavar="TIME", help="omit blocks that began later")
    add("--by", choices=("hour", "host", "version"), help="add a table of blocked seconds")
    add("--compare", metavar="BEFORE", help="show what is new, worse, better and gone since these")
    add("--suggest", action="store_true", help="draft catalog entries for unknown calls")
    sql = "write this report as SQL that adds up the records under PATH; its rows can be a PATH"
    add("--sql", choices=("duckdb", "clickhouse"), help=sql)
    add("--schema", action="store_true", help="write the JSON schema of a record")
    add("--exit-zero", action="store_true", help="exit 0 even if the hub was blocked")
    add("--color", choices=("auto", "always", "never"), help="when to colour")
    _add_settings(parser)
    add("-q", "--quiet", action="store_true", help="write the report and errors only")


def _top(parser: _Parser) -> None:
    add = parser.add_argument
    add("paths", nargs="?", metavar="DIR|PID", help=f"records, or a probed process{_RECORDS}")
    add("--once", action="store_true", help="write one page and exit")
    add("--interval", type=float, metavar="SECONDS", help="default: 2")
    add("--since", metavar="TIME", help="add up blocks since then; default: 15m")
    add("--stacks", action="store_true", help="write the stacks of all greenlets of PID and exit")
    add("--color", choices=("auto", "always", "never"), help="when to colour")
    _add_settings(parser)


_RECORDS = "; default: $GBLOCK_PROBE_DIR"


def _deps(parser: _Parser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="the project's directories; default: .")
    installed = "an interpreter or a virtual environment; default: the one gblock runs in"
    add("--python", metavar="PATH", help=installed)
    listed = "list harmless, pure Python and unimported packages too"
    add("--all", action="store_true", help=listed)
    native = "read the machine code of these packages; default: all compiled ones"
    add("--native", nargs="*", metavar="PACKAGE", help=native)
    compared = "with --native: show what is new in the newer of two wheels"
    add("--compare", dest="wheels", nargs=2, metavar=("OLD", "NEW"), help=compared)
    drafted = "with --native: draft catalog entries for waits that the catalog lacks"
    add("--suggest", action="store_true", help=drafted)
    cache = "with --native: read all modules again, without the cache"
    add("--no-cache", action="store_true", help=cache)
    add("--output-format", choices=("text", "json"), help="how it is written")
    add("--json", dest="output_format", action="store_const", const="json", help="as JSON")
    add("--exit-zero", action="store_true", help="exit 0 even if something blocks or is unknown")
    add("--color", choices=("auto", "always", "never"), help="when to colour")
    _add_settings(parser)
    add("-q", "--quiet", action="store_true", help="write the table and errors only")


def _processes(parser: _Parser) -> None:
    help_ = "the project's directory"
    parser.add_argument("directory", nargs="?", default=".", metavar="DIRECTORY", help=help_)
    parser.add_argument("--output-format", choices=("text", "json"))


def _explain(parser: _Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a rule's name or a blocker's id")


def _list(parser: _Parser) -> None:
    parser.add_argument("--output-format", choices=("text", "json"))


def _run(parser: _Parser) -> None:
    parser.usage = "gblock run [--dir DIR] [--threshold SECONDS] -- COMMAND [ARGUMENTS]"
    add = parser.add_argument
    add("--dir", dest="records", metavar="DIR", help="directory of the records; default: stderr")
    add(
        "--threshold",
        type=_seconds,
        metavar="SECONDS",
        help="shortest block to record; default: 0.1",
    )


def _trial(parser: _Parser) -> None:
    add = parser.add_argument
    add("statement", metavar="STATEMENT", help="the Python code to measure")
    help_ = "code to run before it, not measured; several are joined by line feeds"
    add("-s", "--setup", action="append", metavar="CODE", help=help_)
    help_ = "a remedy, measured in a separate process"
    add("--against", metavar="STATEMENT", help=help_)
    help_ = "code to run before the set-up of the remedy"
    add("--against-setup", action="append", metavar="CODE", help=help_)
    group = parser.add_mutually_exclusive_group()
    help_ = "patch only these, as monkey.patch_all() calls them: time,socket"
    group.add_argument("--patch", type=_names, metavar="NAMES", help=help_)
    help_ = "patch nothing"
    group.add_argument("--no-patch", dest="patch", action="store_const", const=[], help=help_)
    help_ = "stop a statement that has not returned by then; default: 10"
    add("--timeout", type=_seconds, metavar="SECONDS", help=help_)
    help_ = "number of measurements, of which the median counts; default: 1"
    add("-n", "--repeat", type=_count, metavar="TIMES", help=help_)
    help_ = "the interpreter, of an environment that has gevent; default: gblock's own"
    add("--python", metavar="PATH", help=help_)
    add("--json", dest="as_json", action="store_true", help="write one JSON object")


def _completion(parser: _Parser) -> None:
    parser.add_argument("name", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def _help(parser: _Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="COMMAND", help="the command to describe")


def _init(parser: _Parser) -> None:
    help_ = "the project's directory"
    parser.add_argument("directory", nargs="?", default=".", metavar="DIRECTORY", help=help_)
    replace = "replace existing files"
    parser.add_argument("--force", action="store_true", help=replace)


def _server(parser: _Parser) -> None:
    add = parser.add_argument
    seen = "show what probes recorded: files and directories of records"
    add("--observed", action="append", metavar="DIR", help=seen)
    add("--min-severity", choices=("note", "warning", "error"), help="hide diagnostics below it")
    add("--all-contexts", action="store_true", help="report commands, migrations and tests too")
    _add_settings(parser)


_COMMANDS: dict[str, tuple[str, Callable[[_Parser], None]]] = {
    "check": ("Report the calls that block the hub.", _check),
    "report": ("Report what probes saw block the hub.", _report),
    "top": ("Show what blocks the hub now, and the busiest call sites.", _top),
    "processes": ("List the processes that a project starts.", _processes),
    "deps": ("List the compiled packages that a project depends on.", _deps),
    "explain": ("Print the page of a rule or a blocker.", _explain),
    "rules": ("List the rules.", _list),
    "blockers": ("List the catalog of blockers.", _list),
    "run": ("Run a command with the probe on.", _run),
    "trial": ("Measure whether a statement blocks the hub.", _trial),
    "init": ("Set up a project: settings, baseline, pre-commit hook and CI job.", _init),
    "server": ("Serve an editor as a language server, over standard input and output.", _server),
    "completion": ("Print the completions of a shell.", _completion),
    "help": ("Print the help of a command.", _help),
}


def helped(name: str | None) -> str:
    """Return the help of a command, or of all.

    Raises:
        UserError: for a command that does not exist.
    """
    if name is None:
        return _overview().format_help()
    if name not in _COMMANDS:
        raise UserError("gblock help", f"{name} is no command{did_you_mean(name, _COMMANDS)}")
    return _of(name).format_help()


def arguments() -> dict[str, list[argparse.Action]]:
    """Return the options of each command, for completions."""
    return {
        name: [one for one in _of(name)._actions if one.option_strings]  # noqa: SLF001
        for name in _COMMANDS
    }


def descriptions() -> dict[str, str]:
    """Return the description of each command."""
    return {name: description for name, (description, _) in _COMMANDS.items()}


def _of(name: str) -> _Parser:
    description, arguments = _COMMANDS[name]
    parser = _Parser(f"gblock {name}", description)
    arguments(parser)
    return parser


class _OutputFormat(argparse.Action):
    """Adds an output format; the last one without a file goes to standard output."""

    def __call__(self, _: object, namespace: Any, value: Any, __: object = None) -> None:
        namespace.outputs = [*namespace.outputs, (value, None)]
        namespace.output_format = value


class _OutputFile(argparse.Action):
    """Sets the file of the last output format; the default format is text."""

    def __call__(self, _: object, namespace: Any, value: Any, __: object = None) -> None:
        outputs = namespace.outputs
        *before, (name, file) = outputs or [("text", None)]
        if file is not None:
            before, name = outputs, "text"
        namespace.outputs = [*before, (name, value)]


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("expected at least one name")
    return names


def _pairs(text: str) -> list[tuple[str, tuple[str, ...]]]:
    pairs = [pair.rpartition(":") for pair in _names(text)]
    if not all(pattern and name for pattern, _, name in pairs):
        raise argparse.ArgumentTypeError("expected PATTERN:NAME")
    return [(pattern, (name,)) for pattern, _, name in pairs]


def _number(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError("expected a whole number from 1 on")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.02 <= value <= 3600:
        raise argparse.ArgumentTypeError("expected seconds, from 0.02 to 3600")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("expected a number from 1 to 1000")
    return int(text)
