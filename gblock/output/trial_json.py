"""A trial for other programs: one object."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.trial import Measurement, Trial, TrialPlan


def render(plan: TrialPlan, measured: Trial, against: Trial | None) -> str:
    """Return one JSON object and a line feed; times are seconds."""
    typical = measured.typical
    page = {
        "version": 1,
        "python": typical.python,
        "gevent": typical.gevent,
        "setup": plan.setup,
        "patch": "all" if plan.patch is None else list(plan.patch),
        "trial": _trial(measured),
        "against": None if against is None else _trial(against),
    }
    return json.dumps(page, indent=2) + "\n"


def _trial(measured: Trial) -> dict[str, object]:
    return {
        "statement": measured.statement,
        "verdict": measured.verdict,
        "uncertain": measured.typical.is_uncertain or not measured.is_agreed,
        **_figures(measured.typical),
        "threadpool": {
            "verdict": measured.threadpool.help,
            "max_gap": measured.threadpool.max_gap,
            "reason": measured.threadpool.reason or None,
        },
        "runs": [{"verdict": run.verdict, **_figures(run)} for run in measured.runs],
    }


def _figures(run: Measurement) -> dict[str, object]:
    return {
        "elapsed": run.elapsed,
        "returned": run.returned,
        "max_gap": run.max_gap,
        "limit": run.limit,
        "gil": run.gil,
        "max_tick": run.max_tick,
        "work": run.work,
        "cpu": run.cpu,
        "cpu_elsewhere": run.cpu_elsewhere,
        "starved": run.starved,
        "baseline_gap": run.baseline_gap,
        "signal": run.signal,
    }
