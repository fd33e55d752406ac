"""Where the code of a notebook stands in its file: the very line and column of the JSON text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = re.compile(r"[ \t\r\n]*")
# A character of a JSON string, as it is written.
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_decode = JSONDecoder().raw_decode


class FilePlaces:
    """Places in the text of a notebook, which must be valid."""

    def __init__(self, text: str) -> None:
        self.lines = _LINE_END.split(text)
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._cells = list(_cells(text))

    def place(self, cell: int, line: int, column: int, behind: bool = False) -> tuple[int, int]:
        """Line and column in the file of a character in a cell, or `behind` the one before it; all count from 1."""
        strings = self._cells[cell - 1]
        decoded = [scanstring(self._text, start)[0] for start in strings]
        text = "".join(decoded)
        offset = [0, *(match.end() for match in _LINE_END.finditer(text))][line - 1] + column - 1
        ends = list(accumulate(map(len, decoded)))
        index = min((bisect_left if behind else bisect_right)(ends, offset), len(ends) - 1)
        position = strings[index]
        for _ in range(offset - (ends[index] - len(decoded[index]))):
            match = _CHARACTER.match(self._text, position)
            assert match is not None
            position = match.end()
        number = bisect_right(self._starts, position)
        return number, position - self._starts[number - 1] + 1


def _cells(text: str) -> Iterator[list[int]]:
    """For each cell, where the strings of its source begin, behind the quotes."""
    for key, start in _members(text, _blank(text, 0)):
        if key == "cells":
            found = start
    for cell in _items(text, found):
        strings: list[int] = []
        for key, start in _members(text, cell) if text[cell] == "{" else ():
            if key == "source":
                strings = [each + 1 for each in (_items(text, start) if text[start] == "[" else (start,))]
        yield strings


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The keys of the object that begins there, and where their values begin."""
    at = _blank(text, at + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        start = _blank(text, _blank(text, at) + 1)
        yield key, start
        at = _next(text, start)


def _items(text: str, at: int) -> Iterator[int]:
    """Where the items of the array that begins there begin."""
    at = _blank(text, at + 1)
    while text[at] != "]":
        yield at
        at = _next(text, at)


def _next(text: str, start: int) -> int:
    """Where something follows a value and a comma, or the end of what the value is in."""
    at = _blank(text, _decode(text, start)[1])
    return _blank(text, at + 1) if text[at] == "," else at
