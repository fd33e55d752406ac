"""What the rules about `out=` share: a call's outs, its operator's behaviour, and words for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stridelint.rules.contract import operators
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import Scalar, can_cast, kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.contract.out_contract import arity_clause
from stridelint.rules.contract.out_dtypes import result_dtypes
from stridelint.rules.contract.sizes import Size
from stridelint.rules.contract.verdict import Verdict
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.rule import Finding, Rule

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes


@dataclass(frozen=True, slots=True)
class OutCall:
    """A function call with out=, whose outs are as many as the operator's results.

    arguments: those of the event, with integers of unknown value as such.
    outs: the outs that are known, each with the index of its result.
    """

    event: TensorEvent
    variant: Variant
    arguments: Mapping[str, object]
    outs: tuple[tuple[int, Operand], ...]

    @property
    def name(self) -> str:
        """The function, as a call without arguments."""
        return call_name(self.event)

    def required(self, index: int) -> TensorFacts:
        """What is known of result `index` without out=."""
        if index == 0:
            return self.event.result
        dtypes = result_dtypes(self.variant, index, self.arguments)
        alike = self.variant.shape in ("broadcast", "first", "reduction") and not self.variant.outputs[index].own_shape
        shape = self.event.result.shape if alike else None
        return TensorFacts(shape=shape, dtype=next(iter(dtypes)) if len(dtypes) == 1 else None)

    def lower_kind(self, index: int, out: TensorFacts) -> Answer:
        """Whether out's type kind is below that of result `index`."""
        kind = out.kind or kind_of(out.dtype)
        dtypes = result_dtypes(self.variant, index, self.arguments)
        if kind is None or not dtypes:
            return Answer.UNKNOWN
        lower = {not can_cast(dtype, kind) for dtype in dtypes}
        return Answer.of(lower.pop()) if len(lower) == 1 else Answer.UNKNOWN


class OutRule(Rule):
    """Base of the rules that judge calls whose out= has the right number of tensors."""

    words: ClassVar[tuple[str, ...]] = ("out=", '"out"', "'out'")

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Some call passes out=."""
        return passing_out(nodes)

    @classmethod
    def wants(cls, op: str, *, in_place: bool, out: bool) -> bool:
        """Calls that pass out=."""
        return out

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """Judge the call if something is known of its outs."""
        call = out_call(event)
        return iter(()) if call is None else self.judge(call)

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """Judge one call."""
        raise NotImplementedError


def passing_out(nodes: Nodes) -> frozenset[str]:
    """The units in which some call has a keyword argument `out`, or `**` of what may hold one where the code names it at all."""
    if not nodes.words.has_one(OutRule.words):
        return frozenset()
    return frozenset(
        unit for call, unit in nodes.calls if any(keyword.arg in ("out", None) for keyword in call.keywords)
    )


def out_call(event: TensorEvent) -> OutCall | None:
    """The call of a function with fitting outs; None for all other events."""
    if event.out is None or event.form is not Form.FUNCTION:
        return None
    given = outs_of(event)
    operator, arguments = operators.lookup(event.op), plain_arguments(event)
    variant = None if operator is None else operator.variant(arguments)
    if given is None or operator is None or variant is None or not variant.accepts_out or variant.any_number:
        return None
    if len(given) != len(variant.outputs) or arity(operator, variant, event).violated is Answer.YES:
        return None
    return OutCall(event, variant, arguments, tuple((index, out) for index, out in enumerate(given) if out is not None))


def outs_of(event: TensorEvent) -> tuple[Operand | None, ...] | None:
    """All tensors passed as out=, None for those not known; None if even their number is not."""
    out = event.out
    if isinstance(out, Operand):
        return (out,)
    if isinstance(out, (tuple, list)):
        return tuple(each if isinstance(each, Operand) else None for each in out)
    return None


def arity(operator: Operator, variant: Variant, event: TensorEvent) -> Verdict:
    """The clause about the number of outs."""
    given = outs_of(event)
    if isinstance(event.out, Operand):
        return arity_clause(variant, operator.name, event.out.facts)
    return arity_clause(variant, operator.name, [None if out is None else out.facts for out in given or ()])


def plain_arguments(event: TensorEvent) -> dict[str, object]:
    """The event's arguments; a symbolic size is an integer of unknown value."""
    return {name: Scalar("integer") if isinstance(value, Size) else value for name, value in event.arguments.items()}


def call_name(event: TensorEvent) -> str:
    """How a message names the function: `linalg.qr()`."""
    return f"{event.op.removeprefix('nn.functional.')}()"


def gist(verdict: Verdict) -> str:
    """What torch says, in one clause for a message; "" if the table does not know."""
    text = verdict.message.split("Please clone()")[0].split("(Could this")[0].split(" - got ")[0]
    text = text.strip().rstrip(".:").split("; ")[0]
    return f" ({text})" if text and "..." not in text.replace("out=...", "") else ""


def dtype_text(facts: TensorFacts) -> str:
    """A tensor's dtype, or its kind where only that is known."""
    return facts.dtype or {"integer": "an integer dtype", "float": "a float dtype", "complex": "complex"}.get(
        facts.kind or "", facts.kind or "another dtype"
    )


def factory_fix(call: OutCall | None, wrong: Sequence[tuple[int, Operand]], code: Code) -> Fix | None:
    """The fix that gives the one out of a wrong dtype that of its result, where the out is made."""
    from stridelint.rules.forms import edits, tensor_edits

    if call is None or len(wrong) != 1:
        return None
    index, out = wrong[0]
    dtype = call.required(index).dtype
    edit = None if dtype is None else tensor_edits.factory_dtype(code, out, dtype)
    return None if edit is None else edits.Fix(f"make the out {dtype}", (edit,), cause=True)
