"""Walking LibCST trees cheaply: `CSTNode.children` runs a whole visitor, this reads the fields."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator

import libcst as cst

# Fields that hold no code: white space, commas, parentheses.
_TRIVIA = (
    "whitespace",
    "comma",
    "lpar",
    "rpar",
    "lbracket",
    "rbracket",
    "lbrace",
    "rbrace",
    "semicolon",
    "header",
    "footer",
    "dot",
    "indent",
)


@functools.cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if not any(word in field.name for word in _TRIVIA)
        and field.name not in ("leading_lines", "lines_after_decorators")
    )


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below one, without white space and punctuation."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, (list, tuple)):
            for each in value:
                if isinstance(each, cst.CSTNode):
                    yield each
        elif isinstance(value, cst.CSTNode):
            yield value


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in no particular order."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(children(each))


def comments(node: cst.CSTNode) -> list[str]:
    """The comments within a node (and anything in strings that looks like one)."""
    return re.findall(r"#[^\n]*", cst.Module([]).code_for_node(node))
