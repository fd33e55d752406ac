"""Claims about one tensor's layout as judgements, and what the facts of results have in common."""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import layout
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import UNKNOWN, Judgement, judge
from stridelint.rules.contract.layout import CONTIGUOUS, Ints


def certainly(value: bool) -> Judgement:
    """An answer that follows from known facts alone."""
    return Judgement(Answer.of(value), Confidence.CERTAIN)


def pair(facts: TensorFacts) -> tuple[Ints, Ints]:
    """Shape and strides of facts that are all numbers."""
    return facts.concrete_shape or (), facts.concrete_strides or ()


def fresh(facts: TensorFacts, **changes: object) -> TensorFacts:
    """A new tensor with some facts of an old one; whether it requires grad is the caller's to say, unless it cannot."""
    base = facts.but(
        storage=None, storage_offset=0, is_leaf=None, requires_grad=None if facts.requires_grad else facts.requires_grad
    )
    return base.but(**changes)


def is_contiguous(facts: TensorFacts, memory_format: str = CONTIGUOUS) -> Judgement:
    """`x.is_contiguous(memory_format=...)`."""
    wanted_rank = layout.RANK_OF.get(memory_format)
    if wanted_rank is not None and facts.rank not in (None, wanted_rank):
        return certainly(False)
    if (
        facts.shape is not None
        and memory_format == CONTIGUOUS
        and (0 in facts.shape or all(dim == 1 for dim in facts.shape))
    ):
        return certainly(True)
    return judge(
        lambda tensors, _: layout.is_contiguous(*pair(tensors[0]), memory_format),
        [facts],
        about=("contiguous", memory_format),
    )


def is_only(facts: TensorFacts, memory_format: str, other: str = CONTIGUOUS) -> Judgement:
    """Whether the tensor is in one memory format and not in the other, too."""
    wanted, unwanted = is_contiguous(facts, memory_format), is_contiguous(facts, other)
    # One of them is enough for a no.
    refusing = [each.confidence for each, no in ((wanted, Answer.NO), (unwanted, Answer.YES)) if each.answer is no]
    confidence = max(refusing) if refusing else min(wanted.confidence, unwanted.confidence)
    return Judgement(wanted.answer & ~unwanted.answer, confidence)


def is_dense(facts: TensorFacts) -> Judgement:
    """Whether the tensor is non-overlapping and dense."""
    if facts.shape is not None and (0 in facts.shape or all(dim == 1 for dim in facts.shape)):
        return certainly(True)
    return judge(lambda tensors, _: layout.is_non_overlapping_and_dense(*pair(tensors[0])), [facts], about="dense")


def suggests(facts: TensorFacts, memory_format: str) -> Judgement:
    """Whether torch takes the tensor for one of `memory_format` (`suggest_memory_format`)."""
    if facts.rank is not None and facts.rank not in (4, 5):
        return certainly(memory_format == CONTIGUOUS)
    if facts.shape is not None and 0 in facts.shape:
        return certainly(memory_format == CONTIGUOUS)
    return judge(
        lambda tensors, _: layout.suggest_memory_format(*pair(tensors[0])) == memory_format,
        [facts],
        about=("suggests", memory_format),
    )


def format_raises(facts: TensorFacts, memory_format: str) -> Judgement:
    """Whether a new tensor of this shape cannot have the memory format, because of its rank."""
    wanted_rank = layout.RANK_OF.get(memory_format)
    if wanted_rank is None:
        return certainly(False)
    return UNKNOWN if facts.rank is None else certainly(facts.rank != wanted_rank)


def common_device(tensors: Sequence[TensorFacts]) -> str | None:
    """The device of the tensors with axes; 0-dim CPU tensors mix with those of any device."""
    known = {tensor.device for tensor in tensors if tensor.device is not None and tensor.rank}
    if not known and all(tensor.device is not None for tensor in tensors):
        known = {tensor.device for tensor in tensors if tensor.device is not None}
    return known.pop() if len(known) == 1 else None
