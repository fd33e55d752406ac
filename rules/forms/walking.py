"""Walking LibCST trees: `CSTNode.children` runs a whole visitor, this reads the fields that hold code.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

import dataclasses
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


_EMPTY_MODULE = cst.Module([])


_fields: dict[type, tuple[str, ...] | None] = {}


def fields_of(kind: type) -> tuple[str, ...] | None:
    """The fields of a kind of node that can hold code; None for what is no node."""
    if kind not in _fields:
        _fields[kind] = _code_fields(kind) if issubclass(kind, cst.CSTNode) else None
    return _fields[kind]


def _code_fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if not any(word in field.name for word in _TRIVIA)
        and field.name not in ("leading_lines", "lines_after_decorators")
    )


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes directly below one, without white space and punctuation."""
    found: list[cst.CSTNode] = []
    for name in fields_of(type(node)) or ():
        value = getattr(node, name)
        kind = type(value)
        if kind is list or kind is tuple:
            found += value
        elif (_fields[kind] if kind in _fields else fields_of(kind)) is not None:
            found.append(value)
    return found


def walk(node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """A node and all below it, in no particular order; only those of the given kinds, if any are given."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        kind = type(each)
        if not kinds or kind in kinds:
            yield each
        if kind is not cst.Name:
            waiting += children(each)


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in the order of the code."""
    yield node
    for child in children(node):
        yield from below(child)


def path_to(root: cst.CSTNode, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The nodes from a root down to one below it, which is left out; () if it is the root, or not below it."""
    for child in children(root):
        if child is node:
            return (root,)
        if further := path_to(child, node):
            return (root, *further)
    return ()


def beginning_of(node: cst.CSTNode | None) -> str:
    """`a` of `a.b[c].d(...)`; "" for what does not begin with a name."""
    while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node.value if isinstance(node, cst.Name) else ""


def source_code(node: cst.CSTNode) -> str:
    """How a node is written."""
    return _EMPTY_MODULE.code_for_node(node)


def comments(text: str) -> list[str]:
    """The comments in a piece of code (and anything in strings that looks like one)."""
    return re.findall(r"#[^\n]*", text)
