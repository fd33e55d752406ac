"""Whether a name may get another value where it is used: what the rest of its function does with it."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from stridelint.rules.forms.edits import Code, below, method

# What tells one tensor from another of the same values.
_OWN = frozenset(
    {"grad", "data", "is_leaf", "requires_grad", "retain_grad", "register_hook", "data_ptr", "untyped_storage"}
)

_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Module)


@dataclass(frozen=True, slots=True)
class Rebinding:
    """A name that may be assigned at a place.

    is_read_only: from there on its tensor is only read, in this function and by nothing that is defined in it.
    """

    name: str
    is_read_only: bool


def rebinding(code: Code, call: cst.Call) -> Rebinding | None:
    """The name whose method is called, or which is all that a function gets, if it can be rebound and that is noticed later."""
    tensor: cst.BaseExpression | None = None
    if isinstance(call.func, cst.Attribute):
        tensor = call.func.value
    elif len(call.args) == 1 and not call.args[0].star:
        tensor = call.args[0].value
    if not isinstance(tensor, cst.Name):
        return None
    name = tensor.value
    scope = next((each for each in code.above(call) if isinstance(each, _SCOPES)), None)
    if not isinstance(scope, (cst.FunctionDef, cst.Module)):
        return None
    nodes = list(below(scope))
    if not _is_bound(code, name, scope, nodes):
        return None
    at = next(index for index, each in enumerate(nodes) if each is call)
    own = {id(each) for each in below(call)}
    loops = [
        each for each in code.above(call) if isinstance(each, (cst.For, cst.While)) and code.function_of(each) is scope
    ]
    over = next((each for each in loops if isinstance(each, cst.For) and _names(each.target, name)), None)
    again = [each for loop in (loops[-1:] if over is None else []) for each in below(loop)]
    here = nodes if over is None else list(below(over.body))
    later = {id(each) for each in (*nodes[at:], *again)} & {id(each) for each in here} - own
    uses = [each for each in nodes if isinstance(each, cst.Name) and each.value == name and id(each) in later]
    if not any(_is_read(code, each) for each in uses):
        return None
    return Rebinding(name, not any(_is_more_than_read(code, each, scope) for each in uses))


def _is_bound(code: Code, name: str, scope: cst.FunctionDef | cst.Module, nodes: list[cst.CSTNode]) -> bool:
    """The name is one of the function's own; assigning it makes no other variable of it."""
    for each in nodes:
        if isinstance(each, (cst.Global, cst.Nonlocal)) and any(item.name.value == name for item in each.names):
            return False
    for each in nodes:
        if code.function_of(each) is not scope and not isinstance(each, cst.Param):
            continue
        if isinstance(each, (cst.AssignTarget, cst.For)) and _names(each.target, name):
            return True
        if isinstance(each, cst.AnnAssign) and each.value is not None and _names(each.target, name):
            return True
        if isinstance(each, cst.Param) and each.name.value == name and isinstance(scope, cst.FunctionDef):
            if any(each is own for own in below(scope.params)):
                return True
    return False


def _names(target: cst.CSTNode, name: str) -> bool:
    """An assignment to this target binds the name."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return any(_names(each.value, name) for each in target.elements)
    return isinstance(target, cst.Name) and target.value == name


def _is_read(code: Code, node: cst.Name) -> bool:
    parent = code.parent(node)
    if isinstance(parent, cst.Arg):
        return parent.value is node
    return not isinstance(parent, (cst.AssignTarget, cst.Param, cst.AugAssign)) and not (
        isinstance(parent, cst.Attribute) and parent.attr is node
    )


def _is_more_than_read(code: Code, node: cst.Name, scope: cst.CSTNode) -> bool:
    """The tensor may be written into there, or told from its copy."""
    if code.function_of(node) is not scope:
        return True
    parts: list[cst.CSTNode] = [node]
    for above in code.above(node):
        if isinstance(above, cst.Attribute) and above.value is parts[-1]:
            if above.attr.value in _OWN:
                return True
        elif isinstance(above, cst.Call) and above.func is parts[-1]:
            written = method(above)
            if written.endswith("_") and not written.endswith("__"):
                return True
        elif isinstance(above, cst.Arg) and above.keyword is not None and above.keyword.value == "out":
            return True
        elif isinstance(above, (cst.AugAssign, cst.AssignTarget)):
            return above.target is parts[-1] and (len(parts) > 1 or isinstance(above, cst.AugAssign))
        elif isinstance(above, (cst.Comparison,)) and any(
            isinstance(each.operator, (cst.Is, cst.IsNot)) for each in above.comparisons
        ):
            return True
        elif isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return False
        parts.append(above)
    return False
