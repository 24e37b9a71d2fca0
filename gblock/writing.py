"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile

from gblock.errors import UserError


def write(path: str, text: str) -> None:
    """Replace a file atomically by a text in UTF-8.

    Raises:
        UserError: if it cannot be written; what was there before is still there.
    """
    # A path in it need not be Unicode.
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    """Put bytes in the place of a file, in one step; a pipe or a device is written to.

    Raises:
        UserError: if it cannot be written; what was there before is still there.
    """
    path = os.path.realpath(path)  # what a link points to is replaced, not the link
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            with open(path, "wb") as special:
                special.write(data)
        except OSError as error:
            raise UserError(path, f"cannot be written: {error.strerror}") from None
        return
    temporary = ""
    try:
        mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".gblock-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise UserError(path, f"cannot be written: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
