"""Arrays that numpy reads from files, texts and buffers."""

from __future__ import annotations

from stridelint.linter.inference.torch_api.numpy_dtypes import numpy_dtype
from stridelint.linter.inference.torch_api.numpy_factories import array, ordered
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import Value, as_dim, as_dims, is_none
from stridelint.rules.contract import sizes


@function("numpy.loadtxt", "numpy.genfromtxt")
def table(call: Call) -> Value:
    """A table of numbers; one row or one column gives a single axis."""
    given = call.get(1, "dtype")
    dtype = "float64" if given is None else numpy_dtype(given)
    return array(None, None if "names" in call.args.keywords else dtype, call)


@function("numpy.frombuffer", "numpy.fromfile", "numpy.fromstring", "numpy.fromiter")
def line(call: Call) -> Value:
    """One axis of numbers."""
    given, count = call.get(1, "dtype"), as_dim(call.get(2, "count"))
    length = sizes.Size.fresh("length") if count is None or count == -1 else count
    return array((length,), "float64" if given is None else numpy_dtype(given), call)


@function("numpy.memmap")
def mapped(call: Call) -> Value:
    """`np.memmap(path, dtype, mode, offset, shape)`: of a shape, or one axis."""
    given, shape, order = call.get(1, "dtype"), call.get(4, "shape"), call.get(5, "order")
    dtype = "uint8" if given is None else numpy_dtype(given)
    if is_none(shape):
        return array((sizes.Size.fresh("length"),), dtype, call)
    number = as_dim(shape)
    return ordered(array((number,) if number is not None else as_dims(shape), dtype, call), order)
