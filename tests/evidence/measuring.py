"""Runs scenarios by `gblock trial`'s machinery, and compares with what the catalog says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from gblock import trial
from gblock.catalog.blockers import Belief, Blocker
from gblock.distribution import normalized
from gblock.errors import UserError

from . import servers

NAMES = Path(__file__).with_name("names.py")


class Result(NamedTuple):
    """The outcome of a scenario."""

    scenario: object
    call: trial.Trial | None = None
    remedy: trial.Trial | None = None
    left_out: str = ""
    """Why it was not run."""
    failed: str = ""
    """Why it could not be measured."""
    version: str = ""

    @property
    def remedy_max_gap(self):
        """The hub's longest gap with the remedy, in seconds; None where there is none."""
        if self.remedy is not None:
            return self.remedy.typical.max_gap
        return self.call.threadpool.max_gap if self.call is not None else None


class Environment:
    """A Python, what is installed there, and the servers of this machine."""

    def __init__(self, python):
        self.python = python
        code = (
            "import json, platform, importlib.metadata as m\n"
            "names = {d.metadata['Name']: d.version for d in m.distributions()}\n"
            "print(json.dumps([platform.python_version(), names]))"
        )
        told = subprocess.run([python, "-c", code], capture_output=True, check=True)
        self.version, found = json.loads(told.stdout)
        self.distributions = {normalized(name): version for name, version in found.items() if name}

    def missing(self, scenario):
        """Why the scenario cannot run with this Python; empty if it can."""
        if not _fits(self.version, scenario.python):
            return f"it is for Python {scenario.python}, this is {self.version}"
        lacking = [name for name in scenario.requires if not self.has(name)]
        return f"not installed: {', '.join(lacking)}" if lacking else ""

    def has(self, requirement):
        """Return whether a distribution is installed in a version that will do."""
        name, bound = re.match(r"([\w.-]+)(.*)", requirement).groups()
        version = self.distributions.get(normalized(name))
        return version is not None and _fits(version, bound)

    def version_of(self, subject, scenario):
        """The version that was measured: the distribution's, or Python's own."""
        if subject.distribution == "stdlib":
            return self.version
        names = (subject.distribution, *scenario.requires)
        found = (self.distributions.get(normalized(re.match(r"[\w.-]+", n)[0])) for n in names)
        return next((version for version in found if version), "")


def _fits(version, bounds):
    have = _numbers(version)
    tests = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
    }
    for bound in filter(None, bounds.replace(" ", "").split(",")):
        sign, wanted = re.match(r"(<=|>=|==|<|>)(.+)", bound).groups()
        asked = _numbers(wanted)
        if not tests[sign](have[: len(asked)] if sign != "<" else have, asked):
            return False
    return True


def _numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def measured(scenario, subject, environment, *, repeat=1):
    """Run a scenario and its remedy; never raises for what only that scenario lacks."""
    missing = environment.missing(scenario)
    if missing:
        return Result(scenario, left_out=missing)
    try:
        with (
            servers.running(scenario.needs, environment.python) as found,
            tempfile.TemporaryDirectory(prefix="evidence-") as directory,
        ):
            return _run(scenario, subject, environment, found, directory, repeat)
    except servers.MissingError as error:
        return Result(scenario, left_out=str(error))
    except UserError as error:
        return Result(scenario, failed=error.message)


def _run(scenario, subject, environment, found, directory, repeat):
    plan = trial.TrialPlan(
        statement=scenario.call,
        setup=f"{prelude(found)}\n{scenario.setup}",
        patch=scenario.patch,
        timeout=scenario.timeout,
        repeat=repeat,
        python=environment.python,
        # What scenarios write goes away with them.
        environment={**os.environ, "TMPDIR": directory},
    )
    call = trial.trial(plan, threadpool=scenario.remedy is None and isinstance(subject, Blocker))
    remedy = None
    if scenario.remedy:
        setup = f"{prelude(found)}\n{scenario.remedy_setup}\n{scenario.setup}"
        try:
            remedy = trial.trial(
                plan._replace(statement=scenario.remedy, setup=setup), threadpool=False
            )
        except UserError as error:
            return Result(scenario, call, failed=f"remedy: {error.message}")
    version = environment.version_of(subject, scenario)
    return Result(scenario, call, remedy, version=version)


def prelude(found):
    """One line that gives a set-up the names of `names.py` and of its servers."""
    parts = [f"exec(compile(open({str(NAMES)!r}).read(), 'names.py', 'exec'))"]
    parts += [f"{name} = SimpleNamespace(**{values!r})" for name, values in found.items()]
    return "; ".join(parts)


def subjects(known):
    """Return the subjects of scenarios by id: blockers, and beliefs."""
    return known.by_id | {belief.id: belief for belief in known.beliefs}


def contradictions(result, subject):
    """Return the contradictions between measurement and catalog, one line each.

    Only what a service would notice: whether it blocks, what for, whether the GIL is released,
    and whether the remedy is one.
    """
    if result.call is None:
        return []
    if isinstance(subject, Belief):
        return _disproof(result.call.typical, subject)
    return _differences(result, subject)


def _disproof(run, belief):
    if run.blocked is (belief.verdict in ("blocks", "cpu")):
        return []
    return [
        f"it is {run.verdict}, not {belief.verdict}: the hub's longest gap is {run.max_gap:.3f} s"
    ]


def _differences(result, blocker):
    run, lines = result.call.typical, []
    if not run.blocked:
        return [f"it is {run.verdict}: the hub's longest gap is {run.max_gap:.3f} s"]
    # What waits for a disk or for a peer works here, where both are quick: that says nothing.
    if blocker.kind == "cpu" and run.verdict != "cpu" and not run.is_uncertain:
        lines.append(f"it {run.work}, but the catalog's kind is {blocker.kind}")
    keeps = {"held": True, "released": False, "shared": False}.get(run.gil)
    if keeps is not None and blocker.releases_gil is keeps:
        lines.append(f"the GIL is {run.gil}, but releases_gil is {blocker.releases_gil}")
    if result.remedy is not None and result.remedy.verdict == "crash":
        lines.append("the remedy crashes")
    elif result.scenario.remedy == "":
        pass
    elif result.remedy_max_gap is None:
        lines.append(f"no remedy was measured: {result.call.threadpool.reason}")
    elif not trial.remedies(run.max_gap, result.remedy_max_gap):
        lines.append(f"the remedy blocks, too: {result.remedy_max_gap:.3f} s")
    return lines


def evidence(result, measured_on):
    """The block of figures for the catalog."""
    run = result.call.typical
    figures = {
        "version": result.version,
        "call": result.scenario.called,
        "elapsed": round(run.elapsed, 4),
        "max_gap": round(run.max_gap, 4),
    }
    if not run.returned:
        figures["returned"] = False
    if result.remedy_max_gap is not None:
        figures["remedy"] = result.scenario.remedied
        figures["remedy_max_gap"] = round(result.remedy_max_gap, 4)
    versions = {"python": run.python, "gevent": run.gevent}
    differing = {name: one for name, one in versions.items() if one != measured_on.get(name)}
    return figures | differing
