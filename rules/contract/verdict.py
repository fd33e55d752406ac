"""What a clause of the out= contract says about one call."""

from __future__ import annotations

from dataclasses import dataclass

from stridelint.rules.contract.answers import Answer, Confidence


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of one clause.

    violated: whether the call breaks the clause.
    effect: what torch then does: "raises", "warns", "silent" (goes on without a word), "wrong" (wrong numbers),
        "either" (raises or wrong, depending on sizes), "gradient" (the result's gradient is lost, or backward fails).
    exception, message: of what it raises or warns, as torch prints it; "..." stands for what is not known.
    confidence: LIKELY where it holds for all sizes but 0 and 1.
    """

    violated: Answer
    effect: str = ""
    exception: str = ""
    message: str = ""
    confidence: Confidence = Confidence.CERTAIN


FINE = Verdict(Answer.NO)
UNKNOWN = Verdict(Answer.UNKNOWN)
