"""Compute the open work: `python -m tests.evidence.rest` writes `open.toml`."""

from __future__ import annotations

import re

from gblock import measurements, trial
from gblock.writing import write

from . import scenarios

_WHY = {
    "without-scenario": "No scenario proves them yet.",
    "without-figures": "Nothing was measured: they carry a reference alone.",
    "without-remedy": "No remedy was measured.",
    "remedy-blocks": "What was measured as their remedy blocks as well.",
}


def rest(known, scenes):
    """Return the lists of `open.toml`, by key."""
    with_scenario = {one.blocker for one in scenes}
    hopeless = {one.blocker for one in scenes if one.remedy == ""}
    lists = {key: [] for key in _WHY}
    for blocker in known.blockers:
        evidence = blocker.evidence
        if blocker.id not in with_scenario:
            lists["without-scenario"].append(blocker.id)
        if not evidence.measured:
            lists["without-figures"].append(blocker.id)
        elif evidence.remedy_max_gap is None:
            if blocker.id not in hopeless:
                lists["without-remedy"].append(blocker.id)
        elif not trial.remedies(evidence.max_gap, evidence.remedy_max_gap):
            lists["remedy-blocks"].append(blocker.id)
    beliefs = [belief.id for belief in known.beliefs if belief.id not in with_scenario]
    lists["without-scenario"] = sorted([*lists["without-scenario"], *beliefs])
    return lists


def reasons(text):
    """Return the comments beside ids in the text of `open.toml`, by id."""
    return dict(re.findall(r'^ *"([\w-]+)", *# *(.+)$', text, re.MULTILINE))


def document(lists, reasons):
    """Return the text of `open.toml`, with the comments beside the ids that have one."""
    parts = ["# What is still to be done. These lists can only become shorter.\n"]
    for key, why in _WHY.items():
        ids = ""
        for name in lists[key]:
            ids += f'    "{name}",' + (f"  # {reasons[name]}" if name in reasons else "") + "\n"
        parts.append(f"\n# {why}\n{key} = [\n{ids}]\n")
    return "".join(parts)


if __name__ == "__main__":
    path = scenarios.HERE / scenarios.OPEN
    kept = reasons(path.read_text(encoding="utf-8"))
    write(str(path), document(rest(measurements.load(), scenarios.load()), kept))
