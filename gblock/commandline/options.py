"""What the command line asks for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Options:
    """The options of every command; each default stands here and nowhere else."""

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
        # How many processes work at a time; 0 for as many as there are CPUs.
        self.jobs = 0
        self.color = "auto"
        self.config: str | None = None
        self.isolated = False
        self.quiet = False
        # What probes wrote, for `check`.
        self.observed: list[str] = []
        # `report`: where to write to, what to check beside it, and whether to draft entries.
        self.output: str | None = None
        self.project: str | None = None
        self.until: str | None = None
        self.by: str | None = None
        self.compare: str | None = None
        self.suggest = False
        # The environment whose packages are looked at; what `deps` lists beside what matters.
        self.python: str | None = None
        self.all = False
        # Packages whose machine code is read, none for all; two wheels that are compared.
        self.native: list[str] | None = None
        self.wheels: list[str] | None = None
        self.no_cache = False
        # Whose processes are listed.
        self.directory = "."
        # What `explain` explains; the shell of `completion`; the command of `help`.
        self.name = ""
        # Whether `init` replaces what is there.
        self.force = False
        # What `run` runs, and how the probe is set.
        self.words: list[str] = []
        self.records: str | None = None
        self.threshold: float | None = None
        # What `trial` measures, and how.
        self.statement = ""
        self.setup: list[str] = []
        self.against: str | None = None
        self.against_setup: list[str] = []
        self.patch: list[str] | None = None
        self.timeout = 10.0
        self.repeat = 1
        self.as_json = False
