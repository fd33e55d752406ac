"""TLC301: the result's type kind is above that of out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import of_verdict
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.out_contract import dtype_clause
from stridelint.rules.events import Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, dtype_text, factory_fix, gist, out_call
from stridelint.rules.rule import Finding, Invalid, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix

# They cast their input to out's dtype first, and say nothing.
CASTING = frozenset({"sum", "prod", "cumsum", "cumprod"})


class OutLowerKind(OutRule):
    """
    What it does:
        Finds `out=` tensors whose type kind is below the result's, in the order bool < integer < float < complex.

    Why is this bad?
        A result is never cast to a lower kind: most functions raise "result type Float can't be cast to the desired
        output type Long". `sum`, `prod`, `cumsum` and `cumprod` do worse: they cast their input to the dtype
        of out before they compute, so that fractions are lost without an error.

    Example:
        totals = torch.zeros(8, dtype=torch.long)
        torch.add(totals, weights, out=totals)      # weights are float32

    Use instead:
        totals = torch.zeros(8)
        torch.add(totals, weights, out=totals)

    Fix:
        The dtype of the result where the out is made by a factory, such as `torch.zeros(8, dtype=torch.long)` (unsafe: all that
        uses the out gets other numbers).

    Confirmed by:
        Calling the function with tensors of these dtypes, and comparing with the result without out=.
    """

    code = "TLC301"
    name = "out-lower-kind"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

counts = torch.tensor([1, 2, 3])
index = torch.empty(3, dtype=torch.long)
torch.div(counts, 2, rounding_mode="floor", out=index)
torch.cumsum(torch.rand(3) > 0.5, 0, dtype=torch.int32, out=torch.empty(3, dtype=torch.int32))
torch.add(counts, 1, out=torch.empty(3, dtype=torch.int16))
torch.mul(counts, 0.5, out=torch.empty(3, dtype=torch.float16))
""",
        """\
import torch

def total(scores, buffer):
    torch.sum(scores, 0, out=buffer)
    return torch.gt(scores, 0.5, out=torch.empty(scores.shape, dtype=torch.bool))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

totals = torch.zeros(8, dtype=torch.long)
torch.add(totals, torch.rand(8), out=totals)
""",
            (
                (
                    4,
                    1,
                    "add() raises because its result is float32 and 'totals' is int64 (result type Float can't be cast to "
                    "the desired output type Long); pass a float32 out",
                ),
            ),
            fixed="""\
import torch

totals = torch.zeros(8, dtype=torch.float32)
torch.add(totals, torch.rand(8), out=totals)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def bucket_totals(scores):
    totals = torch.zeros(3, dtype=torch.int64)
    torch.sum(scores, dim=0, out=totals)
    return totals

bucket_totals(torch.rand(4, 3))
""",
            (
                (
                    5,
                    5,
                    "sum() casts its input to int64, the dtype of 'totals', before it computes and loses the fractions "
                    "without an error; pass a float32 out",
                ),
            ),
            fixed="""\
import torch

def bucket_totals(scores):
    totals = torch.zeros(3, dtype=torch.float32)
    torch.sum(scores, dim=0, out=totals)
    return totals

bucket_totals(torch.rand(4, 3))
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

gain = torch.empty(33)
spectrum = torch.fft.rfft(torch.rand(64))
torch.mul(spectrum, 2, out=gain)
""",
            (
                (
                    5,
                    1,
                    "mul() raises because its result is complex64 and 'gain' is float32 (result type ComplexFloat can't be "
                    "cast to the desired output type Float); pass a complex64 out",
                ),
            ),
            fixed="""\
import torch

gain = torch.empty(33, dtype=torch.complex64)
spectrum = torch.fft.rfft(torch.rand(64))
torch.mul(spectrum, 2, out=gain)
""",
            safe=False,
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """The dtype clause is broken, and by the kind."""
        for index, out in call.outs:
            verdict = dtype_clause(call.variant, index, call.arguments, out.facts)
            if verdict.violated is not Answer.YES or call.lower_kind(index, out.facts) is not Answer.YES:
                continue
            if verdict.effect == "wrong" and call.event.op not in CASTING:
                continue
            message = _message(call, index, out, gist(verdict), verdict.effect)
            yield found(self, call.event, message, about=(out,), claim=of_verdict(verdict))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """The result's dtype where the out is made."""
        call = out_call(finding.event) if isinstance(finding.event, TensorEvent) else None
        lower = (
            []
            if call is None
            else [each for each in call.outs if call.lower_kind(each[0], each[1].facts) is Answer.YES]
        )
        return factory_fix(call, lower, code)


def _message(call: OutCall, index: int, out: Operand, text: str, effect: str) -> str:
    result = dtype_text(call.required(index))
    wanted = f"pass a {result} out" if call.required(index).dtype else "pass an out of the result's dtype"
    name = quoted(out, "out")
    if effect == "wrong":
        lost = (
            "imaginary parts"
            if out.facts.kind == "float"
            else "values other than 0 and 1"
            if out.facts.kind == "bool"
            else "fractions"
        )
        return (
            f"{call.name} casts its input to {dtype_text(out.facts)}, the dtype of {name}, before it computes and loses the "
            f"{lost} without an error; {wanted}"
        )
    return f"{call.name} raises because its result is {result} and {name} is {dtype_text(out.facts)}{text}; {wanted}"
