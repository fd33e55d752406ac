"""What shows that a question about strides does not tell a memory format: a tensor on which its answer misleads."""

from __future__ import annotations

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.events import Form, Operand, Site, TensorEvent


def _image(*shape: int, strides: tuple[int, ...] | None = None) -> TensorFacts:
    laid_out = strides or strides_in_order(shape, range(len(shape)))
    return TensorFacts(shape, laid_out, 0, "float32", "float", "cpu", False, True)


def _asked(kind: Kind, op: str, facts: TensorFacts, **arguments: object) -> Claim:
    operand = Operand(facts, "x")
    event = TensorEvent(op, Form.METHOD, {"input": operand, **arguments}, (operand,), Site())
    return Claim(kind, events=(event,))


_ONE_CHANNEL, _POINTWISE = _image(2, 1, 4, 5), _image(8, 4, 1, 1)
_SLICE = _image(2, 3, 4, 4, strides=(60, 20, 5, 1))

# By the kind of guess (see `guessed_layouts`).
CLAIMS = {
    "channels_last": _asked(Kind.SAME_FOR_BOTH_FORMATS, "is_contiguous", _ONE_CHANNEL, memory_format="channels_last"),
    "weight": _asked(Kind.SAME_FOR_BOTH_FORMATS, "is_contiguous", _POINTWISE, memory_format="channels_last"),
    "row_major": _asked(Kind.ANSWERS_FALSE, "is_contiguous", _SLICE),
    "stride": _asked(Kind.DIFFERS_FOR_ONE_LAYOUT, "stride", _ONE_CHANNEL, dim=1),
    "strides": _asked(Kind.DIFFERS_FOR_ONE_LAYOUT, "stride", _ONE_CHANNEL),
    "order": _asked(Kind.DIFFERS_FOR_ONE_LAYOUT, "stride", _ONE_CHANNEL),
}
