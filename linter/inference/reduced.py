"""Expressions of which code only makes one number, by the way they are written: nothing comes of their layout."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.bindings import dotted_name
from stridelint.rules.forms.walking import walk

_REDUCTIONS = frozenset(
    "all amax amin any count_nonzero max mean median min nanmean nansum norm prod std sum var vector_norm".split()
)
_ELEMENTWISE = frozenset(
    """abs absolute add clamp clamp_min cpu detach div double exp expm1 flatten float half isfinite isinf isnan log log1p maximum
    minimum mul nan_to_num neg pow ravel reciprocal relu sigmoid sign sqrt square sub tanh""".split()
)
# What a reduction may be told other than axes.
_SETTINGS = frozenset({"dtype", "p", "ord", "correction", "unbiased"})
_MODULES = frozenset({"torch", "torch.linalg"})


def to_numbers(module: cst.Module) -> set[cst.CSTNode]:
    """The expressions that elementwise operators and a reduction over all axes make one number of, and nothing else sees."""
    reached: set[cst.CSTNode] = set()
    for each in walk(module, cst.Call):
        if isinstance(each, cst.Call):
            _descend(_reduced(each), reached)
    waiting = [bound for scope in walk(module, cst.FunctionDef, cst.Module) for bound in _bound_once(scope) if bound[1]]
    while ready := [bound for bound in waiting if reached.issuperset(bound[1])]:
        waiting = [bound for bound in waiting if bound not in ready]
        for value, _ in ready:
            _descend(value, reached)
    return reached


def _reduced(call: cst.Call) -> cst.BaseExpression | None:
    """`x` of `x.sum()` and `torch.sum(x)`."""
    function = call.func
    if not isinstance(function, cst.Attribute) or function.attr.value not in _REDUCTIONS:
        return None
    if any(arg.star or (arg.keyword is not None and arg.keyword.value not in _SETTINGS) for arg in call.args):
        return None
    given = [arg.value for arg in call.args if arg.keyword is None]
    if dotted_name(function.value) in _MODULES:
        return given[0] if len(given) == 1 else None
    return None if given else function.value


def _descend(node: cst.BaseExpression | None, reached: set[cst.CSTNode]) -> None:
    """A value that is reduced, and those it is computed from element by element."""
    if node is None:
        return
    reached.add(node)
    parts: list[cst.BaseExpression] = []
    if isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, cst.MatrixMultiply):
        parts = [node.left, node.right]
    elif isinstance(node, cst.UnaryOperation):
        parts = [node.expression]
    elif isinstance(node, cst.Comparison):
        parts = [node.left, *(each.comparator for each in node.comparisons)]
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _ELEMENTWISE:
        is_function = dotted_name(node.func.value) in _MODULES
        parts = [*([] if is_function else [node.func.value]), *(arg.value for arg in node.args)]
    for each in parts:
        _descend(each, reached)


def _bound_once(scope: cst.CSTNode) -> list[tuple[cst.BaseExpression, list[cst.CSTNode]]]:
    """Values of variables that one assignment binds, each with the places that read the variable."""
    values: dict[str, tuple[cst.Name, cst.BaseExpression]] = {}
    uses: dict[str, list[cst.CSTNode]] = {}
    for each in walk(scope, cst.Assign, cst.Name):
        if isinstance(each, cst.Name):
            uses.setdefault(each.value, []).append(each)
        elif isinstance(each, cst.Assign) and len(each.targets) == 1:
            target = each.targets[0].target
            if isinstance(target, cst.Name):
                values[target.value] = target, each.value
    return [(value, [each for each in uses[name] if each is not target]) for name, (target, value) in values.items()]
