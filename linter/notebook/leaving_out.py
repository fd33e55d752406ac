"""A notebook without cells that cannot be read although they run: what they may have changed is unknown from there on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stridelint.linter import screen
from stridelint.linter.notebook.magics import UNKNOWN
from stridelint.linter.notebook.program import Program

# What changes things that a cell does not name.
_FAR_REACHING = frozenset({"exec", "eval", "globals", "setattr", "delattr", "vars", "__dict__"})


class _Read(NamedTuple):
    """A cell: its number, its lines in the program, and its tree."""

    number: int
    lines: range
    tree: ast.Module


def without_rejected(program: Program, rejected: Callable[[str], str]) -> Program | None:
    """The program without the cells that `rejected` gives a reason for, each told in `broken`; no line moves.

    None if it rejects no single cell, or one of which cannot be told what it changes.
    """
    lines = program.text.split("\n")
    cells = [_read(program, lines, cell.number, cell.first) for cell in program.cells]
    reasons = {cell.number: reason for cell in cells if (reason := rejected(_text(lines, cell.lines)))}
    if not reasons:
        return None
    names: set[str] = set()
    for cell in cells:
        if cell.number not in reasons:
            names |= set(_variables(cell.tree))
            continue
        if _reaches_far(cell.tree):
            return None
        names |= set(_bound(cell.tree))
        first, *rest = cell.lines
        lines[first - 1] = " = ".join((*sorted(names), UNKNOWN))
        for number in rest:
            lines[number - 1] = ""
    broken = (*program.broken, *(f"cell {number} {reason}" for number, reason in reasons.items()))
    return program._replace(text="\n".join(lines), broken=broken)


def _read(program: Program, lines: list[str], number: int, first: int) -> _Read:
    inside = program.around(first)
    return _Read(number, inside, screen.parse(_text(lines, inside)))


def _text(lines: list[str], inside: range) -> str:
    return "".join(f"{lines[number - 1]}\n" for number in inside)


def _variables(tree: ast.Module) -> Iterator[str]:
    """Names that are assigned somewhere: what they stand for may be changed elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _bound(tree: ast.Module) -> Iterator[str]:
    """Names that stand for something else afterwards, or for something with other attributes."""
    yield from _variables(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)):
            yield from [node.name] if node.name else []
        elif isinstance(node, ast.MatchMapping):
            yield from [node.rest] if node.rest else []
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            yield node.id
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            yield from (each.id for each in ast.walk(node.value) if isinstance(each, ast.Name))


def _reaches_far(tree: ast.Module) -> bool:
    """Whether a cell may change what it does not name: by imports of everything, or settings of torch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and node.name == "*":
            return True
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in _FAR_REACHING or name.startswith("set_"):
            return True
    return False
