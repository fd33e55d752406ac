"""Texts as an editor keeps them: changes to them, and positions in the units that it counts in.

Lines count from 0 here and end as the protocol says (and Python does): with LF, CR or CRLF only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from stridelint.linter import source

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
_LINE_END = re.compile(r"\r\n|\r|\n")


class Position(NamedTuple):
    """A place between two characters; `character` in the units of the encoding that was agreed on."""

    line: int
    character: int


class Change(NamedTuple):
    """`text` in place of a range; of everything where there is none."""

    text: str
    start: Position | None = None
    end: Position | None = None


def units(text: str, encoding: str) -> int:
    """How long a text is: in UTF-16 an emoji counts 2."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def characters(text: str, count: int, encoding: str) -> int:
    """How many characters of a line `count` units make; a unit within a character stands for its beginning."""
    if encoding == UTF32 or text.isascii():
        return min(max(count, 0), len(text))
    done = 0
    for number, character in enumerate(text):
        done += units(character, encoding)
        if done > count:
            return number
    return len(text)


def position(lines: Sequence[str], line: int, column: int, encoding: str) -> Position:
    """The position before character `column` (from 0) of a line (from 1)."""
    if not 0 < line <= len(lines):
        return Position(len(lines), 0)
    return Position(line - 1, units(lines[line - 1][:column], encoding))


def changed(text: str, changes: Sequence[Change], encoding: str) -> str:
    """The text after changes, each of which counts in what the one before it left."""
    for change in changes:
        if change.start is None or change.end is None:
            text = change.text
            continue
        starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        lines = source.lines(text)
        first, last = (_offset(lines, starts, each, encoding) for each in (change.start, change.end))
        text = text[:first] + change.text + text[max(first, last) :]
    return text


def _offset(lines: Sequence[str], starts: Sequence[int], where: Position, encoding: str) -> int:
    if where.line >= len(lines):
        return starts[-1] + len(lines[-1])
    return starts[max(where.line, 0)] + characters(lines[max(where.line, 0)], where.character, encoding)


def as_source(path: str, text: str) -> source.Source:
    """A text as the bytes that a file of it would have.

    A coding comment is followed, so that reading the bytes gives the text again.

    Raises:
        source.Unreadable: no file can hold the text, or it is too large.
    """
    data = text.encode("utf-8", "replace")
    encoding = source.encoding_of(data)
    if not encoding.startswith("utf-8"):
        try:
            data = text.encode(encoding)
        except (UnicodeError, LookupError):
            raise source.Unreadable(f"cannot be written as its coding comment says: {encoding}") from None
    return source.from_bytes(path, data, explicit=True)


def edits(old: str, new: str, encoding: str) -> list[Change]:
    """Changes of whole lines that make one text the other."""
    from difflib import SequenceMatcher

    before, after = _with_ends(old), _with_ends(new)

    def start_of(number: int) -> Position:
        if number < len(before) or not before or before[-1] != before[-1].rstrip("\r\n"):
            return Position(number, 0)
        return Position(number - 1, units(before[-1], encoding))

    return [
        Change("".join(after[third:fourth]), start_of(first), start_of(second))
        for kind, first, second, third, fourth in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def _with_ends(text: str) -> list[str]:
    ends = [match.end() for match in _LINE_END.finditer(text)]
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)])]
    return pieces if pieces[-1] else pieces[:-1]
