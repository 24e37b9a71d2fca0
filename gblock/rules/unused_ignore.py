"""``unused-ignore``: a suppression that hides nothing."""

from __future__ import annotations

from gblock.diagnostics import Diagnostic, Repair, Severity
from gblock.rule import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Protocol

    from gblock.diagnostics import Location

    class Unused(Protocol):
        """A comment that suppresses nothing."""

        @property
        def location(self) -> Location:
            """The start of the comment."""

        @property
        def end_location(self) -> Location:
            """The end of the comment."""

        @property
        def names(self) -> tuple[str, ...]:
            """The names that hide nothing, none for the whole comment."""

        @property
        def is_idle(self) -> bool:
            """True if it is well written and hides nothing."""

        @property
        def message(self) -> str:
            """The message of the diagnostic."""

        @property
        def help(self) -> str:
            """The remedy."""

    class Comments(Protocol):
        """The comments of one file, after its diagnostics were matched against them."""

        def unused(
            self, known: Collection[str], judged: Collection[str] | None, /
        ) -> Iterable[Unused]:
            """Yield the comments that suppress nothing."""


class UnusedIgnore(Rule):
    """A `# gblock: ignore` comment hides nothing.

    ## What it does

    Reports comments that hide no diagnostic: the call is gone, the name is misspelled, or the
    comment is on another line than the statement.

    ## Why it blocks the hub

    It does not, but a comment that hides nothing today hides the next call that is written on its
    line, before anyone has reviewed that call.

    ## Use instead

    Delete the comment, or the names in it that hide nothing.

    ## Limits

    Comments for rules that a run does not select are not reported.
    """

    name = "unused-ignore"
    since = "0.1.0"
    fixes = ("remove-ignore",)

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
        """Yield a diagnostic for each comment that suppresses nothing.

        Args:
            filename: The name to report.
            comments: The comments of the file.
            known: The names of all rules and the ids of all blockers.
            judged: The names and ids that the check looked for, None for all of them.
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
                repair=Repair("remove-ignore", unused.names) if unused.is_idle else None,
            )
