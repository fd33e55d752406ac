"""What numpy makes of many numbers: sums, means, extremes, along some axes or all."""

from __future__ import annotations

from stridelint.linter.inference.torch_api.numpy_dtypes import numpy_dtype
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Sequence,
    Unknown,
    Value,
    as_int,
    is_none,
)
from stridelint.rules.contract.dtypes import kind_of, real_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order

_TOTALS = frozenset({"sum", "prod", "nansum"})
_MEANS = frozenset({"mean", "std", "var", "nanmean"})
_EXTREMES = frozenset({"min", "max", "amin", "amax", "ptp"})
_TRUTHS = frozenset({"any", "all"})
_PLACES = frozenset({"argmax", "argmin"})
_ALL = _TOTALS | _MEANS | _EXTREMES | _TRUTHS | _PLACES
# Those that are methods of arrays, too, with the same arguments.
METHODS = frozenset("sum prod mean std var min max any all argmax argmin".split())
_ARGUMENTS = frozenset({"axis", "dtype", "keepdims", "ddof"})


@function(*(f"numpy.{name}" for name in sorted(_ALL)))
def reduced(call: Call) -> Value:
    """`np.mean(a, axis)` and its like; of all numbers one, which is like an array without axes."""
    name, source = call.name.removeprefix("numpy."), call.get(0, "a")
    if not isinstance(source, ArrayValue) or not call.args.keywords.keys() <= _ARGUMENTS | {"a"}:
        return Unknown(call.name)
    if len(call.args.positional) > 2 or call.args.unknown_star:
        return Unknown(call.name)
    facts = source.facts
    asked = call.args.keywords.get("dtype")
    dtype = _dtype(name, facts.dtype) if is_none(asked) else numpy_dtype(asked)
    shape = _shape(facts.shape, call.get(1, "axis"), call.args.keywords.get("keepdims"))
    in_order = facts.shape is not None and facts.strides == strides_in_order(facts.shape, range(len(facts.shape)))
    strides = strides_in_order(shape, range(len(shape))) if shape is not None and (in_order or not shape) else None
    made = TensorFacts(shape, strides, 0, dtype, kind_of(dtype), "cpu", False, True, call.path.new_storage())
    return ArrayValue(made, source.story)


def _dtype(name: str, dtype: str | None) -> str | None:
    if name in _TRUTHS:
        return "bool"
    if name in _PLACES:
        return "int64"
    kind = kind_of(dtype)
    if name in _EXTREMES or kind is None or dtype is None:
        return dtype
    if kind in ("bool", "integer"):
        return "float64" if name in _MEANS else "uint64" if dtype.startswith("u") else "int64"
    return real_of(dtype) if name in ("std", "var") else dtype


def _shape(shape: Dims | None, axis: Value | None, keeps: Value | None) -> Dims | None:
    """The shape without some axes, or with 1 in their place."""
    if axis is None or is_none(axis):
        chosen: list[int | None] = list(range(len(shape))) if shape is not None else []
    elif isinstance(axis, Sequence):
        chosen = [as_int(each) for each in axis.items] if axis.items is not None else [None]
    else:
        chosen = [as_int(axis)]
    kept = None if keeps is None else keeps.value if isinstance(keeps, Constant) else keeps
    if kept not in (None, True, False):
        return None
    if shape is None:
        return () if is_none(axis) and not kept else None
    if any(each is None or not -len(shape) <= each < len(shape) for each in chosen):
        return None
    gone = {each % len(shape) for each in chosen if each is not None}
    if kept:
        return tuple(1 if place in gone else dim for place, dim in enumerate(shape))
    return tuple(dim for place, dim in enumerate(shape) if place not in gone)
