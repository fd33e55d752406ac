"""Whether a reshape leaves numbers where a permutation of axes would move them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from stridelint.rules.claims import Claim
from stridelint.runtime_probe.replayed import Call
from stridelint.runtime_probe.seen import Seen, numbers, refused, same_numbers

# All orders of more axes are too many to try.
_MOST_AXES = 6


def numbers_stay(call: Call, claim: Claim) -> Seen:
    """The result has the sizes of the axes in another order, its numbers in the old one, and `permute` gives others."""
    tensors = call.made()
    source, outcome = tensors.every[0], call.run(tensors)
    if outcome.error is not None or not outcome.results:
        return refused(outcome) if outcome.error else Seen(None, "the call returns no tensor")
    result, shape = outcome.results[0], tuple(source.shape)
    if not same_numbers(result.flatten(), source.flatten()):
        return Seen(False, "the result has the numbers in another order")
    if regroups(shape, tuple(result.shape)):
        return Seen(False, f"sizes {tuple(result.shape)} split or merge those of {shape} in their order")
    if len(shape) > _MOST_AXES:
        return Seen(None, f"a tensor of {len(shape)} axes has too many orders to try")
    for order in itertools.permutations(range(len(shape))):
        if not regroups([shape[axis] for axis in order], tuple(result.shape)):
            continue
        moved = source.permute(order).reshape(result.shape)
        if not same_numbers(moved, result):
            what = f"gives {numbers(result)}, where permute{order} gives {numbers(moved)}"
            return Seen(True, f"shape {shape} as {tuple(result.shape)} {what}")
    return Seen(None, f"no order of the axes of {shape} has the sizes {tuple(result.shape)}")


def regroups(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether sizes follow from others by splitting single axes and merging neighbours, axes of size 1 left out."""
    left, right = [size for size in shape if size != 1], [size for size in wanted if size != 1]
    if 0 in left or math.prod(left) != math.prod(right):
        return False
    while left:
        # The shortest groups of neighbours with one product: one of the two must be a single axis.
        ours, theirs = [left.pop(0)], [right.pop(0)]
        while math.prod(ours) != math.prod(theirs):
            shorter, rest = (ours, left) if math.prod(ours) < math.prod(theirs) else (theirs, right)
            shorter.append(rest.pop(0))
        if len(ours) > 1 and len(theirs) > 1:
            return False
    return True
