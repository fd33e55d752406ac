"""Where a tensor that overlaps itself may be written to."""

from __future__ import annotations

import ast

from stridelint.rules.screening import Nodes, TensorFlow, name_of

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
    for node, unit in nodes.bindings:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            if isinstance(node, ast.AugAssign) or isinstance(target, ast.Subscript):
                inner = target.value if isinstance(target, ast.Subscript) else target
                if flow.holds(inner, unit):
                    found.add(unit)
    for call, unit in nodes.calls:
        written = name_of(call.func).endswith("_") or any(keyword.arg == "inplace" for keyword in call.keywords)
        if written and flow.holds(call, unit):
            found.add(unit)
    return frozenset(found)
