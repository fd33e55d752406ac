"""Whether code shows that a tensor has a rank for which there are no memory formats but the row-major one.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator

import libcst as cst

from stridelint.rules.forms.layout_questions import integer, is_method
from stridelint.rules.forms.walking import source_code, walk

# The ranks of channels_last and channels_last_3d.
_RANKS = frozenset({4, 5})
_COMPARE: dict[type[cst.CSTNode], Callable[[int, int], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}


def has_other_rank(tensor: cst.CSTNode, around: tuple[cst.CSTNode, ...], node: cst.CSTNode) -> bool:
    """Conditions that hold at `node`, or its function elsewhere, leave no rank for which there are formats.

    Args:
        tensor: how the tensor is written.
        around: the nodes that `node` is in, outermost first.
    """
    name = source_code(tensor).strip()
    ranks = _RANKS
    for test, outcome in (*_held(around, node), *_demanded(around)):
        ranks &= _left(test, outcome, name)
    return not ranks or _is_unpacked(around, name)


def _held(around: tuple[cst.CSTNode, ...], node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, bool]]:
    """Conditions around a node, and how they turned out where it is reached."""
    chain = (*around, node)
    for outer, inner in itertools.pairwise(chain):
        if isinstance(outer, cst.BooleanOperation):
            other = outer.left if inner is outer.right else outer.right
            yield other, isinstance(outer.operator, cst.And)
        elif isinstance(outer, cst.BinaryOperation) and isinstance(outer.operator, (cst.BitAnd, cst.BitOr)):
            other = outer.left if inner is outer.right else outer.right
            yield other, isinstance(outer.operator, cst.BitAnd)
        elif isinstance(outer, (cst.If, cst.IfExp, cst.While)):
            if inner is outer.body:
                yield outer.test, True
            elif inner is outer.orelse:
                yield outer.test, False


def _demanded(around: tuple[cst.CSTNode, ...]) -> Iterator[tuple[cst.CSTNode, bool]]:
    """What the function asserts, or raises if it is so."""
    for each in walk(_function(around), cst.Assert, cst.If):
        if isinstance(each, cst.Assert):
            yield each.test, True
        elif isinstance(each, cst.If) and isinstance(_last(each.body), cst.Raise):
            yield each.test, False


def _last(block: cst.BaseSuite) -> cst.CSTNode | None:
    line = block.body[-1] if block.body else None
    return line.body[-1] if isinstance(line, cst.SimpleStatementLine) else line


def _function(around: tuple[cst.CSTNode, ...]) -> cst.CSTNode:
    return next((each for each in reversed(around) if isinstance(each, cst.FunctionDef)), around[0])


def _left(test: cst.CSTNode, outcome: bool, name: str) -> frozenset[int]:
    """The ranks of `_RANKS` for which a condition may have turned out so."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _left(test.expression, not outcome, name)
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And if outcome else cst.Or):
        return _left(test.left, outcome, name) & _left(test.right, outcome, name)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not _is_rank(test.left, name):
        return _RANKS
    how, right = test.comparisons[0].operator, test.comparisons[0].comparator
    if isinstance(how, (cst.In, cst.NotIn)) and isinstance(right, (cst.Tuple, cst.List, cst.Set)):
        numbers = [integer(each.value) for each in right.elements]
        holds = isinstance(how, cst.In) is outcome
        return _RANKS if None in numbers else frozenset(each for each in _RANKS if (each in numbers) is holds)
    number, compare = integer(right), _COMPARE.get(type(how))
    if number is None or compare is None:
        return _RANKS
    return frozenset(each for each in _RANKS if compare(each, number) is outcome)


def _is_rank(node: cst.CSTNode, name: str) -> bool:
    """`x.ndim`, `x.dim()`, `len(x.shape)`, `len(x.size())`."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "len" and node.args:
        return _is_shape(node.args[0].value, name)
    owner = node.func if isinstance(node, cst.Call) and not node.args else node
    return (
        isinstance(owner, cst.Attribute)
        and owner.attr.value in ("ndim", "dim", "ndimension")
        and source_code(owner.value).strip() == name
    )


def _is_shape(node: cst.CSTNode | None, name: str) -> bool:
    if isinstance(node, cst.Call):
        owner: cst.CSTNode | None = node.func if not node.args and is_method(node, "size") else None
    else:
        owner = node if isinstance(node, cst.Attribute) and node.attr.value == "shape" else None
    return isinstance(owner, cst.Attribute) and source_code(owner.value).strip() == name


def _is_unpacked(around: tuple[cst.CSTNode, ...], name: str) -> bool:
    """Its shape is unpacked into another number of sizes, and nowhere in the function into one that memory formats are for."""
    counts = {
        None
        if any(isinstance(each, cst.StarredElement) for each in target.target.elements)
        else len(target.target.elements)
        for assign in walk(_function(around), cst.Assign)
        if isinstance(assign, cst.Assign) and _is_shape(assign.value, name)
        for target in assign.targets
        if isinstance(target.target, (cst.Tuple, cst.List))
    }
    return bool(counts) and counts.isdisjoint({None, *_RANKS})
