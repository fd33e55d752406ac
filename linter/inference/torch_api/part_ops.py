"""Tensor methods that cut a tensor into several views."""

from __future__ import annotations

from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.torch_api.view_ops import geometry_of, view_of
from stridelint.linter.inference.values import (
    Sequence,
    Value,
    as_dims,
    as_int,
)
from stridelint.rules.contract import sizes, views
from stridelint.rules.contract.views import Geometry


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
