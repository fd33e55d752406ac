"""Tensor methods that ask for another shape: views where the strides allow it, else errors or copies."""

from __future__ import annotations

from stridelint.linter.inference.torch_api import raw_memory
from stridelint.linter.inference.torch_api.constants import dtype_name
from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.torch_api.view_ops import dim_arguments, emitted, events_shape, geometry_of, view_of
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Copied,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dims,
    as_int,
)
from stridelint.rules.contract import questions, sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import DTYPES, kind_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import Judgement
from stridelint.rules.contract.views import Geometry


def _rank_of_arguments(call: Call) -> int | None:
    values = call.args.positional
    if call.args.unknown_star or not values:
        return None
    if len(values) == 1 and isinstance(values[0], Sequence):
        return None if values[0].items is None else len(values[0].items)
    return len(values)


@method("view")
def view(call: Call) -> Value:
    """`x.view(shape)` or `x.view(dtype)`."""
    path, tensor = call.path, call.tensor
    dtype = dtype_name(call.get(0, "dtype"))
    if dtype is not None:
        facts = tensor.facts
        geometry = geometry_of(path, tensor)
        same_size = facts.dtype in DTYPES and DTYPES[facts.dtype].bits == DTYPES[dtype].bits
        result = view_of(path, tensor, geometry if same_size else None, call.node)
        result.facts = result.facts.but(dtype=dtype, kind=kind_of(dtype))
        emitted(call, result, dtype=dtype)
        return result
    if len(call.args.positional) > 1:
        tensor.prove()  # arrays have a method of this name, but it takes no sizes
    return _viewed(call, dim_arguments(call))


@method("view_as")
def view_as(call: Call) -> Value:
    """`x.view_as(other)`."""
    other = call.get(0, "other")
    return _viewed(call, call.path.facts(other).shape if isinstance(other, TensorValue) else None)


def _viewed(call: Call, shape: Dims | None) -> Value:
    path, tensor = call.path, call.tensor
    facts = path.facts(tensor)
    if shape is None or facts.shape is None:
        result = view_of(path, tensor, None, call.node)
        rank = _rank_of_arguments(call)
        if shape is not None and -1 not in shape:
            result.facts = result.facts.but(shape=shape)
        elif rank is not None and call.name == "view":
            result.refine_rank(rank)
            if shape is not None and result.facts.shape is not None:
                result.facts = result.facts.but(
                    shape=tuple(new if old == -1 else old for old, new in zip(shape, result.facts.shape))
                )
    else:
        resulting, _ = questions.view(facts, shape)
        geometry = (
            None
            if resulting is None or resulting.shape is None
            else Geometry(resulting.shape, resulting.strides, resulting.storage_offset)
        )
        resolved = questions.resolve_view_shape(facts.shape, shape)
        result = view_of(path, tensor, geometry, call.node)
        if geometry is None and resolved is not None:
            result.facts = result.facts.but(shape=resolved)
    raw_memory.shaped(path, tensor, result.facts.shape)
    emitted(call, result, shape=events_shape(shape), axes=axes_of(call))
    return result


def axes_of(call: Call) -> tuple[int | None, ...]:
    """For each size asked for, the axis of the tensor itself (or the array it was) from which the code took it."""
    values = call.args.positional
    if len(values) == 1 and isinstance(values[0], Sequence):
        values = values[0].items or []
    origins = [each.origin if isinstance(each, Constant) else None for each in values]
    return tuple(None if each is None or not _is_same(call.tensor, each[0]) else each[1] for each in origins)


def _is_same(tensor: TensorValue, owner: Value) -> bool:
    """The very tensor, or one of other type with the same elements in the same places."""
    if isinstance(owner, ArrayValue):
        mine, theirs = tensor.facts, owner.facts
        return None not in (mine.storage, mine.strides) and (mine.storage, mine.shape, mine.strides) == (
            theirs.storage,
            theirs.shape,
            theirs.strides,
        )
    while tensor is not owner:
        base = tensor.base or (tensor.copied.source if tensor.copied is not None else None)
        if base is None or base.facts.shape != tensor.facts.shape or len(base.story) + 1 < len(tensor.story):
            return False
        if base.facts.strides != tensor.facts.strides or tensor.facts.strides is None:
            return False
        tensor = base
    return True


@method("unflatten")
def unflatten(call: Call) -> Value:
    """`x.unflatten(dim, sizes)`: always a view."""
    path, tensor = call.path, call.tensor
    facts = path.facts(tensor)
    axis, new = as_int(call.get(0, "dim")), as_dims(call.get(1, "sizes", "unflattened_size"))
    if facts.shape is None or axis is None or new is None or not -len(facts.shape) <= axis < len(facts.shape):
        return view_of(path, tensor, None, call.node)
    axis %= len(facts.shape)
    shape = (*facts.shape[:axis], *new, *facts.shape[axis + 1 :])
    resulting, _ = questions.view(facts, shape)
    geometry = (
        None
        if resulting is None or resulting.shape is None
        else Geometry(resulting.shape, resulting.strides, resulting.storage_offset)
    )
    return view_of(path, tensor, geometry, call.node)


@method("reshape")
def reshape(call: Call) -> Value:
    """`x.reshape(shape)`: a view where the strides allow it, else a copy."""
    return _reshaped(call, dim_arguments(call), axes=axes_of(call))


@method("reshape_as")
def reshape_as(call: Call) -> Value:
    """`x.reshape_as(other)`."""
    other = call.get(0, "other")
    return _reshaped(call, call.path.facts(other).shape if isinstance(other, TensorValue) else None)


@method("flatten", "ravel")
def flatten(call: Call) -> Value:
    """`x.flatten(start, end)`."""
    path, tensor = call.path, call.tensor
    facts = path.facts(tensor)
    start, end = as_int(call.get(0, "start_dim")), as_int(call.get(1, "end_dim"))
    first = 0 if call.get(0, "start_dim") is None else start
    last = -1 if call.get(1, "end_dim") is None else end
    if facts.shape is None or first is None or last is None:
        return _copied_or_viewed(call, None, None, None)
    rank = len(facts.shape)
    if rank == 0:
        return _reshaped(call, (1,))
    first, last = first % rank, last % rank
    if first > last:
        return Unknown("flatten")
    merged = sizes.product(facts.shape[first : last + 1])
    return _reshaped(call, (*facts.shape[:first], merged, *facts.shape[last + 1 :]), start_dim=first, end_dim=last)


def _reshaped(call: Call, shape: Dims | None, **arguments: object) -> Value:
    facts = call.path.facts(call.tensor)
    if shape is None or facts.shape is None:
        known = shape if shape is not None and -1 not in shape else None
        return _copied_or_viewed(call, None, known, shape, **arguments)
    resulting, judgement = questions.reshape(facts, shape)
    return _copied_or_viewed(
        call, (resulting, judgement), questions.resolve_view_shape(facts.shape, shape), shape, **arguments
    )


def _copied_or_viewed(
    call: Call,
    known: tuple[TensorFacts, Judgement] | None,
    shape: Dims | None,
    requested: Dims | None,
    **arguments: object,
) -> Value:
    path, tensor = call.path, call.tensor
    if known is not None and known[1].answer is Answer.NO:
        facts = known[0]
        result = view_of(
            path,
            tensor,
            None if facts.shape is None else Geometry(facts.shape, facts.strides, facts.storage_offset),
            call.node,
        )
    else:
        copied = known is not None and known[1].answer is Answer.YES and known[0].shape is not None
        source = (
            known[0]
            if copied and known is not None
            else tensor.facts.but(shape=shape, strides=None, storage_offset=None)
        )
        storage = path.new_storage() if copied else None
        result = TensorValue(
            source.but(storage=storage, is_leaf=None, requires_grad=tensor.facts.requires_grad),
            tensor.story,
            tensor.proven,
        )
        result.base = tensor
        if known is not None and known[1].answer is Answer.YES:
            result.copied = Copied(tensor, call.node, known[1].confidence)
            result.raw = raw_memory.raw_of(tensor) if len(known[0].shape or ()) == 1 and tensor.facts.rank == 1 else ()
        rank = _rank_of_arguments(call)
        if shape is None and rank is not None and call.name == "reshape":
            result.refine_rank(rank)
    raw_memory.shaped(path, tensor, result.facts.shape)
    emitted(call, result, shape=events_shape(requested), **arguments)
    return result
