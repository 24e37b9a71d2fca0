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
    failed = CLEAN
    for step in (setup.settings(), setup.hook(), setup.pipeline()):
        failed |= console.write(f"{printable(relative_name(step.path))}: {step.done}\n")
    settings = config.changed(config.find(options.directory), baseline=None)
    request = engine.Request([options.directory], settings, write_baseline=baseline, jobs=0)
    report = engine.check(request)
    name = printable(relative_name(setup.baseline))
    done = "exists already; --force replaces it"
    if baseline is not None:
        done = f"{counted(report.baselined, 'diagnostic')} to hide for now"
    failed |= console.write(f"{name}: {done}\n")
    console.say(summary(report))
    return failed or (FAILED if report.problems else CLEAN)
