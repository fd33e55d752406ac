"""Copies that nothing reads: what is written to them is lost."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Function, TensorValue
from stridelint.rules.forms.walking import walk


def is_unread(path: Path, copy: TensorValue, node: cst.CSTNode | None) -> bool:
    """Whether the expression by which a copy is reached is all that knows it, or a name that is only written to."""
    made = copy.copied
    if node is None or made is None:
        return False
    bottom = _reach(node, made.node)
    if bottom is made.node or (isinstance(bottom, cst.Call) and _is_pure_helper(path, bottom)):
        return True
    if not isinstance(bottom, cst.Name):
        return False
    body = path.frames[-1].function.node if path.frames else path.program.module
    value = path.program.once(body, _only_written, body).get(bottom.value)
    if value is None:
        return False
    origin = _reach(value, made.node)
    return origin is made.node or (isinstance(origin, cst.Call) and _is_pure_helper(path, origin))


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
    from stridelint.linter.inference.calls import is_pure

    scope = path.frames[-1].function.scope.module if path.frames else path.module_scope
    if not isinstance(call.func, cst.Name) or scope is None:
        return False
    function = scope.get(path, call.func.value)
    return isinstance(function, Function) and path.program.once(function.node, is_pure, function.node)


def _only_written(body: cst.CSTNode) -> dict[str, cst.CSTNode]:
    """Names of a function that are assigned once and then only written to, with what they are assigned."""
    assigned: dict[str, list[cst.CSTNode]] = {}
    writes: dict[str, int] = {}
    total: dict[str, int] = {}
    for node in walk(body, cst.Name, cst.Attribute, cst.Assign, cst.AugAssign, cst.Expr):
        if isinstance(node, cst.Name):
            total[node.value] = total.get(node.value, 0) + 1
        elif isinstance(node, cst.Attribute):
            total[node.attr.value] = total.get(node.attr.value, 0) - 1  # another name that is only spelled alike
        elif isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
            assigned.setdefault(node.targets[0].target.value, []).append(node.value)
        for target in _written(node):
            name = _reach(target, target if isinstance(target, cst.Name) else body)
            if isinstance(name, cst.Name):
                writes[name.value] = writes.get(name.value, 0) + 1
    return {
        name: values[0]
        for name, values in assigned.items()
        if len(values) == 1 and total[name] == writes.get(name, 0) + 1
    }


def _written(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What a statement changes in place."""
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute):
        name = node.value.func.attr.value
        return [node.value.func.value] if name.endswith("_") and not name.startswith("_") else []
    if isinstance(node, cst.AugAssign):
        return [node.target]
    if isinstance(node, cst.Assign):
        return [each.target for each in node.targets if isinstance(each.target, cst.Subscript)]
    return []
