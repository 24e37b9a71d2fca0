"""``unused-ignore``: a suppression that hides nothing."""

from __future__ import annotations

from gblock.rule import Rule


class UnusedIgnore(Rule):
    """A `# gblock: ignore` comment hides nothing.

    ## What it does

    Reports comments that hide no diagnostic: the call is gone, the name is misspelt, or the comment
    stands on another line than the statement. It is the engine that knows: it counts what each
    comment hides.

    ## Why it blocks the hub

    It does not. But a comment that hides nothing today hides the next call on its line without
    anybody having looked at it.

    ## Use instead

    Delete the comment, or the names in it that hide nothing.

    ## Limits

    Comments for rules that a run does not select are left alone.
    """

    name = "unused-ignore"
    since = "0.1.0"

    VALID = {
        "a comment that hides something": """
            import os

            os.system("sync")  # gblock: ignore[blocking-call]
            """,
    }
    INVALID = {
        "nothing to hide": """
            import os

            os.getpid()  # gblock: ignore  # expect: unused-ignore
            """,
        "another rule's name": """
            import os

            run = os.system
            run("")  # gblock: ignore[spinning-loop]  # expect: blocking-call, unused-ignore
            """,
    }
