"""Where sizes may be given to a reshape in another order than the axes have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from stridelint.rules.screening import Nodes, name_of
from stridelint.rules.screening.expressions import integer_of

# More axes than tensors have: those counted from the end come after all others.
_MANY = 100


def reorders(nodes: Nodes, reshapes: frozenset[str]) -> frozenset[str]:
    """Where sizes are given to a reshape in another order than the axes they were read from, or as numbers only."""
    axes: dict[tuple[str, str], int] = {}
    shapes: set[tuple[str, str]] = set()
    for node, unit in nodes.bindings:
        if not isinstance(node, ast.Assign):
            continue
        whole = name_of(node.value) in ("shape", "size")
        for target in node.targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            if parts and whole:
                axes.update({(unit, name_of(each)): axis for axis, each in enumerate(parts)})
            elif isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(parts):
                read = zip(parts, map(_axis_read, node.value.elts))
                axes.update({(unit, name_of(each)): axis for each, axis in read if axis is not None})
            axis_read = _axis_read(node.value)
            if isinstance(target, ast.Name) and axis_read is not None:
                axes[unit, target.id] = axis_read
            elif isinstance(target, ast.Name) and whole:
                shapes.add((unit, target.id))
    found = set()
    for call, unit in nodes.calls:
        if name_of(call.func) in reshapes and unit not in found and _is_reordered(call, unit, axes, shapes):
            found.add(unit)
    return frozenset(found)


def _axis_read(node: ast.expr) -> int | None:
    """The axis of `x.size(1)` or `x.shape[1]`."""
    if isinstance(node, ast.Call) and name_of(node.func) == "size" and node.args:
        return integer_of(node.args[0])
    return integer_of(node.slice) if isinstance(node, ast.Subscript) and name_of(node.value) == "shape" else None


def _elements(node: ast.expr) -> list[ast.expr]:
    """The sizes in `(n, c)`, `[n, c]` or `(n, c) + (h, w)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _elements(node.left), _elements(node.right)
        return [*left, *right] if left and right else []
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else []


def _factors(node: ast.expr) -> list[ast.expr]:
    """The factors of a product, in order."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def _overtakes(sizes: Sequence[ast.expr], axis_of: Callable[[ast.expr], int | None]) -> bool:
    """An axis is asked for before any that was skipped, and after it there are sizes that may be what became of that."""
    named = [[axis_of(factor) for factor in _factors(each)] for each in sizes]
    is_open = [all(axis is None for axis in axes) for axes in named]
    before: set[int | None] = set()
    for place, axes in enumerate(named):
        before.update(axes)
        if any(is_open[place + 1 :]) and not any(is_open[:place]):
            if any(not before.issuperset(range(axis)) for axis in axes if axis is not None and axis > 0):
                return True
    return False


def _is_reordered(call: ast.Call, unit: str, axes: dict[tuple[str, str], int], shapes: set[tuple[str, str]]) -> bool:
    def axis_of(size: ast.expr) -> int | None:
        if isinstance(size, ast.Subscript) and (unit, name_of(size.value)) in shapes:
            return integer_of(size.slice)
        return axes.get((unit, name_of(size)), _axis_read(size))

    sizes = call.args
    if sizes and (listed := _elements(sizes[-1])):
        sizes = listed
    if len(sizes) < 3:
        return False
    sizes = [each for each in sizes if integer_of(each) != 1]  # axes of size 1 stand in no order
    if len({ast.dump(each) for each in sizes if integer_of(each) != -1}) < 2:
        return False
    read = [axis_of(each) for each in sizes]
    factors = [axis_of(factor) for each in sizes for factor in _factors(each)]
    order = [axis if axis >= 0 else axis + _MANY for axis in factors if axis is not None]
    unread = [each for each, axis in zip(sizes, read) if axis is None and integer_of(each) is None]
    if (
        order != sorted(order)
        or len(set(order)) < len(order)
        or (not order and not unread)
        or _overtakes(sizes, axis_of)
    ):
        return True
    return any(
        axis is not None and (axis < position if axis >= 0 else axis > position - len(sizes))
        for position, axis in enumerate(read)
    )
