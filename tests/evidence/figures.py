"""Writes measured figures into the file that holds them beside the catalog."""

from __future__ import annotations

import json
import re

from gblock import catalog, measurements
from gblock.errors import UserError
from gblock.writing import write

HEAD = """\
# What was measured of the entries of known_blockers.toml, by their kind and name.
# Written by `python -m tests.evidence --update` and `benchmarks/harmless.py --update`.
"""
KEYS = (
    "version", "call", "elapsed", "max_gap", "returned", "remedy", "remedy_max_gap", "python",
    "gevent",
)  # fmt: skip
"""In the order in which they are written."""
KEPT = ("remedy", "remedy_max_gap")
"""Return the figures to keep if only the call was measured again."""
KINDS = ("blocker", "belief", "harmless")


def updated(figures, evidence, known):
    """Return figures with other evidence; those of entries that the catalog has lost are left out.

    Args:
        figures: Tables by kind and name.
        evidence: Tables by the entry's name.
        known: The catalog.

    Raises:
        UserError: if the catalog has no such entry, or evidence no such key.
    """
    kinds = _kinds(known)
    found = {kind: dict(figures.get(kind, {})) for kind in KINDS}
    for name, measured in evidence.items():
        unknown = sorted(set(measured) - set(KEYS))
        if name not in kinds:
            raise UserError(name, "the catalog has no such entry")
        if unknown:
            raise UserError(name, f"evidence has no key {unknown[0]}")
        tables = found[kinds[name]]
        kept = {key: value for key, value in tables.get(name, {}).items() if key in KEPT}
        tables[name] = kept | measured
    return {
        kind: {name: table for name, table in tables.items() if kinds.get(name) == kind}
        for kind, tables in found.items()
    }


def _kinds(known):
    """The kind of each entry that has figures, by its name."""
    kinds = {one.id: "blocker" for one in known.blockers}
    kinds |= {one.id: "belief" for one in known.beliefs}
    return kinds | {one.distribution: "harmless" for one in known.harmless}


def document(figures):
    """Return the text of the file: entries in order, one key a line."""
    parts = [HEAD]
    for kind in KINDS:
        for name, table in sorted(figures.get(kind, {}).items()):
            key = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)
            parts.append(f"\n[{kind}.{key}]\n")
            # A string of JSON is one of TOML, but for escapes beyond the first plane.
            parts += [
                f"{one} = {json.dumps(table[one], ensure_ascii=False)}\n"
                for one in KEYS
                if one in table
            ]
    return "".join(parts)


def update(evidence, path=measurements.PATH):
    """Write figures into the file.

    Raises:
        UserError: if it cannot be read or written; it is as it was.
    """
    write(path, document(updated(measurements.read(path), evidence, catalog.load())))
