"""Calls that are made to see whether they raise: `try: x.to(dtype)`, `except RuntimeError: ...`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from stridelint.rules.forms.walking import children, walk

MAX_TRIED = 2
# What torch raises, or code that asserts what it needs.
_RAISED = frozenset({"RuntimeError", "TypeError", "ValueError", "AssertionError", "Exception", "BaseException"})


class Parted(NamedTuple):
    """The body of a `try`: what is done there, and the call statements at its end that are only tried."""

    body: Sequence[cst.BaseStatement | cst.BaseSmallStatement]
    tried: tuple[cst.Expr, ...]


def parted(around: cst.CSTNode, node: cst.Try | cst.TryStar) -> Parted:
    """Where the trials in a `try` of the function or module `around` start.

    They are calls of one method of one name, end the body, but for a `return` without that name, and nothing but the
    handlers reads the name afterwards: whoever converts a tensor for its own sake uses it.
    """
    body: list[cst.BaseStatement | cst.BaseSmallStatement] = list(node.body.body)
    ending = body[-1:] if len(body) > 1 and _returns(body[-1]) else []
    start = end = len(body) - len(ending)
    callee = None
    while start and (found := _method(body[start - 1])) is not None and callee in (None, found):
        callee, start = found, start - 1
    if callee is None or not node.handlers or _reads(around, node, ending, callee[0]):
        return Parted(body, ())
    return Parted(body[:start], tuple(each for each in map(_only, body[start:end]) if isinstance(each, cst.Expr)))


def falls_back(node: cst.Try | cst.TryStar) -> bool:
    """Whether a short body is tried, and something else is done where that is refused."""
    if len(node.body.body) > MAX_TRIED or not all(isinstance(each, cst.SimpleStatementLine) for each in node.body.body):
        return False
    return any(_catches(each) and _goes_another_way(each.body) for each in node.handlers)


def _catches(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    named = handler.type
    types = [each.value for each in named.elements] if isinstance(named, cst.Tuple) else [named]
    return any(each is None or (isinstance(each, cst.Name) and each.value in _RAISED) for each in types)


def _goes_another_way(body: cst.BaseSuite) -> bool:
    ways = list(walk(body, cst.Return, cst.Assign, cst.AugAssign, cst.Continue, cst.Break))
    return bool(ways) and not any(walk(body, cst.Raise))


def _only(statement: cst.CSTNode) -> cst.CSTNode | None:
    """The one small statement of a line."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return statement
    return statement.body[0] if len(statement.body) == 1 else None


def _returns(statement: cst.CSTNode) -> bool:
    return isinstance(_only(statement), cst.Return)


def _method(statement: cst.CSTNode) -> tuple[str, str] | None:
    """The name and the method of `name.method(...)`, where that is all of a statement."""
    small = _only(statement)
    call = small.value if isinstance(small, cst.Expr) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
        return call.func.value.value, call.func.attr.value
    return None


def _reads(around: cst.CSTNode, node: cst.Try | cst.TryStar, ending: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether the name stands behind the body of the `try`, handlers left out."""
    behind = [*ending, *(part for part in (node.orelse, node.finalbody) if part is not None), *_following(around, node)]
    return any(isinstance(each, cst.Name) and each.value == name for part in behind for each in walk(part, cst.Name))


def _following(around: cst.CSTNode, node: cst.CSTNode) -> list[cst.CSTNode]:
    """What comes after a node, in the blocks that hold it."""
    found: list[cst.CSTNode] = []
    waiting = [around]
    while waiting:
        each = waiting.pop()
        if each is node:
            found = list(waiting)
        else:
            waiting += reversed(children(each))
    return found
