"""Write the page of stories, docs/stories.md, from the latest measurements."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from benchmarks.stories.story import (
    ROOT,
    VARIANTS,
    Picture,
    Result,
    Seen,
    Series,
    Table,
)

NAMES = ("celery_pool", "kafka_consumer", "worker_types", "kafka_flush", "celery_backends")
PAGE = ROOT / "docs" / "stories.md"
FOLDER = ROOT / "docs" / "stories"
_HEAD = """# The stories, measured

gblock started from five articles by teams that run services on gevent.
This page reproduces each on real components, with naive and corrected code in [benchmarks/stories](../benchmarks/stories).
`gblock check` reports the naive code and nothing in the corrected code. The probe, with a threshold of 100 ms, names the line that blocked, and records no block in the corrected code.

`python -m benchmarks.stories --update` repeats all measurements in about fifteen minutes and writes this page.
"""


def load(name: str) -> Result:
    """Return the latest result of a story."""
    return _result(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def save(name: str, result: Result) -> None:
    """Write a result to the story's JSON file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_plain(result), indent=1, ensure_ascii=False) + "\n"
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


def _plain(result: Result) -> dict[str, Any]:
    return {
        **result._asdict(),
        "tables": [table._asdict() for table in result.tables],
        "pictures": [
            {**one._asdict(), "series": [series._asdict() for series in one.series]}
            for one in result.pictures
        ],
        "seen": {variant: seen._asdict() for variant, seen in result.seen.items()},
    }


def _result(plain: dict[str, Any]) -> Result:
    return Result(
        tables=[
            Table(table["title"], tuple(table["head"]), [tuple(row) for row in table["rows"]])
            for table in plain["tables"]
        ],
        pictures=[
            Picture(**{**one, "series": [Series(**series) for series in one["series"]]})
            for one in plain["pictures"]
        ],
        seen={variant: Seen(**seen) for variant, seen in plain["seen"].items()},
        versions=plain["versions"],
        sentence=plain["sentence"],
    )


def page() -> str:
    """Return the whole page as Markdown."""
    return _HEAD + "".join(_chapter(name) for name in NAMES if _is_measured(name))


def _is_measured(name: str) -> bool:
    return (FOLDER / f"{name}.json").is_file()


def _chapter(name: str) -> str:
    module, result = import_module(f"benchmarks.stories.{name}"), load(name)
    title = (module.__doc__ or "").strip()
    lines = [f"\n## {title}\n", f"After: {module.SOURCE}.\n", f"{result.sentence}\n"]
    for number, picture in enumerate(result.pictures):
        lines.append(f"![{picture.title}](stories/{picture_name(name, number)})\n")
    for table in result.tables:
        lines.append(f"{table.title}:\n")
        lines.append(f"| {' | '.join(table.head)} |")
        lines.append("|" + "---|" * len(table.head))
        lines += [f"| {' | '.join(row)} |" for row in table.rows]
        lines.append("")
    for variant in VARIANTS:
        seen = result.seen[variant]
        checked = "; ".join(f"`{one}`" for one in seen.checked) or "nothing"
        observed = "; ".join(f"`{one}`" for one in seen.observed) or "nothing"
        lines.append(f"- {variant}: `gblock check` reports {checked}; the probe saw {observed}.")
    shown = ", ".join(f"{one} {version}" for one, version in result.versions.items())
    lines.append(f"\nMeasured with {shown}.")
    return "\n".join(lines) + "\n"


def picture_name(name: str, number: int) -> str:
    """Return the file name of a story's picture."""
    return f"{name}{f'-{number + 1}' if number else ''}.svg"
