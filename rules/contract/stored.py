"""What becomes of a value that is stored into a tensor of a lower kind: copied, filled, assigned through an index.

Measured: stores cast silently, except that a number which the dtype cannot hold (an infinity, NaN, a complex number) and
a tensor assigned through indices are refused; a lone number on the CPU that is assigned through a mask fills, and is cast.
"""

from __future__ import annotations

import math

from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts

# "all": every entry becomes True. "fraction", "imaginary", "nonzero": that part is lost. "raises": torch refuses.
ALL_TRUE, FRACTION, IMAGINARY, NONZERO, RAISES = "all", "fraction", "imaginary", "nonzero", "raises"


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
