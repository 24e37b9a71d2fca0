"""Measure the stories, and rewrite their tables and pictures.

python -m benchmarks.stories                    all of them, as tables
python -m benchmarks.stories kafka_flush        one of them
python -m benchmarks.stories --quick            with small numbers
python -m benchmarks.stories --update           write docs/stories.md and its pictures
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.stories.page import FOLDER, NAMES, PAGE, page, picture_name, save
from benchmarks.stories.story import Result, Unavailable


def main() -> int:
    """Measure the requested stories; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="STORY", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="with small numbers")
    parser.add_argument("--update", action="store_true", help="write the page and the pictures")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no story {', '.join(sorted(unknown))}")
    if options.quick and options.update:
        parser.error("the page shows whole measurements: --update goes without --quick")
    console, missing = Console(), 0
    for name in options.names or NAMES:
        module = import_module(f"benchmarks.stories.{name}")
        console.rule(name)
        try:
            result: Result = module.result(options.quick)
        except Unavailable as error:
            missing += 1
            console.print(f"cannot be measured here: {error}")
            continue
        _show(console, result)
        if options.update:
            from benchmarks.stories.picture import draw

            save(name, result)
            for number, picture in enumerate(result.pictures):
                draw(picture, FOLDER / picture_name(name, number))
    if options.update:
        PAGE.write_text(page(), encoding="utf-8")
    return 1 if missing else 0


def _show(console: Console, result: Result) -> None:
    for table in result.tables:
        grid = Grid(*table.head, title=table.title)
        for row in table.rows:
            grid.add_row(*row)
        console.print(grid)
    for variant, seen in result.seen.items():
        console.print(f"{variant}: check {seen.checked}, probe {seen.observed}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
