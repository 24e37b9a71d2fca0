"""The report as SQL, for records that lie where a database can read them."""

from __future__ import annotations

from importlib import resources

ENGINES = {"duckdb": "/**/*.jsonl*", "clickhouse": "/**.jsonl*"}
"""The engines, with the pattern of the records' files in a directory."""


def script(engine: str, path: str, *, is_directory: bool) -> str:
    """Return statements that write one row of JSON for each process and each call site.

    `gblock report` reads such rows as it reads records.

    Args:
        engine: One of `ENGINES`.
        path: A directory, or a pattern of files that the engine understands.
        is_directory: Whether it is a directory.
    """
    text = resources.files(__package__).joinpath(f"{engine}.sql").read_text(encoding="utf-8")
    found = path.rstrip("/") + ENGINES[engine] if is_directory else path
    # A backslash is a character in DuckDB and escapes one in ClickHouse.
    quoted = found.replace("'", "''")
    if engine == "clickhouse":
        quoted = found.replace("\\", "\\\\").replace("'", "\\'")
    return text.replace("$PATH", f"'{quoted}'")
