"""Tensor methods that return views."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference import sample_steps
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import raw_memory
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.values import (
    Sequence,
    ShapeOf,
    TensorValue,
    Value,
    as_dim,
    as_dims,
    as_int,
    as_sizes,
)
from stridelint.rules.contract import sizes, views
from stridelint.rules.contract.dtypes import complex_of, real_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.views import Geometry
from stridelint.rules.events import Form, Unknown as UnknownArgument


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


def moved(call: Call, move: Callable[[Geometry], Geometry | None], step: str = "") -> Value:
    """The receiver with its axes moved or cut."""
    base = geometry_of(call.path, call.tensor)
    result = view_of(call.path, call.tensor, None if base is None else move(base), call.node, step)
    emitted(call, result)
    return result


def emitted(call: Call, result: TensorValue | None, **arguments: object) -> None:
    """Tell the rules about a view."""
    if not call.path.hears(call.name, call.form is Form.INPLACE, False):
        call.path.reads(call.tensor)
        return
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


def events_shape(shape: Dims | None) -> object:
    """A shape as an event's argument."""
    return UnknownArgument.UNKNOWN if shape is None else shape


@method("permute")
def permute(call: Call) -> Value:
    """`x.permute(dims)`: also tells the rank."""
    order = int_arguments(call)
    if order is not None and call.path.facts(call.tensor).shape is None:
        call.tensor.refine_rank(len(order))
    return moved(call, lambda base: None if order is None else views.permute(base, order), "is permuted here")


@method("transpose", "swapaxes", "swapdims")
def transpose(call: Call) -> Value:
    """`x.transpose(a, b)`."""
    first, second = as_int(call.get(0, "dim0", "axis0")), as_int(call.get(1, "dim1", "axis1"))
    known = first is not None and second is not None
    return moved(
        call, lambda base: views.transpose(base, first or 0, second or 0) if known else None, "is transposed here"
    )


@method("t")
def t(call: Call) -> Value:
    """`x.t()`."""
    return moved(call, views.transposed_matrix, "is transposed here")


@method("movedim", "moveaxis")
def movedim(call: Call) -> Value:
    """`x.movedim(source, destination)`."""
    source, destination = _ints(call.get(0, "source")), _ints(call.get(1, "destination"))
    return moved(
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
    return moved(call, lambda base: None if shape is None else views.expand(base, shape), "is expanded here")


@method("expand_as")
def expand_as(call: Call) -> Value:
    """`x.expand_as(other)`."""
    other = call.get(0, "other")
    shape = call.path.facts(other).shape if isinstance(other, TensorValue) else None
    return moved(call, lambda base: None if shape is None else views.expand(base, shape), "is expanded here")


@method("broadcast_to")
def broadcast_to(call: Call) -> Value:
    """`x.broadcast_to(shape)`."""
    return expand(call)


@method("select")
def select(call: Call) -> Value:
    """`x.select(dim, index)`."""
    axis, index = as_int(call.get(0, "dim")), as_dim(call.get(1, "index"))
    return moved(call, lambda base: None if axis is None else views.select(base, axis, index))


@method("narrow")
def narrow(call: Call) -> Value:
    """`x.narrow(dim, start, length)`."""
    axis, start, length = as_int(call.get(0, "dim")), as_dim(call.get(1, "start")), as_dim(call.get(2, "length"))
    return moved(
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

    return moved(call, move)


@method("unsqueeze")
def unsqueeze(call: Call) -> Value:
    """`x.unsqueeze(dim)`."""
    axis = as_int(call.get(0, "dim"))
    return moved(call, lambda base: None if axis is None else views.unsqueeze(base, axis))


@method("unfold")
def unfold(call: Call) -> Value:
    """`x.unfold(dim, size, step)`: overlapping windows."""
    axis, size, step = as_int(call.get(0, "dimension")), as_int(call.get(1, "size")), as_int(call.get(2, "step"))
    return moved(
        call,
        lambda base: None if axis is None or size is None or step is None else views.unfold(base, axis, size, step),
        "is unfolded here",
    )


@method("diagonal")
def diagonal(call: Call) -> Value:
    """`x.diagonal(offset, dim1, dim2)`."""
    offset, first, second = (as_int(call.get(index, name)) for index, name in enumerate(("offset", "dim1", "dim2")))
    return moved(call, lambda base: views.diagonal(base, offset or 0, first or 0, 1 if second is None else second))


@method("view_as_real")
def view_as_real(call: Call) -> Value:
    """Complex numbers as pairs of reals."""
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
    base, geometry = geometry_of(call.path, call.tensor), None
    if base is not None and base.strides is not None and base.shape[-1:] == (2,) and base.strides[-1] == 1:
        halves = [sizes.floor_divide(stride, 2) for stride in base.strides[:-1]]
        known = [stride for stride in halves if stride is not None]
        geometry = Geometry(base.shape[:-1], tuple(known) if len(known) == len(halves) else None, None)
    dtype = call.tensor.facts.dtype
    result = view_of(call.path, call.tensor, geometry, call.node)
    result.facts = result.facts.but(dtype=None if dtype is None else complex_of(dtype), kind="complex")
    emitted(call, result)
    return result


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
    sample_steps.strided(call.path, call.tensor, call.get(2, "storage_offset"))
    emitted(
        call,
        result,
        size=events_shape(shape),
        stride=events_shape(strides),
        storage_offset=plain(call.path, call.get(2, "storage_offset")),
    )
    return result
