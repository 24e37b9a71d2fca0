"""``foreign-call``: a call into a library that is loaded by hand."""

from __future__ import annotations

from gblock.call_rule import BlockerRule
from gblock.project.calls.sites import Found


class ForeignCall(BlockerRule):
    """A function of a shared library is called through ctypes or cffi.

    ## What it does

    Reports calls of functions of libraries that `ctypes` or `cffi` loaded. Off unless selected.

    ## Why it blocks the hub

    The function runs on the hub's thread, and gevent has no control over it.

    ## Use instead

    `gevent.get_hub().threadpool.apply(function, arguments)` for slow functions. It helps with
    `CDLL` and cffi, which release the GIL, and not with `PyDLL`, which keeps it.

    ## Limits

    It is unknown what the function does; most return at once. A library that is loaded in one
    function and passed to another without an annotation is not recognised.
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
        "a function of a library": """
            import ctypes

            library = ctypes.CDLL("libscale.so.1")
            library.read_weight(1)  # expect: foreign-call
            """,
    }

    def effect(self, found: Found) -> str:
        """Return the second half of the message: whether the code waits or computes is unknown."""
        return "runs code on the hub's thread that gblock does not know"
