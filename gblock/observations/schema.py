"""The records' JSON schema and their page, both from the types that read them."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import Any, get_args

import msgspec

from gblock.observations import records

_HEAD = """# Records

The probe writes one JSON object a line, in files of one process each: `HOST-PID-START.jsonl`, and
`….jsonl.1` for the part before the last rotation. [records.schema.json](records.schema.json) is the
JSON schema of a line; `gblock report --schema` prints it. This page and the schema are generated
from the types that `gblock report` reads.

A reader ignores fields that it does not know. Times are epoch seconds, durations are seconds.
The number of a site is valid in the files of one process. A `site` precedes the first record that
names it, and is repeated after a rotation. `total` records are cumulative since `start`.
`sum` and `watched` are not written by the probe, but by the [SQL](report.md#in-a-database) that
adds up the records of a fleet.
"""


def schema() -> dict[str, Any]:
    """Return the JSON schema of one line."""
    made = msgspec.json.schema(records.Record)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A record", **made}


def text() -> str:
    """Return the schema as JSON with a line feed."""
    return json.dumps(schema(), indent=2) + "\n"


def document() -> str:
    """Return the page: one table for each type of record."""
    notes = _comments()
    parts = [_HEAD]
    for kind in (*get_args(records.Record), records.Frame):
        tag = kind.__struct_config__.tag
        title = f"`{tag}`" if tag else "A frame"
        parts.append(f"\n## {title}\n\n{kind.__doc__}\n\n| field | type | |\n|---|---|---|\n")
        fields = msgspec.json.schema(kind)["$defs"][kind.__name__]
        needed = fields.get("required", ())
        for name, shape in fields["properties"].items():
            if name == "type":
                continue
            need = "" if name in needed else ", optional"
            note = notes.get((kind.__name__, _attribute(kind, name)), "")
            parts.append(f"| `{name}` | {_type(shape)}{need} | {note} |\n")
    return "".join(parts)


def _attribute(kind: Any, name: str) -> str:
    found = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    return str(found[name])


def _type(shape: dict[str, Any]) -> str:
    if "$ref" in shape:
        return "a frame"
    if "anyOf" in shape:
        return " or ".join(_type(each) for each in shape["anyOf"])
    kind = str(shape.get("type", "anything"))
    if kind == "array":
        return f"list of {_type(shape['items'])}"
    if kind == "object":
        return f"object of {_type(shape['additionalProperties'])}"
    return kind


def _comments() -> dict[tuple[str, str], str]:
    """Return the strings below the fields in the source, by class and attribute."""
    tree = ast.parse(Path(inspect.getfile(records)).read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, after in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                value = after.value
                if isinstance(field.target, ast.Name) and isinstance(value, ast.Constant):
                    found[node.name, field.target.id] = " ".join(str(value.value).split())
    return found
