"""LibCST nodes without white space, made from the stdlib tree.

LibCST takes most of its time to keep every space, and only a file with findings needs those: to find out whether there
are any, these nodes do. They hold what code means (names, operators, values, in LibCST's classes and fields) and nothing
else; asking them for a space or a comment fails.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Container
from typing import Any

import libcst as cst

from stridelint.linter import source
from stridelint.linter.inference import bare_nodes as bare
from stridelint.linter.inference.bare_nodes import Unsupported
from stridelint.linter.inference.bare_statements import StatementConverter


class BareTree:
    """The module as LibCST nodes. The bodies of functions in `left_out` return an unknown name.

    text: the module's own.

    Raises:
        Unsupported: the module holds syntax that only LibCST's parser handles.
    """

    def __init__(self, tree: ast.Module, left_out: Container[ast.AST] = (), text: str = "") -> None:
        self._text = text
        converter = StatementConverter(left_out)
        self.module: cst.Module = bare.module_(converter.statements(tree.body))
        self._sources = converter.sources

    def knows(self, node: cst.CSTNode) -> bool:
        """Whether it is a node of this tree whose text can be told."""
        return id(node) in self._sources

    def origin(self, node: cst.CSTNode) -> ast.AST | None:
        """The stdlib node of an expression, a simple statement or the name of a parameter."""
        return self._sources.get(id(node))

    def source(self, node: cst.CSTNode) -> str:
        """How an expression may be written: in the usual spacing, not in its author's.

        Raises:
            Unsupported: it is none of the expressions and simple statements whose text is ever asked for.
        """
        if isinstance(node, cst.Name):
            return node.value
        return ast.unparse(self._known(node))

    def written(self, node: cst.CSTNode) -> str:
        """How an expression or a function is written, with the comments in it and above it.

        Raises:
            Unsupported: as `source` does.
        """
        origin: Any = self._known(node)
        first, last = source.first_line(origin) - 1, origin.end_lineno
        lines = self._lines
        if isinstance(origin, ast.expr):
            # As ast.get_source_segment, which takes the whole text apart each time.
            part = [line.encode() for line in lines[first:last]]
            part[-1] = part[-1][: origin.end_col_offset]
            part[0] = part[0][origin.col_offset :]
            return b"\n".join(part).decode()
        while first and _is_comment(lines[first - 1]):
            first -= 1
        while last < len(lines) and _is_comment(lines[last]) and _indent(lines[last]) > origin.col_offset:
            last += 1
        return "\n".join(lines[first:last])

    def _known(self, node: cst.CSTNode) -> ast.AST:
        if id(node) not in self._sources:
            raise Unsupported(f"the text of a {type(node).__name__}")
        return self._sources[id(node)]

    @functools.cached_property
    def _lines(self) -> list[str]:
        return source.lines(self._text)


def _is_comment(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
