"""A notebook as one program: its code cells one below the other, each line of them a line of the program."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stridelint.linter import screen, source
from stridelint.linter.findings import NO_PATCH, Outcome, Reported
from stridelint.linter.notebook.magics import plain

if TYPE_CHECKING:
    import ast

FORMAT = 4
_LANGUAGES = frozenset({"python", "python3", "ipython", "ipython3"})


class Cell(NamedTuple):
    """A cell of the program: its number in the notebook, from 1 and with all kinds of cells counted, and its first line."""

    number: int
    first: int


class Program(NamedTuple):
    """text: Python, lines end with LF. lines: as the cells have them, magics and all. broken: cells left out, and why."""

    text: str
    lines: tuple[str, ...]
    cells: tuple[Cell, ...]
    broken: tuple[str, ...] = ()

    def place(self, line: int) -> tuple[int, int]:
        """The number of the cell that a line of the program is in, and the line in that cell; (0, line) without cells."""
        index = bisect_right(self.cells, line, key=lambda cell: cell.first) - 1
        if index < 0:
            return 0, line
        return self.cells[index].number, line - self.cells[index].first + 1

    def around(self, line: int) -> range:
        """The lines of the program that are in the same cell as this one."""
        index = bisect_right(self.cells, line, key=lambda cell: cell.first)
        first = self.cells[index - 1].first if index else 1
        return range(first, self.cells[index].first if index < len(self.cells) else len(self.lines) + 1)

    def as_written(self, path: str, outcome: Outcome) -> Outcome:
        """What came of the program: code as the cells have it, and without fixes, as notebooks are not written."""

        def written(findings: tuple[Reported, ...]) -> tuple[Reported, ...]:
            return tuple(
                each._replace(excerpt=self.lines[each.line - 1], patch=NO_PATCH) if each.path == path else each
                for each in findings
            )

        return outcome._replace(findings=written(outcome.findings), suppressed=written(outcome.suppressed))


NOTHING = Program("", (), ())


def read(data: bytes) -> Program:
    """The program in the bytes of a notebook; nothing for one in another language.

    Raises:
        source.Unreadable: it is no notebook, or of a format that is not known.
    """
    notebook = _notebook(data)
    if not _is_python(notebook.get("metadata")):
        return NOTHING
    return _Builder(notebook["cells"]).program()


def _notebook(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(source.decode(data))
    except json.JSONDecodeError as error:
        raise source.Unreadable(f"is no notebook: not valid JSON: {error.msg} on line {error.lineno}") from None
    except RecursionError:
        raise source.Unreadable("is no notebook: its JSON is nested too deeply") from None
    version = notebook.get("nbformat") if isinstance(notebook, dict) else None
    if not isinstance(version, int):
        raise source.Unreadable("is no notebook: it does not say of which format (nbformat) it is")
    if version != FORMAT:
        raise source.Unreadable(
            f"is a notebook of format {version}, and only format {FORMAT} is read: save it in that one"
        )
    if not isinstance(notebook.get("cells"), list):
        raise source.Unreadable("is no notebook: it has no list of cells")
    return dict(notebook)


def _is_python(metadata: object) -> bool:
    """Whether a notebook is in Python, by what it says of its language; one that says nothing is."""
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        told = metadata.get(key) if isinstance(metadata, Mapping) else None
        name = told.get(field) if isinstance(told, Mapping) else None
        if isinstance(name, str) and name:
            return name.lower() in _LANGUAGES
    return True


class _Builder:
    def __init__(self, cells: list[object]) -> None:
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.cells: list[Cell] = []
        self.broken: list[str] = []
        size = 0
        for number, text in _code_cells(cells):
            size += len(text)
            if size > source.MAX_BYTES:
                raise source.Unreadable(f"too large: its code has more than {source.MAX_BYTES:,} characters")
            self._add(number, source.lines(text))

    def program(self) -> Program:
        return Program("".join(self.parts), tuple(self.lines), tuple(self.cells), tuple(self.broken))

    def _add(self, number: int, lines: list[str]) -> None:
        python = plain(lines)
        if python is None:
            return
        text = "\n".join(python) + "\n"
        try:
            tree = screen.parse(text)
        except screen.Unparsable as error:
            self.broken.append(f"cell {number} {error}")
            return
        self.cells.append(Cell(number, len(self.lines) + 1))
        self.lines += lines
        self.parts.append(_with_result_used(text, tree))


def _code_cells(cells: list[object]) -> Iterator[tuple[int, str]]:
    """Number and text of each cell that may hold Python."""
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, Mapping) or cell.get("cell_type") != "code":
            continue
        written = cell.get("source")
        text = "".join(map(str, written)) if isinstance(written, list) else written
        if isinstance(text, str) and _is_python_cell(cell.get("metadata")):
            yield number, text


def _is_python_cell(metadata: object) -> bool:
    told = metadata.get("vscode") if isinstance(metadata, Mapping) else None
    language = told.get("languageId") if isinstance(told, Mapping) else None
    return not isinstance(language, str) or language.lower() in _LANGUAGES


def _with_result_used(text: str, tree: ast.Module) -> str:
    """The text with its last expression, which a notebook shows, made part of a tuple: so it is no result that nobody uses."""
    last: Any = tree.body[-1] if tree.body else None
    if type(last).__name__ != "Expr" or type(last.value).__name__ == "Constant":
        return text
    lines = text.split("\n")
    line = lines[last.end_lineno - 1].encode("utf-8", "surrogatepass")
    before, after = line[: last.end_col_offset], line[last.end_col_offset :]
    if after.lstrip().startswith(b";"):
        return text  # which keeps it from being shown
    lines[last.end_lineno - 1] = (before + b"," + after).decode("utf-8", "surrogatepass")
    used = "\n".join(lines)
    try:
        screen.parse(used)
    except screen.Unparsable:
        return text
    return used
