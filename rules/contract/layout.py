"""Memory formats as predicates on concrete sizes and strides.

All functions take a shape and strides of one length, in elements. They model c10/core/Contiguity.h,
c10/core/MemoryFormat.h and the flags that c10/core/TensorImpl.h derives from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Ints: TypeAlias = tuple[int, ...]

CONTIGUOUS = "contiguous_format"
CHANNELS_LAST = "channels_last"
CHANNELS_LAST_3D = "channels_last_3d"
PRESERVE = "preserve_format"

# Axes of a channels-last tensor from the innermost outwards: channels, then space, then batch.
_INNER_TO_OUTER = {CHANNELS_LAST: (1, 3, 2, 0), CHANNELS_LAST_3D: (1, 4, 3, 2, 0)}
RANK_OF = {CHANNELS_LAST: 4, CHANNELS_LAST_3D: 5}


@dataclass(frozen=True, slots=True)
class Raises:
    """The call is an error in torch; `message` is torch's text (or its beginning)."""

    message: str


def product(numbers: Ints) -> int:
    """The number of elements of a shape."""
    result = 1
    for number in numbers:
        result *= number
    return result


def contiguous_strides(shape: Ints) -> Ints:
    """Row-major strides; a size of 0 counts as 1 (`empty_tensor_restride` in c10/core/TensorImpl.h)."""
    strides: list[int] = []
    running = 1
    for size in reversed(shape):
        strides.append(running)
        running *= max(size, 1)
    return tuple(reversed(strides))


def format_strides(shape: Ints, memory_format: str) -> Ints | Raises:
    """Strides of a new tensor of a memory format (`at::empty`); an error where the rank does not fit."""
    if memory_format == CONTIGUOUS:
        return contiguous_strides(shape)
    if len(shape) != RANK_OF[memory_format]:
        return Raises(f"required rank {RANK_OF[memory_format]} tensor to use {memory_format} format")
    strides = [0] * len(shape)
    running = 1
    for axis in _INNER_TO_OUTER[memory_format]:
        strides[axis] = running
        running *= shape[axis]
    return tuple(strides)


def is_contiguous(shape: Ints, strides: Ints, memory_format: str = CONTIGUOUS) -> bool:
    """`Tensor.is_contiguous(memory_format=...)`: strides of size-1 axes do not count; False where the rank does not fit.

    Without elements a tensor is always row-major contiguous, but channels-last only by its strides.
    """
    if memory_format == CONTIGUOUS:
        if 0 in shape:
            return True
        order: Ints = tuple(range(len(shape) - 1, -1, -1))
    elif len(shape) != RANK_OF[memory_format]:
        return False
    else:
        order = _INNER_TO_OUTER[memory_format]
    expected = 1
    for axis in order:
        if shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= shape[axis]
    return True


def _strides_like(shape: Ints, strides: Ints, order: Ints) -> bool:
    """Strides grow along `order`, size-1 axes included, so that an ambiguous tensor keeps the format it was given."""
    if strides[1] == 0:
        return False
    least = 0
    for axis in order:
        if shape[axis] == 0 or strides[axis] < least:
            return False
        if axis == 0 and least == strides[1]:
            return False  # Every axis but the batch has size 1: row-major.
        least = strides[axis] * max(shape[axis], 1)
    return True


def is_channels_last_strides_2d(shape: Ints, strides: Ints) -> bool:
    """Whether strides look like channels_last (`is_strides_like_channels_last`); gaps are allowed, order is what counts."""
    return len(shape) == 4 and _strides_like(shape, strides, _INNER_TO_OUTER[CHANNELS_LAST])


def is_channels_last_strides_3d(shape: Ints, strides: Ints) -> bool:
    """Whether strides look like channels_last_3d."""
    return len(shape) == 5 and _strides_like(shape, strides, _INNER_TO_OUTER[CHANNELS_LAST_3D])


def suggest_memory_format(shape: Ints, strides: Ints) -> str:
    """The format torch keeps for a tensor (`Tensor::suggest_memory_format`): a channels-last one, or row-major."""
    if is_channels_last_strides_2d(shape, strides):
        return CHANNELS_LAST
    return CHANNELS_LAST_3D if is_channels_last_strides_3d(shape, strides) else CONTIGUOUS


def is_non_overlapping_and_dense(shape: Ints, strides: Ints) -> bool:
    """Whether elements fill one block of memory, each place once, in any order of axes."""
    if any(
        is_contiguous(shape, strides, memory_format) for memory_format in (CONTIGUOUS, CHANNELS_LAST, CHANNELS_LAST_3D)
    ):
        return True
    expected = 1
    for stride, size in sorted((strides[axis], shape[axis]) for axis in range(len(shape)) if shape[axis] > 1):
        if stride != expected:
            return False
        expected *= size
    return True
