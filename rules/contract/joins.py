"""torch.cat and torch.stack: shapes and strides (aten/src/ATen/native/TensorShape.cpp)."""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.layout import CONTIGUOUS, Ints, format_strides, suggest_memory_format
from stridelint.rules.contract.reshaping import view_strides
from stridelint.rules.contract.views import Geometry, unsqueeze, wrap


def _is_skipped(shape: Dims) -> bool:
    """A tensor of shape (0,) fits any other in `cat`, for historical reasons."""
    return shape == (0,)


def cat_shape(shapes: Sequence[Dims], axis: int) -> Dims | None:
    """Shape of `torch.cat`; None where torch refuses, or where an unknown number of tensors or rank leaves it open."""
    kept = [shape for shape in shapes if not _is_skipped(shape)]
    if not shapes or any(not shape for shape in shapes):
        return None
    if not kept:
        return (0,)  # Whatever the axis is.
    at = wrap(axis, len(kept[0]))
    if at is None or any(len(shape) != len(kept[0]) for shape in kept):
        return None
    total: Dim = 0
    for shape in kept:
        total = sizes.add(total, shape[at])
    result: list[Dim] = []
    for place in range(len(kept[0])):
        column = [shape[place] for shape in kept]
        numbers = {dim for dim in column if isinstance(dim, int)}
        if place == at:
            result.append(total)
        elif len(numbers) > 1:
            return None
        else:
            result.append(numbers.pop() if numbers else column[0])
    return tuple(result)


def cat_strides(tensors: Sequence[tuple[Ints, Ints]], axis: int) -> Ints | None:
    """Strides of `torch.cat`: channels-last iff every input suggests that one format, else row-major.

    Args:
        tensors: (shape, strides) of each input, the skipped ones included.
    """
    shape = cat_shape([own for own, _ in tensors], axis)
    if shape is None:
        return None
    formats = {suggest_memory_format(own, strides) for own, strides in tensors}
    made = format_strides(
        tuple(dim for dim in shape if isinstance(dim, int)), formats.pop() if len(formats) == 1 else CONTIGUOUS
    )
    return made if isinstance(made, tuple) else None


def stack_shape(shapes: Sequence[Dims], axis: int) -> Dims | None:
    """Shape of `torch.stack`: equal shapes and a new axis; None where torch refuses or it is undecided."""
    if not shapes or len({len(shape) for shape in shapes}) > 1:
        return None
    at = wrap(axis, len(shapes[0]) + 1)
    if at is None:
        return None
    result: list[Dim] = []
    for column in zip(*shapes):
        numbers = {dim for dim in column if isinstance(dim, int)}
        if len(numbers) > 1:
            return None
        result.append(numbers.pop() if numbers else column[0])
    result.insert(at, len(shapes))
    return tuple(result)


def stack_strides(tensors: Sequence[tuple[Ints, Ints]], axis: int) -> Ints | None:
    """Strides of `torch.stack`: a `cat` along the axis, seen as two; at the end a `cat` of unsqueezed tensors."""
    shape = stack_shape([own for own, _ in tensors], axis)
    if shape is None:
        return None
    at = wrap(axis, len(shape)) or 0
    if at == len(shape) - 1:
        made = [unsqueeze(Geometry(own, strides), -1) for own, strides in tensors]
        return cat_strides([_numbers(one) for one in made if one is not None], at)
    joined = cat_strides(tensors, at)
    joined_shape = cat_shape([own for own, _ in tensors], at)
    if joined is None or joined_shape is None:
        return None
    return view_strides(_ints(joined_shape), joined, _ints(shape))


def _ints(dims: Dims) -> Ints:
    return tuple(dim for dim in dims if isinstance(dim, int))


def _numbers(geometry: Geometry) -> tuple[Ints, Ints]:
    return _ints(geometry.shape), _ints(geometry.strides or ())
