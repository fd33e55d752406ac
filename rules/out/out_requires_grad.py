"""TLC302: out= while gradients are recorded."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.claims import of_verdict
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.out_contract import input_grad_clause, out_grad_clause
from stridelint.rules.contract.verdict import Verdict
from stridelint.rules.events import Operand
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, gist
from stridelint.rules.rule import Finding, Invalid, Severity


class OutRequiresGrad(OutRule):
    """
    What it does:
        Finds calls with `out=` in grad mode where out, or an input that the function differentiates, requires grad.

    Why is this bad?
        A function that writes into out= records no gradient, so torch refuses: "functions with out=... arguments don't
        support automatic differentiation, but one of the arguments requires grad." Some functions (softmax, diag) do
        not check: there the gradient is lost or `backward` fails later. Code like this works in evaluation under
        `no_grad` and stops with the first training step.

    Example:
        boxes = self.head(features)
        torch.index_select(boxes, 0, order, out=buffer)

    Use instead:
        picked = torch.index_select(boxes, 0, order)
        # or, where no gradient is wanted:
        with torch.no_grad():
            torch.index_select(boxes, 0, order, out=buffer)

    Confirmed by:
        Calling the function in grad mode with a tensor that requires grad.
    """

    code = "TLC302"
    name = "out-requires-grad"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

layer = torch.nn.Linear(4, 3)
scores = layer(torch.rand(5, 4))
torch.argmax(scores, 1, out=torch.empty(5, dtype=torch.long))
torch.mm(scores.detach(), torch.rand(3, 2), out=torch.empty(5, 2))
with torch.no_grad():
    torch.mul(layer.weight, 0.5, out=layer.weight)
""",
        """\
import torch

def scaled(x, out):
    if x.requires_grad:
        return x * 2
    return torch.mul(x, 2, out=out)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

layer = torch.nn.Linear(4, 3)
scores = layer(torch.rand(5, 4))
torch.mul(scores, 2, out=torch.empty(5, 3))
""",
            (
                (
                    5,
                    1,
                    "mul() with out= raises because 'scores' requires grad (mul(): functions with out=... arguments don't "
                    "support automatic differentiation, but one of the arguments requires grad); drop out=, or call it "
                    "under torch.no_grad()",
                ),
            ),
        ),
        Invalid(
            """\
import torch

class Features(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.freqs = torch.nn.Parameter(torch.empty(16, 3))
        torch.rand(16, 3, out=self.freqs)

Features()
""",
            (
                (
                    7,
                    9,
                    "rand() with out= raises because 'self.freqs' requires grad (aten::rand(): functions with out=... "
                    "arguments don't support automatic differentiation, but one of the arguments requires grad); call it "
                    "under torch.no_grad()",
                ),
            ),
        ),
        Invalid(
            """\
import torch

weight = torch.rand(5, 3, requires_grad=True)
torch.softmax(weight * 2, 1, out=torch.empty(5, 3))
""",
            (
                (
                    4,
                    1,
                    "softmax() with out= loses the gradient of 'weight * 2' without an error, or backward() fails; drop "
                    "out=, or call it under torch.no_grad()",
                ),
            ),
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """Where the grad mode is not known, as in a function read on its own, the finding is only possible."""
        mode, confidence = call.event.grad_mode, Confidence.CERTAIN
        if mode is Answer.UNKNOWN:
            mode, confidence = Answer.YES, Confidence.POSSIBLE
        op = call.event.op
        for _, out in call.outs:
            verdict = out_grad_clause(call.variant, op, out.facts, mode)
            if verdict.violated is Answer.YES:
                remedy = (
                    "call it under torch.no_grad()" if mode is Answer.YES else "pass an out that does not require grad"
                )
                if mode is Answer.YES and not _works_without(call, out):
                    remedy = "pass an out that does not require grad"
                message, claim = _raises(call, out, verdict, remedy), of_verdict(verdict)
                yield found(self, call.event, message, confidence=confidence, about=(out,), claim=claim)
                return
        verdict = input_grad_clause(call.variant, op, call.arguments, mode)
        if verdict.violated is not Answer.YES:
            return
        culprit = _differentiated(call)
        if verdict.effect == "raises":
            message = _raises(call, culprit, verdict, "drop out=, or call it under torch.no_grad()")
        else:
            message = (
                f"{call.name} with out= loses the gradient of {_name(culprit)} without an error, or backward() fails; drop "
                "out=, or call it under torch.no_grad()"
            )
        about = () if culprit is None else (culprit,)
        yield found(self, call.event, message, confidence=confidence, about=about, claim=of_verdict(verdict))


def _works_without(call: OutCall, out: Operand) -> bool:
    """Whether the call is right once gradients are not recorded."""
    return out_grad_clause(call.variant, call.event.op, out.facts, Answer.NO).violated is Answer.NO


def _differentiated(call: OutCall) -> Operand | None:
    """The first input that requires grad and is differentiated."""
    harmless = ("fine", "right")
    for name in call.variant.tensor_parameters:
        value = call.arguments.get(name)
        if call.variant.input_grad_of.get(name, call.variant.input_grad) in harmless:
            continue
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Operand) and each.facts.requires_grad:
                return each
    return None


def _name(operand: Operand | None) -> str:
    return "an input" if operand is None else quoted(operand, "an input")


def _raises(call: OutCall, operand: Operand | None, verdict: Verdict, remedy: str) -> str:
    return f"{call.name} with out= raises because {_name(operand)} requires grad{gist(verdict)}; {remedy}"
