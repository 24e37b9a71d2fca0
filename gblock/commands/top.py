"""`gblock top`: what is recorded while it is recorded."""

from __future__ import annotations

import os

from gblock.commandline import console, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Show what is recorded while it is recorded, until SIGINT."""
    import time

    from gblock import catalog
    from gblock.observations import live
    from gblock.observations.moments import moment
    from gblock.output import top

    given = options.paths or os.environ.get("GBLOCK_PROBE_DIR", "")
    target = live.target(given if isinstance(given, str) else given[0])
    if options.stacks:
        return console.write(live.stacks(target))
    known = catalog.load(settings.of_project(options).extend_catalog)
    since = options.since or "15m"
    moment(since, 0)

    def page(width: int | None) -> str:
        now = time.time()
        return top.render(live.observed(target, known, now, moment(since, now)), now, width)

    coloured = console.is_coloured(options.color)
    if options.once or not console.is_coloured("auto"):
        return console.write(page(console.width() if coloured else None))
    return top.show(lambda: page(console.width()), max(options.interval, 0.2))
