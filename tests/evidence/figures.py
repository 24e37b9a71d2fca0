"""Puts measured figures into the catalog: an edit of the text, so that its layout stays."""

from __future__ import annotations

import json
import re
import sys

from gblock import catalog, outline
from gblock.errors import UserError
from gblock.writing import write

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEYS = (
    "version", "call", "elapsed", "max_gap", "returned", "remedy", "remedy_max_gap", "belief",
    "found", "reference", "python", "gevent",
)  # fmt: skip
"""In the order in which they are written."""
KEPT = ("belief", "found", "reference", "remedy", "remedy_max_gap")
KINDS = ("blocker", "belief")


def updated(text, evidence):
    """The catalog's text with other evidence.

    Args:
        text: The text of the catalog.
        evidence: Blocks of evidence by the blocker's or belief's id. What is `KEPT` stays as it is
            where none is given.

    Raises:
        UserError: if one is missing, or the text would say anything else besides.
    """
    before = tomllib.loads(text)
    blocks = {one["id"]: (kind, one) for kind in KINDS for one in before.get(kind, ())}
    for name, measured in evidence.items():
        if name not in blocks:
            raise UserError(name, "the catalog has no such blocker")
        kind, block = blocks[name]
        kept = {key: block["evidence"][key] for key in KEPT if key in block["evidence"]}
        block["evidence"] = {**kept, **measured}
        text = _replaced(text, kind, name, block["evidence"])
    try:
        is_same = tomllib.loads(text) == before
    except tomllib.TOMLDecodeError:
        is_same = False
    if not is_same:
        raise UserError("figures", "the edited catalog says something else: nothing was written")
    return text


def _replaced(text, kind, name, evidence):
    head = re.escape(f"[[{kind}]]\nid = {json.dumps(name)}\n")
    table = f"[{kind}.evidence]\n"
    block = re.search(rf"^{head}(?:(?!\[\[).*\n)*", text, re.MULTILINE)
    if block is None or table not in block[0]:
        raise UserError(name, f"its block does not begin with its id, or has no {table.strip()}")
    start = block.start() + block[0].index(table) + len(table)
    # Up to the next table, or to the empty line before it.
    end = re.compile(r"^(?:\[|$)", re.MULTILINE).search(text, start)
    return text[:start] + _lines(evidence) + text[end.start() if end else len(text) :]


def _lines(evidence):
    unknown = sorted(set(evidence) - set(KEYS))
    if unknown:
        raise UserError("figures", f"evidence has no key {unknown[0]}")
    return "".join(f"{key} = {_value(evidence[key])}\n" for key in KEYS if key in evidence)


def _value(value):
    # A string of JSON is one of TOML, but for the escapes of what is not in the first plane.
    return json.dumps(value, ensure_ascii=False)


def update(evidence, path=outline.BUILT_IN):
    """Write the figures into a catalog.

    Raises:
        UserError: if the file would not be a catalog any more; it is as it was.
    """
    with open(path, encoding="utf-8", newline="") as file:
        text = updated(file.read(), evidence)
    write(path, text)
    catalog.load((path,))
