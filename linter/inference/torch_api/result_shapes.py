"""Shapes of operators' results from their bound arguments.

Most follow from the shape class measured in the table; the rest are listed here by operator, over `rules.contract`'s shape
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from stridelint.rules import events
from stridelint.rules.contract import elementwise, joins, shapes, sizes, spatial
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.operators import Variant
from stridelint.rules.events import Operand

Bound: TypeAlias = Mapping[str, object]
_UNKNOWN = events.Unknown.UNKNOWN


def of(name: str, variant: Variant, bound: Bound) -> list[Dims | None] | None:
    """The shape of each result; None where they are not known."""
    compute = _BY_NAME.get(name)
    count = max(len(variant.outputs), 1)
    if compute is not None:
        try:
            found = compute(bound)
        except (TypeError, ValueError, IndexError, AttributeError, KeyError):
            return None
        if found is None:
            return None
        return [_sizes(each) for each in (found if isinstance(found, list) else [found] * count)]
    return _by_class(variant, bound, count)


def _sizes(dims: Dims | None) -> Dims | None:
    """A shape whose sizes are all known up to symbols: a number of unknown value may have been among the arguments."""
    return dims if dims is not None and all(isinstance(dim, (int, sizes.Size)) for dim in dims) else None


def _by_class(variant: Variant, bound: Bound, count: int) -> list[Dims | None] | None:
    if variant.shape == "broadcast":
        operands = [bound.get(parameter) for parameter in variant.tensor_parameters]
        if any(each is _UNKNOWN for each in operands):
            return None
        known = [each.facts.shape for each in operands if isinstance(each, Operand)]
        if not known or any(shape is None for shape in known):
            return None
        return [elementwise.broadcast_shapes(*[shape for shape in known if shape is not None])] * count
    if variant.shape == "first":
        return [shape(bound, variant.tensor_parameters[0])] * count if variant.tensor_parameters else None
    if variant.shape == "reduction":
        return [_reduction(bound)] * count
    return None


def shape(bound: Bound, name: str = "input") -> Dims | None:
    """The shape of a tensor argument."""
    value = bound.get(name)
    return value.facts.shape if isinstance(value, Operand) else None


def _reduction(bound: Bound) -> Dims | None:
    base = shape(bound)
    dim: Any = bound.get("dim")
    keepdim = bound.get("keepdim", False)
    if base is None or dim is _UNKNOWN or keepdim is _UNKNOWN:
        return None
    if not (
        dim is None or isinstance(dim, int) or (isinstance(dim, tuple) and all(isinstance(each, int) for each in dim))
    ):
        return None
    return shapes.reduced(base, dim, bool(keepdim))


def _known(*values: Any) -> bool:
    """All shapes and numbers are there and known."""
    for value in values:
        if value is None or value is _UNKNOWN:
            return False
        if isinstance(value, tuple) and _UNKNOWN in value:
            return False
    return True


def _binary(compute: Callable[[Dims, Dims], Dims | None], first: str, second: str) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        left, right = shape(bound, first), shape(bound, second)
        return None if left is None or right is None else compute(left, right)

    return run


def _list_of_shapes(bound: Bound) -> list[Dims] | None:
    tensors = bound.get("tensors")
    if not isinstance(tensors, tuple):
        return None
    found = [each.facts.shape if isinstance(each, Operand) else None for each in tensors]
    return [each for each in found if each is not None] if None not in found else None


def _joined(compute: Callable[[list[Dims], int], Dims | None]) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        all_shapes, axis = _list_of_shapes(bound), bound.get("dim", 0)
        return compute(all_shapes, axis) if all_shapes and isinstance(axis, int) else None

    return run


def _along(
    compute: Callable[..., Dims | None], *names: str, defaults: Mapping[str, Any] | None = None
) -> Callable[[Bound], Dims | None]:
    """A shape function of the input's shape and the named arguments."""

    def run(bound: Bound) -> Dims | None:
        base = shape(bound)
        values = [bound.get(name, (defaults or {}).get(name)) for name in names]
        if base is None or any(
            value is _UNKNOWN or (isinstance(value, tuple) and _UNKNOWN in value) for value in values
        ):
            return None
        return compute(base, *[value.facts.shape if isinstance(value, Operand) else value for value in values])

    return run


def _conv(transposed: bool) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        base, weight = shape(bound), shape(bound, "weight")
        stride: Any = bound.get("stride", 1)
        padding: Any = bound.get("padding", 0)
        dilation: Any = bound.get("dilation", 1)
        groups: Any = bound.get("groups", 1)
        if not _known(base, weight, stride, padding, dilation, groups) or base is None or weight is None:
            return None
        if transposed:
            extra: Any = bound.get("output_padding", 0)
            if not _known(extra):
                return None
            return spatial.conv_transpose(base, weight, stride, padding, extra, groups, dilation)
        return spatial.conv(base, weight, stride, padding, dilation)

    return run


def _pool(axes: int, dilated: bool) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        base, kernel, stride = shape(bound), bound.get("kernel_size"), bound.get("stride")
        padding, dilation, ceil = (
            bound.get("padding", 0),
            bound.get("dilation", 1) if dilated else 1,
            bound.get("ceil_mode", False),
        )
        if base is None or not _known(kernel, padding, dilation, ceil) or stride is _UNKNOWN:
            return None
        return spatial.pool(base, kernel, stride or None, padding, dilation, bool(ceil), axes=axes)  # type: ignore[arg-type]

    return run


def _adaptive(axes: int) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        base, size = shape(bound), bound.get("output_size")
        return None if base is None or size is _UNKNOWN else spatial.adaptive_pool(base, size, axes=axes)  # type: ignore[arg-type]

    return run


def _interpolate(bound: Bound) -> Dims | None:
    base, size, factor = shape(bound), bound.get("size"), bound.get("scale_factor")
    if base is None or size is _UNKNOWN or factor is _UNKNOWN or (isinstance(size, tuple) and _UNKNOWN in size):
        return None
    return spatial.interpolate(base, size, factor)  # type: ignore[arg-type]


def _pad(bound: Bound) -> Dims | None:
    base, padding = shape(bound), bound.get("pad")
    return spatial.pad(base, padding) if base is not None and isinstance(padding, tuple) and _known(padding) else None


def _one_hot(bound: Bound) -> Dims | None:
    base = shape(bound) or shape(bound, "tensor")
    classes = bound.get("num_classes", -1)
    if base is None:
        return None
    return shapes.one_hot(base, None if classes in (-1, _UNKNOWN) else classes)  # type: ignore[arg-type]


def _einsum(bound: Bound) -> Dims | None:
    equation, operands = bound.get("equation"), bound.get("operands")
    if not isinstance(equation, str) or not isinstance(operands, tuple):
        return None
    found = [each.facts.shape for each in operands if isinstance(each, Operand)]
    known = [each for each in found if each is not None]
    return shapes.einsum(equation, known) if len(known) == len(operands) else None


def _transposed_weight(left: Dims, right: Dims) -> Dims | None:
    return shapes.linear(left, right)


def _cdist(left: Dims, right: Dims) -> Dims | None:
    batch = elementwise.broadcast_shapes(left[:-2], right[:-2])
    return None if batch is None else (*batch, left[-2], right[-2])


def _attention(query: Dims, value: Dims) -> Dims | None:
    return (*query[:-1], value[-1])


def _fresh_first(base: Dims, *_: object) -> Dims:
    return (sizes.Size.fresh("count"), len(base))


def _rfft(base: Dims, n: Dim | None = None, axis: int = -1) -> Dims | None:
    whole = base[axis] if n is None else n
    half = sizes.floor_divide(whole, 2) if isinstance(whole, int) else None
    changed = list(base)
    changed[axis] = sizes.add(half, 1) if half is not None else sizes.Size.fresh("bins")
    return tuple(changed)


def _diag(base: Dims, offset: int = 0) -> Dims | None:
    if len(base) == 1:
        side = sizes.add(base[0], abs(offset))
        return (side, side)
    return (base[0],) if offset == 0 and len(base) == 2 and base[0] == base[1] else None


_BY_NAME: dict[str, Callable[[Bound], Any]] = {
    "matmul": _binary(shapes.matmul, "input", "other"),
    "mm": _binary(shapes.mm, "input", "mat2"),
    "bmm": _binary(shapes.bmm, "input", "mat2"),
    "mv": _binary(shapes.mv, "input", "vec"),
    "dot": _binary(shapes.dot, "input", "tensor"),
    "outer": _binary(shapes.outer, "input", "vec2"),
    "ger": _binary(shapes.outer, "input", "vec2"),
    "addmm": _binary(shapes.mm, "mat1", "mat2"),
    "baddbmm": _binary(shapes.bmm, "batch1", "batch2"),
    "addmv": _binary(shapes.mv, "mat", "vec"),
    "einsum": _einsum,
    "cdist": _binary(_cdist, "x1", "x2"),
    "nn.functional.linear": _binary(_transposed_weight, "input", "weight"),
    "nn.functional.embedding": _binary(shapes.embedding, "input", "weight"),
    "nn.functional.scaled_dot_product_attention": _binary(_attention, "query", "value"),
    "cat": _joined(joins.cat_shape),
    "concat": _joined(joins.cat_shape),
    "concatenate": _joined(joins.cat_shape),
    "stack": _joined(joins.stack_shape),
    "index_select": _along(shapes.index_select, "dim", "index"),
    "gather": _along(shapes.gather, "dim", "index"),
    "topk": _along(shapes.topk, "k", "dim", defaults={"dim": -1}),
    "sort": _along(shapes.sort, "dim", defaults={"dim": -1}),
    "repeat": _along(shapes.repeat, "repeats"),
    "tile": _along(shapes.tile, "dims"),
    "repeat_interleave": _along(shapes.repeat_interleave, "repeats", "dim"),
    "nn.functional.one_hot": _one_hot,
    "nn.functional.interpolate": _interpolate,
    "nn.functional.upsample": _interpolate,
    "nn.functional.pad": _pad,
    "nn.functional.pixel_shuffle": _along(spatial.pixel_shuffle, "upscale_factor"),
    "nn.functional.pixel_unshuffle": _along(spatial.pixel_unshuffle, "downscale_factor"),
    "pixel_shuffle": _along(spatial.pixel_shuffle, "upscale_factor"),
    "nn.functional.glu": _along(spatial.glu, "dim", defaults={"dim": -1}),
    "nonzero": _along(_fresh_first),
    "argwhere": _along(_fresh_first),
    "masked_select": lambda bound: (sizes.Size.fresh("count"),),
    "fft.rfft": _along(_rfft, "n", "dim", defaults={"dim": -1}),
    "diag": _along(_diag, "diagonal", defaults={"diagonal": 0}),
    **{f"nn.functional.conv{axes}d": _conv(False) for axes in (1, 2, 3)},
    **{f"conv{axes}d": _conv(False) for axes in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{axes}d": _conv(True) for axes in (1, 2, 3)},
    **{f"nn.functional.max_pool{axes}d": _pool(axes, True) for axes in (1, 2, 3)},
    **{f"nn.functional.avg_pool{axes}d": _pool(axes, False) for axes in (1, 2, 3)},
    **{f"nn.functional.adaptive_{kind}_pool{axes}d": _adaptive(axes) for kind in ("avg", "max") for axes in (1, 2, 3)},
}
