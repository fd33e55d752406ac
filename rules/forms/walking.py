"""Walking LibCST trees in the order of the code.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import libcst as cst


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in the order of the code."""
    yield node
    for child in children(node):
        yield from below(child)


@functools.cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        each.name
        for each in dataclasses.fields(kind)
        if not each.name.startswith(("whitespace", "leading", "trailing"))
    )


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below one, in order (`CSTNode.children` copies them all)."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, cst.CSTNode):
                yield each
