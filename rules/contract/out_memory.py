"""The clauses of the out= contract about memory: overlap with operands and with itself, and the number of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stridelint.rules.contract import overlap as memory
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.messages import filled, split
from stridelint.rules.contract.operators import Variant
from stridelint.rules.contract.out_dtypes import facts_of
from stridelint.rules.contract.overlap import Overlap
from stridelint.rules.contract.verdict import FINE, UNKNOWN, Verdict

_NOTHING_KNOWN = TensorFacts()


def overlap_clause(
    variant: Variant, arguments: Mapping[str, object], out: TensorFacts, required: TensorFacts = _NOTHING_KNOWN
) -> Verdict:
    """Whether out shares memory with an operand in a way that torch refuses, or that spoils the numbers ("wrong").

    Args:
        variant: what the operator does for these arguments.
        arguments: by name, as in `TensorEvent`.
        out: facts of the out tensor.
        required: facts of the result without out=; an out of another dtype or shape is cast or resized first, which
            the table does not describe.
    """
    if not variant.accepts_out:
        return UNKNOWN
    answer = Answer.NO
    for name in variant.tensor_parameters:
        value = arguments.get(name)
        if value is None:
            continue
        items = value if isinstance(value, (tuple, list)) else (value,)
        for each in items:
            facts = facts_of(each)
            verdict = UNKNOWN if facts is None else _with_operand(variant, name, facts, out, required, len(items))
            if verdict.violated is Answer.YES:
                return verdict
            answer = answer | verdict.violated
    return FINE if answer is Answer.NO else UNKNOWN


def _with_operand(
    variant: Variant, name: str, operand: TensorFacts, out: TensorFacts, required: TensorFacts, count: int
) -> Verdict:
    relation = memory.overlap(out, operand)
    if relation is Overlap.UNKNOWN and operand is out and out.storage is not None:
        relation = Overlap.FULL  # The very same tensor, whatever its shape.
    moved = relation is Overlap.UNKNOWN and memory.is_moved_by_one(out, operand)
    if moved:
        relation = Overlap.PARTIAL
    if relation is Overlap.NO:
        return FINE
    if relation not in (Overlap.FULL, Overlap.PARTIAL):
        return UNKNOWN
    full = relation is Overlap.FULL
    effect = (variant.full_overlap if full else variant.partial_overlap).get(name, "")
    if effect == "ok":
        return FINE if full or _many(operand) else UNKNOWN
    confidence = _is_written_directly(operand, out, required)
    if (
        effect == "error"
        and full
        and confidence is None
        and {operand.dtype, out.dtype} == {required.dtype}
        and _many(out)
    ):
        confidence = (
            Confidence.CERTAIN if required.shape is not None else Confidence.LIKELY
        )  # it stays itself when resized
    if not effect or confidence is None:
        return UNKNOWN
    if moved:
        confidence = min(confidence, Confidence.LIKELY)
    if effect in ("wrong", "either"):
        # A sequence has one entry for all of its tensors, and which of them may be out differs.
        return UNKNOWN if count > 1 or not _many(out) else Verdict(Answer.YES, effect, confidence=confidence)
    if not (full or moved) and memory.detected_overlap(out, operand) is not Overlap.PARTIAL:
        return Verdict(Answer.YES, "wrong", confidence=Confidence.LIKELY) if _is_read_later(operand, out) else UNKNOWN
    exception, message = split(variant.errors["full_overlap" if full else "partial_overlap"])
    return Verdict(Answer.YES, "raises", exception, message, confidence)


def _is_read_later(operand: TensorFacts, out: TensorFacts) -> bool:
    """Whether torch does not notice the overlap, and out is the operand moved towards higher addresses: elements are written
    before they are read. Measured: numbers are wrong unless a row is just what one step of the vectorised loop holds.
    """
    if (
        memory.detected_overlap(out, operand) is not Overlap.TOO_HARD
        or out.concrete_strides != operand.concrete_strides
    ):
        return False
    first, second = operand.storage_offset, out.storage_offset
    return isinstance(first, int) and isinstance(second, int) and first < second and out.shape == operand.shape


def _is_written_directly(operand: TensorFacts, out: TensorFacts, required: TensorFacts) -> Confidence | None:
    """How sure it is that out is neither resized nor of another dtype than the result and the operand; None if it may be."""
    if out.shape is None and required.shape is None and operand is out:
        sure = Confidence.LIKELY
    elif out.shape is None or out.shape != required.shape:
        return None
    else:
        sure = Confidence.CERTAIN
    dtypes = {operand.dtype, out.dtype, required.dtype}
    if len(dtypes) > 1:
        return None
    return Confidence.LIKELY if dtypes == {None} else sure


def _many(facts: TensorFacts) -> bool:
    """More than one element: overlapping one lone element may do no harm."""
    return facts.shape is None or any(not isinstance(dim, int) or dim > 1 for dim in facts.shape)


def self_overlap_clause(variant: Variant, out: TensorFacts) -> Verdict:
    """Whether elements of out share memory: refused where an axis is expanded, else the last write wins ("wrong")."""
    if not variant.accepts_out:
        return UNKNOWN
    expanded = _is_expanded(out)
    if expanded is Answer.YES and variant.self_overlap == "error" and variant.shape == "reduction":
        return Verdict(Answer.YES, "either")  # measured over all axes: over some, vector_norm does not look
    if expanded is Answer.YES and variant.self_overlap == "error":
        exception, message = split(variant.errors["self_overlap"])
        return Verdict(Answer.YES, "raises", exception, message)
    if expanded is Answer.YES and variant.self_overlap == "either":
        return Verdict(Answer.YES, "either")
    overlaps = Answer.YES if expanded is Answer.YES else memory.self_overlap(out)
    if overlaps is Answer.NO:
        return FINE
    if (
        overlaps is Answer.UNKNOWN
        or not variant.tensor_parameters
        or (expanded is not Answer.NO and not variant.self_overlap)
    ):
        return UNKNOWN  # A factory fills all elements alike.
    return Verdict(Answer.YES, "wrong")


def _is_expanded(out: TensorFacts) -> Answer:
    """Whether an axis of several elements has stride 0 (and no axis is empty)."""
    if out.shape is None or out.strides is None or any(not isinstance(dim, int) for dim in out.shape):
        return Answer.UNKNOWN
    if any(dim == 0 for dim in out.shape):
        return Answer.NO
    answer = Answer.NO
    for dim, stride in zip(out.shape, out.strides, strict=False):
        if isinstance(dim, int) and dim > 1:
            answer = answer | (Answer.of(stride == 0) if isinstance(stride, int) else Answer.UNKNOWN)
    return answer


def arity_clause(variant: Variant, name: str, outs: TensorFacts | Sequence[TensorFacts | None]) -> Verdict:
    """Whether out= has the right number of tensors, none of them twice.

    Args:
        variant: what the operator does for these arguments.
        name: the operator's, for the message.
        outs: one tensor's facts, or those of a tuple or list (None for an element that is not known).
    """
    expected = len(variant.outputs)
    if not variant.accepts_out or not expected or variant.any_number:
        return UNKNOWN
    if isinstance(outs, TensorFacts):
        return FINE if expected == 1 else _broken(variant, name, "single", variant.single, expected, 1)
    if expected == 1:
        return (
            _broken(variant, name, "tuple_of_one", variant.tuple_of_one, expected, len(outs))
            if len(outs) == 1
            else UNKNOWN
        )
    if len(outs) != expected:
        return _broken(variant, name, "too_few", variant.too_few, expected, len(outs))
    answer = Answer.NO
    for index, left in enumerate(outs):
        for right in outs[:index]:
            relation = Overlap.UNKNOWN if left is None or right is None else memory.overlap(left, right)
            if relation is Overlap.FULL:
                return _broken(variant, name, "twice", variant.twice, expected, expected) if expected == 2 else UNKNOWN
            answer = answer | Answer.of(None if relation is not Overlap.NO else False)
    return FINE if answer is Answer.NO else UNKNOWN


def _broken(variant: Variant, name: str, clause: str, effect: str, expected: int, given: int) -> Verdict:
    if effect == "accepted":
        return FINE
    if effect in ("wrong", "either"):
        return Verdict(Answer.YES, effect)
    if effect != "error":
        return UNKNOWN
    exception, message = split(variant.errors.get(clause, "RuntimeError: "))
    last = name.rpartition(".")[2]
    return Verdict(Answer.YES, "raises", exception, filled(message, op=last, outputs=str(expected), given=str(given)))
