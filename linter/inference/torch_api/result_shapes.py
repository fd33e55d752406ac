"""Shapes of operators' results from their bound arguments.

Most follow from the shape class measured in the table; the rest are listed here by operator, over `rules.contract`'s shape
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stridelint.linter.inference.torch_api import algebra_shapes
from stridelint.linter.inference.torch_api.bound_shapes import (
    UNKNOWN,
    Bound,
    Compute,
    along,
    binary,
    joined,
    known,
    reduction,
    shape,
)
from stridelint.rules.contract import elementwise, joins, shapes, sizes, spatial
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.operators import Variant
from stridelint.rules.events import Operand


def of(name: str, variant: Variant, bound: Bound) -> list[Dims | None] | None:
    """The shape of each result; None where they are not known."""
    compute = _BY_NAME.get(name)
    if compute is None:
        return _of_all(variant, _by_class(variant, bound))
    try:
        found = compute(bound)
    except (TypeError, ValueError, IndexError, AttributeError, KeyError):
        return None
    if isinstance(found, list):
        return [_sizes(each) for each in found]
    return _of_all(variant, _sizes(found))


def _of_all(variant: Variant, first: Dims | None) -> list[Dims | None] | None:
    """The shapes of all results, of which the first one's is known."""
    if first is None:
        return None
    return [None if output.own_shape else first for output in variant.outputs] or [first]


def _sizes(dims: Dims | None) -> Dims | None:
    """A shape whose sizes are all known up to symbols: a number of unknown value may have been among the arguments."""
    return dims if dims is not None and all(isinstance(dim, (int, sizes.Size)) for dim in dims) else None


def _by_class(variant: Variant, bound: Bound) -> Dims | None:
    """The shape of the first result."""
    if variant.shape == "broadcast":
        operands = [bound.get(parameter) for parameter in variant.tensor_parameters]
        if any(each is UNKNOWN for each in operands):
            return None
        found = [each.facts.shape for each in operands if isinstance(each, Operand)]
        if not found or None in found:
            return None
        return elementwise.broadcast_shape_of_rank(*[dims for dims in found if dims is not None])
    if variant.shape == "first":
        return shape(bound, variant.tensor_parameters[0]) if variant.tensor_parameters else None
    if variant.shape == "reduction":
        return reduction(bound)
    return None


def _conv(transposed: bool) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        base, weight = shape(bound), shape(bound, "weight")
        stride: Any = bound.get("stride", 1)
        padding: Any = bound.get("padding", 0)
        dilation: Any = bound.get("dilation", 1)
        groups: Any = bound.get("groups", 1)
        if not known(base, weight, stride, padding, dilation, groups) or base is None or weight is None:
            return None
        if transposed:
            extra: Any = bound.get("output_padding", 0)
            if not known(extra):
                return None
            return spatial.conv_transpose(base, weight, stride, padding, extra, groups, dilation)
        return spatial.conv(base, weight, stride, padding, dilation, groups)

    return run


def _pool(axes: int, dilated: bool) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        base, kernel, stride = shape(bound), bound.get("kernel_size"), bound.get("stride")
        padding, dilation, ceil = (
            bound.get("padding", 0),
            bound.get("dilation", 1) if dilated else 1,
            bound.get("ceil_mode", False),
        )
        if base is None or not known(kernel, padding, dilation, ceil) or stride is UNKNOWN:
            return None
        return spatial.pool(base, kernel, stride or None, padding, dilation, bool(ceil), axes=axes)  # type: ignore[arg-type]

    return run


def _adaptive(axes: int) -> Callable[[Bound], Dims | None]:
    def run(bound: Bound) -> Dims | None:
        base, size = shape(bound), bound.get("output_size")
        return None if base is None or size is UNKNOWN else spatial.adaptive_pool(base, size, axes=axes)  # type: ignore[arg-type]

    return run


def _interpolate(bound: Bound) -> Dims | None:
    base, size, factor = shape(bound), bound.get("size"), bound.get("scale_factor")
    if base is None or size is UNKNOWN or factor is UNKNOWN or (isinstance(size, tuple) and UNKNOWN in size):
        return None
    return spatial.interpolate(base, size, factor)  # type: ignore[arg-type]


def _pad(bound: Bound) -> Dims | None:
    base, padding = shape(bound), bound.get("pad")
    return spatial.pad(base, padding) if base is not None and isinstance(padding, tuple) and known(padding) else None


def _one_hot(bound: Bound) -> Dims | None:
    base = shape(bound) or shape(bound, "tensor")
    classes = bound.get("num_classes", -1)
    if base is None:
        return None
    return shapes.one_hot(base, None if classes in (-1, UNKNOWN) else classes)  # type: ignore[arg-type]


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


def _diag(base: Dims, offset: int = 0) -> Dims | None:
    if len(base) == 1:
        side = sizes.add(base[0], abs(offset))
        return (side, side)
    return (base[0],) if offset == 0 and len(base) == 2 and base[0] == base[1] else None


_BY_NAME: dict[str, Compute] = {
    **algebra_shapes.SHAPES,
    "matmul": binary(shapes.matmul, "input", "other"),
    "mm": binary(shapes.mm, "input", "mat2"),
    "bmm": binary(shapes.bmm, "input", "mat2"),
    "mv": binary(shapes.mv, "input", "vec"),
    "dot": binary(shapes.dot, "input", "tensor"),
    "outer": binary(shapes.outer, "input", "vec2"),
    "ger": binary(shapes.outer, "input", "vec2"),
    "addmm": binary(shapes.mm, "mat1", "mat2"),
    "baddbmm": binary(shapes.bmm, "batch1", "batch2"),
    "addmv": binary(shapes.mv, "mat", "vec"),
    "einsum": _einsum,
    "cdist": binary(_cdist, "x1", "x2"),
    "nn.functional.linear": binary(_transposed_weight, "input", "weight"),
    "nn.functional.embedding": binary(shapes.embedding, "input", "weight"),
    "nn.functional.scaled_dot_product_attention": binary(_attention, "query", "value"),
    "cat": joined(joins.cat_shape),
    "concat": joined(joins.cat_shape),
    "concatenate": joined(joins.cat_shape),
    "stack": joined(joins.stack_shape),
    "index_select": along(shapes.index_select, "dim", "index"),
    "gather": along(shapes.gather, "dim", "index"),
    "topk": along(shapes.topk, "k", "dim", defaults={"dim": -1}),
    "sort": along(shapes.sort, "dim", defaults={"dim": -1}),
    "repeat": along(shapes.repeat, "repeats"),
    "tile": along(shapes.tile, "dims"),
    "repeat_interleave": along(shapes.repeat_interleave, "repeats", "dim"),
    "nn.functional.one_hot": _one_hot,
    "nn.functional.interpolate": _interpolate,
    "nn.functional.upsample": _interpolate,
    "nn.functional.pad": _pad,
    "nn.functional.pixel_shuffle": along(spatial.pixel_shuffle, "upscale_factor"),
    "nn.functional.pixel_unshuffle": along(spatial.pixel_unshuffle, "downscale_factor"),
    "pixel_shuffle": along(spatial.pixel_shuffle, "upscale_factor"),
    "nn.functional.glu": along(spatial.glu, "dim", defaults={"dim": -1}),
    "nonzero": along(_fresh_first),
    "argwhere": along(_fresh_first),
    "masked_select": lambda bound: (sizes.Size.fresh("count"),),
    "diag": along(_diag, "diagonal", defaults={"diagonal": 0}),
    **{f"nn.functional.conv{axes}d": _conv(False) for axes in (1, 2, 3)},
    **{f"conv{axes}d": _conv(False) for axes in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{axes}d": _conv(True) for axes in (1, 2, 3)},
    **{f"nn.functional.max_pool{axes}d": _pool(axes, True) for axes in (1, 2, 3)},
    **{f"nn.functional.avg_pool{axes}d": _pool(axes, False) for axes in (1, 2, 3)},
    **{f"nn.functional.adaptive_{kind}_pool{axes}d": _adaptive(axes) for kind in ("avg", "max") for axes in (1, 2, 3)},
}
