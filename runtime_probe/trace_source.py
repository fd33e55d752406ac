"""Where in the source a call stands: from an instruction of a code object to a node of the file's tree."""

from __future__ import annotations

import ast
import itertools
import linecache
from dataclasses import dataclass, field
from types import CodeType

MAX_TEXT = 60


@dataclass(frozen=True, slots=True)
class Place:
    """A range of source; lines and columns count from 1, the end column is the one after the last character, 0 unknown."""

    path: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclass(slots=True)
class Module:
    """A source file as a tree."""

    path: str
    lines: list[str] = field(default_factory=list)
    nodes: dict[tuple[int, int, int, int], ast.AST] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def text(self, node: ast.AST | None) -> str:
        """How a node is written, on one line and shortened."""
        if node is None or getattr(node, "end_lineno", None) is None:
            return ""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        lines = [line.encode() for line in self.lines[first - 1 : last]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: node.end_col_offset]  # type: ignore[attr-defined]
        lines[0] = lines[0][node.col_offset :]  # type: ignore[attr-defined]
        text = " ".join(b"".join(lines).decode(errors="replace").split())
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."

    def place(self, node: ast.AST | None, line: int) -> Place:
        """The range of a node, or just the line."""
        if node is None or getattr(node, "end_lineno", None) is None:
            return Place(self.path, line)
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return Place(self.path, first, self._column(first, start), last, self._column(last, end))

    def _column(self, line: int, offset: int) -> int:
        """From an offset in bytes of UTF-8 to a column."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="replace")) + 1


_modules: dict[str, Module] = {}


def module(path: str) -> Module:
    """The tree of a file; one without nodes where it cannot be parsed."""
    if path not in _modules:
        made = Module(path, linecache.getlines(path))
        try:
            tree = ast.parse("".join(made.lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = ast.Module([], [])
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                made.parents[child] = parent
            if isinstance(parent, (ast.expr, ast.stmt)) and parent.end_lineno is not None:
                key = (parent.lineno, parent.end_lineno, parent.col_offset, parent.end_col_offset or 0)
                # Of two nodes at one place (an expression and its statement) the inner one is the call.
                made.nodes[key] = parent
        _modules[path] = made
    return _modules[path]


def node_at(source: Module, code: CodeType, instruction: int, line: int, name: str) -> ast.AST | None:
    """The expression or statement that an instruction belongs to; None if that is not sure.

    name: of the function that is called, for a Python that does not know columns.
    """
    if hasattr(code, "co_positions"):
        position = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
        return None if position is None or None in position else source.nodes.get(position)
    found = [
        node
        for node in source.nodes.values()
        if isinstance(node, ast.Call)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) == name
    ]
    return found[0] if len(found) == 1 else None


def whole_call(source: Module, node: ast.AST | None) -> ast.AST | None:
    """The node that stands for a call in a report: of a store through an index, the assignment."""
    parent = None if node is None else source.parents.get(node)
    is_target = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return parent if is_target and isinstance(parent, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else node


def statement_of(source: Module, node: ast.AST | None) -> ast.stmt | None:
    """The statement that does nothing with a call but make it, or assigns in place."""
    if isinstance(node, (ast.AugAssign, ast.Assign, ast.AnnAssign)):
        return node
    parent = None if node is None else source.parents.get(node)
    return parent if isinstance(parent, ast.Expr) else None


def follower(source: Module, node: ast.AST | None) -> str:
    """The method that is called at once on the result of a call."""
    parent = None if node is None else source.parents.get(node)
    return parent.attr if isinstance(parent, ast.Attribute) else ""
