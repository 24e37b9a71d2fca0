"""The records of processes that run, while they are written."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from gblock import observations
from gblock.errors import UserError
from gblock.observations import sources

if TYPE_CHECKING:
    from gblock.catalog.lookup import Catalog
    from gblock.observations import Observations

_WANTED = ".stacks.wanted"
_PATIENCE = 5.0
"""Seconds to wait for the stacks of a process."""
_MARGIN = 300.0
"""Seconds: a probe writes a heartbeat at least once an hour, by default once a minute."""


class Target(NamedTuple):
    """The place of the records of interest."""

    directory: str
    pid: int | None = None
    """The only process of interest; None for all."""


def target(text: str) -> Target:
    """Return what a directory or the number of a process means.

    Raises:
        UserError: if there is no such process or directory, or the process is not probed.
    """
    if text.isdigit() and not os.path.isdir(text):
        return Target(_directory_of(text), int(text))
    if not text:
        raise UserError("gblock top", "pass the probe's directory or a process ID")
    if not os.path.isdir(text):
        raise UserError(text, "is neither a directory nor a process ID")
    return Target(text)


def _directory_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = dict(word.partition(b"=")[::2] for word in file.read().split(b"\0"))
        where = os.readlink(f"/proc/{pid}/cwd")
    except FileNotFoundError:
        raise UserError(pid, "no such process, or no /proc: pass the directory") from None
    except OSError as error:
        raise UserError(pid, f"cannot be read: {error.strerror}: name the directory") from None
    directory = os.fsdecode(words.get(b"GBLOCK_PROBE_DIR", b""))
    if not directory:
        raise UserError(pid, "was started without GBLOCK_PROBE_DIR")
    return os.path.join(where, directory)


def observed(target: Target, catalog: Catalog, now: float, since: float) -> Observations:
    """Return the observations of processes that wrote lately.

    Args:
        target: Where the records are.
        catalog: The catalog.
        now: Epoch seconds.
        since: Epoch seconds: earlier blocks are omitted.
    """
    found = []
    for source in sources.sources([target.directory]):
        if _is_of(source, target) and source.changed >= min(since, now - _MARGIN):
            found.append(source)
    selection = observations.RecordSelection(now, since)
    part = observations.read_part(enumerate(found), catalog, selection)
    return observations.combined([part], catalog)


def _is_of(source: sources.RecordSource, target: Target) -> bool:
    if target.pid is None:
        return True
    return source.name.rpartition("-")[0].endswith(f"-{target.pid}")


def stacks(target: Target) -> str:
    """Ask a process for the stacks of all greenlets, and return them.

    Raises:
        UserError: if it is no single process, or does not answer within five seconds.
    """
    if target.pid is None:
        raise UserError("gblock top --stacks", "pass a process ID")
    for source in sources.sources([target.directory]):
        if not _is_of(source, target):
            continue
        stem = source.files[-1].removesuffix(".jsonl")
        path = stem + ".stacks.txt"
        before = os.path.getsize(path) if os.path.exists(path) else 0
        with open(stem + _WANTED, "wb"):
            pass
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            time.sleep(0.1)
            if os.path.exists(path) and os.path.getsize(path) != before:
                with open(path, encoding="utf-8", errors="replace") as file:
                    file.seek(before if os.path.getsize(path) > before else 0)
                    return file.read()
        os.unlink(stem + _WANTED)
        raise UserError(str(target.pid), "does not answer: it needs GBLOCK_PROBE_STACKS=1")
    raise UserError(str(target.pid), f"has no records in {target.directory}")
