"""The figures of the built-in catalog: the measurements of each entry, in a separate file.

``measurements.toml`` is written by `python -m tests.evidence --update` and by
`benchmarks/harmless.py --update`. The catalog itself holds the hand-written part, and ``gblock
check`` reads only that; pages and tables that show figures load the catalog through this module.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import msgspec
import tomli

from gblock import catalog, outline
from gblock.catalog.extensions import own
from gblock.catalog.lookup import Catalog
from gblock.errors import UserError, toml_place

PATH = os.path.join(os.path.dirname(__file__), "measurements.toml")


@functools.cache
def load(extensions: tuple[str, ...] = ()) -> Catalog:
    """Return the catalog as `catalog.load` does, with figures for its built-in entries.

    Args:
        extensions: Paths of further catalog files, which contain their evidence.

    Raises:
        UserError: if one of the files is invalid.
    """
    built_in = catalog.parse(outline.read(), figures=read())
    return catalog.merged([built_in, *(catalog.parse(own(path)) for path in extensions)])


def read(path: str = PATH) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the tables of a file of figures, by kind of entry and by its name.

    Raises:
        UserError: if the file cannot be read or is invalid.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror}") from None
    try:
        return msgspec.convert(tomli.loads(text), dict[str, dict[str, dict[str, Any]]])
    except tomli.TOMLDecodeError as error:
        message, row, column = toml_place(error, text)
        raise UserError(path, f"invalid TOML: {message}", row, column) from None
    except msgspec.ValidationError as error:
        raise UserError(path, str(error)) from None
