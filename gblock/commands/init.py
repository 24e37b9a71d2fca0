"""`gblock init`: settings, a hook, a pipeline and a baseline for a project."""

from __future__ import annotations

from gblock.commandline import console
from gblock.commandline.console import CLEAN, FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Write what a project needs to use gblock."""
    from gblock import config, engine
    from gblock.commandline.setup import Setup
    from gblock.files import relative_name
    from gblock.output.place import printable
    from gblock.output.summary import counted, summary

    setup = Setup(options.directory, force=options.force)
    baseline = setup.baseline if setup.writes_baseline else None
    for step in (setup.settings(), setup.hook(), setup.pipeline()):
        failed = console.write(f"{printable(relative_name(step.path))}: {step.done}\n")
    settings = config.changed(config.find(options.directory), baseline=None)
    request = engine.Request([options.directory], settings, write_baseline=baseline, jobs=0)
    report = engine.check(request)
    name = printable(relative_name(setup.baseline))
    if baseline is None:
        failed = console.write(f"{name}: exists already; --force replaces it\n")
    else:
        failed = console.write(
            f"{name}: {counted(report.baselined, 'diagnostic')} to hide for now\n"
        )
    console.say(summary(report))
    return failed or (FAILED if report.problems else CLEAN)
