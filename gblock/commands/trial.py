"""`gblock trial`: measure one statement in a process of its own."""

from __future__ import annotations

import sys

from gblock.commandline import console
from gblock.commandline.console import CLEAN, DIAGNOSTICS, FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Measure a statement; return 0 if it lets other greenlets run."""
    from gblock import trial
    from gblock.output import trial_json, trial_text

    plan = trial.TrialPlan(
        statement=options.statement,
        setup="\n".join(options.setup),
        patch=None if options.patch is None else tuple(options.patch),
        timeout=options.timeout,
        repeat=options.repeat,
        python=options.python or sys.executable,
    )
    measured = trial.trial(plan)
    against = None
    if options.against is not None:
        setup = "\n".join([*options.against_setup, *options.setup])
        remedy = plan._replace(statement=options.against, setup=setup)
        against = trial.trial(remedy, threadpool=False)
    render = trial_json.render if options.as_json else trial_text.render
    failed = console.write(render(plan, measured, against))
    if failed:
        return FAILED
    if measured.typical.is_uncertain or not measured.is_agreed:
        return FAILED
    return CLEAN if measured.verdict in ("cooperative", "immediate") else DIAGNOSTICS
