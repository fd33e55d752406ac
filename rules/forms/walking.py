"""Walking LibCST trees: `CSTNode.children` runs a whole visitor, this reads the fields that hold code.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

import dataclasses
import operator
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

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


def fields_of(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The fields of a kind of node that can hold code."""
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if not any(word in field.name for word in _TRIVIA)
        and field.name not in ("leading_lines", "lines_after_decorators")
    )


class _Getters(dict[type, "Callable[[Any], Sequence[Any]] | None"]):
    """By kind of node: what gets the values of all fields that may hold nodes; None where no field does."""

    def __missing__(self, kind: type[cst.CSTNode]) -> Callable[[Any], Sequence[Any]] | None:
        types = {field.name: field.type for field in dataclasses.fields(kind)}
        names = [name for name in fields_of(kind) if not _is_plain(types[name])]
        several = operator.attrgetter(*names) if len(names) > 1 else None
        self[kind] = (lambda node: (getattr(node, names[0]),)) if len(names) == 1 else several
        return self[kind]


def _is_plain(annotation: Any) -> bool:
    """Whether a field of this type holds a text or a switch, and never a node."""
    if typing.get_origin(annotation) is typing.Literal or annotation in (str, bool, type(None), cst.MaybeSentinel):
        return True
    parts = typing.get_args(annotation)
    return bool(parts) and all(map(_is_plain, parts))


_getters = _Getters()


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes directly below one, without white space and punctuation."""
    get = _getters[type(node)]
    found: list[cst.CSTNode] = []
    if get is None:
        return found
    for value in get(node):
        kind = type(value)
        if kind is list or kind is tuple:
            found += value
        elif value is not None and kind is not cst.MaybeSentinel:
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


def names_in(node: cst.CSTNode) -> set[str]:
    """The identifiers in a piece of code."""
    return {each.value for each in walk(node, cst.Name) if isinstance(each, cst.Name)}


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in the order of the code."""
    yield node
    for child in children(node):
        yield from below(child)


class Parents:
    """What the nodes of a module are parts of."""

    def __init__(self, module: cst.Module) -> None:
        self._by_child = {id(child): node for node in walk(module) for child in children(node)}

    def of(self, node: object) -> cst.CSTNode | None:
        """The node directly above; None for what is not in this module."""
        return self._by_child.get(id(node))

    def above(self, node: object) -> Iterator[cst.CSTNode]:
        """All nodes above, innermost first."""
        each = self.of(node)
        while each is not None:
            yield each
            each = self.of(each)


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
