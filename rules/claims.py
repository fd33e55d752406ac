"""What a finding says that torch does: small enough for a rule to state in one argument, exact enough for the probe to check.

    yield found(self, event, message, claim=raises("view size is not compatible"))
    yield found(self, event, message, claim=of_verdict(verdict))
    yield found(self, event, message, claim=Claim(Kind.DROPS_LAYOUT))

A finding without a claim is replayed all the same: its tensors are built, the operator runs, and the rule judges the facts
that are read back from the real tensors.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stridelint.rules.contract.verdict import Verdict
    from stridelint.rules.events import TensorEvent


class Kind(enum.Enum):
    """What can be observed when the call of a finding's event runs."""

    RAISES = "raises"  # with `exception` and `text`
    ACCEPTS = "accepts"  # torch makes the call without an error
    WARNS = "warns"  # with `text`; an out that is warned of is resized
    RESIZES = "resizes out"  # without a resize warning
    KEEPS_SHAPE = "keeps out's shape"  # although the result has another
    WRONG_VALUES = "wrong values"  # other than those of the same call on separate tensors, without out=
    RAISES_OR_WRONG = "raises or wrong values"
    LOSES_GRADIENT = "loses the gradient"  # the result does not require grad, or backward fails
    ORDER_DECIDES = "order decides the strides"  # swapping tensors changes the strides of the result
    RETURNS_INPUT = "returns its input"  # the result is the input, or has its memory and strides
    COPIES = "copies"  # the result is the input's numbers in memory of its own
    INPUT_UNCHANGED = "leaves its input as it was"
    DROPS_LAYOUT = "drops channels_last"  # the first tensor is channels_last and the result (or out) is not
    KEEPS_OUT_STRIDES = "keeps out's strides"  # although the same call without out= gives others
    ANSWERS_FALSE = "answers False"
    ANSWERS_TRUE = "answers True"
    MEMORY_ORDER = "memory is in another order"  # read one by one, the numbers come in another order than row-major
    STORES_OTHER = "stores other numbers"  # than it was given: `value`, `other`, `source` or `fill_value`
    MOVES_NUMBERS = "moves numbers"  # `resize_` to the result's shape leaves other numbers at the indices of before
    SAME_FOR_BOTH_FORMATS = "the same for both formats"  # a row-major and a channels-last tensor give one answer
    DIFFERS_FOR_ONE_LAYOUT = (
        "differs for one layout"  # strides of size-1 axes change the answer, but no place in memory
    )
    BATCH_STRIDE_DECIDES = (
        "stride(0) decides the layout"  # row-major, but channels_last for the same pixels with another
    )
    NUMBERS_STAY = (
        "numbers stay in their order"  # the result has permuted sizes, and other numbers than `permute` gives
    )
    NARROWS = "out has a smaller range"  # than the result without out=, and torch accepts it
    IGNORES_BATCH_STRIDE = "ignores stride(0)"  # another stride(0), or first step of as_strided, gives one answer


@dataclass(frozen=True, slots=True)
class Claim:
    """What torch does at a finding.

    exception, text: of what it raises or warns, as torch prints it; "..." stands for any text, "" for any exception.
    events: what to run in place of the finding's own event; the claim holds for each of them.
    """

    kind: Kind
    exception: str = ""
    text: str = ""
    events: tuple[TensorEvent, ...] = ()


def raises(text: str = "", exception: str = "") -> Claim:
    """Torch refuses the call, with `text` somewhere in its message."""
    return Claim(Kind.RAISES, exception, text)


def of_verdict(verdict: Verdict) -> Claim | None:
    """What a clause of the out= contract says that torch does."""
    kind = {
        "raises": Kind.RAISES,
        "warns": Kind.WARNS,
        "silent": Kind.RESIZES,
        "kept": Kind.KEEPS_SHAPE,
        "wrong": Kind.WRONG_VALUES,
        "either": Kind.RAISES_OR_WRONG,
        "gradient": Kind.LOSES_GRADIENT,
    }.get(verdict.effect)
    # A field of the table's text that nothing was known for may read anything.
    return None if kind is None else Claim(kind, verdict.exception, re.sub(r"{\w+}", "...", verdict.message))
