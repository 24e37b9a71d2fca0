"""``foreign-call``: a call into a library that is loaded by hand."""

from __future__ import annotations

from gblock.call_rule import BlockerRule
from gblock.project.calls.sites import Found


class ForeignCall(BlockerRule):
    """A function of a shared library is called through ctypes or cffi.

    ## What it does

    Reports calls of functions of libraries that `ctypes` or `cffi` loaded. Off unless selected.

    ## Why it blocks the hub

    Whatever the function does, it does on the hub's thread, and gevent cannot know of it.

    ## Use instead

    `gevent.get_hub().threadpool.apply(function, arguments)` for what can take long. It helps with
    `CDLL` and cffi, which release the GIL, and not with `PyDLL`, which keeps it.

    ## Limits

    What the function does is not known; most return at once. A library that is loaded in one
    function and handed on without annotation is not seen.
    """

    name = "foreign-call"
    since = "0.1.0"
    on_by_default = False
    kinds = frozenset({"foreign"})

    VALID = {
        "a library is only loaded": """
            import ctypes

            library = ctypes.CDLL("libc.so.6")
            """,
    }
    INVALID = {
        "a function of libc": """
            import ctypes

            library = ctypes.CDLL("libc.so.6")
            library.usleep(500_000)  # expect: foreign-call
            """,
    }

    def effect(self, found: Found) -> str:
        """Return the second half of the message: whether the code waits or computes is unknown."""
        return "runs code on the hub's thread that gblock does not know"
