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

gblock started from five articles. Three are by teams that moved services to gevent, or Kafka clients into services on gevent; one compares the worker types of gunicorn; one measures what sending a Celery task costs, without gevent.
This page repeats each on real components, with naive and corrected code in [benchmarks/stories](../benchmarks/stories), under the same load.
`gblock check` reports the naive code and nothing in the corrected code. The probe runs with a threshold of 100 ms. It names the call if it can prove which one blocked, and otherwise the line.

Each story ends with the share of the cores that other programs used meanwhile. If that is much, times of code that computes are too long and vary widely, and the probe may record a block of corrected code. Waits change little.

A heartbeat greenlet, or a second client, measures how late everything else is: this delay is the cost of a blocked hub.
`python -m benchmarks.stories --update` repeats all measurements in about forty minutes and writes this page.
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
        runs=plain["runs"],
        machine=plain["machine"],
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
    runs = f"Medians of {result.runs} runs, smallest to largest. " if result.runs > 1 else ""
    lines.append(f"\n{runs}Measured with {shown}. {result.machine}".rstrip())
    return "\n".join(lines) + "\n"


def picture_name(name: str, number: int) -> str:
    """Return the file name of a story's picture."""
    return f"{name}{f'-{number + 1}' if number else ''}.svg"
