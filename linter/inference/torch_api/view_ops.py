"""Tensor methods that return views."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import raw_memory
from stridelint.linter.inference.torch_api.constants import dtype_name
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Copied,
    Sequence,
    ShapeOf,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_dims,
    as_int,
    as_sizes,
)
from stridelint.rules.contract import questions, sizes, views
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import DTYPES, kind_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import Judgement
from stridelint.rules.contract.views import Geometry


def view_of(
    path: Path, base: TensorValue, geometry: Geometry | None, node: cst.CSTNode | None, step: str = ""
) -> TensorValue:
    """A view of `base` with this geometry (unknown if None), in the same memory."""
    facts = base.facts
    grad = facts.requires_grad if path.grad_mode is not False or not facts.requires_grad else None
    if geometry is None:
        new = facts.but(shape=None, strides=None, storage_offset=None, is_leaf=None, requires_grad=grad)
    else:
        new = facts.but(
            shape=geometry.shape,
            strides=geometry.strides,
            storage_offset=geometry.offset,
            is_leaf=None,
            requires_grad=grad,
        )
    story = base.story if not step or node is None else (*base.story[-3:], (step, node))
    view = TensorValue(new, story, base.proven)
    view.base = base
    view.whole, view.batched = base.whole, base.batched
    return view


def geometry_of(path: Path, tensor: TensorValue) -> Geometry | None:
    """Shape, strides and offset, where the shape is known."""
    facts = path.facts(tensor)
    return None if facts.shape is None else Geometry(facts.shape, facts.strides, facts.storage_offset)


def _moved(call: Call, move: Callable[[Geometry], Geometry | None], step: str = "") -> Value:
    base = geometry_of(call.path, call.tensor)
    result = view_of(call.path, call.tensor, None if base is None else move(base), call.node, step)
    _emit(call, result)
    return result


def _emit(call: Call, result: TensorValue | None, **arguments: object) -> None:
    receiver = operand(call.path, call.tensor, call.args.nodes.get("receiver"))
    facts = result.facts if result is not None else TensorFacts()
    emit(
        call.path,
        call.name,
        call.form,
        call.node,
        {"input": receiver, **arguments},
        (receiver,),
        None,
        facts,
        None,
        call.tensor,
    )


def int_arguments(call: Call, start: int = 0) -> list[int] | None:
    """Integers given one by one or as one tuple."""
    dims = dim_arguments(call, start)
    if dims is None:
        return None
    numbers = [dim for dim in dims if isinstance(dim, int)]
    return numbers if len(numbers) == len(dims) else None


def dim_arguments(call: Call, start: int = 0, *names: str) -> Dims | None:
    """Sizes given one by one or as one tuple or torch.Size."""
    values = call.args.positional[start:]
    if not values:
        keyword = next(
            (call.args.keywords[name] for name in (*names, "size", "shape", "dims") if name in call.args.keywords), None
        )
        return as_sizes(keyword)
    if call.args.unknown_star:
        return None
    if len(values) == 1 and isinstance(values[0], (Sequence, ShapeOf)):
        return as_sizes(values[0])
    if len(values) == 1:
        dim = as_dim(values[0])
        return None if dim is None else (dim,)
    return as_sizes(Sequence(values))


def _rank_of_arguments(call: Call) -> int | None:
    values = call.args.positional
    if call.args.unknown_star or not values:
        return None
    if len(values) == 1 and isinstance(values[0], Sequence):
        return None if values[0].items is None else len(values[0].items)
    return len(values)


@method("permute")
def permute(call: Call) -> Value:
    """`x.permute(dims)`: also tells the rank."""
    order = int_arguments(call)
    if order is not None and call.path.facts(call.tensor).shape is None:
        call.tensor.refine_rank(len(order))
    return _moved(call, lambda base: None if order is None else views.permute(base, order), "is permuted here")


@method("transpose", "swapaxes", "swapdims")
def transpose(call: Call) -> Value:
    """`x.transpose(a, b)`."""
    first, second = as_int(call.get(0, "dim0", "axis0")), as_int(call.get(1, "dim1", "axis1"))
    known = first is not None and second is not None
    return _moved(
        call, lambda base: views.transpose(base, first or 0, second or 0) if known else None, "is transposed here"
    )


@method("t")
def t(call: Call) -> Value:
    """`x.t()`."""
    return _moved(call, views.transposed_matrix, "is transposed here")


@method("movedim", "moveaxis")
def movedim(call: Call) -> Value:
    """`x.movedim(source, destination)`."""
    source, destination = _ints(call.get(0, "source")), _ints(call.get(1, "destination"))
    return _moved(
        call,
        lambda base: None if source is None or destination is None else views.movedim(base, source, destination),
        "is permuted here",
    )


def _ints(value: Value | None) -> list[int] | None:
    number = as_int(value)
    if number is not None:
        return [number]
    dims = as_dims(value)
    if dims is None or not all(isinstance(dim, int) for dim in dims):
        return None
    return [dim for dim in dims if isinstance(dim, int)]


@method("transpose_", "swapaxes_", "swapdims_", "t_", "squeeze_", "unsqueeze_")
def changed_view(call: Call) -> Value:
    """`x.transpose_(0, 1)` and its like: x itself gets the geometry of the view."""
    base = geometry_of(call.path, call.tensor)
    first = call.get(0, "dim0", "axis0", "dim")
    given, second = as_int(first), as_int(call.get(1, "dim1", "axis1"))
    found: Geometry | None = None
    if base is not None and call.name == "t_":
        found = views.transposed_matrix(base)
    elif base is not None and call.name == "squeeze_":
        known = given is not None or (first is None and all(isinstance(dim, int) for dim in base.shape))
        found = (
            views.squeeze(base, None if given is None else [given])
            if known and all(isinstance(d, int) for d in base.shape)
            else None
        )
    elif base is not None and call.name == "unsqueeze_":
        found = None if given is None else views.unsqueeze(base, given)
    elif base is not None and given is not None and second is not None:
        found = views.transpose(base, given, second)
    facts = call.tensor.facts
    if found is None:
        call.tensor.facts = facts.but(shape=None, strides=None)
    else:
        call.tensor.facts = facts.but(shape=found.shape, strides=found.strides)
    return call.tensor


@method("expand")
def expand(call: Call) -> Value:
    """`x.expand(sizes)`."""
    shape = dim_arguments(call)
    return _moved(call, lambda base: None if shape is None else views.expand(base, shape), "is expanded here")


@method("expand_as")
def expand_as(call: Call) -> Value:
    """`x.expand_as(other)`."""
    other = call.get(0, "other")
    shape = call.path.facts(other).shape if isinstance(other, TensorValue) else None
    return _moved(call, lambda base: None if shape is None else views.expand(base, shape), "is expanded here")


@method("broadcast_to")
def broadcast_to(call: Call) -> Value:
    """`x.broadcast_to(shape)`."""
    return expand(call)


@method("select")
def select(call: Call) -> Value:
    """`x.select(dim, index)`."""
    axis, index = as_int(call.get(0, "dim")), as_dim(call.get(1, "index"))
    return _moved(call, lambda base: None if axis is None else views.select(base, axis, index))


@method("narrow")
def narrow(call: Call) -> Value:
    """`x.narrow(dim, start, length)`."""
    axis, start, length = as_int(call.get(0, "dim")), as_dim(call.get(1, "start")), as_dim(call.get(2, "length"))
    return _moved(
        call,
        lambda base: (
            None if axis is None or start is None or length is None else views.narrow(base, axis, start, length)
        ),
        "is sliced here",
    )


@method("squeeze")
def squeeze(call: Call) -> Value:
    """`x.squeeze()`: with symbolic sizes the rank of the result is only known for a given dim."""
    dims = _ints(call.get(0, "dim"))
    given = call.get(0, "dim") is not None

    def move(base: Geometry) -> Geometry | None:
        if given and dims is None:
            return None
        chosen = dims if dims is not None else range(len(base.shape))
        if any(not isinstance(base.shape[axis], int) for axis in chosen if -len(base.shape) <= axis < len(base.shape)):
            return None
        return views.squeeze(base, dims)

    return _moved(call, move)


@method("unsqueeze")
def unsqueeze(call: Call) -> Value:
    """`x.unsqueeze(dim)`."""
    axis = as_int(call.get(0, "dim"))
    return _moved(call, lambda base: None if axis is None else views.unsqueeze(base, axis))


@method("unfold")
def unfold(call: Call) -> Value:
    """`x.unfold(dim, size, step)`: overlapping windows."""
    axis, size, step = as_int(call.get(0, "dimension")), as_int(call.get(1, "size")), as_int(call.get(2, "step"))
    return _moved(
        call,
        lambda base: None if axis is None or size is None or step is None else views.unfold(base, axis, size, step),
        "is unfolded here",
    )


@method("diagonal")
def diagonal(call: Call) -> Value:
    """`x.diagonal(offset, dim1, dim2)`."""
    offset, first, second = (as_int(call.get(index, name)) for index, name in enumerate(("offset", "dim1", "dim2")))
    return _moved(call, lambda base: views.diagonal(base, offset or 0, first or 0, 1 if second is None else second))


@method("view_as_real")
def view_as_real(call: Call) -> Value:
    """Complex numbers as pairs of reals."""
    from stridelint.rules.contract.dtypes import real_of

    base = geometry_of(call.path, call.tensor)
    geometry = None
    if base is not None:
        strides = None if base.strides is None else (*(sizes.multiply(stride, 2) for stride in base.strides), 1)
        geometry = Geometry((*base.shape, 2), strides, None if base.offset is None else sizes.multiply(base.offset, 2))
    result = view_of(call.path, call.tensor, geometry, call.node)
    dtype = result.facts.dtype
    result.facts = result.facts.but(dtype=real_of(dtype) if dtype is not None else None, kind="float")
    return result


@method("view_as_complex")
def view_as_complex(call: Call) -> Value:
    """Pairs of reals as complex numbers: the last axis must be dense."""
    result = view_of(call.path, call.tensor, None, call.node)
    result.facts = result.facts.but(dtype=None, kind="complex")
    _emit(call, result)
    return result


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
        _emit(call, result, dtype=dtype)
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
    _emit(call, result, shape=events_shape(shape), axes=axes_of(call))
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


def events_shape(shape: Dims | None) -> object:
    """A shape as an event's argument."""
    from stridelint.rules.events import Unknown as UnknownArgument

    return UnknownArgument.UNKNOWN if shape is None else shape


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
    _emit(call, result, shape=events_shape(requested), **arguments)
    return result


@method("unbind")
def unbind(call: Call) -> Value:
    """`x.unbind(dim)`: one view per index."""
    axis_value = call.get(0, "dim")
    axis = 0 if axis_value is None else as_int(axis_value)
    base = geometry_of(call.path, call.tensor)
    if base is None or axis is None or not base.shape:
        return Sequence(None, "tuple", lambda: view_of(call.path, call.tensor, None, call.node))
    count = base.shape[axis] if -len(base.shape) <= axis < len(base.shape) else None
    if isinstance(count, int) and count <= 32:
        return Sequence(
            [view_of(call.path, call.tensor, views.select(base, axis, index), call.node) for index in range(count)]
        )
    return Sequence(None, "tuple", lambda: view_of(call.path, call.tensor, views.select(base, axis, None), call.node))


@method("chunk", "split", "tensor_split", "split_with_sizes")
def chunk(call: Call) -> Value:
    """`x.chunk(n, dim)`, `x.split(size, dim)`: views along an axis."""
    path, tensor = call.path, call.tensor
    base = geometry_of(path, tensor)
    axis_value = call.get(1, "dim")
    axis = 0 if axis_value is None else as_int(axis_value)
    lengths = None if base is None or axis is None else _part_lengths(call, base, axis)
    if base is None or axis is None or lengths is None:

        def part() -> Value:
            shape = (
                base.shape
                if base is not None and axis is not None and -len(base.shape) <= axis < len(base.shape)
                else None
            )
            if base is None or shape is None or axis is None:
                return view_of(path, tensor, None, call.node)
            cut = list(shape)
            cut[axis] = sizes.Size.fresh()
            return view_of(path, tensor, Geometry(tuple(cut), base.strides, None), call.node)

        count = as_int(call.get(0, "chunks")) if call.name == "chunk" else None
        return Sequence(
            [part() for _ in range(count)] if count is not None and 0 < count <= 32 else None, "tuple", part
        )
    parts: list[Value] = []
    start: sizes.SizeLike = 0
    for length in lengths:
        parts.append(view_of(path, tensor, views.narrow(base, axis, start, length), call.node, "is sliced here"))
        start = sizes.add(start, length)
    return Sequence(parts)


def _part_lengths(call: Call, base: Geometry, axis: int) -> list[sizes.SizeLike] | None:
    if not -len(base.shape) <= axis < len(base.shape):
        return None
    whole = base.shape[axis]
    amount = call.get(0, "chunks", "split_size_or_sections", "split_size", "split_sizes", "indices_or_sections")
    listed = as_dims(amount)
    if call.name in ("split", "split_with_sizes") and listed is not None:
        return list(listed)
    number = as_int(amount)
    if number is None or number <= 0 or call.name == "tensor_split":
        return None
    if not isinstance(whole, int):
        if call.name == "chunk" and number <= 16:
            part = sizes.floor_divide(whole, number)
            return None if part is None else [part] * number
        return None
    size = -(-whole // number) if call.name == "chunk" else number
    if size <= 0 or whole // size > 64:
        return None
    return [min(size, whole - start) for start in range(0, whole, size)]


@method("as_strided")
def as_strided(call: Call) -> Value:
    """`x.as_strided(size, stride, offset)`."""
    shape, strides = as_dims(call.get(0, "size")), as_dims(call.get(1, "stride"))
    offset = as_dim(call.get(2, "storage_offset"))
    geometry = (
        Geometry(shape, strides, offset)
        if shape is not None and strides is not None and len(shape) == len(strides)
        else None
    )
    result = view_of(call.path, call.tensor, geometry, call.node, "gets these strides here")
    raw_memory.laid_over(call.path, call.tensor, shape, strides, call, result)
    _emit(
        call,
        result,
        size=events_shape(shape),
        stride=events_shape(strides),
        storage_offset=plain(call.path, call.get(2, "storage_offset")),
    )
    return result
