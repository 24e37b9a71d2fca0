"""Which file was looked at when gblock itself failed."""

from __future__ import annotations

from gblock.errors import FaultError, UserError
from gblock.files import relative_name


class Looking:
    """Names the file in an exception that leaves the block and that gblock did not expect.

    Args:
        path: The file that is looked at.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing is needed until something fails."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, UserError | FaultError):
            raise FaultError(relative_name(self._path)) from error
