"""What the catalog has of the packages that services on gevent require.

`requirements.tsv` holds the packages that two services and more of `requirements-services.txt`
name, the most frequent first: its counts come from those services, its last column from the
catalog. ``pytest --update tests/test_services.py`` writes the column.
"""

from __future__ import annotations

from pathlib import Path

from gblock.catalog.lookup import Catalog
from gblock.distribution import normalized

TABLE = Path(__file__).parent / "requirements.tsv"


def table(known: Catalog) -> str:
    """Return the text of the table with the catalog's column.

    Args:
        known: The catalog.
    """
    kinds = _kinds(known)
    lines = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        name, _, _ = cells = line.split("\t") if line.count("\t") == 2 else (line, "", "")
        if not line.startswith(("#", "package\t")):
            line = "\t".join((*cells[:2], ", ".join(kinds.get(normalized(name), ())) or "-"))
        lines.append(line)
    return "\n".join([*lines, ""])


def _kinds(known: Catalog) -> dict[str, list[str]]:
    """Return the kinds of the catalog's blocks of each package."""
    found: dict[str, dict[str, None]] = {}
    for kind, blocks in (
        ("blocker", known.blockers),
        ("harmless", known.harmless),
        ("belief", known.beliefs),
        ("library", known.libraries),
    ):
        for one in blocks:
            found.setdefault(normalized(one.distribution), {})[kind] = None
    for library in known.libraries:
        of = found[normalized(library.distribution)]
        for other in library.distributed_as:
            found.setdefault(normalized(other), {}).update(of)
    return {name: list(kinds) for name, kinds in found.items()}
