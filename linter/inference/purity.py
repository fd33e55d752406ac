"""Functions that only compute and return: whoever throws their result away throws away all that they did."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.bindings import dotted_name
from stridelint.rules.forms.walking import children

_IMPURE = frozenset(
    {cst.AugAssign, cst.For, cst.While, cst.With, cst.Try, cst.Global, cst.Nonlocal, cst.Yield, cst.Raise, cst.Await}
)


def is_pure(node: cst.FunctionDef | cst.Lambda) -> bool:
    """A helper that only computes and returns: no loops, no stores, no calls as statements, no in-place methods."""
    if isinstance(node, cst.Lambda):
        return True
    waiting: list[cst.CSTNode] = [node.body]
    while waiting:
        each = waiting.pop()
        if type(each) in _IMPURE:
            return False
        if isinstance(each, cst.AssignTarget) and not isinstance(each.target, cst.Name):
            return False
        if isinstance(each, cst.Expr) and not isinstance(each.value, (cst.SimpleString, cst.ConcatenatedString)):
            return False
        if isinstance(each, cst.Call):
            name = (
                dotted_name(each.func).split(".")[-1]
                if not isinstance(each.func, cst.Attribute)
                else each.func.attr.value
            )
            if name.endswith("_") or any(arg.keyword is not None and arg.keyword.value == "out" for arg in each.args):
                return False
        waiting.extend(children(each))
    return True
