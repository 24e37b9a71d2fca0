"""One project on disk, its fixes applied alone and together, for the properties that all keep."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from gblock import engine, fixes
from gblock.config import Config
from gblock.decoding import decoded
from gblock.engine import fixing
from gblock.fixes.text import applied_to_bytes, compatible


def request_for(root: Path, **options) -> engine.Request:
    """A request to check a directory as a project, with everything that may be reported."""
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    return engine.Request([str(root)], config, **{"assume_gevent": True, **options})


def reported(request) -> tuple:
    """Return the diagnostics of a check, with their fixes."""
    return fixes.with_fixes(engine.check(request).diagnostics, text_of)


def text_of(filename):
    """The text of a file on disk."""
    path = Path(filename)
    return decoded(path.read_bytes()) if path.is_file() else None


def kinds(diagnostics) -> Counter:
    """Count the diagnostics of each kind in each file."""
    return Counter((one.filename, one.code, one.blocker) for one in diagnostics)


def assert_right(request) -> int:
    """Fail unless each fix ends its diagnostic and brings no other, and all together end.

    Returns:
        How many diagnostics have a fix.
    """
    before = reported(request)
    found = [one for one in before if one.fix is not None]
    if not found:
        return 0
    chosen = compatible([one.fix for one in found])
    ended = [one for one in found if any(one.fix is fix for fix in chosen)]
    given = edited(chosen)
    after = engine.check(request._replace(given=given)).diagnostics
    text = "\n".join(data.decode(errors="replace") for data in given.values())
    assert not kinds(after) - (kinds(before) - kinds(ended)), text
    assert_fixed_to_the_end(request)
    return len(found)


def edited(chosen) -> dict[str, bytes]:
    """The bytes of the files that fixes change, by absolute path."""
    given = {}
    edits = {edit for fix in chosen for edit in fix.edits}
    for filename in {edit.filename for edit in edits}:
        own = [edit for edit in edits if edit.filename == filename]
        given[str(Path(filename).absolute())] = applied_to_bytes(Path(filename).read_bytes(), own)
    return given


def assert_fixed_to_the_end(request) -> fixing.Fixed:
    """Fail unless all fixes together give code that parses and needs no second run."""
    before = engine.check(request).diagnostics
    done = fixing.fixed(request, unsafe=True)
    assert not kinds(done.report.diagnostics) - kinds(before)
    assert len(done.report.diagnostics) <= len(before) - (done.report.fixed > 0)
    for change in done.changes:
        ast.parse(change.after)
        Path(change.path).write_bytes(change.after)
    again = fixing.fixed(request, unsafe=True)
    assert not again.changes, again.changes
    return done
