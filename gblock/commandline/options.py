"""The options of all commands, with their defaults."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Options:
    """The options of every command; this class is the only place of defaults."""

    def __init__(self, command: str) -> None:
        """Start with the defaults."""
        self.command = command
        self.paths: Sequence[str] = ()
        self.output_format = "text"
        self.select: list[str] = []
        self.extend_select: list[str] = []
        self.ignore: list[str] = []
        # Patterns as in .gitignore; None leaves those of the configuration.
        self.exclude: list[str] | None = None
        self.extend_exclude: list[str] = []
        # Pairs of a pattern and names; None leaves those of the configuration.
        self.per_file_ignores: list[tuple[str, tuple[str, ...]]] | None = None
        # Pairs of a format and a file, None for standard output, in the order of the arguments.
        self.outputs: list[tuple[str, str | None]] = []
        self.show_files = False
        self.show_settings = False
        self.add_ignore = False
        self.fix = False
        self.unsafe_fixes = False
        self.diff = False
        self.since: str | None = None
        self.min_severity: str | None = None
        self.baseline: str | None = None
        self.write_baseline: str | None = None
        self.statistics = False
        self.exit_zero = False
        self.stdin_filename: str | None = None
        self.show_unresolved = False
        self.force_exclude = False
        self.all_processes = False
        self.assume_gevent = False
        self.all_contexts = False
        self.show_paths = False
        self.sort = "weight"
        # The number of parallel processes; 0 for the number of CPUs.
        self.jobs = 0
        self.color = "auto"
        self.config: str | None = None
        self.isolated = False
        self.quiet = False
        # Observations of probes, for `check`.
        self.observed: list[str] = []
        # `report`: the output, the paths to check too, and whether to draft entries.
        self.output: str | None = None
        self.project: str | None = None
        self.until: str | None = None
        self.by: str | None = None
        self.compare: str | None = None
        self.suggest = False
        # `top`: one page only, seconds between two pages, and the stacks of a process instead.
        self.once = False
        self.interval = 2.0
        self.stacks = False
        self.sql: str | None = None
        self.schema = False
        # The environment whose packages are read; the additional lists of `deps`.
        self.python: str | None = None
        self.all = False
        # Packages whose machine code is read, none for all; two wheels that are compared.
        self.native: list[str] | None = None
        self.wheels: list[str] | None = None
        self.no_cache = False
        self.watch = False
        self.cache_dir: str | None = None
        # The project whose processes are listed.
        self.directory = "."
        # The argument of `explain`; the shell of `completion`; the command of `help`.
        self.name = ""
        # Whether `init` replaces existing files.
        self.force = False
        # The command of `run`, and the settings of the probe.
        self.words: list[str] = []
        self.records: str | None = None
        self.threshold: float | None = None
        # The call that `trial` measures, and the options of the measurement.
        self.statement = ""
        self.setup: list[str] = []
        self.against: str | None = None
        self.against_setup: list[str] = []
        self.patch: list[str] | None = None
        self.timeout = 10.0
        self.repeat = 1
        self.as_json = False
