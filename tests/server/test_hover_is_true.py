"""The programs of fixtures/ are run, and no hover on a name may contradict a tensor that the name then stood for."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from stridelint.linter.server.answers import hover

torch = pytest.importorskip("torch")
FIXTURES = Path(__file__).parents[2] / "fixtures"
PROGRAMS = sorted([*(FIXTURES / "ways").glob("*.py"), *(FIXTURES / "programs").glob("*.py")])


class Target(NamedTuple):
    """A name that a line assigns to."""

    line: int
    column: int
    name: str


class Real(NamedTuple):
    """A tensor as it is."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    is_contiguous: bool
    is_channels_last: bool


def targets_of(text: str) -> Iterator[Target]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and node.lineno == node.end_lineno:
            for target in node.targets:
                for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(each, ast.Name):
                        yield Target(node.lineno, each.col_offset, each.id)


def observed(path: Path) -> dict[Target, set[Real]]:
    """The tensors that each target was given when the program ran, until it raised, as most of them do."""
    text, name = path.read_text(encoding="utf-8"), str(path)
    by_line: dict[int, list[Target]] = {}
    for target in targets_of(text):
        by_line.setdefault(target.line, []).append(target)
    seen: dict[Target, set[Real]] = {}
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != name:
            return None
        for target in by_line.get(last.get(id(frame), 0), ()):
            value: Any = frame.f_locals.get(target.name)
            if type(value) in (
                torch.Tensor,
                torch.nn.Parameter,
            ) and not torch._C._functorch.is_functorch_wrapped_tensor(value):
                last_format = value.dim() == 4 and value.is_contiguous(memory_format=torch.channels_last)
                dtype = str(value.dtype).removeprefix("torch.")
                real = Real(tuple(value.shape), value.stride(), dtype, value.is_contiguous(), last_format)
                seen.setdefault(target, set()).add(real)
        last[id(frame)] = frame.f_lineno if event == "line" else 0
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(compile(text, name, "exec"), {"__name__": "__main__", "__file__": name})
    except Exception:
        pass
    finally:
        sys.settrace(before)
    return seen


def variants(text: str) -> list[dict[str, str]]:
    """The columns of a hover's table."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip().strip("`") for cell in row] for row in rows]
    return (
        [{row[0]: row[column] for row in cells if row[column] != "–"} for column in range(1, len(cells[0]))]
        if cells
        else []
    )


def agrees(said: dict[str, str], real: Real) -> bool:
    """Whether a column is true of a tensor; symbols stand for any size."""
    shape, strides, layout = (said.get(name, "") for name in ("shape", "strides", "layout"))
    if "by the path taken" in "".join(said.values()):
        return True
    return (
        _fits(shape, real.shape)
        and _fits(strides, real.strides)
        and ("dtype" not in said or said["dtype"] == real.dtype)
        and (not layout or layout.startswith("row-major") == real.is_contiguous)
        and (not layout or len(real.shape) != 4 or ("channels_last" in layout) == real.is_channels_last)
    )


def _fits(said: str, real: tuple[int, ...]) -> bool:
    dims = said.strip("()").replace(",", " ").split()
    return not said or (
        len(dims) == len(real) and all(int(dim) == size for dim, size in zip(dims, real) if dim.lstrip("-").isdigit())
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_hover_contradicts_what_happens(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target, values in observed(path).items():
        told = hover(text, target.line, target.column)
        columns = variants(told.text) if told is not None else []
        for real in values if columns else ():
            assert any(agrees(column, real) for column in columns), f"{target}: {real}\n{told.text if told else ''}"


def test_most_names_of_the_programs_are_told() -> None:
    """Else the test above would compare nothing."""
    asked = told = 0
    for path in PROGRAMS[::6]:
        text = path.read_text(encoding="utf-8")
        for target in observed(path):
            asked += 1
            found = hover(text, target.line, target.column)
            told += found is not None and "| shape" in found.text
    assert asked > 10 and told > 0.8 * asked
