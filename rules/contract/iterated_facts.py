"""Facts of the results of elementwise operators and of operators by layout class; whether the order of operands matters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from stridelint.rules.contract import copies, generic, sizes
from stridelint.rules.contract.alike import once_alike
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.convolution import result_strides
from stridelint.rules.contract.dtypes import Operand, Scalar, kind_of, result_type, result_type_and_kind
from stridelint.rules.contract.elementwise import broadcast_shapes, iterated_strides
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import UNKNOWN, Judgement, judge, lift_strides, substituted
from stridelint.rules.contract.layout import Ints
from stridelint.rules.contract.predicates import common_device, is_dense, pair


def _casts(operands: Sequence[Operand], dtype: str | None, device: str | None) -> list[bool | None]:
    """Per operand whether TensorIterator reads a copy of it: where its dtype is not the common one, on CPU."""
    tensors = [operand for operand in operands if isinstance(operand, TensorFacts)]
    casts: list[bool | None] = []
    for operand in operands:
        if isinstance(operand, Scalar) or device not in (None, "cpu"):
            casts.append(False)
        elif len(operands) == len(tensors) == 1 and dtype is None:
            casts.append(False)
        elif dtype is None or operand.dtype is None:
            casts.append(None)
        else:
            casts.append(False if operand.dtype == dtype else True if device == "cpu" else None)
    return casts


def _iterated(tensors: Sequence[TensorFacts], casts: Sequence[bool | None], shape: Ints) -> set[Ints]:
    """All strides the result may have, depending on which operands are copied first."""
    choices = []
    for tensor, cast in zip(tensors, casts):
        own, strides = pair(tensor)
        copied = copies.preserved_strides(own, strides)
        choices.append(
            [(own, copied)] if cast or copied == strides else [(own, strides)] + [(own, copied)] * (cast is None)
        )
    return {iterated_strides(shape, operands) for operands in itertools.product(*choices)}


def _operand_strides(shape: Dims, tensors: Sequence[TensorFacts], casts: Sequence[bool | None]) -> Dims | None:
    undecided = False

    def compute(filled: tuple[TensorFacts, ...], extra: generic.Numbers) -> Ints | None:
        nonlocal undecided
        broadcast = broadcast_shapes(*(tensor.concrete_shape or () for tensor in filled))
        if broadcast is None:
            return None
        numbers = tuple(dim for dim in broadcast if isinstance(dim, int))
        found = _iterated(filled, casts, numbers)
        undecided = undecided or len(found) > 1
        return found.pop()

    strides = lift_strides(compute, shape, tensors, broadcast=True)
    return None if undecided else strides


def elementwise(operands: Sequence[Operand], *, to_float: bool = False, conditions: int = 0) -> TensorFacts:
    """The result of an elementwise operator on tensors and Python numbers, in the operator's own order.

    Args:
        to_float: the operator computes bool and integer operands in the default dtype (`exp`, `div`).
        conditions: how many operands, in front, take no part in type promotion (1 for `where`).
    """
    tensors = [operand for operand in operands if isinstance(operand, TensorFacts)]
    dtype, kind = result_type_and_kind(operands[conditions:])
    if to_float and kind in ("bool", "integer"):
        dtype, kind = "float32", "float"
    device = common_device(tensors)
    facts = TensorFacts(dtype=dtype, kind=kind_of(dtype) or kind, device=device, storage_offset=0)
    shapes = [tensor.shape for tensor in tensors]
    known = [shape for shape in shapes if shape is not None]
    shape = broadcast_shapes(*known, assume_legal=True) if len(known) == len(shapes) else None
    if shape is None:
        return facts
    filled = [TensorFacts(shape=(), strides=()) if isinstance(operand, Scalar) else operand for operand in operands]
    casts = [False] * conditions + _casts(operands[conditions:], dtype, device)
    if to_float and dtype is None:
        casts = [None if cast is False and device in (None, "cpu") else cast for cast in casts]
    if any(tensor.strides is None for tensor in filled):
        return facts.but(shape=shape, strides=_decided_by_first(shape, filled))
    groups = [shape, *(dims for tensor in filled for dims in (tensor.shape, tensor.strides))]
    strides = once_alike(("elementwise", *casts), groups, lambda: _strides(shape, filled, casts))
    return facts.but(shape=shape, strides=strides)


def _strides(shape: Dims, tensors: Sequence[TensorFacts], casts: Sequence[bool | None]) -> Dims | None:
    strides = _operand_strides(shape, tensors, casts)
    if strides is None:
        return _decided_by_first(shape, tensors)
    if any(isinstance(size, sizes.Size) for tensor in tensors for size in tensor.shape or ()):
        if not any(isinstance(size, sizes.Size) for size in shape):
            return strides if _holds_for_ones(shape, tensors, casts, strides) else None
    return strides


def _decided_by_first(shape: Dims, tensors: Sequence[TensorFacts]) -> Dims | None:
    """A dense first operand of the full shape, all sizes above 1, decides the strides whatever the others are."""
    first = next((tensor for tensor in tensors if tensor.rank), None)
    if first is None or first.shape != shape or any(isinstance(dim, int) and dim < 2 for dim in shape):
        return None
    if not all(isinstance(dim, int) for dim in shape) and first.concrete_strides is not None and len(shape) > 1:
        return None
    return first.strides if is_dense(first).answer is Answer.YES else None


def _holds_for_ones(shape: Dims, tensors: Sequence[TensorFacts], casts: Sequence[bool | None], strides: Dims) -> bool:
    """Whether the strides stay when unknown sizes are broadcast (1) instead of equal to the size they face."""
    symbols = {size.symbol for tensor in tensors for size in tensor.shape or () if isinstance(size, sizes.Size)}
    symbols.discard(None)
    for count in range(1, len(symbols) + 1):
        for chosen in itertools.combinations(sorted(symbols, key=str), count):
            ones: dict[sizes.Atom, sizes.SizeLike] = {symbol: 1 for symbol in chosen if symbol is not None}
            replaced = [substituted(tensor, ones) for tensor in tensors]
            if _operand_strides(shape, replaced, casts) != strides:
                return False
    return True


def order_matters(operands: Sequence[Operand], *, conditions: int = 0) -> Judgement:
    """Whether the result's strides on axes of size > 1 change when the first operand trades places with another one.

    Args:
        conditions: how many operands, in front, take no part in type promotion (1 for `where`).
    """
    tensors = [TensorFacts(shape=(), strides=()) if isinstance(operand, Scalar) else operand for operand in operands]
    dtype = result_type(operands[conditions:])
    casts = [False] * conditions + _casts(
        operands[conditions:],
        dtype,
        common_device([operand for operand in operands if isinstance(operand, TensorFacts)]),
    )

    def question(filled: tuple[TensorFacts, ...], _: generic.Numbers) -> bool | None:
        broadcast = broadcast_shapes(*(tensor.concrete_shape or () for tensor in filled))
        if broadcast is None:
            return None
        shape = tuple(dim for dim in broadcast if isinstance(dim, int))
        results = []
        for start in range(len(filled)):
            swapped, swapped_casts = list(filled), list(casts)
            swapped[0], swapped[start] = swapped[start], swapped[0]
            swapped_casts[0], swapped_casts[start] = swapped_casts[start], swapped_casts[0]
            found = {
                tuple(s for s, size in zip(strides, shape) if size > 1)
                for strides in _iterated(swapped, swapped_casts, shape)
            }
            results.append(found)
        if all(one == results[0] for one in results) and len(results[0]) == 1:
            return False
        if any(not (one & results[0]) for one in results):
            return True
        undecided.append(True)
        return None

    undecided: list[bool] = []
    judged = judge(question, tensors, broadcast=True)
    return UNKNOWN if undecided else judged


def result_of(layout_class: str, operands: Sequence[TensorFacts], shape: Dims | None) -> TensorFacts:
    """Shape, strides and device of a new tensor made by an operator of a layout class (see `convolution`)."""
    facts = TensorFacts(shape=shape, device=common_device(operands), storage_offset=0)
    if shape is None:
        return facts

    def compute(filled: tuple[TensorFacts, ...], extra: generic.Numbers) -> Ints | None:
        return result_strides(layout_class, [pair(tensor) for tensor in filled], extra[0])

    read = [] if layout_class == "drops" else operands[:1] if layout_class == "channels_last" else operands
    return facts.but(
        strides=lift_strides(
            compute, shape, read, shape, broadcast=layout_class == "follows", about=("result", layout_class)
        )
    )
