"""The file that was inspected when gblock itself failed."""

from __future__ import annotations

from gblock.errors import FaultError, UserError
from gblock.files import relative_name


class Looking:
    """Adds the file's name to an unexpected exception that leaves the block.

    Args:
        path: The file that is inspected.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Do nothing; `__exit__` handles a failure."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, UserError | FaultError):
            raise FaultError(relative_name(self._path)) from error
