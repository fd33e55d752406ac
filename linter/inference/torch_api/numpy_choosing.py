"""numpy's functions that choose among numbers, and repeat or surround those of an array."""

from __future__ import annotations

import functools

from stridelint.linter.inference.operators import number_kind
from stridelint.linter.inference.torch_api import numpy_dtypes, numpy_elementwise
from stridelint.linter.inference.torch_api.numpy_factories import array
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import ArrayValue, Sequence, Unknown, Value, as_dim, as_int, is_none
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts

_KINDS = ("bool", "integer", "float", "complex")


@function("numpy.where")
def where(call: Call) -> Value:
    """`np.where(condition, a, b)`; the positions of a condition alone."""
    condition, chosen = call.get(0, "condition"), (call.get(1, "x"), call.get(2, "y"))
    if chosen == (None, None):
        return positions(call)
    dtype = chosen_dtype(chosen)
    given = (condition, *chosen)
    arrays = [each.facts for each in given if isinstance(each, ArrayValue)]
    numbers = [each for each in given if each is not None and number_kind(each) is not None]
    if not arrays or len(arrays) + len(numbers) < len(given):
        return array(None, dtype, call)
    first, *others = arrays
    laid_out = TensorFacts(first.shape, numpy_elementwise.laid_out(first))
    for each in others:
        laid_out = TensorFacts(*numpy_elementwise.together(laid_out, each))
    made = array(laid_out.shape, dtype, call)
    made.facts = made.facts.but(strides=laid_out.strides)
    return made


def chosen_dtype(values: tuple[Value | None, ...]) -> str | None:
    """The dtype that arrays and Python numbers have together; None if it is not known."""
    arrays = [each.facts.dtype for each in values if isinstance(each, ArrayValue)]
    kinds = [number_kind(each) for each in values if each is not None and not isinstance(each, ArrayValue)]
    if None in kinds or len(arrays) + len(kinds) < len(values):
        return None
    kind = max((each for each in kinds if each is not None), key=_KINDS.index, default=None)
    if not arrays:
        return numpy_dtypes.OF_KIND[kind] if kind is not None else None
    dtype = functools.reduce(numpy_dtypes.promoted, arrays)
    return dtype if kind is None else numpy_dtypes.with_number(dtype, kind)


@function("numpy.nonzero")
def positions(call: Call) -> Value:
    """`np.nonzero(a)`: for each axis the positions along it."""
    source = call.get(0, "condition", "a")
    rank = source.facts.rank if isinstance(source, ArrayValue) else None
    if not rank:
        return Unknown(call.name)
    count = sizes.Size.fresh("count")
    if rank == 1:
        return Sequence([array((count,), "int64", call)], "tuple")
    found: list[Value] = []
    for _ in range(rank):
        made = array((count,), "int64", call)
        made.facts = made.facts.but(strides=None)
        found.append(made)
    return Sequence(found, "tuple")


@function("numpy.flatnonzero", "numpy.argwhere")
def listed_positions(call: Call) -> Value:
    """`np.argwhere(a)`: not in C order."""
    made = array((sizes.Size.fresh("count"),), "int64", call)
    if call.name == "numpy.argwhere":
        made.facts = made.facts.but(shape=None, strides=None)
    return made


@function("numpy.tile", "numpy.repeat", "numpy.pad", "numpy.roll", "numpy.delete", "numpy.insert")
def enlarged(call: Call) -> Value:
    """New arrays of the numbers of another, in C order where that is."""
    source = call.get(0, "A", "a", "array", "arr")
    if not isinstance(source, ArrayValue):
        return array(None, None, call)
    facts = source.facts
    row_major = numpy_elementwise.is_row_major(facts)
    made = array(_shape(call, facts.shape), facts.dtype, call)
    if not row_major:
        made.facts = made.facts.but(strides=None)
    return made


def _shape(call: Call, shape: Dims | None) -> Dims | None:
    name = call.name.removeprefix("numpy.")
    if shape is None or name in ("delete", "insert"):
        return None
    if name == "roll":
        return shape
    count = as_dim(call.get(1, "reps", "repeats", "pad_width"))
    if name == "pad":
        return None if count is None else tuple(sizes.add(dim, sizes.multiply(count, 2)) for dim in shape)
    if count is None:
        return None
    if name == "tile":
        return (*shape[:-1], sizes.multiply(shape[-1], count)) if shape else None
    return _repeated(shape, count, call.get(2, "axis"))


def _repeated(shape: Dims, count: Dim, axis: Value | None) -> Dims | None:
    if is_none(axis):
        return (sizes.multiply(sizes.product(shape), count),)
    at = as_int(axis)
    if at is None or not -len(shape) <= at < len(shape):
        return None
    at %= len(shape)
    return (*shape[:at], sizes.multiply(shape[at], count), *shape[at + 1 :])


@function("numpy.meshgrid")
def meshgrid(call: Call) -> Value:
    """`np.meshgrid(a, b)`: for each the numbers along one axis of a common grid; the first two axes swapped by default."""
    arrays = [each for each in call.args.positional if isinstance(each, ArrayValue)]
    if len(arrays) < len(call.args.positional) or call.args.unknown_star or call.args.keywords.keys() - {"indexing"}:
        return Unknown(call.name)
    shapes = [each.facts.shape for each in arrays]
    known = [shape[0] for shape in shapes if shape is not None and len(shape) == 1]
    indexing = call.args.keywords.get("indexing")
    if len(known) < len(arrays) or indexing is not None:
        return Sequence([array(None, each.facts.dtype, call) for each in arrays], "list")
    grid = (known[1], known[0], *known[2:]) if len(known) > 1 else tuple(known)
    return Sequence([array(grid, each.facts.dtype, call) for each in arrays], "list")
