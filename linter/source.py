"""Reads a file as Python does: bytes, byte-order mark, coding comment (PEP 263), any line ending."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

# A hand-written module of this size is unheard of; a machine-made one takes LibCST minutes.
MAX_BYTES = 2_000_000
# A notebook holds what its code has shown, too, such as pictures.
MAX_NOTEBOOK_BYTES = 100_000_000
NOTEBOOK = ".ipynb"


class Unreadable(Exception):
    """The file cannot be analysed; the text says why, in words for the user."""


class Source(NamedTuple):
    """A file's text. `explicit`: the user named this very file."""

    path: str
    data: bytes
    explicit: bool = False

    @property
    def is_notebook(self) -> bool:
        """Whether it is a Jupyter notebook, by its name; its text then is JSON, see `notebook.program`."""
        return self.path.endswith(NOTEBOOK)

    @property
    def text(self) -> str:
        """The decoded text, without a byte-order mark, line endings as written."""
        return decode(self.data)


def read(path: str, explicit: bool = False) -> Source:
    """The bytes of a file, if they can be Python source at all."""
    try:
        with open(path, "rb", opener=_opened) as file:
            limit, state = _limit(path), os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                # What comes out of it cannot be read twice, and may never come.
                raise Unreadable("is no regular file; the way to check what comes from a pipe is 'stridelint check -'")
            if state.st_size > limit:
                raise Unreadable(_too_large(state.st_size, limit))
            data = file.read(limit + 1)  # not more, even if it grows
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a path with a NUL
        raise Unreadable(f"cannot be read: {error}") from None
    return from_bytes(path, data, explicit)


def _opened(path: str, flags: int) -> int:
    """Open a file without waiting: a pipe that nobody writes to would keep us for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def from_bytes(path: str, data: bytes, explicit: bool = False) -> Source:
    """The same checks for text from another place, such as standard input."""
    if len(data) > _limit(path):
        raise Unreadable(_too_large(len(data), _limit(path)))
    file = Source(path, data, explicit)
    if not file.is_notebook:
        if b"\0" in data:
            raise Unreadable("contains NUL bytes: not Python source")
        decode(data)
    return file


def state_of(path: str) -> tuple[int, int] | None:
    """When a file was changed, and its size; None if there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def digest(data: bytes) -> str:
    """What tells whether the bytes of a file are the same as before."""
    import hashlib

    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _limit(path: str) -> int:
    return MAX_NOTEBOOK_BYTES if path.endswith(NOTEBOOK) else MAX_BYTES


def _too_large(size: int, limit: int) -> str:
    return f"too large: {size:,} bytes, the limit is {limit:,}"


def encoding_of(data: bytes) -> str:
    """The encoding that the bytes of a Python file are in, by their first two lines."""
    head = data.split(b"\n", 2)[:2]
    # tokenize takes a while to import, and hardly any file has a coding comment.
    if not any(b"coding" in line for line in head):
        return "utf-8-sig"
    import io
    import tokenize

    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        raise Unreadable(f"cannot be decoded: {error.msg or error}") from None


def decode(data: bytes) -> str:
    """Text of the bytes of a Python file."""
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        name = "UTF-8" if encoding.startswith("utf-8") else encoding
        # Some encodings do not tell where, or count in something else than our bytes.
        if not isinstance(error, UnicodeDecodeError) or error.object != data or error.start >= len(data):
            raise Unreadable(f"is not {name}: {error.__cause__ or error}") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not {name}: byte 0x{data[error.start]:02x} on line {line}") from None
    except LookupError:  # a codec that does not decode to text, such as "hex"
        raise Unreadable(f"cannot be decoded: '{encoding}' is not a text encoding") from None
    return text.removeprefix("\ufeff")


_LINE_END = re.compile(r"\r\n|\r|\n")
_AFTER_LINE_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")


def lines(text: str) -> list[str]:
    """The lines as Python counts them: only LF, CR and CRLF end one (str.splitlines knows many more)."""
    return _LINE_END.split(text)


def first_line(node: ast.stmt | ast.expr) -> int:
    """The line a statement or expression begins on, decorators included; counted from 1."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def lines_with_ends(text: str) -> list[str]:
    """The same lines, each with what ends it."""
    return _AFTER_LINE_END.split(text)
