"""The order in which torch lays out the axes of a new tensor after the strides of existing ones.

Models `TensorIteratorBase::reorder_dimensions` (aten/src/ATen/TensorIterator.cpp) and `infer_dense_strides`
(aten/src/ATen/ExpandUtils.cpp), which sort alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract.layout import Ints


def _comes_after(shape: Ints, operands: Sequence[Ints], inner: int, outer: int) -> int:
    """1 if axis `inner` must lie outside of axis `outer`, -1 if it must not, 0 if no operand decides.

    Operands are asked in order. A stride of 0 (a broadcast axis) says nothing; of equal strides the smaller size lies
    inside.
    """
    for strides in operands:
        left, right = strides[inner], strides[outer]
        if left == 0 or right == 0:
            continue
        if left != right:
            return 1 if left > right else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def inner_to_outer(shape: Ints, operands: Sequence[Ints]) -> list[int]:
    """Axes from the innermost outwards, by an insertion sort that starts from row-major and leaves undecided pairs.

    Args:
        shape: of the result.
        operands: strides aligned with `shape` (0 on broadcast axes), the deciding operand first.
    """
    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        moving = start
        for place in range(start - 1, -1, -1):
            decision = _comes_after(shape, operands, order[place], order[moving])
            if decision > 0:
                order[place], order[moving] = order[moving], order[place]
                moving = place
            elif decision < 0:
                break
    return order
