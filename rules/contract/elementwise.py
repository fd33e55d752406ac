"""Shapes and strides of elementwise operators, exactly as TensorIterator gives them.

Models `TensorIteratorBase::build` (aten/src/ATen/TensorIterator.cpp) for one output.
"""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.copies import preserved_strides
from stridelint.rules.contract.dtypes import Operand, Scalar, result_type
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.contract.layout import (
    CHANNELS_LAST,
    CONTIGUOUS,
    Ints,
    contiguous_strides,
    format_strides,
    is_contiguous,
    is_non_overlapping_and_dense,
)
from stridelint.rules.contract.ordering import inner_to_outer


def broadcast_shapes(*shapes: Dims, assume_legal: bool = False) -> Dims | None:
    """The broadcast shape; None where it is not provable or the shapes do not fit.

    Args:
        assume_legal: take two different unknown sizes that face each other for equal, which holds in a legal call unless
            one of them is 1.
    """
    common = _common(shapes)
    if common is not None:
        return common
    result: list[Dim] = []
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        dim = _broadcast([shape[-axis] for shape in shapes if len(shape) >= axis], assume_legal)
        if dim is None:
            return None
        result.append(dim)
    return tuple(reversed(result))


def _common(shapes: Sequence[Dims]) -> Dims | None:
    """The shape that all have but for those without axes, which is the broadcast one, too."""
    common: Dims = ()
    for shape in shapes:
        if shape and common and shape != common:
            return None
        common = shape or common
    return common


def _broadcast(column: Sequence[Dim], assume_legal: bool) -> Dim | None:
    numbers = {dim for dim in column if isinstance(dim, int) and dim != 1}
    if len(numbers) > 1:
        return None
    if numbers:
        return numbers.pop()
    symbols = [dim for dim in column if isinstance(dim, sizes.Size)]
    if not symbols:
        return 1
    if assume_legal or all(symbol == symbols[0] for symbol in symbols):
        return symbols[0]
    return None


def broadcast_shape_of_rank(*shapes: Dims) -> Dims | None:
    """The broadcast shape, with an unknown size of its own for each axis where two different unknown sizes face each other:
    in a legal call they are equal, or one of them is 1. None where the shapes do not fit."""
    likely = broadcast_shapes(*shapes, assume_legal=True)
    if likely is None or _common(shapes) is not None:
        return likely
    result = list(likely)
    for axis in range(1, len(result) + 1):
        column = [shape[-axis] for shape in shapes if len(shape) >= axis and shape[-axis] != 1]
        if isinstance(result[-axis], sizes.Size) and len(set(column)) > 1:
            result[-axis] = _alike(column) or sizes.Size.fresh("size")
    return tuple(result)


def _alike(column: Sequence[Dim]) -> Dim | None:
    """The simplest of several sizes computed from one: where that is above 1 all of them are, and so they are equal."""
    if len(frozenset().union(*(sizes.leaves(dim) for dim in column))) > 1:
        return None
    return next((dim for dim in column if isinstance(dim, sizes.Size) and dim.symbol is not None), None)


def cast_copies(operands: Sequence[Operand], dtype: str | None, device: str | None) -> list[TensorFacts]:
    """The tensors that TensorIterator reads: on CPU an operand of another dtype than the common one is first copied.

    Args:
        operands: concrete; Python numbers become 0-dim tensors.
        dtype: the common dtype; None copies nothing.
        device: of the result; other devices than "cpu" cast on the fly.
    """
    tensors = []
    for operand in operands:
        if isinstance(operand, Scalar):
            operand = TensorFacts(shape=(), strides=())
        elif dtype is not None and device in (None, "cpu") and operand.dtype not in (None, dtype):
            shape, strides = operand.concrete_shape, operand.concrete_strides
            if shape is not None and strides is not None:
                operand = operand.but(strides=preserved_strides(shape, strides))
        tensors.append(operand)
    return tensors


def iterated_strides(shape: Ints, operands: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Strides of the output of one TensorIterator over (shape, strides) operands, which broadcast to `shape`."""
    if all(own == shape for own, _ in operands):
        for memory_format in (CONTIGUOUS, CHANNELS_LAST):
            if all(is_contiguous(shape, strides, memory_format) for _, strides in operands):
                made = format_strides(shape, memory_format)
                assert isinstance(made, tuple)
                return made
        first = operands[0][1]
        if all(strides == first and is_non_overlapping_and_dense(shape, strides) for _, strides in operands):
            return first
    order = inner_to_outer(shape, [_aligned(shape, own, strides) for own, strides in operands])
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(shape)
    result = [0] * len(shape)
    running = 1
    for axis in order:
        result[axis] = running
        running *= shape[axis]
    return tuple(result)


def _aligned(shape: Ints, own: Ints, strides: Ints) -> Ints:
    """Strides per axis of the result: 0 where the operand is broadcast."""
    offset = len(shape) - len(own)
    return (0,) * offset + tuple(
        0 if size == 1 and shape[offset + axis] != 1 else strides[axis] for axis, size in enumerate(own)
    )


def elementwise_strides(
    operands: Sequence[Operand], *, out: TensorFacts | None = None, conditions: int = 0
) -> Ints | None:
    """Strides of an elementwise operator's result.

    Operands come in the operator's own order (`where`: condition, input, other; `addcmul`: input, tensor1, tensor2);
    for an in-place operator the target is also `out`. A target of the right shape keeps its strides, any other is
    resized to the strides of a new result.

    Args:
        operands: at least one; shapes and strides must be numbers. A dtype that is unknown is taken for the common one.
        conditions: how many operands, in front, take no part in type promotion (1 for `where`).

    Returns:
        None where the shapes do not broadcast, the dtypes do not promote, or a fact is missing.
    """
    if any(
        isinstance(operand, TensorFacts) and None in (operand.concrete_shape, operand.concrete_strides)
        for operand in operands
    ):
        return None
    operands = [
        condition.but(dtype=None) for condition in operands[:conditions] if isinstance(condition, TensorFacts)
    ] + list(operands[conditions:])
    known = [operand for operand in operands[conditions:] if isinstance(operand, Scalar) or operand.dtype is not None]
    dtype = result_type(known)
    if dtype is None and known:
        return None
    device = next((operand.device for operand in operands if isinstance(operand, TensorFacts) and operand.device), None)
    pairs = [
        (tensor.concrete_shape or (), tensor.concrete_strides or ()) for tensor in cast_copies(operands, dtype, device)
    ]
    shape = broadcast_shapes(*(own for own, _ in pairs))
    if shape is None:
        return None
    numbers = tuple(dim for dim in shape if isinstance(dim, int))
    if out is not None and out.concrete_shape == numbers and out.concrete_strides is not None:
        return out.concrete_strides
    return iterated_strides(numbers, pairs)
