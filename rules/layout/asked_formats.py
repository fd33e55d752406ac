"""Which operands are in a memory format that the code asked for, by their strides and their story."""

from __future__ import annotations

from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.events import Operand

FORMATS = {4: "channels_last", 5: "channels_last_3d"}


def was_made(operand: Operand) -> bool:
    """Surely channels_last and not row-major, and somebody asked for it."""
    facts = operand.facts
    if facts.rank not in FORMATS or not any(f"becomes {FORMATS[facts.rank]}" in note.message for note in operand.story):
        return False
    return questions.is_only(facts, FORMATS[facts.rank]).answer is Answer.YES


def is_part(operand: Operand) -> bool:
    """Channels_last, or a part of an image that is and that torch takes for channels_last."""
    if was_made(operand):
        return True
    facts = operand.facts
    wanted = FORMATS.get(facts.rank or 0, "")
    return (
        any(f"becomes {wanted}" in note.message for note in operand.story)
        and "is sliced here" in operand.story[-1].message
        and questions.suggests(facts, wanted).answer is Answer.YES
    )
