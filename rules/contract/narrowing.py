"""Results that are cast to a dtype of the same kind with a smaller range: nothing says so if a value does not fit."""

from __future__ import annotations

from typing import TypeGuard

# The smallest and the largest number.
INTEGERS = {
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
# Those in which nobody hashes: what wraps around there does so by mistake.
SMALL = frozenset({"uint8", "int8", "int16"})
LARGEST_FLOAT = {
    "float16": 65504.0,
    "bfloat16": (2 - 2**-7) * 2.0**127,
    "float32": (2 - 2**-23) * 2.0**127,
    "float64": (2 - 2**-52) * 2.0**1023,
}
_REAL_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
# Their results may leave the range of their operands.
GROWING = frozenset("add sub subtract mul multiply neg negative square pow addcmul bitwise_left_shift".split())


def narrows(result: str, out: str) -> bool:
    """Whether a dtype holds less than that of the result, of the same kind."""
    if result in INTEGERS and out in INTEGERS:
        (low, high), (lowest, highest) = INTEGERS[result], INTEGERS[out]
        return low < lowest or high > highest
    result, out = _REAL_PARTS.get(result, result), _REAL_PARTS.get(out, out)
    return result in LARGEST_FLOAT and out in LARGEST_FLOAT and LARGEST_FLOAT[result] > 1.01 * LARGEST_FLOAT[out]


def limits(dtype: str) -> tuple[int, int] | tuple[float, float] | None:
    """The smallest and the largest number of a dtype: what `torch.iinfo` and `torch.finfo` call min and max."""
    largest = LARGEST_FLOAT.get(dtype)
    return INTEGERS.get(dtype) if largest is None else (-largest, largest)


def cannot_hold(number: object, dtype: str) -> bool:
    """Whether a tensor of this dtype can hold neither the number nor its negative."""
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return False
    if dtype in INTEGERS:
        return isinstance(number, int) and abs(number) > INTEGERS[dtype][1] + 1
    return dtype in LARGEST_FLOAT and LARGEST_FLOAT[dtype] < abs(number) < float("inf")


def is_whole_range(low: object, high: object, dtype: str) -> bool:
    """Whether clamping between these leaves every number of a small integer dtype as it is, but for the one whose negative
    it does not hold: -32767 and 32767 are full scale of int16."""
    if dtype not in SMALL or (low is None and high is None):
        return False
    lowest, highest = INTEGERS[dtype]
    least = lowest if high is None else -highest if lowest else 0
    return (low is None or _is_number(low) and low <= least) and (high is None or _is_number(high) and high >= highest)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float))
