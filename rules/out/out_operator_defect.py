"""TLC312: a function that torch computes wrongly for an out with these strides."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.out_strides import strides_clause
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.out.clauses import OutCall, OutRule
from stridelint.rules.rule import Finding, Invalid, Severity


class OutOperatorDefect(OutRule):
    """
    What it does:
        Finds `out=` tensors with strides that the function does not honour, although they are legal: `avg_pool3d`, `gelu`,
        `narrow_copy`, batched `tril`, `triu` and `linalg.lu`, `matmul` of a vector.

    Why is this bad?
        These functions take out's memory for row-major. The results end up in the wrong elements, or in elements of the
        tensor that out is a part of, even behind its end, without an error.

    Example:
        torch.nn.functional.avg_pool3d(volumes, 2, out=slots[..., ::2])

    Use instead:
        slots[..., ::2] = torch.nn.functional.avg_pool3d(volumes, 2)

    Confirmed by:
        Calling the function and comparing with its result without out=.
    """

    code = "TLC312"
    name = "out-operator-defect"
    severity = Severity.ERROR

    VALID = (
        """\
import torch
import torch.nn.functional as F

volumes = torch.rand(2, 1, 4, 4, 4)
F.avg_pool3d(volumes, 2, out=torch.zeros(3, 2, 1, 2, 2, 2)[1])
torch.tril(torch.rand(3, 3), out=torch.zeros(3, 3).t())
torch.triu(torch.rand(5, 3, 3), out=torch.zeros(10, 3, 3)[::2])
torch.mm(torch.rand(2, 3), torch.rand(3, 4), out=torch.zeros(4, 2).t())
torch.matmul(torch.rand(3, 4), torch.rand(4), out=torch.zeros(6)[::2])
""",
        """\
import torch

def lower(x, out):
    return torch.tril(x, out=out.transpose(0, 1))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch
import torch.nn.functional as F

slots = torch.zeros(2, 1, 2, 2, 4)
F.avg_pool3d(torch.rand(2, 1, 4, 4, 4), 2, out=slots[..., ::2])
lower = torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last)
torch.tril(torch.rand(2, 3, 4, 4), out=lower)
""",
            (
                (
                    5,
                    1,
                    "avg_pool3d() ignores the strides (16, 16, 8, 4, 2) of 'slots[..., ::2]' and writes into other elements of the tensor "
                    "it is a part of, without an error; pass a row-major out and copy it",
                ),
                (
                    7,
                    1,
                    "tril() ignores the strides (48, 1, 12, 3) of 'lower' and writes into the wrong elements, without an error; pass a "
                    "row-major out and copy it",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def product(row, matrix, table):
    return torch.matmul(row, matrix, out=table[:, 0])

product(torch.rand(3), torch.rand(3, 4), torch.zeros(4, 2))
""",
            (
                (
                    4,
                    12,
                    "matmul() gives 'table[:, 0]' other strides than its (2,) and writes next to it, without an error; pass a row-major "
                    "out and copy it",
                ),
            ),
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """The clause about strides is broken, in a way that spoils numbers."""
        for index, out in call.outs:
            verdict = strides_clause(
                call.variant, call.event.op, index, call.arguments, out.facts, call.required(index)
            )
            if verdict.violated is not Answer.YES:
                continue
            name, strides = quoted(out, "out"), tuple_text(out.facts.strides)
            does = {
                "wrong": f"ignores the strides {strides} of {name} and writes into the wrong elements",
                "outside": f"ignores the strides {strides} of {name} and writes into other elements of the tensor it is a part of",
                "restrided": f"gives {name} other strides than its {strides} and writes next to it",
            }[verdict.effect]
            message = f"{call.name} {does}, without an error; pass a row-major out and copy it"
            claim = Claim(Kind.WRONG_VALUES)
            yield found(self, call.event, message, confidence=verdict.confidence, about=(out,), claim=claim)
