"""Three-valued answers, and how sure a finding is."""

from __future__ import annotations

import enum


class Answer(enum.Enum):
    """The truth of a claim about tensors whose facts may be partly unknown (Kleene logic)."""

    NO = 0
    UNKNOWN = 1
    YES = 2

    @classmethod
    def of(cls, value: bool | None) -> Answer:
        """The answer for a Python bool, `None` meaning unknown."""
        return cls.UNKNOWN if value is None else cls.YES if value else cls.NO

    def __and__(self, other: Answer) -> Answer:
        return Answer(min(self.value, other.value))

    def __or__(self, other: Answer) -> Answer:
        return Answer(max(self.value, other.value))

    def __invert__(self) -> Answer:
        return Answer(2 - self.value)

    def __bool__(self) -> bool:
        raise TypeError("an Answer has three values: compare it with `is Answer.YES`")


class Confidence(enum.IntEnum):
    """How a finding is proven; `--min-confidence` compares these.

    CERTAIN: every fact is proven on some path. LIKELY: proven except for sizes that are almost surely
    greater than 1, or a parameter's default. POSSIBLE: depends on what only a caller decides.
    """

    POSSIBLE = 0
    LIKELY = 1
    CERTAIN = 2
