"""Where a tensor that overlaps itself may be written to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from stridelint.rules.screening import Key, Nodes, TensorFlow, name_of, of_torch
from stridelint.rules.screening.expressions import parameter_names, root_of

EXPANDING = frozenset({"expand", "expand_as", "broadcast_to", "broadcast_tensors", "meshgrid", "unfold", "as_strided"})
_FRESH = frozenset(
    """clone contiguous zeros ones empty rand randn randint arange linspace full tensor size len stack cat concat matmul mm bmm repeat
    tile float long int half double sum mean softmax zeros_like ones_like empty_like full_like item tolist numpy cumsum where""".split()
)


class Expanded(TensorFlow):
    """Follows tensors several elements of which may be one place in memory."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Expanding starts it; whatever is computed is a new tensor."""
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp)):
            return False
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            return True if name in EXPANDING else False if name in _FRESH else None
        return None


def writes_to_expanded(nodes: Nodes) -> frozenset[str]:
    """Where something that may be expanded is the target of a store, `+=` or an in-place method."""
    if EXPANDING.isdisjoint(nodes.names):
        return frozenset()
    flow, found = nodes.flow(Expanded), set()
    variables = {(unit, name) for function, unit in nodes.functions for name in parameter_names(function.args)}
    variables |= nodes.definitions.of.keys()
    for node, unit in nodes.bindings:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            is_store = isinstance(target, ast.Subscript) and not nodes.certain.stores_elsewhere(target, unit)
            if isinstance(node, ast.AugAssign) or is_store:
                inner = target.value if isinstance(target, ast.Subscript) else target
                if flow.holds(inner, unit):
                    found.add(unit)
    for call, unit in nodes.calls:
        if any(flow.holds(each, unit) for each in _written(call, unit, nodes, variables)):
            found.add(unit)
    return frozenset(found)


def _written(call: ast.Call, unit: str, nodes: Nodes, variables: Set[Key]) -> Iterator[ast.expr]:
    """What a call may write to: the receiver of `x.add_(y)`; the arguments of `torch.relu_(x)`, and of all with `inplace=`."""
    name, function = name_of(call.func), call.func
    if any(keyword.arg == "inplace" for keyword in call.keywords):
        yield call
    elif name.endswith("_") and not name.endswith("__"):  # `super().__init__()` writes to no tensor
        if (
            isinstance(function, ast.Attribute)
            and not of_torch(function)
            and _is_value(function.value, unit, variables)
        ):
            yield function.value
        elif name not in nodes.definitions.functions:  # what a function of the module does is judged where it does it
            yield call


def _is_value(node: ast.expr, unit: str, variables: Set[Key]) -> bool:
    """Anything but a name that nothing in the function gives a value to: that of a module, perhaps."""
    root = root_of(node)
    return not root or (unit, root) in variables
