"""Tensors that share memory: with themselves or with each other.

`detected_*` is what torch's checks say (aten/src/ATen/MemoryOverlap.cpp); the others are the truth. Offsets and strides
are in elements; all tensors of one storage are taken to have one element size.
"""

from __future__ import annotations

import enum
import itertools

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.layout import Ints, is_non_overlapping_and_dense, product

_MOST_ELEMENTS = 200_000


class Overlap(enum.Enum):
    """How two tensors share memory; TOO_HARD is torch's answer where it does not look closely."""

    NO = "no"
    FULL = "full"
    PARTIAL = "partial"
    TOO_HARD = "too hard"
    UNKNOWN = "unknown"


def detected_self_overlap(shape: Ints, strides: Ints) -> Answer:
    """`has_internal_overlap`: YES for an axis of stride 0 and size > 1, NO for a dense tensor, else UNKNOWN ("too hard").

    torch raises on YES only.
    """
    if is_non_overlapping_and_dense(shape, strides):
        return Answer.NO
    if any(stride == 0 and size > 1 for size, stride in zip(shape, strides)):
        return Answer.YES
    return Answer.UNKNOWN


def _places(shape: Ints, strides: Ints, offset: int = 0) -> list[int] | None:
    """The memory place of each element; None where there are too many to list."""
    if product(shape) > _MOST_ELEMENTS:
        return None
    places = [offset]
    for size, stride in zip(shape, strides):
        places = [place + step * stride for place, step in itertools.product(places, range(size))]
    return places


def overlaps_itself(shape: Ints, strides: Ints) -> bool | None:
    """Whether two elements share a place; None where the tensor is too large to tell."""
    if product(shape) < 2:
        return False
    if any(stride == 0 and size > 1 for size, stride in zip(shape, strides)):
        return True
    reach = 1  # Axes that each step over all inner ones cannot collide.
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape) if size > 1):
        if stride < reach:
            break
        reach += stride * (size - 1)
    else:
        return False
    places = _places(shape, strides)
    return None if places is None else len(set(places)) < len(places)


def self_overlap(facts: TensorFacts) -> Answer:
    """Whether a tensor's elements share memory, as far as its facts tell."""
    if facts.shape is not None and any(dim == 0 for dim in facts.shape):
        return Answer.NO
    if facts.concrete_shape is not None and facts.concrete_strides is not None:
        return Answer.of(overlaps_itself(facts.concrete_shape, facts.concrete_strides))
    return Answer.UNKNOWN


def _span(shape: Ints, strides: Ints, offset: int) -> tuple[int, int]:
    """First place and the place after the last one."""
    return offset, offset + 1 + sum(stride * (size - 1) for size, stride in zip(shape, strides))


def _concrete(facts: TensorFacts) -> tuple[Ints, Ints, int] | None:
    shape, strides, offset = facts.concrete_shape, facts.concrete_strides, facts.storage_offset
    return None if shape is None or strides is None or not isinstance(offset, int) else (shape, strides, offset)


def _is_apart(left: TensorFacts, right: TensorFacts) -> bool | None:
    """Whether the two surely do not share a storage or have no elements; None if unknown, False if one storage."""
    for facts in (left, right):
        if facts.shape is not None and any(dim == 0 for dim in facts.shape):
            return True
    if left.storage is None or right.storage is None:
        return None
    return left.storage != right.storage


def detected_overlap(left: TensorFacts, right: TensorFacts) -> Overlap:
    """`get_overlap_status`: only dense tensors are compared, by their spans; others are TOO_HARD (torch lets them pass)."""
    apart = _is_apart(left, right)
    if apart is None:
        return Overlap.UNKNOWN
    first, second = _concrete(left), _concrete(right)
    if apart or first is None or second is None:
        return Overlap.NO if apart else Overlap.UNKNOWN
    if not all(is_non_overlapping_and_dense(shape, strides) for shape, strides, _ in (first, second)):
        return Overlap.TOO_HARD
    one, two = _span_of_dense(first), _span_of_dense(second)
    if one == two:
        return Overlap.FULL if first[1] == second[1] else Overlap.PARTIAL
    return Overlap.PARTIAL if one[0] < two[1] and two[0] < one[1] else Overlap.NO


def _span_of_dense(tensor: tuple[Ints, Ints, int]) -> tuple[int, int]:
    return tensor[2], tensor[2] + product(tensor[0])


def overlap(left: TensorFacts, right: TensorFacts) -> Overlap:
    """The truth: NO, FULL (the same elements at the same indices), or PARTIAL; UNKNOWN where facts are missing."""
    apart = _is_apart(left, right)
    if apart is None:
        return Overlap.UNKNOWN
    if apart:
        return Overlap.NO
    same = (
        left.shape is not None
        and (left.shape, left.strides) == (right.shape, right.strides)
        and left.strides is not None
    )
    if same and left.storage_offset is not None and left.storage_offset == right.storage_offset:
        return Overlap.FULL
    first, second = _concrete(left), _concrete(right)
    if first is None or second is None:
        return Overlap.UNKNOWN
    one, two = _span(*first), _span(*second)
    if one[0] >= two[1] or two[0] >= one[1]:
        return Overlap.NO
    if _normal(first) == _normal(second):
        return Overlap.FULL
    places, others = _places(*first), _places(*second)
    if places is None or others is None:
        return Overlap.UNKNOWN
    return Overlap.PARTIAL if set(places) & set(others) else Overlap.NO


def is_moved_by_one(left: TensorFacts, right: TensorFacts) -> bool:
    """Whether two dense tensors lie one row apart in one storage: `x[1:]` and `x[:-1]`, which overlap if they have several rows."""
    shape, strides = left.shape, left.strides
    if _is_apart(left, right) is not False or not shape or (shape, strides) != (right.shape, right.strides):
        return False
    if strides is None or left.storage_offset is None or right.storage_offset is None or shape[0] == 1:
        return False
    apart = sizes.subtract(left.storage_offset, right.storage_offset)
    return strides == strides_in_order(shape, range(len(shape))) and strides[0] in (apart, sizes.multiply(apart, -1))


def is_part(part: TensorFacts, whole: TensorFacts) -> Answer:
    """Whether a tensor's elements are some of the other's, but not all of them."""
    apart, one, two = _is_apart(part, whole), _concrete(part), _concrete(whole)
    if apart is not False or one is None or two is None:
        return Answer.UNKNOWN if apart is not True else Answer.NO
    places, others = _places(*one), _places(*two)
    return Answer.UNKNOWN if places is None or others is None else Answer.of(set(places) < set(others))


def _normal(tensor: tuple[Ints, Ints, int]) -> tuple[Ints, Ints, int]:
    """The tensor with the strides of size-1 axes, which address nothing, set to 0."""
    shape, strides, offset = tensor
    return shape, tuple(0 if size == 1 else stride for size, stride in zip(shape, strides)), offset
