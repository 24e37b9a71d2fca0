"""The catalog of blockers: load and validate its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from gblock import outline
from gblock.catalog.blocks import SHAPES, block_of, head_of
from gblock.catalog.extensions import own
from gblock.catalog.lookup import Catalog

Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Tables of evidence by kind of block and by the block's id or distribution."""


def load(extensions: tuple[str, ...] = (), roots: frozenset[str] | None = None) -> Catalog:
    """Return the built-in catalog, extended by the user's files of the same schema.

    A user's blocker replaces the built-in one with the same id.

    Args:
        extensions: Paths of further catalog files.
        roots: The top-level packages whose blocks are loaded; None for all.

    Raises:
        UserError: with file, block and key, if a file is invalid.
    """
    files = [outline.read(), *map(own, extensions)]
    return merged([parse(one, roots) for one in files])


def merged(files: list[Catalog]) -> Catalog:
    """Return one catalog of several; later blocks replace earlier ones with the same id."""
    if len(files) == 1:
        return files[0]
    by_id = {blocker.id: blocker for one in files for blocker in one.blockers}
    return Catalog(
        tuple(by_id.values()),
        tuple(library for one in files for library in one.libraries),
        tuple(offload for one in files for offload in one.offloads),
        tuple(handler for one in files for handler in one.handlers),
        files[0].measured_on,
        beliefs=tuple(belief for one in files for belief in one.beliefs),
        harmless=tuple(one for file in files for one in file.harmless),
        texts=tuple(text for one in files for text in one.texts),
    )


def parse_all(
    outlines: outline.Outlines,
    roots: frozenset[str] | None = None,
    *,
    unpatched: bool = False,
) -> Catalog:
    """Parse and validate all files of a run; see `parse`.

    Raises:
        UserError: with the file, the block and the key.
    """
    return merged([parse(one, roots, unpatched=unpatched) for one in outlines.all])


def parse(
    text: outline.Outline,
    roots: frozenset[str] | None = None,
    *,
    unpatched: bool = False,
    figures: Figures | None = None,
) -> Catalog:
    """Parse and validate the blocks of one file for these packages, or all blocks.

    Args:
        text: The file.
        roots: The packages; None for all blocks.
        unpatched: Whether to take the blockers that block only without gevent's patch.
        figures: Evidence to add to the blocks, by kind and by id or distribution.

    Raises:
        UserError: with the file, the block and the key.
    """
    chunks = text.chunks if roots is None else text.about(roots, unpatched=unpatched)
    if figures is not None:
        return _catalog_of(text, chunks, figures)
    return _catalog_once(text, tuple(chunks))


@lru_cache(maxsize=16)
def _catalog_once(text: outline.Outline, chunks: tuple[outline.Chunk, ...]) -> Catalog:
    """Return the catalog of some blocks, once for all checks of a process."""
    return _catalog_of(text, chunks, {})


def _catalog_of(
    text: outline.Outline, chunks: Iterable[outline.Chunk], figures: Figures
) -> Catalog:
    blocks: dict[str, list[Any]] = {kind: [] for kind in SHAPES}
    for chunk in chunks:
        if chunk.kind not in outline.ON_DEMAND:
            blocks[chunk.kind].append(block_of(chunk, text.filename, figures.get(chunk.kind)))
    return Catalog(
        tuple(blocks["blocker"]),
        tuple(blocks["library"]),
        tuple(blocks["offload"]),
        tuple(blocks["handler"]),
        head_of(text).measured_on,
        beliefs=tuple(blocks["belief"]),
        harmless=tuple(blocks["harmless"]),
        texts=(text,),
    )
