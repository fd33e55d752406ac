"""Which tensors hold whole numbers whatever their dtype: stored as integers, they lose nothing."""

from __future__ import annotations

from stridelint.linter.inference import elements, number_ranges
from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Number,
    Sequence,
    ShapeOf,
    SizeValue,
    TensorValue,
    Value,
)
from stridelint.rules.contract.ranges import Range

_ROUNDING = frozenset(("round", "floor", "ceil", "trunc", "fix", "sign", "floor_divide"))
_KEEPING = frozenset(
    """add sub mul neg abs clamp clip clamp_min clamp_max maximum minimum max min amax amin sum cumsum prod where cat stack
    index_select gather flip roll repeat tile square remainder masked_fill nn.functional.relu relu tril triu""".split()
)


def of_result(name: str, args: Arguments) -> bool:
    """Whether an operator's result has whole numbers only: it rounds, or computes with whole ones."""
    if name in _ROUNDING:
        return args.get(1, "decimals") is None
    return name in _KEEPING and all(of(each) for each in (*args.positional, *args.keywords.values()))


def of(value: Value | None) -> bool:
    """Whether all numbers in a value are whole, and there are no others in it; what is no number at all is no obstacle."""
    if isinstance(value, TensorValue):
        return value.whole or value.facts.kind in ("bool", "integer")
    if isinstance(value, Number):
        return value.kind in ("bool", "integer")
    if isinstance(value, Sequence):
        return value.items is not None and all(of(each) for each in value.items)
    return not isinstance(value, Constant) or not isinstance(value.value, float) or value.value.is_integer()


def listed(value: Value | None) -> bool:
    """The same of what tensors are made of, where each number must be known."""
    if isinstance(value, Sequence):
        return all(listed(each) for each in elements.any_of(value))
    return of(value) and isinstance(value, (Constant, Number, SizeValue, ShapeOf, TensorValue))


def may_be(value: Value | None) -> bool:
    """Whether nothing that tensors are made of is known to have fractions."""
    if isinstance(value, Sequence):
        return all(may_be(each) for each in elements.any_of(value))
    if isinstance(value, Number):
        return not value.fraction
    return of(value) and not isinstance(value, ArrayValue)


def written(path: Path, tensor: TensorValue, whole: bool, numbers: Range | None = None) -> None:
    """All of a tensor is overwritten, and with it a part of what it is a view of; `numbers` tells with which."""
    if path.numbers or numbers is not None:
        number_ranges.written(path, tensor, numbers)
    tensor.whole = whole
    partly_written(tensor.base, whole)


def partly_written(tensor: TensorValue | None, whole: bool) -> None:
    """Some numbers of a tensor are overwritten."""
    while not whole and tensor is not None:
        tensor.whole = False
        tensor = tensor.base
