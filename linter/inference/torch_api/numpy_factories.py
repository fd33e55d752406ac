"""numpy's functions that make arrays."""

from __future__ import annotations

import functools

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.factories import nested
from stridelint.linter.inference.torch_api.numpy_dtypes import OF_KIND, numpy_dtype, promoted
from stridelint.linter.inference.torch_api.numpy_elementwise import laid_out
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_dims,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order


def array(shape: Dims | None, dtype: str | None, call: Call) -> ArrayValue:
    """A new array in C order."""
    strides = None if shape is None else strides_in_order(shape, range(len(shape)))
    facts = TensorFacts(
        shape, strides, 0, dtype, kind_of(dtype) if dtype else None, "cpu", False, True, call.path.new_storage()
    )
    return ArrayValue(facts, (("is made here", call.node),))


def ordered(made: ArrayValue, order: Value | None) -> ArrayValue:
    """A new array in the order that is asked for: "C" if none is, "F" for the first axis innermost."""
    if order is not None and not (isinstance(order, Constant) and order.value == "C"):
        shape = made.facts.shape
        by_columns = isinstance(order, Constant) and order.value == "F" and shape is not None
        strides = strides_in_order(shape, range(len(shape))[::-1]) if by_columns and shape is not None else None
        made.facts = made.facts.but(strides=strides)
    return made


@function(*(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full")))
def made(call: Call) -> Value:
    """`np.zeros(shape, dtype, order)`."""
    place = 2 if call.name == "numpy.full" else 1
    given = call.get(place, "dtype")
    shape = call.get(0, "shape")
    number = as_dim(shape)
    dims = (number,) if number is not None else as_dims(shape)
    dtype = numpy_dtype(given)
    if given is None:
        dtype = "float64" if call.name != "numpy.full" else listed(call.path, call.get(1, "fill_value"))[1]
    return ordered(array(dims, dtype, call), call.get(place + 1, "order"))


@function("numpy.dtype")
def dtype_(call: Call) -> Value:
    """`np.dtype("float32")`: as good as what it is told."""
    return call.get(0, "dtype") or Unknown("dtype")


@function("numpy.asarray", "numpy.array", "numpy.ascontiguousarray", "numpy.copy")
def as_array(call: Call) -> Value:
    """`np.asarray(data, dtype)`."""
    source, given = call.get(0), call.get(1, "dtype")
    dtype = numpy_dtype(given)
    if isinstance(source, (ArrayValue, TensorValue)):
        facts = source.facts
        return _taken(call, source, facts.dtype if given is None else dtype, given is None or dtype == facts.dtype)
    shape, own = listed(call.path, source) if isinstance(source, Sequence) else (None, None)
    return array(shape, own if given is None else dtype, call)


def _taken(call: Call, source: ArrayValue | TensorValue, dtype: str | None, is_same: bool) -> Value:
    """An array, or a tensor's memory, as an array of a dtype: the very one, or a copy with the axes in the same order."""
    facts = source.facts
    row_major = None if facts.shape is None else strides_in_order(facts.shape, range(len(facts.shape)))
    if call.name == "numpy.ascontiguousarray":
        strides, is_same = row_major, is_same and facts.strides is not None and facts.strides == row_major
    else:
        strides = None if "order" in call.args.keywords else laid_out(facts)
        is_same &= call.name == "numpy.asarray" and "order" not in call.args.keywords
    if is_same:
        return source if isinstance(source, ArrayValue) else ArrayValue(facts, source.story, source)
    copies = call.name != "numpy.ascontiguousarray" and "copy" not in call.args.keywords and dtype is not None
    storage = call.path.new_storage() if copies else None
    changed = facts.but(dtype=dtype, kind=kind_of(dtype), strides=strides, storage=storage, storage_offset=0)
    return ArrayValue(changed, source.story)


def listed(path: Path, data: Value | None) -> tuple[Dims | None, str | None]:
    """Shape and dtype that numpy gives nested lists of numbers, or a list of arrays."""
    arrays = (
        [each.facts for each in data.items or () if isinstance(each, ArrayValue)] if isinstance(data, Sequence) else []
    )
    if isinstance(data, Sequence) and data.items and len(arrays) == len(data.items):
        alike = arrays[0].shape if all(each.shape == arrays[0].shape for each in arrays) else None
        dtype = functools.reduce(promoted, [each.dtype for each in arrays])
        return None if alike is None else (len(arrays), *alike), dtype
    shape, _, kind = nested(path, data)
    holds_arrays = isinstance(data, Sequence) and any(
        not isinstance(each, Sequence) and hasattr(each, "facts") for each in data.items or ()
    )
    return shape, None if holds_arrays else OF_KIND.get(kind or "")


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
    """`np.zeros_like(a)`: with the axes in the same order."""
    source = call.get(0, "a")
    if not isinstance(source, ArrayValue):
        return array(None, _dtype(call, 2 if call.name == "numpy.full_like" else 1, None), call)
    facts = source.facts
    made = array(facts.shape, _dtype(call, 2 if call.name == "numpy.full_like" else 1, facts.dtype), call)
    made.facts = made.facts.but(strides=None if "order" in call.args.keywords else laid_out(facts))
    return made


@function("numpy.asfortranarray")
def column_major(call: Call) -> Value:
    """`np.asfortranarray(a)`."""
    source = call.get(0, "a")
    facts = source.facts if isinstance(source, ArrayValue) else None
    made = array(None if facts is None else facts.shape, _dtype(call, 1, None if facts is None else facts.dtype), call)
    return ordered(made, Constant("F"))


@function("cv2.imread")
def imread(call: Call) -> Value:
    """`cv2.imread(path)`: colours are bytes in HWC order, unless flags ask for something else."""
    plain = len(call.args.positional) == 1 and not call.args.keywords
    return array(
        (sizes.Size.fresh("height"), sizes.Size.fresh("width"), 3) if plain else None, "uint8" if plain else None, call
    )
