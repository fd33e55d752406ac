"""Text with replacements made in it: places, bytes, and the lines things stand on afterwards."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Sequence

from stridelint.linter import source
from stridelint.linter.findings import Replacement

_LINE_END = re.compile(r"\r\n|\r|\n")


def apply(text: str, edits: Iterable[Replacement]) -> str:
    """The text with the replacements, which do not overlap."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    parts, done = [], 0
    for edit in sorted(edits):
        start = starts[edit.line - 1] + edit.column - 1
        parts += [text[done:start], edit.text]
        done = starts[edit.end_line - 1] + edit.end_column - 1
    return "".join((*parts, text[done:]))


def overlap(one: Replacement, other: Replacement) -> bool:
    """Whether two replacements touch the same characters."""
    first, second = sorted((one, other))
    return (second.line, second.column) < (first.end_line, first.end_column) or first == second


Moves = Callable[[int], range]


def moved(edits: Sequence[Replacement]) -> Moves:
    """Where a line is after some replacements: several answers where it is itself replaced by more lines."""
    growth = [(edit, len(_LINE_END.findall(edit.text)) - (edit.end_line - edit.line)) for edit in edits]

    def lines(line: int) -> range:
        before = sum(more for edit, more in growth if edit.end_line < line)
        within = [more for edit, more in growth if edit.line <= line <= edit.end_line]
        first = line + before + sum(more for more in within if more < 0)
        return range(first, line + before + sum(more for more in within if more > 0) + 1)

    return lines


def then(first: Moves, second: Moves) -> Moves:
    """Where a line is after both."""

    def lines(line: int) -> range:
        between = first(line)
        return range(second(between[0])[0], second(between[-1])[-1] + 1)

    return lines


NOT_WRITTEN_BACK = "the file cannot be written back as it is: its encoding has several ways to write it, or none"


def encoder(data: bytes) -> Callable[[str], bytes]:
    """How a file with these bytes writes text: its encoding, with a byte-order mark if it has one."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    encoding = source.encoding_of(data)
    if encoding.startswith("utf-8"):
        encoding = "utf-8"
    return lambda text: mark + text.encode(encoding)


def is_written_back(data: bytes) -> bool:
    """Whether a file's text, written again, makes the same bytes: not all encodings have one way to write a text, or any."""
    try:
        return encoder(data)(source.decode(data)) == data
    except UnicodeError:
        return False
