"""A document as LibCST nodes with places: which node stands under the cursor, and what is around it.

The nodes come from the stdlib tree where that is possible, which is about ten times as fast as LibCST's parser with its positions.
"""

from __future__ import annotations

import ast
from typing import NamedTuple, Protocol

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from stridelint.linter import screen, source
from stridelint.linter.inference.bare_nodes import Unsupported
from stridelint.linter.inference.bare_tree import BareTree
from stridelint.rules.forms.walking import Parents, source_code, walk


class Place(NamedTuple):
    """A range in a text: lines from 1, columns from 0 in characters."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, line: int, column: int) -> bool:
        """Whether a character stands in it."""
        return (self.line, self.column) <= (line, column) < (self.end_line, self.end_column)


class _Places(Protocol):
    module: cst.Module

    def at(self, line: int, column: int) -> cst.CSTNode | None: ...
    def place(self, node: cst.CSTNode) -> Place | None: ...
    def text(self, node: cst.CSTNode) -> str: ...


class Tree:
    """The nodes of a document. exact: with LibCST's own parser, which keeps comments, too.

    Raises:
        screen.Unparsable: it is not valid Python, or nested too deeply.
    """

    def __init__(self, text: str, exact: bool = False) -> None:
        tree = screen.parse(text)
        depth = screen.Code(tree).depth
        if depth > screen.MAX_DEPTH:
            raise screen.Unparsable(f"is nested too deeply: {depth} levels, the limit is {screen.MAX_DEPTH}")
        self._places: _Places
        try:
            self._places = _Exact(text) if exact else _Bare(tree, text)
        except Unsupported:
            self._places = _Exact(text)
        self.is_bare = isinstance(self._places, _Bare)
        self.module = self._places.module
        self._parents = Parents(self.module)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node directly above."""
        return self._parents.of(node)

    def above(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """A node and all above it, innermost first."""
        return [node, *self._parents.above(node)]

    def at(self, line: int, column: int) -> cst.CSTNode | None:
        """The innermost expression, or name of a parameter, around a character, or around the one before it."""
        found = self._places.at(line, column)
        return self._places.at(line, column - 1) if found is None and column else found

    def place(self, node: cst.CSTNode) -> Place | None:
        """Where an expression stands; None if that is not known."""
        return self._places.place(node)

    def text(self, node: cst.CSTNode) -> str:
        """How an expression is written."""
        return self._places.text(node)


class _Bare:
    """Places from the stdlib tree. It counts columns in bytes of UTF-8."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self._bare = BareTree(tree)
        self.module = self._bare.module
        self._lines = source.lines(text)
        self._tree = tree
        self._nodes: dict[int, cst.CSTNode] = {}
        self._written: dict[int, ast.AST] = {}
        for node in walk(self.module):
            written = self._bare.origin(node)
            if written is not None:
                self._nodes[id(written)] = node
                self._written[id(node)] = written

    def at(self, line: int, column: int) -> cst.CSTNode | None:
        if not 0 < line <= len(self._lines):
            return None
        offset = len(self._lines[line - 1][:column].encode("utf-8", "surrogatepass"))
        node: ast.AST | None = self._tree
        best: ast.AST | None = None
        while node is not None:
            node = next((each for each in ast.iter_child_nodes(node) if _holds(each, line, offset)), None)
            if isinstance(node, ast.JoinedStr):  # places within it are not told before Python 3.12
                return None
            if node is not None and id(node) in self._nodes:
                best = node
        found = None if best is None else self._nodes[id(best)]
        return None if isinstance(found, (cst.BaseStatement, cst.BaseSmallStatement)) else found

    def place(self, node: cst.CSTNode) -> Place | None:
        written = self._written.get(id(node))
        if not isinstance(written, (ast.expr, ast.stmt, ast.arg)):
            return None
        first, last = written.lineno, written.end_lineno or written.lineno
        return Place(
            first, self._column(first, written.col_offset), last, self._column(last, written.end_col_offset or 0)
        )

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))

    def text(self, node: cst.CSTNode) -> str:
        return self._bare.source(node)


def _holds(node: ast.AST, line: int, offset: int) -> bool:
    """Whether a character may stand in a node; what has no place of its own may hold anything."""
    if not isinstance(node, (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.ExceptHandler)):
        return any(_holds(each, line, offset) for each in ast.iter_child_nodes(node))
    decorators = getattr(node, "decorator_list", ())
    if any(_holds(each, line, offset) for each in decorators):
        return True
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset) <= (line, offset) < end


class _Exact:
    """Places as LibCST itself tells them, for syntax that the faster way does not know."""

    def __init__(self, text: str) -> None:
        try:
            self.module = cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            raise screen.Unparsable(f"is valid Python that LibCST does not accept: {error.message}") from None
        wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        self._ranges = {id(node): (node, where) for node, where in wrapper.resolve(PositionProvider).items()}

    def at(self, line: int, column: int) -> cst.CSTNode | None:
        found: tuple[tuple[int, int], cst.CSTNode] | None = None
        for node, _ in self._ranges.values():
            if not isinstance(node, cst.BaseExpression) or isinstance(node, cst.FormattedString):
                continue
            place = self.place(node)
            if place is not None and place.holds(line, column):
                size = place.end_line - place.line, place.end_column - place.column
                if found is None or size <= found[0]:
                    found = size, node
        return None if found is None else found[1]

    def place(self, node: cst.CSTNode) -> Place | None:
        if id(node) not in self._ranges:
            return None
        where = self._ranges[id(node)][1]
        return Place(where.start.line, where.start.column, where.end.line, where.end.column)

    def text(self, node: cst.CSTNode) -> str:
        return source_code(node)
