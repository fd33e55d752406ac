"""Dtypes: their kinds, safe casts and type promotion.

Models `c10::canCast`, `c10::promoteTypes` (c10/core/ScalarType.h) and `at::result_type`
(aten/src/ATen/native/TypeProperties.cpp). A dtype is a string, torch's name without the prefix ("float32").
Quantized, bits and sub-byte integer dtypes, on which torch does no arithmetic, are not listed: to the engine they are
unknown dtypes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.records import record

KINDS = ("bool", "integer", "float", "complex")


class DType(NamedTuple):
    """One dtype: its kind, size of an element in bits, and whether torch promotes it with others.

    promotes: "fully"; "to float" (uint16 and wider unsigned: with itself and with floating point only); "never" (only
    with itself).
    """

    kind: str
    bits: int
    promotes: str = "fully"


DTYPES: dict[str, DType] = {
    "bool": DType("bool", 8),
    "uint8": DType("integer", 8),
    "int8": DType("integer", 8),
    "int16": DType("integer", 16),
    "int32": DType("integer", 32),
    "int64": DType("integer", 64),
    "uint16": DType("integer", 16, "to float"),
    "uint32": DType("integer", 32, "to float"),
    "uint64": DType("integer", 64, "to float"),
    "float8_e4m3fn": DType("float", 8, "never"),
    "float8_e4m3fnuz": DType("float", 8, "never"),
    "float8_e5m2": DType("float", 8, "never"),
    "float8_e5m2fnuz": DType("float", 8, "never"),
    "float8_e8m0fnu": DType("float", 8, "never"),
    "float16": DType("float", 16),
    "bfloat16": DType("float", 16),
    "float32": DType("float", 32),
    "float64": DType("float", 64),
    "complex32": DType("complex", 32),
    "complex64": DType("complex", 64),
    "complex128": DType("complex", 128),
}

# Those that operators are measured with; of others the table of operators tells nothing of its own.
MEASURED = (
    "bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

ALIASES = {
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}

_COMPLEX_OF = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}
_REAL_OF = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


@record(frozen=True, slots=True)
class Scalar:
    """A Python number as an operand (a "wrapped number"); `kind` None where only that it is a number is known.

    whole: although it is a float, it may well be a whole number.
    """

    kind: str | None
    whole: bool = False


Operand: TypeAlias = TensorFacts | Scalar


def canonical(name: str) -> str | None:
    """The dtype a torch attribute names ("half" is "float16"); None for what is not a listed dtype."""
    name = ALIASES.get(name, name)
    return name if name in DTYPES else None


def kind_of(dtype: str | None) -> str | None:
    """ "bool", "integer", "float" or "complex"; None for an unknown dtype."""
    known = DTYPES.get(dtype) if dtype is not None else None
    return None if known is None else known.kind


def itemsize(dtype: str | None) -> int | None:
    """Size of an element in bytes."""
    known = DTYPES.get(dtype) if dtype is not None else None
    return None if known is None else known.bits // 8


# The position of each kind, and that of each dtype's, in bool < integer < float < complex.
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}
_RANKS |= {name: _RANKS[known.kind] for name, known in DTYPES.items()}


def kind_rank(kind: str) -> int:
    """Position of a kind in bool < integer < float < complex."""
    return _RANKS[kind]


def can_cast(from_: str, to: str) -> bool:
    """Whether a result of dtype or kind `from_` may be written into `to` (a dtype or kind): never to a lower kind."""
    return _RANKS[from_] <= _RANKS[to]


def complex_of(dtype: str) -> str | None:
    """The complex dtype whose parts have a floating-point dtype (bfloat16 has complex64); complex dtypes are their own."""
    return dtype if kind_of(dtype) == "complex" else _COMPLEX_OF.get(dtype)


def real_of(dtype: str) -> str | None:
    """The dtype of the parts of a complex dtype; other dtypes are their own."""
    return _REAL_OF.get(dtype, dtype if dtype in DTYPES else None)


@functools.cache
def promote_types(left: str, right: str) -> str | None:
    """The smallest dtype both convert to; None where torch refuses ("Promotion for Float8 Types is not supported")."""
    if left == right:
        return left if left in DTYPES else None
    if left not in DTYPES or right not in DTYPES:
        return None
    (low, low_name), (high, high_name) = sorted(
        ((DTYPES[name], name) for name in (left, right)), key=lambda pair: kind_rank(pair[0].kind)
    )
    if "never" in (low.promotes, high.promotes):
        return None
    if "to float" in (low.promotes, high.promotes):
        return high_name if low.kind == "integer" and high.kind == "float" else None
    if low.kind != high.kind:
        if low.kind == "float":
            return promote_types(_COMPLEX_OF[low_name], high_name)
        return high_name
    if low.bits != high.bits:
        return low_name if low.bits > high.bits else high_name
    return "int16" if low.kind == "integer" else "float32"


_ALL = frozenset(DTYPES)
# Operands are of categories, by how much their dtype counts: 0, tensors with axes; 1, 0-dim tensors; 2, Python numbers.
# What those of each category may promote to together.
_State: TypeAlias = tuple[frozenset[str | None], frozenset[str | None], frozenset[str | None]]


def _merged(current: str | None, added: str) -> tuple[str | None, bool]:
    if current is None:
        return added, True
    promoted = promote_types(current, added)
    return promoted, promoted is not None


def _combined(higher: str | None, lower: str | None) -> tuple[str | None, bool]:
    if higher is None or lower is None:
        return higher or lower, True
    if kind_of(higher) == "complex":
        return higher, True
    if kind_of(higher) == "float":
        if kind_of(lower) == "complex":
            # A float8 tensor with a complex number: torch has no complex dtype for it.
            made = complex_of(higher)
            return made, made is not None
        return higher, True
    if higher == "bool" or kind_of(lower) in ("float", "complex"):
        return _merged(higher, lower)
    return higher, True


class _Choice(NamedTuple):
    """The categories and dtypes that an operand may turn out to have."""

    categories: tuple[int, ...]
    dtypes: frozenset[str]


def _choice(operand: Operand, default_dtype: str) -> _Choice:
    if isinstance(operand, Scalar):
        return _number(operand.kind, default_dtype)
    rank = operand.rank
    categories = (0, 1) if rank is None else (0,) if rank > 0 else (1,)
    return _Choice(categories, _dtypes_of(operand.dtype, operand.kind))


@functools.cache
def _number(kind: str | None, default_dtype: str) -> _Choice:
    by_kind = {"bool": "bool", "integer": "int64", "float": default_dtype, "complex": _COMPLEX_OF[default_dtype]}
    return _Choice((2,), frozenset(dtype for name, dtype in by_kind.items() if kind in (None, name)))


@functools.cache
def _dtypes_of(dtype: str | None, kind: str | None) -> frozenset[str]:
    if dtype is not None:
        return frozenset({dtype}) & _ALL
    return frozenset(name for name in DTYPES if kind in (None, kind_of(name)))


def possible_types(operands: Sequence[Operand], default_dtype: str) -> frozenset[str]:
    """Every dtype that the operands, as far as they are known, can promote to in a legal call."""
    return _reachable(tuple(_choice(operand, default_dtype) for operand in operands))


@functools.lru_cache(maxsize=4096)
def _reachable(choices: tuple[_Choice, ...]) -> frozenset[str]:
    # Many ways to share out the operands among the categories come to the same: without that their number would double with each.
    states = {(_NOTHING, _NOTHING, _NOTHING)}
    for choice in choices:
        states = {_with(state, category, choice.dtypes) for state in states for category in choice.categories}
    results = {
        each
        for with_axes, zero_dim, numbers in states
        for each in _all_combined(with_axes, _all_combined(zero_dim, numbers))
    }
    return frozenset(each for each in results if each is not None)


def _with(state: _State, category: int, added: frozenset[str]) -> _State:
    """A state after one more operand of that category."""
    with_axes, zero_dim, numbers = state
    if category == 0:
        return _all_merged(with_axes, added), zero_dim, numbers
    if category == 1:
        return with_axes, _all_merged(zero_dim, added), numbers
    return with_axes, zero_dim, _all_merged(numbers, added)


# What a category promotes to before it has an operand.
_NOTHING: frozenset[str | None] = frozenset({None})


@functools.lru_cache(maxsize=4096)
def _all_merged(current: frozenset[str | None], added: frozenset[str]) -> frozenset[str | None]:
    pairs = (_merged(left, right) for left in current for right in added)
    return frozenset(dtype for dtype, legal in pairs if legal)


@functools.lru_cache(maxsize=4096)
def _all_combined(higher: frozenset[str | None], lower: frozenset[str | None]) -> frozenset[str | None]:
    pairs = (_combined(left, right) for left in higher for right in lower)
    return frozenset(dtype for dtype, legal in pairs if legal)


@functools.lru_cache(maxsize=4096)
def agreed(possible: frozenset[str]) -> tuple[str | None, str | None]:
    """The dtype that is one of several possible ones, if it is the only one; and its kind, which is often decided when the dtype
    is not."""
    kinds = {kind_of(dtype) for dtype in possible}
    return next(iter(possible)) if len(possible) == 1 else None, kinds.pop() if len(kinds) == 1 else None


def result_type_and_kind(operands: Sequence[Operand], default_dtype: str = "float32") -> tuple[str | None, str | None]:
    """The dtype torch computes in, and its kind; None where what is known does not decide it, or where torch refuses."""
    return agreed(possible_types(operands, default_dtype))


def result_type(operands: Sequence[Operand], default_dtype: str = "float32") -> str | None:
    """The dtype torch computes in; None where what is known does not decide it, or where torch refuses."""
    return result_type_and_kind(operands, default_dtype)[0]
