"""``unused-ignore``: a suppression that hides nothing."""

from __future__ import annotations

from gblock.diagnostics import Diagnostic, Severity
from gblock.rule import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Protocol

    from gblock.diagnostics import Location

    class Unused(Protocol):
        """A comment that hid nothing."""

        @property
        def location(self) -> Location:
            """Where it begins."""

        @property
        def end_location(self) -> Location:
            """Where it ends."""

        @property
        def message(self) -> str:
            """What is wrong with it."""

        @property
        def help(self) -> str:
            """What to do about it."""

    class Comments(Protocol):
        """The comments of one file, once every diagnostic of it was compared with them."""

        def unused(
            self, known: Collection[str], judged: Collection[str] | None, /
        ) -> Iterable[Unused]:
            """Yield those that hid nothing."""


class UnusedIgnore(Rule):
    """A `# gblock: ignore` comment hides nothing.

    ## What it does

    Reports comments that hide no diagnostic: the call is gone, the name is misspelt, or the comment
    stands on another line than the statement. The engine counts what each comment hides.

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

    @classmethod
    def reported(
        cls,
        filename: str,
        comments: Comments,
        known: Collection[str],
        judged: Collection[str] | None,
    ) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each comment that hid nothing.

        Args:
            filename: The name to report.
            comments: The comments of the file.
            known: The names of all rules and the ids of all blockers.
            judged: Those that the check looked for, None for all of them.
        """
        for unused in comments.unused(known, judged):
            yield Diagnostic(
                filename=filename,
                location=unused.location,
                end_location=unused.end_location,
                code=cls.name,
                severity=Severity.WARNING,
                message=unused.message,
                help=unused.help,
            )
