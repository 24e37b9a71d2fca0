"""``late-monkey-patch``: something was imported that keeps what the patch replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gblock.diagnostics import Location, Related, Severity
from gblock.rule import ProcessRule, Wording

if TYPE_CHECKING:
    from gblock.project.remarks import Remark
    from gblock.project.remarks.late_monkey_patch import Late

_FIRST = (
    "Patch first: make `from gevent import monkey; monkey.patch_all()` the first lines of the file "
    "in which the process begins."
)
_HELP = {
    "gunicorn": "Leave preload_app off, or call `monkey.patch_all()` at the top of gunicorn's "
    "settings file, before any other import.",
    "uwsgi": "Use gevent-early-monkey-patch, which patches before the application is loaded.",
}


class LateMonkeyPatch(ProcessRule):
    """A module that must be patched first is imported before monkey patching.

    ## What it does

    Follows the imports of each process that runs on gevent in the order in which Python executes
    them, through packages, side effects of imports and the functions that are called on the way.
    Reports the patch if something was imported before it that keeps what it replaces: a library
    such as requests, or a module of the project that does `from time import sleep`. Also reports
    gunicorn's `preload_app` and uWSGI's `gevent-monkey-patch`, which load the application before
    the server patches, and imports in gunicorn's settings file.

    ## Why it blocks the hub

    `monkey.patch_all()` replaces attributes of modules. Whoever took `time.sleep`,
    `socket.socket` or `ssl.SSLContext` before keeps the original: it waits in C, or, as with
    requests and its SSLContext, fails with a RecursionError.

    ## Use instead

    `from gevent import monkey; monkey.patch_all()` as the first lines of the file in which the
    process begins, or in a module that this file imports before all others.

    ## Limits

    Which libraries keep what was measured, library by library; an import that is not known to
    keep anything, such as `import os` or `import logging`, is no fault. Imports in an `if` whose
    outcome is not known are left out.
    """

    name = "late-monkey-patch"
    since = "0.1.0"

    VALID = {
        "patched first": """
            from gevent import monkey

            monkey.patch_all()

            import requests

            requests.get("https://example.org/")
            """,
        "what comes before keeps nothing": """
            import logging
            import os
            import sys
            import time

            from gevent import monkey

            monkey.patch_all()
            time.sleep(1)
            """,
    }
    INVALID = {
        "requests before the patch": """
            import requests
            from gevent import monkey

            monkey.patch_all()  # expect: late-monkey-patch
            requests.get("https://example.org/")
            """,
        "a patch in main()": """
            import boto3

            def main():
                from gevent import monkey

                monkey.patch_all()  # expect: late-monkey-patch
                boto3.client("s3").list_buckets()

            if __name__ == "__main__":
                main()
            """,
    }

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Name the worst import, and the way that leads to it."""
        facts: Late = remark.facts
        original = facts.original
        path = facts.place[0]
        module = name_of(facts.module) if facts.is_own else facts.module
        where = "" if path == remark.path else f" in {name_of(path)}"
        before = f"`{module}`{'' if facts.is_own else where} is imported before"
        if facts.text:
            message = f"`{facts.text}` comes too late: {before}"
        else:
            message = f"{before} {facts.server} patches"
        message += f" and keeps the original `{original.symbol}`, which {original.why}"
        if facts.more:
            message += f"; {facts.more} more such import{'s' if facts.more > 1 else ''}"
        steps = [*facts.chain, facts.place]
        related = tuple(
            Related(
                name_of(step[0]),
                Location(step[1], 1),
                "this leads to it"
                if number < len(steps) - 1
                else f"`{original.symbol}` is kept "
                + ("here" if facts.is_own else f"by `{facts.module}`, imported here"),
            )
            for number, step in enumerate(steps)
        )
        if facts.started is not None:
            path, row = facts.started
            here = f"{facts.server} is started here"
            related += (Related(name_of(path), Location(row, 1), here),)
        return Wording(
            Severity.ERROR if original.level == "error" else Severity.WARNING,
            message,
            _HELP.get(facts.server, _FIRST),
            "Monkey patching replaces attributes of modules: a name that was taken before keeps "
            "the original.",
            related,
            symbol=original.symbol,
        )
