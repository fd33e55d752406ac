"""What becomes of a value that is stored into a tensor of a lower kind: copied, filled, assigned through an index.

Measured: stores cast silently, except that a number which the dtype cannot hold (an infinity, NaN, a complex number) and
a tensor of another dtype assigned through indices are refused; a lone number on the CPU that is assigned through a mask
fills, and is cast. Operators that scatter values by an index or a mask cast none.
"""

from __future__ import annotations

import math

from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts

# "all": every entry becomes True. "fraction", "imaginary", "nonzero": that part is lost. "raises": torch refuses.
ALL_TRUE, FRACTION, IMAGINARY, NONZERO, RAISES = "all", "fraction", "imaginary", "nonzero", "raises"

INDEX_PUT = "Index put requires the source and destination dtypes match"
_SCATTER = "Expected self.dtype to be equal to src.dtype"
# Operator -> the argument that has to have the tensor's own dtype, and what torch says of another one.
SAME_DTYPE = {
    "index_put": ("values", INDEX_PUT),
    "index_copy": ("source", "self and source expected to have the same dtype"),
    "index_add": ("source", "must have the same scalar type"),
    "index_reduce": ("source", "must have the same scalar type"),
    "put": ("source", "self and source expected to have the same dtype"),
    "masked_scatter": ("source", "expected self and source to have same dtypes"),
    "scatter": ("src", _SCATTER),
    "scatter_add": ("src", _SCATTER),
    "scatter_reduce": ("src", _SCATTER),
}


def number_lost(number: object, target: str) -> str | None:
    """What is lost of a Python number in a tensor of kind `target`; None if nothing is, or it is not known."""
    if target == "bool":
        known = isinstance(number, (bool, int, float, complex))
        return None if not known or number in (0, 1) else ALL_TRUE
    if isinstance(number, complex) and target != "complex":
        return RAISES
    if not isinstance(number, float) or target != "integer" or number.is_integer():
        return None
    return FRACTION if math.isfinite(number) else RAISES


def kind_lost(kind: str | None, target: str) -> str | None:
    """What a value of this kind loses; None if the kind may be held, or is not known."""
    if kind is None or target == "complex" or kind in ("bool", target) or (target == "bool" and kind == "integer"):
        return None
    if target == "float":
        return IMAGINARY if kind == "complex" else None
    if target == "bool":
        return NONZERO
    return FRACTION if kind == "float" else IMAGINARY


def tensor_lost(value: TensorFacts, target: str, *, indexed: bool, masked: bool = False) -> str | None:
    """What a tensor loses in one of kind `target`; through indices only a lone number is cast, where they are masks."""
    kind = value.kind or kind_of(value.dtype)
    lost = kind_lost(kind, target)
    if lost is None or not indexed:
        return lost
    if value.rank is None:
        return None
    if value.shape is None or any(dim != 1 for dim in value.shape):
        return None if value.shape is None else RAISES
    if masked and value.device == "cpu":
        return lost
    return RAISES if value.shape and not masked else None


def index_refused(value: TensorFacts, target: TensorFacts, *, numbered: bool, masked: bool) -> Confidence | None:
    """
    How surely torch refuses a tensor assigned through indices for its dtype, which is not the target's; None if it may not.

    `numbered`: at least one index holds positions, not truth values. Through a mask (`masked`) a lone number fills.
    """
    if not clash(value, target):
        return None
    if numbered:
        return Confidence.CERTAIN
    if not masked or not value.shape or all(dim == 1 for dim in value.shape):
        return None
    several = any(isinstance(dim, int) and dim != 1 for dim in value.shape)
    return Confidence.CERTAIN if several else Confidence.LIKELY


def clash(one: TensorFacts, other: TensorFacts) -> bool:
    """Whether two tensors have different dtypes for certain; of tensors without data (device "meta") it is not checked."""
    if "meta" in (one.device, other.device):
        return False
    if one.dtype is not None and other.dtype is not None:
        return one.dtype != other.dtype
    kinds = [each.kind or kind_of(each.dtype) for each in (one, other)]
    return None not in kinds and kinds[0] != kinds[1]
