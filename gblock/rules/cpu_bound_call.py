"""``cpu-bound-call``: a call that computes for long."""

from __future__ import annotations

from gblock.call_rule import BlockerRule
from gblock.project.calls.sites import Found


class CpuBoundCall(BlockerRule):
    """A call computes for so long that other greenlets are delayed.

    ## What it does

    Reports password hashing, key derivation and key generation: calls that are slow on purpose,
    whatever their arguments. Calls whose time depends on the size of the input (JSON, pickling,
    compression, images, numeric work) are off unless selected: a static rule cannot know the size.
    Of these, the calls that parse or unpack a file which a client sends are reported: such a file
    may have megabytes.

    ## Why it blocks the hub

    The hub's thread computes. No greenlet runs until the call returns: a login with bcrypt at cost
    12 takes a quarter of a second, in which the process answers no other request.

    ## Use instead

    `gevent.get_hub().threadpool.apply(function, arguments)` where the call releases the GIL; the
    catalog lists which do. Where the call keeps the GIL, use another process instead.

    ## Limits

    Cost parameters are not read: a low cost such as `gensalt(4)` is reported too.
    """

    name = "cpu-bound-call"
    since = "0.1.0"
    fixes = ("threadpool",)
    kinds = frozenset({"cpu"})

    VALID = {
        "a salt is cheap": """
            import bcrypt

            salt = bcrypt.gensalt()
            """,
        "in a native thread": """
            import bcrypt
            import gevent

            def check(password, hashed):
                return gevent.get_hub().threadpool.apply(bcrypt.checkpw, (password, hashed))
            """,
        "a file of the service itself is parsed": """
            import pandas

            def load():
                return pandas.read_csv("rates.csv")
            """,
        "what depends on the size is off": """
            import json

            def load(text):
                return json.loads(text)
            """,
    }
    INVALID = {
        "a password is hashed": """
            import bcrypt

            def register(password):
                return bcrypt.hashpw(password, bcrypt.gensalt())  # expect: cpu-bound-call
            """,
        "a file that a client sends is parsed": """
            import pandas
            from flask import Flask, request

            app = Flask(__name__)

            @app.route("/orders", methods=["POST"])
            def load():
                orders = pandas.read_csv(request.files["orders"])  # expect: cpu-bound-call
                return {"orders": len(orders)}
            """,
        "a key is derived": """
            from hashlib import pbkdf2_hmac as derive

            def key(password, salt):
                return derive("sha256", password, salt, 600_000)  # expect: cpu-bound-call
            """,
    }

    def effect(self, found: Found) -> str:
        """Return the second half of the message: the call, or what it serves, computes."""
        if found.blocker.serves:
            return "serves requests that compute, and the hub stands still during each"
        if found.blocker.uploaded:
            return (
                "computes on a file that a client sends, and the hub stands still until it returns"
            )
        return "computes, and the hub stands still until it returns"
