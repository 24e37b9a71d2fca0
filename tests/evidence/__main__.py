"""`python -m tests.evidence`: run the scenarios, and with `--update` write down what came of it."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys

from rich.console import Console
from rich.table import Table

from gblock import catalog
from gblock.catalog.blockers import Belief
from gblock.errors import UserError
from gblock.output.seconds import seconds

from . import environments, figures, measuring, scenarios

AGREE, CONTRADICT, FAILED = 0, 1, 2


def main(argv=None):
    """Run the chosen scenarios; exits with 1 if the catalog is wrong, with 2 if one failed."""
    options = _parser().parse_args(argv)
    known = catalog.load()
    subjects = measuring.subjects(known)
    chosen = []
    for scenario in scenarios.load():
        if scenario.blocker not in subjects:
            raise UserError(scenario.blocker, "a scenario is for it, but the catalog has none")
        if any(fnmatch.fnmatch(scenario.blocker, glob) for glob in options.only or ["*"]):
            if not (options.quick and scenario.slow):
                chosen.append(scenario)
    if not chosen:
        raise UserError("evidence", f"no scenario is called {' or '.join(options.only)}")
    prepared = environments.Environments(options.venv, _say) if options.venv else None
    here = environments.here()
    results = []
    for number, scenario in enumerate(chosen, 1):
        environment = prepared.of(scenario) if prepared else here
        results.append(_result(scenario, subjects, environment, options))
        _say(f"[{number}/{len(chosen)}] {scenario.blocker}: {_word(results[-1], subjects)}")
    if options.json:
        json.dump([_record(one, subjects, known) for one in results], sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        width = None if sys.stdout.isatty() else 160
        Console(width=width).print(_table(results, subjects))
    if options.update:
        _update(results, subjects, known)
    _say(_summary(results, subjects))
    if any(one.failed for one in results):
        return FAILED
    return CONTRADICT if any(_contradictions(one, subjects) for one in results) else AGREE


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tests.evidence", description=main.__doc__)
    add = parser.add_argument
    add("--only", action="append", metavar="ID", help="a blocker's id, or a glob; may be repeated")
    add("--update", action="store_true", help="write the figures into the catalog")
    add("--json", action="store_true", help="write the results as JSON")
    add("--quick", action="store_true", help="leave out what is slow")
    add(
        "--venv",
        metavar="DIR",
        help="run in environments below it, made as required",
    )
    add("--repeat", type=int, default=1, metavar="N", help="take the median of N processes: 1")
    return parser


def _result(scenario, subjects, environment, options):
    subject = subjects[scenario.blocker]
    result = measuring.measured(scenario, subject, environment, repeat=options.repeat)
    if result.failed or measuring.contradictions(result, subject):
        # A busy machine contradicts as well; a catalog that is wrong does so again.
        repeat = max(3, options.repeat)
        result = measuring.measured(scenario, subject, environment, repeat=repeat)
    return result


def _contradictions(result, subjects):
    return measuring.contradictions(result, subjects[result.scenario.blocker])


def _word(result, subjects):
    if result.left_out:
        return f"left out: {result.left_out}"
    if result.failed:
        return f"failed: {result.failed}"
    run, left = result.call.typical, result.remedy_max_gap
    after = "" if left is None else f", {seconds(left)} with the remedy"
    line = f"{run.verdict}, {seconds(run.max_gap)}{after}"
    return "; ".join([line, *_contradictions(result, subjects), *_remarks(result)])


def _remarks(result):
    """Return remarks on the figures for the reader, none of which is a contradiction."""
    remarks = []
    if result.call.typical.is_uncertain:
        remarks.append("the machine was busy")
    if result.remedy is not None and result.remedy.verdict == "immediate":
        remarks.append("the remedy returned at once: did it do the work?")
    return remarks


def _table(results, subjects):
    table = Table(header_style="bold")
    for heading in ("blocker", "version", "verdict"):
        table.add_column(heading, no_wrap=heading == "blocker")
    for heading in ("elapsed", "gap", "GIL", "threadpool", "remedy's gap"):
        table.add_column(heading, justify="right")
    table.add_column("remarks")
    for result in results:
        name = result.scenario.blocker
        if result.left_out or result.call is None:
            why = result.left_out or result.failed
            style = "dim" if result.left_out else "red"
            table.add_row(name, *[""] * 7, why, style=style)
            continue
        run, pool, left = result.call.typical, result.call.threadpool.help, result.remedy_max_gap
        pool = "" if result.remedy else pool
        remarks = [*_contradictions(result, subjects), *filter(None, [result.failed])]
        remarks += _remarks(result)
        table.add_row(
            name, result.version, run.verdict, seconds(run.elapsed), seconds(run.max_gap),
            run.gil or "", pool, "" if left is None else seconds(left), "; ".join(remarks),
            style="red" if remarks else None,
        )  # fmt: skip
    return table


def _record(result, subjects, known):
    record = {
        "blocker": result.scenario.blocker,
        "left_out": result.left_out,
        "failed": result.failed,
        "contradictions": _contradictions(result, subjects),
    }
    if result.call is not None:
        run = result.call.typical
        record |= {"verdict": run.verdict, "gil": run.gil, "work": run.work}
        record |= {"threadpool": result.call.threadpool.help, "version": result.version}
        record["evidence"] = measuring.evidence(result, known.measured_on)
    return record


def _update(results, subjects, known):
    """Write what was measured; of several scenarios of a blocker the first one counts."""
    found = {}
    for result in results:
        if result.call is None or result.failed:
            continue
        if not _is_proof(result, subjects):
            continue
        if result.call.typical.is_uncertain:
            _say(f"{result.scenario.blocker}: not written, the machine was busy")
            continue
        name = result.scenario.blocker
        found.setdefault(name, measuring.evidence(result, known.measured_on))
    figures.update(found)
    _say(f"{len(found)} of the catalog's entries have new figures; run pytest --update")


def _is_proof(result, subjects):
    """Return whether a blocker did block, and of a belief came what the catalog says."""
    if isinstance(subjects[result.scenario.blocker], Belief):
        return not _contradictions(result, subjects)
    return result.call.typical.blocked


def _summary(results, subjects):
    wrong = sum(bool(_contradictions(one, subjects)) for one in results)
    left_out = sum(bool(one.left_out) for one in results)
    failed = sum(bool(one.failed) for one in results)
    done = len(results) - left_out - failed
    return f"{done} measured, {wrong} contradict the catalog, {failed} failed, {left_out} left out"


def _say(line):
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        _say(f"error: {error}")
        sys.exit(FAILED)
