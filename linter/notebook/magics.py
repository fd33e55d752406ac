"""What IPython adds to Python: magics, shell commands and questions, put aside line by line so that no other line moves.

A name that such a line assigns becomes something unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stridelint.linter import screen

# Cell magics that leave the rest of a cell Python; after any other one it is something else.
PYTHON_CELLS = frozenset({"capture", "debug", "prun", "python", "python3", "time", "timeit"})
# Commands that IPython takes without `%`, as long as no variable has the name.
_COMMANDS = (
    "cat cd clear conda cp env less ll load_ext ls mamba man matplotlib mkdir more mv pip pwd rm rmdir run time timeit uv"
).split()
UNKNOWN = "get_ipython()"
_CELL = re.compile(r"\s*%%(\w*)\s*(\w*)")
_NO_TARGET = ("", *"!%<>+-*/&|^@:")  # what a comparison or another assignment has before its `=`
_MAGIC = re.compile(r"\s*[%!?]")
# `%time x = f()` runs what follows, and so may other magics.
_ASSIGNING = re.compile(r"\s*%\w+\s+(?:-\S+\s+(?:\d+\s+)?)*([^\W\d]\w*(?:\s*,\s*[^\W\d]\w*)*)\s*=(?!=)")
_QUESTION = re.compile(r"[^#\"']*\?\s*")
_COMMAND = re.compile(rf"\s*(?:{'|'.join(_COMMANDS)})\s+\S")
_TELLING = re.compile(r"#|\"\"\"|'''|[\"']|[\[({]|[\])}]|\\$")
_STRING_ENDS = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote}") for quote in ('"', "'", '"""', "'''")}


def plain(lines: Sequence[str]) -> list[str] | None:
    """The lines of a cell as Python; None if the cell is something else. Raises nothing: what is left may be wrong Python."""
    result = list(lines)
    first = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    cell = _CELL.match(lines[first]) if first < len(lines) else None
    if cell is not None:
        if cell[1] not in PYTHON_CELLS:
            return None
        result[first] = f"{cell[2]} = {UNKNOWN}" if cell[1] == "capture" and cell[2] else ""
    state = _State()
    is_command = False  # and goes on in the next line
    for index, line in enumerate(result):
        if is_command:
            result[index] = ""
            is_command = line.endswith("\\")
        elif state.is_inside:
            state.read(line)
        else:
            result[index] = _replaced(line)
            is_command = result[index] != line and line.endswith("\\")
            state.read(result[index])
    return result


def _replaced(line: str) -> str:
    """A line that begins a statement, as Python."""
    indent = line[: len(line) - len(line.lstrip())]
    target, equals, value = line.partition("=")
    if value.lstrip()[:1] in ("!", "%") and "#" not in target and target.strip()[-1:] not in _NO_TARGET:
        return f"{target}{equals} {UNKNOWN}"
    if _MAGIC.match(line):
        assigning = _ASSIGNING.match(line)
        return f"{indent}{assigning[1]} = {UNKNOWN}" if assigning is not None else f"{indent}pass"
    if _QUESTION.fullmatch(line) or (_COMMAND.match(line) and not _is_python(line)):
        return f"{indent}pass"
    return line


def _is_python(line: str) -> bool:
    try:
        screen.parse(line.strip())
    except screen.Unparsable:
        return False
    return True


class _State:
    """Whether the next line goes on with a statement: by an open bracket or string, or a backslash."""

    def __init__(self) -> None:
        self.depth = 0
        self.quote = ""
        self.continued = False

    @property
    def is_inside(self) -> bool:
        return self.depth > 0 or bool(self.quote) or self.continued

    def read(self, line: str) -> None:
        """Take in one line."""
        self.continued = False
        at = 0
        while at < len(line):
            match = (_STRING_ENDS[self.quote].match if self.quote else _TELLING.search)(line, at)
            if match is None or match[0] == "#":
                break
            at = match.end()
            token = match[0]
            if self.quote:
                self.quote = ""
            elif token == "\\":
                self.continued = True
            elif token[0] in "\"'":
                self.quote = token
            else:
                self.depth = max(0, self.depth + (1 if token in "[({" else -1))
        if len(self.quote) == 1 and not line.endswith("\\"):
            self.quote = ""  # a line end ends such a string, rightly or not
