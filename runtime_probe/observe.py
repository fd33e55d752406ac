"""Whether torch does what a finding claims."""

from __future__ import annotations

from collections.abc import Callable

from stridelint.rules.claims import Claim, Kind
from stridelint.runtime_probe import observe_calls, observe_layout, observe_reshape
from stridelint.runtime_probe.replayed import Call
from stridelint.runtime_probe.seen import Seen


def observe(call: Call, claim: Claim) -> Seen:
    """Make the call in the way that shows whether the claim holds."""
    return _OBSERVERS[claim.kind](call, claim)


_OBSERVERS: dict[Kind, Callable[[Call, Claim], Seen]] = {
    Kind.RAISES: observe_calls.raises,
    Kind.WARNS: observe_calls.warns,
    Kind.RESIZES: observe_calls.resizes,
    Kind.KEEPS_SHAPE: observe_calls.keeps_shape,
    Kind.WRONG_VALUES: observe_calls.wrong_values,
    Kind.RAISES_OR_WRONG: observe_calls.wrong_values,
    Kind.LOSES_GRADIENT: observe_calls.loses_gradient,
    Kind.ORDER_DECIDES: observe_layout.order_decides,
    Kind.RETURNS_INPUT: observe_layout.returns_input,
    Kind.COPIES: observe_layout.copies,
    Kind.INPUT_UNCHANGED: observe_layout.input_unchanged,
    Kind.DROPS_LAYOUT: observe_layout.drops_layout,
    Kind.KEEPS_OUT_STRIDES: observe_calls.keeps_out_strides,
    Kind.ANSWERS_FALSE: observe_layout.answers,
    Kind.ANSWERS_TRUE: observe_layout.answers,
    Kind.MEMORY_ORDER: observe_layout.memory_order,
    Kind.STORES_OTHER: observe_calls.stores_other,
    Kind.MOVES_NUMBERS: observe_layout.moves_numbers,
    Kind.SAME_FOR_BOTH_FORMATS: observe_layout.same_for_both,
    Kind.DIFFERS_FOR_ONE_LAYOUT: observe_layout.differs_for_one_layout,
    Kind.ACCEPTS: observe_calls.accepts,
    Kind.IGNORES_BATCH_STRIDE: observe_layout.ignores_batch_stride,
    Kind.BATCH_STRIDE_DECIDES: observe_layout.batch_stride_decides,
    Kind.NUMBERS_STAY: observe_reshape.numbers_stay,
    Kind.NARROWS: observe_calls.narrows,
}
