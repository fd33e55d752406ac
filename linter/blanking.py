"""Blanking out the bodies of functions that do not matter, so that LibCST need not parse them and every position stays."""

from __future__ import annotations

import ast

from stridelint.linter import source

UNKNOWN_RESULT = "return __unknown__"


def can_be_blanked(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """The body stands on lines of its own, more than a few."""
    first = source.first_line(node.body[0])
    return node.end_lineno is not None and node.end_lineno - first >= 2 and not _indent(lines, node).strip()


def _indent(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> bytes:
    return lines[source.first_line(node.body[0]) - 1].encode()[: node.body[0].col_offset]


def blanked(lines: list[str], functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> str:
    """The text with the bodies of some functions replaced by one that returns something unknown."""
    lines = lines.copy()
    for node in functions:
        first, prefix = source.first_line(node.body[0]), _indent(lines, node)
        ending = lines[first - 1][len(lines[first - 1].rstrip("\r\n")) :] or "\n"
        lines[first - 1] = prefix.decode() + UNKNOWN_RESULT + ending
        for index in range(first, node.end_lineno or first):
            lines[index] = lines[index][len(lines[index].rstrip("\r\n")) :]
    return "".join(lines)
