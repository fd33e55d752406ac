"""numpy's functions that make or rearrange arrays, as far as these reach torch."""

from __future__ import annotations

from collections.abc import Callable

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.factories import nested
from stridelint.linter.inference.torch_api.numpy_api import array, numpy_dtype
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    ArrayValue,
    Sequence,
    Value,
    as_dim,
    as_dims,
    as_int,
)
from stridelint.rules.contract import joins, sizes, views
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.views import Geometry

# Of Python's numbers; int64 on all systems since numpy 2, and everywhere but Windows before.
_DTYPE_OF_KIND = {"bool": "bool", "integer": "int64", "float": "float64", "complex": "complex128"}


def listed(path: Path, data: Value | None) -> tuple[Dims | None, str | None]:
    """Shape and dtype that numpy gives nested lists of numbers."""
    shape, _, kind = nested(path, data)
    holds_arrays = isinstance(data, Sequence) and any(
        not isinstance(each, Sequence) and hasattr(each, "facts") for each in data.items or ()
    )
    return shape, None if holds_arrays else _DTYPE_OF_KIND.get(kind or "")


def _dtype(call: Call, index: int, default: str | None) -> str | None:
    given = call.get(index, "dtype")
    return default if given is None else numpy_dtype(given)


@function("numpy.arange")
def arange(call: Call) -> Value:
    """`np.arange(start, stop, step)`."""
    given = call.args.positional[:3]
    kinds = {nested(call.path, each)[2] for each in given}
    default = "int64" if kinds == {"integer"} else "float64" if "float" in kinds else None
    length: Dim = sizes.Size.fresh("length")
    bounds = [as_dim(each) for each in given]
    if len(bounds) == 1 and bounds[0] is not None:
        length = bounds[0]
    elif len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None:
        length = sizes.subtract(bounds[1], bounds[0])
    return array((length,), _dtype(call, 3, default), call)


@function("numpy.linspace")
def linspace(call: Call) -> Value:
    """`np.linspace(start, stop, num)`."""
    given = call.get(2, "num")
    count = 50 if given is None else as_dim(given)
    return array((sizes.Size.fresh("count") if count is None else count,), _dtype(call, 5, "float64"), call)


@function("numpy.eye", "numpy.identity")
def eye(call: Call) -> Value:
    """`np.eye(n)`."""
    rows = as_dim(call.get(0, "N", "n"))
    columns = as_dim(call.get(1, "M")) if call.name == "numpy.eye" and call.get(1, "M") is not None else rows
    shape = None if rows is None or columns is None else (rows, columns)
    return array(shape, _dtype(call, 3 if call.name == "numpy.eye" else 1, "float64"), call)


@function("numpy.zeros_like", "numpy.ones_like", "numpy.empty_like", "numpy.full_like")
def like(call: Call) -> Value:
    """`np.zeros_like(a)`: keeps C order of arrays that have it."""
    source = call.get(0, "a")
    if not isinstance(source, ArrayValue):
        return array(None, _dtype(call, 2 if call.name == "numpy.full_like" else 1, None), call)
    facts = source.facts
    made = array(facts.shape, _dtype(call, 2 if call.name == "numpy.full_like" else 1, facts.dtype), call)
    row_major = None if facts.shape is None else strides_in_order(facts.shape, range(len(facts.shape)))
    made.facts = made.facts.but(strides=row_major if facts.strides == row_major else None)
    return made


@function("numpy.stack", "numpy.concatenate")
def stack(call: Call) -> Value:
    """`np.stack(arrays, axis)`, `np.concatenate(arrays, axis)`: new arrays, in C order where the parts are."""
    given = call.get(0, "arrays")
    items = given.items if isinstance(given, Sequence) else None
    arrays = [each for each in items or [] if isinstance(each, ArrayValue)]
    axis = as_int(call.get(1, "axis")) if call.get(1, "axis") is not None else 0
    if not arrays or len(arrays) != len(items or []) or axis is None:
        return array(None, None, call)
    shapes = [each.facts.shape for each in arrays]
    known = [shape for shape in shapes if shape is not None]
    dtypes = {each.facts.dtype for each in arrays}
    shape = _JOINS[call.name](known, axis) if len(known) == len(shapes) else None
    return array(shape, dtypes.pop() if len(dtypes) == 1 else None, call)


_JOINS: dict[str, Callable[[list[Dims], int], Dims | None]] = {
    "numpy.stack": joins.stack_shape,
    "numpy.concatenate": joins.cat_shape,
}


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
    view.backwards = source.backwards
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


@function("numpy.asfortranarray")
def column_major(call: Call) -> Value:
    """`np.asfortranarray(a)`."""
    source = call.get(0, "a")
    facts = source.facts if isinstance(source, ArrayValue) else None
    made = array(None if facts is None else facts.shape, _dtype(call, 1, None if facts is None else facts.dtype), call)
    shape = made.facts.shape
    made.facts = made.facts.but(strides=None if shape is None else strides_in_order(shape, range(len(shape))[::-1]))
    return made


@function("cv2.imread")
def imread(call: Call) -> Value:
    """`cv2.imread(path)`: colours are bytes in HWC order, unless flags ask for something else."""
    plain = len(call.args.positional) == 1 and not call.args.keywords
    return array(
        (sizes.Size.fresh("height"), sizes.Size.fresh("width"), 3) if plain else None, "uint8" if plain else None, call
    )
