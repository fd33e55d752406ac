"""What a finding is known by from one run to the next, wherever its code has moved.

A fingerprint is made of the rule, the function or class the code stands in, and the code itself without white space: not of
the path, the line or the message. Equal ones are told apart by counting. Baselines, sarif and gitlab all use it.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import source
from stridelint.linter.findings import Reported

if TYPE_CHECKING:
    import ast

    from stridelint.linter.notebook.file_places import FilePlaces
    from stridelint.linter.notebook.program import Program

_BLOCK = 100  # characters of code that GitHub's line hash reaches over
_MASK = (1 << 64) - 1


class Identity(NamedTuple):
    """What stays of a finding when its code moves. scope: "Model.forward"; "" at the top of a file. code: on one line."""

    scope: str
    code: str
    fingerprint: str


class Sources:
    """The texts that findings are about, read once each. `given`: what was read from elsewhere, such as standard input.

    Of a notebook it is the program (see `notebook.program`), in which findings count lines.
    """

    def __init__(self, given: Mapping[str, bytes] | None = None) -> None:
        self._given = dict(given or {})
        self.data = functools.cache(self._data)
        self.lines = functools.cache(self._lines)
        self._line_hashes = functools.cache(self._hashes_of)
        self._scopes = functools.cache(self._scopes_of)
        self._program = functools.cache(self._program_of)
        self._file_places = functools.cache(self._file_places_of)

    def _data(self, path: str) -> bytes | None:
        """The bytes of a file; None if it is not there or not Python source."""
        if path in self._given:
            return self._given[path]
        try:
            return source.read(path).data
        except source.Unreadable:
            return None

    def text(self, path: str) -> str:
        """The text of a file; "" if there is none."""
        program = self._program(path)
        if program is not None:
            return program.text
        data = self.data(path)
        try:
            return "" if data is None else source.decode(data)
        except source.Unreadable:
            return ""

    def _lines(self, path: str) -> list[str]:
        """The lines of a file; none if it cannot be read. Of a notebook's program as the cells have them."""
        program = self._program(path)
        if program is not None:
            return list(program.lines)
        text = self.text(path)
        return source.lines(text) if text else []

    def line(self, path: str, number: int) -> str:
        """A line of a file; "" if there is no such line."""
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _program_of(self, path: str) -> Program | None:
        if not path.endswith(source.NOTEBOOK):
            return None
        from stridelint.linter.notebook import program as notebook

        data = self.data(path)
        try:
            return notebook.NOTHING if data is None else notebook.read(data)
        except source.Unreadable:
            return notebook.NOTHING

    def _file_places_of(self, path: str) -> FilePlaces:
        from stridelint.linter.notebook.file_places import FilePlaces

        return FilePlaces(source.decode(self.data(path) or b""))

    def cell(self, path: str, line: int) -> tuple[int, int]:
        """The cell of a notebook that a line is in, and the line in that cell; (0, line) for other files."""
        program = self._program(path)
        return (0, line) if program is None else program.place(line)

    def around(self, path: str, line: int) -> range:
        """The lines of a file, or of the cell of a notebook, that a line belongs to."""
        program = self._program(path)
        return range(1, len(self.lines(path)) + 1) if program is None else program.around(line)

    def in_file(self, path: str, line: int, column: int = 1, behind: bool = False) -> tuple[int, int]:
        """Line and column in the very file: of a notebook, in its JSON. `behind`: the column is where a range ends."""
        cell, line_in_cell = self.cell(path, line)
        return self._file_places(path).place(cell, line_in_cell, column, behind) if cell else (line, column)

    def line_in_file(self, path: str, number: int) -> str:
        """A line of the very file; "" if there is no such line."""
        if self._program(path) is None:
            return self.line(path, number)
        lines = self._file_places(path).lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def is_unchanged(self, finding: Reported) -> bool:
        """Whether the file still has the line that was judged."""
        return bool(finding.excerpt) and self.line(finding.path, finding.line) == finding.excerpt

    def code(self, finding: Reported) -> str:
        """The code that a finding marks; of a file that has changed since, what is left of it on the first line."""
        last = finding.end_line if self.is_unchanged(finding) else finding.line
        lines = [finding.excerpt, *self.lines(finding.path)[finding.line : last]]
        if finding.end_line == last:
            lines[-1] = lines[-1][: finding.end_column - 1]
        lines[0] = lines[0][finding.column - 1 :]
        return "\n".join(lines)

    def identity(self, finding: Reported) -> Identity:
        """What the finding is known by."""
        import hashlib

        code = self.code(finding)
        scope = self.scope(finding.path, finding.line) if self.is_unchanged(finding) else ""
        told = "\0".join(("1", finding.code, scope, "".join(code.split())))
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        return Identity(scope, " ".join(code.split()), digest[:32])

    def numbered(self, findings: Iterable[Reported]) -> list[tuple[Reported, str]]:
        """The findings with their fingerprints; equal ones in a file get :1, :2 ... in the order of the lines."""
        counts: Counter[tuple[str, str]] = Counter()
        found = []
        for finding in findings:
            key = finding.path, self.identity(finding).fingerprint
            counts[key] += 1
            found.append((finding, f"{key[1]}:{counts[key]}"))
        return found

    def scope(self, path: str, line: int) -> str:
        """The innermost function or class that a line stands in, with those around it."""
        return next((name for first, last, name in reversed(self._scopes(path)) if first <= line <= last), "")

    def _scopes_of(self, path: str) -> list[tuple[int, int, str]]:
        """First line, last line and name of all functions and classes, outer ones before inner ones."""
        import ast

        try:
            tree = ast.parse(self.text(path))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        found = []
        todo: list[tuple[ast.AST, str]] = [(tree, "")]
        while todo:
            node, prefix = todo.pop()
            for child in ast.iter_child_nodes(node):
                inner = prefix
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    inner = f"{prefix}.{child.name}" if prefix else child.name
                    found.append((source.first_line(child), child.end_lineno or child.lineno, inner))
                todo.append((child, inner))
        return sorted(found, key=lambda scope: (scope[0], -scope[1]))

    def line_hash(self, path: str, line: int) -> str:
        """GitHub's `primaryLocationLineHash` of a line of the very file; "" if it has no such line."""
        hashes = self._line_hashes(path)
        return hashes[line - 1] if 0 < line <= len(hashes) else ""

    def _hashes_of(self, path: str) -> list[str]:
        data = self.data(path)
        return [] if data is None else line_hashes(data)


def line_hashes(data: bytes) -> list[str]:
    """GitHub's hash of each line of a file, which its `upload-sarif` action compares with its own.

    It is taken of the first 100 UTF-16 units from the start of the line on, white space left out and line ends as LF, with
    65535 at the end of the file and zeros behind; ":2" marks the second line with the same hash.
    """
    from array import array

    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    units = array("H")
    units.frombytes(text.encode("utf-16-le" if sys.byteorder == "little" else "utf-16-be"))
    starts = [0, *(index + 1 for index, unit in enumerate(units) if unit == 10)]
    units.extend([65535, *[0] * _BLOCK])
    counts: Counter[bytes] = Counter()
    hashes = []
    for start in starts:
        block = units[start : start + _BLOCK]
        key = block.tobytes()
        counts[key] += 1
        hashes.append(f"{_polynomial(key):x}:{counts[key]}")
    return hashes


@functools.lru_cache(maxsize=4096)
def _polynomial(block: bytes) -> int:
    from array import array

    units = array("H")
    units.frombytes(block)
    value = 0
    for unit in units:
        value = (value * 37 + unit) & _MASK
    return value
