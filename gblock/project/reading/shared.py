"""The code outside of a unit that the unit imports, found by import lines alone."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from gblock.project.reading.modules import Modules

# Literal first characters: see `gblock.project.triage.triage`.
_FROM = re.compile(rb"from[ \t]+([\w.]+)[ \t]+import\b[ \t]*(\([^)]*\)|[^\n#(;]*)")
_IMPORT = re.compile(rb"import[ \t]+([^\n#;(]+)")
_WORD = re.compile(rb"\w+")
_COMMENT = re.compile(rb"#[^\n]*")


def shared(
    modules: Modules,
    unit: Iterable[str],
    directory: str,
    data: Callable[[str], bytes],
    names: Container[bytes],
) -> list[str]:
    """Return the files outside of a unit that its files import, over any number of imports.

    Args:
        modules: All files of the tree, of which no bytes are needed.
        unit: The files of the unit.
        directory: The directory of the unit.
        data: Returns the bytes of a file.
        names: The first names of all dotted names that may lead out of the unit.

    Returns:
        The files, in order.
    """
    inside = os.path.join(directory, "")
    found: set[str] = set()
    waiting = list(unit)
    resolved: dict[tuple[str, bytes, bytes], tuple[str, ...]] = {}
    while waiting:
        path = waiting.pop()
        place = os.path.dirname(path)
        is_own = path.startswith(inside)
        for module, taken in _lines(data(path)):
            if is_own and module.partition(b".")[0] not in names:
                continue  # a relative import, or a package of the unit or of no unit
            key = place, module, taken
            targets = resolved.get(key)
            if targets is None:
                targets = resolved[key] = tuple(
                    one
                    for one in _targets(modules, module, taken, path)
                    if not one.startswith(inside)
                )
            for target in targets:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
    return sorted(found)


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the modules that a text imports, each with the names that it takes of it."""
    yield from _FROM.findall(data)
    for line in _IMPORT.findall(data):
        for part in line.split(b","):
            words = part.split()
            if words:
                yield words[0], b""


def _targets(modules: Modules, module: bytes, names: bytes, importer: str) -> Iterator[str]:
    """Yield the files that one import runs, with the packages around them."""
    text = module.decode(errors="replace")
    name = text.lstrip(".")
    found = modules.resolve(name, len(text) - len(name), importer)
    if found is None:
        return
    directory = found
    if modules.is_module(found):
        yield from _with_packages(modules, found)
        if not found.endswith("__init__.py"):
            return
        directory = os.path.dirname(found)
    for word in _WORD.findall(_COMMENT.sub(b"", names)):
        inner = modules.inside(directory, word.decode(errors="replace"))
        if inner is not None and modules.is_module(inner):
            yield from _with_packages(modules, inner)


def _with_packages(modules: Modules, path: str) -> Iterator[str]:
    """Yield a file and the ``__init__.py`` of each package around it."""
    yield path
    directory = os.path.dirname(path)
    while modules.is_module(package := os.path.join(directory, "__init__.py")):
        yield package
        directory = os.path.dirname(directory)
