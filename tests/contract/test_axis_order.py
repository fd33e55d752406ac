"""Sizes that are asked for in another order."""

from __future__ import annotations

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.axis_order import changes_order


def test_an_axis_that_stands_for_two_sizes_tells_nothing() -> None:
    """(C, L, X, Y) to (C * L, C * T) is in order if X and Y are C and T once more."""
    c, length, x, y, times = (sizes.Size.fresh(name) for name in ("c", "length", "x", "y", "times"))
    requested = (sizes.multiply(c, length), sizes.multiply(c, times))
    assert changes_order((c, length, x, y), requested)[0] is Answer.UNKNOWN
    assert changes_order((c, length, x), (x, sizes.multiply(c, length)))[0] is Answer.YES
