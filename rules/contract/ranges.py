"""Between which numbers those of a tensor lie, where all of them are whole, and what arithmetic makes of that.

Nothing here wraps around: a result's range is that of the exact numbers, and `held` tells whether a dtype holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stridelint.rules.contract.narrowing import INTEGERS

# Up to which whole numbers a float dtype holds all.
_EXACT = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float64": 2**53}
_MOST = 2**62
_MOST_POWER = 8


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers lie between `low` and `high`; has_low, has_high: some are these. Of a tensor without numbers all is true."""

    low: int
    high: int
    has_low: bool = False
    has_high: bool = False

    @property
    def is_one(self) -> bool:
        """All numbers are the same."""
        return self.low == self.high

    def part(self) -> Range:
        """That of some of the numbers, who knows which."""
        return self if self.is_one else Range(self.low, self.high)

    def within(self, low: int, high: int) -> bool:
        """Whether all numbers lie between two others."""
        return low <= self.low and self.high <= high


def one(number: int) -> Range:
    """That of a tensor full of a number."""
    return Range(number, number, True, True)


def counted(start: int, step: int, length: int) -> Range:
    """That of `length` numbers, at least one, each `step` on from the one before."""
    return mapped(Range(0, length - 1, True, True), lambda index: start + step * index)


def joined(ranges: Sequence[Range]) -> Range:
    """That of the numbers of several tensors together."""
    low, high = min(each.low for each in ranges), max(each.high for each in ranges)
    return Range(
        low,
        high,
        any(each.low == low and each.has_low for each in ranges),
        any(each.high == high and each.has_high for each in ranges),
    )


def either(old: Range, new: Range) -> Range:
    """That of numbers some of which are replaced: whether the smallest and the largest of before are left is not known."""
    return joined((Range(old.low, old.high), new))


def held(numbers: Range | None, dtype: str | None) -> Range | None:
    """The same range where a dtype holds all these numbers; what does not fit may become anything."""
    limits = None if dtype is None else _limits(dtype)
    return numbers if numbers is not None and limits is not None and numbers.within(*limits) else None


def _limits(dtype: str) -> tuple[int, int] | None:
    if dtype in _EXACT:
        return -_EXACT[dtype], _EXACT[dtype]
    return (0, 1) if dtype == "bool" else INTEGERS.get(dtype)


def overflow(numbers: Range | None, dtype: str) -> str | None:
    """Which numbers an integer dtype surely does not hold, said of results; None if it may hold all."""
    if numbers is None or dtype not in INTEGERS:
        return None
    lowest, highest = INTEGERS[dtype]
    if numbers.is_one:
        return None if numbers.within(lowest, highest) else f"are all {numbers.low}"
    if numbers.high > highest and numbers.has_high:
        return f"go up to {numbers.high}"
    if numbers.low < lowest and numbers.has_low:
        return f"go down to {numbers.low}"
    if numbers.low > highest:
        return f"are all {numbers.low} or more"
    return f"are all {numbers.high} or less" if numbers.high < lowest else None


Arguments = Mapping[str, object]


# They give the same modulo the size of a dtype, whatever their operands are modulo that.
_MODULAR = frozenset("add sub subtract mul multiply".split())


def of_result(name: str, arguments: Arguments, dtype: str | None) -> Range | None:
    """That of what an operator computes in a dtype, by the ranges and numbers among its arguments; `same` tells that its two
    tensors are one."""
    compute = _BY_NAME.get(name)
    if compute is None:
        return None
    if name not in _MODULAR:  # `clamp_min(-7)` of uint8 is `clamp_min(249)`
        given = [number_of(value) for key, value in arguments.items() if key != "same"]
        if any(each is not None and held(each, dtype) is None for each in given):
            return None
    found = compute(arguments)
    return found if found is not None and found.within(-_MOST, _MOST) else None


def number_of(value: object) -> Range | None:
    """That of an argument: a range, or a whole number."""
    if isinstance(value, Range):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return one(int(value)) if isinstance(value, int) else None


def mapped(numbers: Range, change: Callable[[int], int]) -> Range:
    """What a function makes of each number that only grows with it, or only falls."""
    ends = (change(numbers.low), numbers.has_low), (change(numbers.high), numbers.has_high)
    (low, has_low), (high, has_high) = ends if ends[0][0] <= ends[1][0] else ends[::-1]
    return one(low) if low == high else Range(low, high, has_low, has_high)


def _paired(one_: Range, other: Range, combine: Callable[[int, int], int]) -> Range:
    """What a function makes of pairs that is monotonic in both: which numbers meet is only known where one is always the same."""
    if other.is_one:
        return mapped(one_, lambda number: combine(number, other.low))
    if one_.is_one:
        return mapped(other, lambda number: combine(one_.low, number))
    ends = [combine(mine, its) for mine in (one_.low, one_.high) for its in (other.low, other.high)]
    return Range(min(ends), max(ends))


def _binary(combine: Callable[[int, int], int]) -> Callable[[Arguments], Range | None]:
    def compute(arguments: Arguments) -> Range | None:
        left, right = number_of(arguments.get("input")), number_of(arguments.get("other"))
        return None if left is None or right is None else _paired(left, right, combine)

    return compute


def _added(sign: int) -> Callable[[Arguments], Range | None]:
    def compute(arguments: Arguments) -> Range | None:
        factor = number_of(arguments.get("alpha", 1))
        left, right = number_of(arguments.get("input")), number_of(arguments.get("other"))
        if factor is None or left is None or right is None:
            return None
        times = sign * factor.low
        if arguments.get("same"):
            return mapped(left, lambda number: number + times * number)
        return _paired(left, mapped(right, lambda number: times * number), lambda mine, its: mine + its)

    return compute


def _multiplied(arguments: Arguments) -> Range | None:
    if arguments.get("same"):
        return _power({**arguments, "exponent": 2})
    return _binary(lambda mine, its: mine * its)(arguments)


def _power(arguments: Arguments) -> Range | None:
    base, exponent = number_of(arguments.get("input")), number_of(arguments.get("exponent", 2))
    if base is None or exponent is None or not exponent.is_one or not 0 <= exponent.low <= _MOST_POWER:
        return None
    if exponent.low % 2 == 0:
        base = _absolute(base)
    return mapped(base, lambda number: int(number**exponent.low))


def _absolute(numbers: Range) -> Range:
    if numbers.low >= 0 or numbers.high <= 0:
        return mapped(numbers, abs)
    high = max(-numbers.low, numbers.high)
    reached = (numbers.has_low and -numbers.low == high) or (numbers.has_high and numbers.high == high)
    return Range(0, high, False, reached)


def _of_input(change: Callable[[Range], Range | None]) -> Callable[[Arguments], Range | None]:
    def compute(arguments: Arguments) -> Range | None:
        numbers = number_of(arguments.get("input"))
        return None if numbers is None else change(numbers)

    return compute


def _clamped(arguments: Arguments) -> Range | None:
    numbers = number_of(arguments.get("input"))
    for name, choose in (("min", max), ("max", min)):
        limit = arguments.get(name)
        if limit is not None and numbers is not None:
            bound = number_of(limit)
            numbers = None if bound is None else _paired(numbers, bound, choose)
    return numbers


def _extreme(choose: Callable[[int, int], int]) -> Callable[[Arguments], Range | None]:
    """`max` and `min`: of two tensors, or of one, whose extreme number is among the results."""

    def compute(arguments: Arguments) -> Range | None:
        if "other" in arguments:
            return _binary(choose)(arguments)
        numbers = number_of(arguments.get("input"))
        if numbers is None or numbers.is_one:
            return numbers
        largest = choose(0, 1) == 1
        return Range(numbers.low, numbers.high, numbers.has_low and not largest, numbers.has_high and largest)

    return compute


def _divided(arguments: Arguments) -> Range | None:
    """By a positive number; `floor_divide` rounds like Python."""
    numbers, divisor = number_of(arguments.get("input")), number_of(arguments.get("other"))
    mode = arguments.get("rounding_mode", "floor")
    if numbers is None or divisor is None or not divisor.is_one or divisor.low <= 0 or mode not in ("floor", "trunc"):
        return None
    by = divisor.low
    return mapped(numbers, lambda number: number // by if number >= 0 or mode == "floor" else -(-number // by))


def _remainder(arguments: Arguments) -> Range | None:
    numbers, divisor = number_of(arguments.get("input")), number_of(arguments.get("other"))
    if numbers is None or divisor is None or not divisor.is_one or divisor.low <= 0:
        return None
    return numbers if numbers.within(0, divisor.low - 1) else Range(0, divisor.low - 1)


def _masked_bits(arguments: Arguments) -> Range | None:
    left, right = number_of(arguments.get("input")), number_of(arguments.get("other"))
    if left is None or right is None:
        return None
    limits = [each.high for each in (left, right) if each.low >= 0]
    return Range(0, min(limits)) if limits else None


def _mixed_bits(arguments: Arguments) -> Range | None:
    left, right = number_of(arguments.get("input")), number_of(arguments.get("other"))
    if left is None or right is None or left.low < 0 or right.low < 0:
        return None
    return Range(0, 2 ** max(left.high, right.high).bit_length() - 1)


def _shifted_right(arguments: Arguments) -> Range | None:
    numbers, places = number_of(arguments.get("input")), number_of(arguments.get("other"))
    if numbers is None or places is None or not places.is_one or not 0 <= places.low < 64:
        return None
    return mapped(numbers, lambda number: number >> places.low)


def _chosen(*names: str) -> Callable[[Arguments], Range | None]:
    """Numbers out of several tensors, who knows which."""

    def compute(arguments: Arguments) -> Range | None:
        found = [number_of(arguments.get(name)) for name in names]
        known = [each.part() for each in found if each is not None]
        if len(known) < len(found):
            return None
        together = joined(known)
        return together.part()

    return compute


def _together(arguments: Arguments) -> Range | None:
    parts = arguments.get("tensors")
    found = [number_of(each) for each in parts] if isinstance(parts, tuple) else []
    known = [each for each in found if each is not None]
    return joined(known) if known and len(known) == len(found) else None


_BY_NAME: dict[str, Callable[[Arguments], Range | None]] = {
    "add": _added(1),
    **dict.fromkeys(("sub", "subtract"), _added(-1)),
    **dict.fromkeys(("mul", "multiply"), _multiplied),
    **dict.fromkeys(("pow", "square"), _power),
    **dict.fromkeys(("neg", "negative"), _of_input(lambda numbers: mapped(numbers, lambda number: -number))),
    **dict.fromkeys(("abs", "absolute"), _of_input(_absolute)),
    **dict.fromkeys(("clamp", "clip", "clamp_min", "clamp_max"), _clamped),
    **dict.fromkeys(("maximum", "fmax"), _binary(max)),
    **dict.fromkeys(("minimum", "fmin"), _binary(min)),
    **dict.fromkeys(("max", "amax"), _extreme(max)),
    **dict.fromkeys(("min", "amin"), _extreme(min)),
    **dict.fromkeys(("relu", "nn.functional.relu"), _of_input(lambda numbers: mapped(numbers, lambda n: max(n, 0)))),
    "floor_divide": _divided,
    **dict.fromkeys(("div", "divide"), lambda arguments: _divided({"rounding_mode": None, **arguments})),
    "remainder": _remainder,
    "bitwise_and": _masked_bits,
    **dict.fromkeys(("bitwise_or", "bitwise_xor"), _mixed_bits),
    "bitwise_right_shift": _shifted_right,
    "where": _chosen("input", "other"),
    "masked_fill": _chosen("input", "value"),
    **dict.fromkeys(("index_select", "gather", "take", "take_along_dim", "repeat_interleave"), _chosen("input")),
    **dict.fromkeys(("flip", "fliplr", "flipud", "roll", "rot90"), _of_input(lambda numbers: numbers)),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "hstack", "vstack"), _together),
}
OPERATORS = frozenset(_BY_NAME)
