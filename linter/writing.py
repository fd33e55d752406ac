"""Writes a text into a file at once or not at all: a reader sees the old text or the new one, also when a run is cut short."""

from __future__ import annotations

import contextlib
import os


def obstacle(path: str) -> str:
    """Why a file cannot be written; "" if nothing is known to be in the way. Asked before the work is done."""
    if not path:
        return "it has no name"
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return "it is a folder"
    if not os.path.isdir(folder):
        return f"there is no folder {os.path.dirname(path)}"
    if os.path.exists(path) and not os.access(path, os.W_OK):
        return "it is read-only"
    if not os.path.exists(path) and not os.access(folder, os.W_OK):
        return f"the folder {folder} is read-only"
    return ""


def write(path: str, text: str) -> None:
    """Write a text in UTF-8; what UTF-8 does not have is written as an escape. Raises OSError, and the old file stays."""
    data = text.encode("utf-8", "backslashreplace")
    if path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)):
        _write_in_place(path, data)  # a device or a pipe, or what leads to one
        return
    target = os.path.realpath(path)
    try:
        replace(target, data)
    except PermissionError:
        _write_in_place(target, data)  # the file may be ours although the folder is not


def replace(target: str, data: bytes) -> None:
    """Put a file with these bytes in place of what is there. Raises OSError, and all stays as it was."""
    import tempfile

    handle, temporary = tempfile.mkstemp(
        prefix=f".{os.path.basename(target)[:100]}.", suffix=".tmp", dir=os.path.dirname(target)
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    """The mode of the file that is replaced, or that of a new one."""
    try:
        return os.stat(target).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _write_in_place(target: str, data: bytes) -> None:
    with open(target, "wb") as file:
        file.write(data)
