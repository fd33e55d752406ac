"""Sizes that are asked for in another order."""

from __future__ import annotations

import pytest

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.axis_order import changes_order, swaps_channels
from stridelint.rules.contract.facts import Dims


def test_an_axis_that_stands_for_two_sizes_tells_nothing() -> None:
    """(C, L, X, Y) to (C * L, C * T) is in order if X and Y are C and T once more."""
    c, length, x, y, times = (sizes.Size.fresh(name) for name in ("c", "length", "x", "y", "times"))
    requested = (sizes.multiply(c, length), sizes.multiply(c, times))
    assert changes_order((c, length, x, y), requested)[0] is Answer.UNKNOWN
    assert changes_order((c, length, x), (x, sizes.multiply(c, length)))[0] is Answer.YES


def test_the_last_size_left_is_the_axis_that_is_asked_for_nowhere() -> None:
    b, tokens, c, n = (sizes.Size.fresh(name) for name in ("b", "tokens", "c", "n"))
    for rest in ((n,), (14,), (n, n), (14, 14), (-1,)):
        assert changes_order((b, tokens, c), (b, c, *rest))[0] is Answer.YES
        assert changes_order((b, tokens, c), (b, *rest, c))[0] is Answer.NO
    parts = sizes.floor_divide(c, n)
    assert parts is not None
    assert changes_order((b, tokens, c), (b, parts, n))[0] is Answer.UNKNOWN
    assert changes_order((b, 1, c), (b, c, n))[0] is Answer.UNKNOWN


N = sizes.Size.fresh("n")


@pytest.mark.parametrize(
    ("shape", "requested"),
    [
        ((2, 4, 6, 3), (2, 3, 4, 6)),
        ((3, 4, 6), (4, 6, 3)),
        ((N, 3, 8, 8), (-1, 8, 8, 3)),
        ((N, 3, 8, 8), (N, 8, 8, 3)),
        ((2, 3, 8, 8), (2, 8, 8, -1)),
        ((4, 3, 8, 8), (4, -1, 3)),
        ((64, 3), (3, 8, 8)),
        ((N, 64, 3), (N, 3, 8, 8)),
        ((2, 5, 3, 8, 8), (-1, 8, 8, 3)),
    ],
)
def test_channels_that_go_to_the_other_end(shape: Dims, requested: Dims) -> None:
    assert swaps_channels(shape, requested)


@pytest.mark.parametrize(
    ("shape", "requested"),
    [
        ((2, 4, 6, 3), (2, 4, 6, 3)),
        ((2, 3, 8, 8), (2, 3, 64)),
        ((2, 8, 8, 3), (2, 64, 3)),
        ((2, 3, 4), (2, 4, 3)),
        ((2, 3, 8, 3), (2, 8, 3, 3)),
        ((2, 1, 8, 8), (2, 8, 8, 1)),
        ((2, 4, 8, 8), (2, 8, 8, 4)),
        ((N, 192), (-1, 3, 8, 8)),
        ((2, 3, 8, 8), (2, 8, 4, 6)),
        ((2, 3, N, N), (2, N, N, 3)),
        ((2, 3, 8, 8), (0, 8, 8, 3)),
        ((), ()),
    ],
)
def test_other_reshapes_keep_channels_or_tell_nothing(shape: Dims, requested: Dims) -> None:
    assert not swaps_channels(shape, requested)
