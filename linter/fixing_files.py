"""Fixed files: written so that nothing is ever lost, or shown as a diff."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator

from stridelint.linter import source
from stridelint.linter.reports import escaping


class NotWritten(Exception):
    """The file is as it was; the text says why."""


def write(path: str, old: bytes, new: bytes) -> None:
    """Put the new bytes in the place of the old ones, at once or not at all; mode and links stay what they are.

    Raises NotWritten if the file is not what it was when it was read, or cannot be written.
    """
    target = os.path.realpath(path)
    temporary = None
    try:
        if not os.access(target, os.W_OK):
            raise NotWritten("it is read-only")
        handle, temporary = tempfile.mkstemp(
            prefix=f".{os.path.basename(target)}.", suffix=".tmp", dir=os.path.dirname(target)
        )
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(target, temporary)
        with open(target, "rb") as file_now:
            if file_now.read() != old:
                raise NotWritten("it was changed meanwhile")
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def diff(path: str, old: bytes, new: bytes, plain: bool = True) -> Iterator[str]:
    """A unified diff of two versions of a file, in parts that end their lines themselves.

    plain: `patch -p0` takes it. Otherwise it is to be looked at, on a terminal that nothing in the file must reach.
    """
    name = path if plain else escaping.line(path)
    for line in difflib.unified_diff(_lines(old), _lines(new), name, name):
        shown = line if plain else escaping.visible(line)
        yield shown if line.endswith("\n") else f"{shown}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    """Lines as a diff has them: a carriage return is a character like others."""
    *lines, rest = source.decode(data).split("\n")
    return [*(line + "\n" for line in lines), *([rest] if rest else [])]
