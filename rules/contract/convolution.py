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
