"""What numpy computes element by element: arithmetic, `np.exp` and its like, running sums."""

from __future__ import annotations

import itertools

from stridelint.linter.inference import testing
from stridelint.linter.inference.operators import number_kind
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import numpy_dtypes
from stridelint.linter.inference.torch_api.numpy_dtypes import numpy_dtype
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import ArrayValue, Unknown, Value, as_int, is_none
from stridelint.rules.contract import sizes
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.elementwise import broadcast_shapes
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
# What booleans give with one another stays boolean here, and is another integer elsewhere.
_OF_BOOLEANS = frozenset({"add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor"})
_MAX_RANK = 5


def array_binary(path: Path, name: str, left: Value, right: Value) -> ArrayValue:
    """Arithmetic with an array, by torch's name for the operator."""
    first = left if isinstance(left, ArrayValue) else right
    assert isinstance(first, ArrayValue)
    other = right if first is left else left
    testing.record_difference(path, name, (left, right))
    facts, kind = first.facts, number_kind(other)
    if isinstance(other, ArrayValue):
        shape, strides = together(facts, other.facts)
        dtype = numpy_dtypes.promoted(facts.dtype, other.facts.dtype)
    elif kind is not None:
        shape, strides = facts.shape, laid_out(facts)
        dtype = numpy_dtypes.with_number(facts.dtype, kind)
    else:
        shape = strides = dtype = None
    return _made(path, first, shape, strides, *_type(name, dtype, facts, known=kind is not None))


def _type(name: str, dtype: str | None, facts: TensorFacts, known: bool) -> tuple[str | None, str | None]:
    """Dtype and kind of what an operator gives for operands of the promoted dtype."""
    if name in _COMPARISONS:
        return "bool", "bool"
    if name == "div":
        dtype = "float64" if kind_of(dtype) in ("bool", "integer") else dtype
        return dtype, kind_of(dtype) or ("float" if facts.kind in ("bool", "integer") else None)
    if dtype == "bool" and name not in _OF_BOOLEANS:
        dtype = None
    return dtype, kind_of(dtype) or (facts.kind if known and facts.kind in ("float", "complex") else None)


def _made(
    path: Path, source: ArrayValue, shape: Dims | None, strides: Dims | None, dtype: str | None, kind: str | None
) -> ArrayValue:
    facts = TensorFacts(shape, strides, 0, dtype, kind, "cpu", False, True, path.new_storage())
    return ArrayValue(facts, source.story)


def laid_out(facts: TensorFacts) -> Dims | None:
    """The strides of what is computed from an array: dense, the axes in the order in which they lie in its memory.

    numpy looks at the sizes that are not 1, and takes the axes in the order of the shape where strides do not decide.
    """
    shape, strides = facts.shape, facts.strides
    if shape is None or strides is None or len(shape) > _MAX_RANK:
        return None
    if strides == strides_in_order(shape, range(len(shape))):
        return strides
    if 0 in shape or 1 in shape:
        return None
    numbers = facts.concrete_strides
    if numbers is not None and 0 not in numbers and len(set(map(abs, numbers))) == len(numbers):
        return strides_in_order(shape, sorted(range(len(shape)), key=lambda axis: -abs(numbers[axis])))
    orders = itertools.permutations(range(len(shape)))
    return next((strides for order in orders if strides_in_order(shape, order) == strides), None)


def together(one: TensorFacts, other: TensorFacts) -> tuple[Dims | None, Dims | None]:
    """Shape and strides of what is computed from two arrays."""
    if one.shape is None or other.shape is None:
        return None, None
    shape = broadcast_shapes(one.shape, other.shape, assume_legal=True)
    if shape is None:
        return None, None
    pair = (laid_out(one), laid_out(other))
    if one.shape == other.shape == shape and pair[0] == pair[1]:
        return shape, pair[0]
    row_major = is_row_major(one) and is_row_major(other)
    return shape, strides_in_order(shape, range(len(shape))) if row_major else None


def is_row_major(facts: TensorFacts) -> bool:
    """Whether what is computed from an array is in C order, for certain."""
    strides = laid_out(facts)
    return strides is not None and strides == strides_in_order(facts.shape or (), range(facts.rank or 0))


def unary(path: Path, source: ArrayValue) -> ArrayValue:
    """`-array`, `~array`, `+array`."""
    facts = source.facts
    return _made(path, source, facts.shape, laid_out(facts), facts.dtype, facts.kind)


_FLOATS = (
    """exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh
    deg2rad rad2deg radians degrees""".split()
)  # fmt: skip
_KEEPING = "square positive negative sign nan_to_num round around conj conjugate abs absolute clip".split()
# Of integers these have given floats in some versions.
_ROUNDING = "floor ceil trunc rint".split()
_PARTS = {"complex64": "float32", "complex128": "float64"}


@function(*(f"numpy.{name}" for name in (*_FLOATS, *_KEEPING, *_ROUNDING)))
def computed(call: Call) -> Value:
    """`np.exp(a)` and its like."""
    name, source = call.name.removeprefix("numpy."), call.get(0, "x", "a")
    if not isinstance(source, ArrayValue):
        return Unknown(call.name)
    facts = source.facts
    dtype = None if facts.dtype == "bool" else facts.dtype
    if name in _FLOATS:
        dtype = numpy_dtypes.as_computed(facts.dtype)
    elif name == "clip":
        for bound in (call.get(1, "a_min", "min"), call.get(2, "a_max", "max")):
            dtype = dtype if is_none(bound) else _with(dtype, bound)
    elif name in _ROUNDING and facts.kind not in ("float", "complex"):
        dtype = None
    elif name in ("abs", "absolute"):
        dtype = _PARTS.get(dtype or "", dtype)
    return _returned(call, _made(call.path, source, facts.shape, laid_out(facts), dtype, kind_of(dtype)))


def _with(dtype: str | None, other: Value | None) -> str | None:
    if isinstance(other, ArrayValue):
        return numpy_dtypes.promoted(dtype, other.facts.dtype)
    kind = None if other is None else number_kind(other)
    return None if kind is None else numpy_dtypes.with_number(dtype, kind)


def _returned(call: Call, made: ArrayValue) -> Value:
    """The new array, or what out= says; dtype= sets its dtype."""
    out, asked = call.args.keywords.get("out"), call.args.keywords.get("dtype")
    if not is_none(out) or "where" in call.args.keywords:
        return out if isinstance(out, ArrayValue) else Unknown(call.name)
    if not is_none(asked):
        dtype = numpy_dtype(asked)
        made.facts = made.facts.but(dtype=dtype, kind=kind_of(dtype))
    return made


# By torch's names of operators; what has none has the dtype and the layout of a product.
_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "floor_divide": "floor_divide",
    "power": "pow", "mod": "remainder", "remainder": "remainder", "maximum": "mul", "minimum": "mul", "fmax": "mul",
    "fmin": "mul", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "logical_and": "eq", "logical_or": "eq", "logical_xor": "eq",
}  # fmt: skip


@function(*(f"numpy.{name}" for name in _OPERATORS))
def combined(call: Call) -> Value:
    """`np.add(a, b)` and its like."""
    left, right = call.get(0), call.get(1)
    if left is None or right is None or not any(isinstance(each, ArrayValue) for each in (left, right)):
        return Unknown(call.name)
    made = array_binary(call.path, _OPERATORS[call.name.removeprefix("numpy.")], left, right)
    return _returned(call, made)


@function("numpy.cumsum", "numpy.cumprod")
def accumulated(call: Call) -> Value:
    """`np.cumsum(a, axis)`: along all numbers in turn if there is no axis."""
    source = call.get(0, "a")
    if not isinstance(source, ArrayValue):
        return Unknown(call.name)
    facts, axis = source.facts, call.get(1, "axis")
    dtype = facts.dtype
    if facts.kind in ("bool", "integer"):
        dtype = "int64" if dtype is not None and not dtype.startswith("u") else None
    shape, strides = facts.shape, laid_out(facts)
    if is_none(axis):
        shape = None if shape is None else (sizes.product(shape),)
        strides = None if shape is None else (1,)
    elif as_int(axis) is None:
        shape = strides = None
    made = _made(call.path, source, shape, strides, dtype, kind_of(dtype))
    if not is_none(call.get(2, "dtype")):
        dtype = numpy_dtype(call.get(2, "dtype"))
        made.facts = made.facts.but(dtype=dtype, kind=kind_of(dtype))
    return _returned(call, made)


# Methods of arrays that are functions of the same name.
METHODS = frozenset("clip round conj conjugate cumsum cumprod".split())
