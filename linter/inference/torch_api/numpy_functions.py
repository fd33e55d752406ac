"""numpy's functions that join or rearrange arrays, as far as these reach torch."""

from __future__ import annotations

import functools
from collections.abc import Callable

from stridelint.linter.inference import elements
from stridelint.linter.inference.torch_api import numpy_dtypes, numpy_elementwise
from stridelint.linter.inference.torch_api.numpy_arrays import backwards, flipped
from stridelint.linter.inference.torch_api.numpy_factories import array
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    ArrayValue,
    Sequence,
    Unknown,
    Value,
    as_dims,
    as_int,
    is_none,
)
from stridelint.rules.contract import joins, sizes, views
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.views import Geometry

_JOINS = ("stack", "concatenate", "vstack", "row_stack", "hstack", "column_stack", "append")


@function(*(f"numpy.{name}" for name in _JOINS))
def stack(call: Call) -> Value:
    """`np.stack(arrays, axis)`, `np.concatenate(arrays, axis)` and their kin: new arrays, in C order where the parts are."""
    name = call.name.removeprefix("numpy.")
    given, asked = call.get(0, "arrays", "tup"), call.get(1, "axis")
    if name == "append":
        given, asked = (
            Sequence([call.get(0, "arr") or Unknown(), call.get(1, "values") or Unknown()]),
            call.get(2, "axis"),
        )
    parts = elements.any_of(given) if isinstance(given, Sequence) else []
    arrays = [each for each in parts if isinstance(each, ArrayValue)]
    if not arrays or len(arrays) != len(parts) or "out" in call.args.keywords:
        return array(None, None, call)
    dtype = functools.reduce(numpy_dtypes.promoted, [each.facts.dtype for each in arrays])
    if call.args.keywords.get("dtype") is not None:
        dtype = numpy_dtypes.numpy_dtype(call.args.keywords["dtype"])
    axis, is_stack = _joined_along(name, asked, {each.facts.rank for each in arrays})
    known = [each.facts.shape for each in arrays if each.facts.shape is not None]
    if len(known) < len(arrays) or axis is None:
        return array(None, dtype, call)
    if isinstance(given, Sequence) and given.items is None:
        shape = joins.stack_shape([*known, *known], axis) if is_stack else None  # of a number that is not known
        at = None if shape is None else axis % len(shape)
        shape = None if shape is None or at is None else (*shape[:at], sizes.Size.fresh("count"), *shape[at + 1 :])
    else:
        shape = joins.stack_shape(known, axis) if is_stack else joins.cat_shape(known, axis)
    made = array(shape, dtype, call)
    laid_out = [numpy_elementwise.laid_out(each.facts) for each in arrays]
    if any(strides != strides_in_order(own, range(len(own))) for strides, own in zip(laid_out, known)):
        alike = is_stack and axis == 0 and laid_out.count(laid_out[0]) == len(laid_out)
        strides = laid_out[0] if alike else None
        made.facts = made.facts.but(strides=None if strides is None else (sizes.product(known[0]), *strides))
    return made


def _joined_along(name: str, asked: Value | None, ranks: set[int | None]) -> tuple[int | None, bool]:
    """The axis along which arrays are joined, None if it is not known; and whether it is a new one."""
    if name in ("stack", "concatenate"):
        return 0 if asked is None else as_int(asked), name == "stack"
    rows = ranks == {1}
    if name == "append":
        return 0 if rows and is_none(asked) else as_int(asked), False
    if len(ranks) > 1 or ranks & {None, 0}:
        return None, False
    if name == "hstack":
        return int(not rows), False
    return int(name == "column_stack"), rows


def _moved(source: ArrayValue, move: Callable[[Geometry], Geometry | None]) -> ArrayValue:
    facts = source.facts
    base = None if facts.shape is None else Geometry(facts.shape, facts.strides, facts.storage_offset)
    found = None if base is None else move(base)
    cut = (
        facts.but(shape=None, strides=None)
        if found is None
        else facts.but(shape=found.shape, strides=found.strides, storage_offset=found.offset)
    )
    view = ArrayValue(cut, source.story)
    view.backwards, view.turned = source.backwards, source.turned and None
    return view


@function("numpy.transpose", "numpy.moveaxis", "numpy.swapaxes", "numpy.expand_dims")
def rearranged(call: Call) -> Value:
    """Views with their axes in another order."""
    source = call.get(0, "a")
    if not isinstance(source, ArrayValue):
        return array(None, None, call)
    first, second = as_int(call.get(1, "axis", "source", "axis1")), as_int(call.get(2, "destination", "axis2"))
    if call.name == "numpy.expand_dims":
        return _moved(source, lambda base: None if first is None else views.unsqueeze(base, first))
    if call.name == "numpy.moveaxis":
        return _moved(
            source, lambda base: None if first is None or second is None else views.movedim(base, [first], [second])
        )
    if call.name == "numpy.swapaxes":
        return _moved(
            source, lambda base: None if first is None or second is None else views.transpose(base, first, second)
        )
    order = call.get(1, "axes")
    if order is None:
        return _moved(source, views.reversed_axes)
    dims = as_dims(order)
    axes = [axis for axis in dims or () if isinstance(axis, int)]
    return _moved(source, lambda base: views.permute(base, axes) if axes and len(axes) == len(dims or ()) else None)


@function("numpy.flip", "numpy.fliplr", "numpy.flipud")
def turned_round(call: Call) -> Value:
    """`np.flip(a, axis)`: a view with negative strides, along all axes if none is told."""
    source, asked = call.get(0, "m"), call.get(1, "axis")
    owner = source if isinstance(source, ArrayValue) else ArrayValue()
    axes: tuple[int, ...] | None = None
    if call.name != "numpy.flip":
        axes = (int(call.name == "numpy.fliplr"),)
    elif is_none(asked):
        axes = None if owner.facts.rank is None else tuple(range(owner.facts.rank))
    elif asked is not None:
        given = as_dims(asked) if isinstance(asked, Sequence) else (as_int(asked),)
        known = [axis for axis in given or () if isinstance(axis, int)]
        axes = tuple(known) if given and len(known) == len(given) else None
    return flipped(owner, axes, call.node)


@function("numpy.rot90")
def turned(call: Call) -> Value:
    """`np.rot90(a, k, axes)`: a view; every number of turns but multiples of four reverses an axis."""
    source, given, axes = call.get(0, "m"), call.get(1, "k"), call.get(2, "axes")
    owner = source if isinstance(source, ArrayValue) else ArrayValue()
    turns = 1 if given is None else as_int(given)
    if turns is not None and turns % 4 == 0:
        return _moved(owner, lambda base: base)
    if turns is None:
        call.path.weaken(Confidence.LIKELY)
    shape = owner.facts.shape
    if axes is not None or turns is None or shape is None or len(shape) < 2:
        shape = None
    elif turns % 2:
        shape = (shape[1], shape[0], *shape[2:])
    return backwards(owner, call.node, owner.facts.but(shape=shape, strides=None, storage_offset=None))
