"""`gblock deps`: the installed packages, and what their machine code says."""

from __future__ import annotations

from gblock.commandline import console, settings
from gblock.commandline.console import CLEAN, DIAGNOSTICS, FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Print the installed packages that matter, or their machine code."""
    if options.wheels is not None:
        return _compared(options, *options.wheels)
    if options.native is not None:
        return _machine_code(options, options.native)
    from gblock.output import dependencies as dependency_table
    from gblock.output.place import place, printable
    from gblock.packages import dependencies

    found = dependencies.read(options.paths or ["."], settings.named(options), options.python)
    shown = [one for one in found.all if options.all or one.is_of_interest]
    width = console.width() if console.is_coloured(options.color) else None
    failed = console.write(dependency_table.render(options.output_format, shown, width))
    for problem in found.problems:
        console.say(
            f"{place(problem.filename, problem.location)}: error: {printable(problem.message)}"
        )
    if not options.quiet:
        for note in found.notes:
            console.say(f"warning: {printable(note)}")
        console.say(dependency_table.summary(found, shown))
    if failed or found.problems:
        return FAILED
    matters = any(one.matters for one in found.all)
    return DIAGNOSTICS if matters and not options.exit_zero else CLEAN


def _machine_code(options: Options, names: Sequence[str]) -> int:
    from gblock import catalog
    from gblock.engine.jobs import shared
    from gblock.native.store import Store
    from gblock.output import machine_code as page
    from gblock.packages import environment, machine_code

    config = settings.named(options)
    found = environment.chosen(options.python, config)
    known = catalog.load(config.extend_catalog)
    store = None if options.no_cache else Store()
    read = machine_code.read(found, known, names, store, shared)
    if options.suggest:
        from gblock.packages.drafts import drafts

        return console.write(drafts(read, known))
    failed = console.write(page.render(options.output_format, read, everything=options.all))
    if not options.quiet:
        console.say(page.summary(read))
    return failed


def _compared(options: Options, old: str, new: str) -> int:
    from gblock import catalog
    from gblock.output import machine_code as page
    from gblock.packages import comparison

    known = catalog.load(settings.named(options).extend_catalog)
    found = comparison.compare(old, new, known)
    return console.write(page.compared(options.output_format, found))
