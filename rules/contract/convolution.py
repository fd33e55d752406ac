"""What the layout of an operator's result follows, by class of operator.

"follows": TensorIterator, any order of axes is kept. "channels_last": only the channels-last formats are kept, by
`suggest_memory_format`. "drops": always row-major. Convolutions look at their weight, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stridelint.rules.contract.elementwise import iterated_strides
from stridelint.rules.contract.layout import (
    CHANNELS_LAST,
    CHANNELS_LAST_3D,
    CONTIGUOUS,
    RANK_OF,
    Ints,
    contiguous_strides,
    format_strides,
    is_contiguous,
    is_non_overlapping_and_dense,
    suggest_memory_format,
)

FOLLOWS: Final = "follows"
KEEPS_CHANNELS_LAST: Final = "channels_last"
DROPS: Final = "drops"

Layout = tuple[Ints, Ints]


def made_in_format(shape: Ints, memory_format: str) -> Ints:
    """Strides of a new tensor of a memory format, row-major where the rank does not fit it."""
    if RANK_OF.get(memory_format, len(shape)) != len(shape):
        memory_format = CONTIGUOUS
    made = format_strides(shape, memory_format)
    return made if isinstance(made, tuple) else contiguous_strides(shape)


def result_strides(layout_class: str, operands: Sequence[Layout], result_shape: Ints) -> Ints | None:
    """Strides of the result of an operator of a layout class.

    Args:
        layout_class: "follows", "channels_last" or "drops"; others (views, unknown) give None.
        operands: (shape, strides) of the operator's tensors in its own order, at least one; all count for "follows"
            (where they must broadcast to `result_shape`), the first for "channels_last".
    """
    if layout_class == FOLLOWS:
        return iterated_strides(result_shape, operands)
    if layout_class == KEEPS_CHANNELS_LAST:
        return made_in_format(result_shape, suggest_memory_format(*operands[0]))
    return contiguous_strides(result_shape) if layout_class == DROPS else None


def conv_strides(
    operand: Layout, weight: Layout, result_shape: Ints, *, groups: int = 1, dtype: str | None = None
) -> Ints | None:
    """Strides of conv1d, conv2d, conv3d and their transposes on CPU (aten/src/ATen/native/Convolution.cpp).

    The result is channels-last iff input or weight suggests it. A 1d convolution is computed as a 2d one of height 1 on a
    row-major input, so that only its weight can make the result channels-last. None where a kernel that depends on the
    machine decides: conv3d of channels-last float32, groups of other dtypes, images of one pixel in groups or with one
    channel, an empty input, a weight with gaps.

    Args:
        operand: (shape, strides) of the input, with a batch axis or without.
        weight: (shape, strides) of the weight.
        result_shape: as `spatial.conv` or `spatial.conv_transpose` gives it.
    """
    space = len(weight[0]) - 2
    batched = len(operand[0]) == space + 2
    if not batched:
        operand = _inserted(operand, 0)
        result_shape = (1, *result_shape)
    if 0 in operand[0] or not is_non_overlapping_and_dense(*weight):
        return None
    if space == 1:
        if not is_contiguous(*operand):
            operand = operand[0], contiguous_strides(operand[0])
        operand, weight = _inserted(operand, 2), _inserted(weight, 2)
        result_shape = (*result_shape[:2], 1, result_shape[2])
    formats = {suggest_memory_format(*operand), suggest_memory_format(*weight)}
    kept = CHANNELS_LAST_3D if space == 3 else CHANNELS_LAST
    one_pixel = {1} in (set(operand[0][2:]), set(result_shape[2:]))
    if (groups > 1 and (dtype != "float32" or one_pixel)) or (operand[0][1] == 1 and one_pixel):
        return None
    if kept not in formats or (space == 3 and dtype == "float64"):
        strides = contiguous_strides(result_shape)
    elif space == 3:
        return None
    else:
        strides = made_in_format(result_shape, kept)
    if space == 1:
        strides = (*strides[:2], strides[3])
    return strides if batched else strides[1:]


def _inserted(layout: Layout, axis: int) -> Layout:
    """The tensor after `unsqueeze(axis)`."""
    shape, strides = layout
    stride = shape[axis] * strides[axis] if axis < len(shape) else 1
    return (*shape[:axis], 1, *shape[axis:]), (*strides[:axis], stride, *strides[axis:])


def batch_norm_strides(operand: Layout) -> Ints:
    """Strides of batch_norm of 2d or 3d images on CPU (aten/src/ATen/native/Normalization.cpp).

    A tensor that is contiguous in both formats becomes row-major; one that is in neither gets the suggested format.
    """
    shape, strides = operand
    for memory_format in (CONTIGUOUS, CHANNELS_LAST, CHANNELS_LAST_3D):
        if is_contiguous(shape, strides, memory_format):
            return made_in_format(shape, memory_format)
    return made_in_format(shape, suggest_memory_format(shape, strides))
