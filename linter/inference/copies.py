"""Copies that nothing reads: what is written to them is lost."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.name_uses import NameUses
from stridelint.linter.inference.objects import Function
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.purity import is_pure
from stridelint.linter.inference.values import TensorValue
from stridelint.rules.contract.answers import Confidence


def unread(path: Path, copy: TensorValue, node: cst.CSTNode | None) -> Confidence | None:
    """How sure it is that a copy reached by an expression is lost: the expression is all that knows it, or a name that nothing
    reads afterwards, and before only for its numbers. None if something may read it."""
    made = copy.copied
    if node is None or made is None:
        return None
    bottom = _reach(node, made.node)
    if _makes(path, bottom, made.node):
        return made.confidence
    if not isinstance(bottom, cst.Name):
        return None
    body = path.frames[-1].function.node if path.frames else path.program.module
    uses = path.program.once(body, NameUses, body).of(bottom.value)
    if not uses.is_last(bottom) or not _makes(path, _reach(uses.assigned[0][1], made.node), made.node):
        return None
    return min(made.confidence, Confidence.LIKELY) if uses.read else made.confidence


def _makes(path: Path, node: cst.CSTNode, made: cst.CSTNode) -> bool:
    return node is made or (isinstance(node, cst.Call) and _is_pure_helper(path, node))


def copied_expression(node: cst.CSTNode) -> cst.CSTNode | None:
    """What a copying expression is a copy of: the receiver of a method, a subscript's owner, a function's argument."""
    if isinstance(node, cst.Subscript):
        return node.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        receiver = node.func.value
        if isinstance(receiver, cst.Name) and receiver.value == "torch":
            return node.args[0].value if node.args else None
        return receiver
    return None


def is_only_here(source: TensorValue, node: cst.CSTNode | None) -> bool:
    """Whether what is copied is made in the very expression, `torch.zeros(3).long()`: nobody would change that."""
    while source.base is not None:
        source = source.base
    made = source.story[-1] if source.story else None
    return (
        node is not None
        and made is not None
        and made[0].startswith("is made here")
        and _reach(node, made[1]) is made[1]
    )


def _reach(node: cst.CSTNode, goal: cst.CSTNode) -> cst.CSTNode:
    """Down the receivers of methods, attributes and subscripts, to the goal or where they begin."""
    while node is not goal:
        if isinstance(node, (cst.Attribute, cst.Subscript)):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            node = node.func.value
        else:
            return node
    return node


def _is_pure_helper(path: Path, call: cst.Call) -> bool:
    """A function of the file that keeps nothing of what it returns."""
    scope = path.frames[-1].function.scope.module if path.frames else path.module_scope
    if not isinstance(call.func, cst.Name) or scope is None:
        return False
    function = scope.get(path, call.func.value)
    return isinstance(function, Function) and path.program.once(function.node, is_pure, function.node)
