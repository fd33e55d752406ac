"""TLC304: an out of the right kind but not of the dtype that the function insists on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import of_verdict
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.out_contract import dtype_clause
from stridelint.rules.events import TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, dtype_text, factory_fix, gist, out_call
from stridelint.rules.rule import Finding, Invalid, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix


class OutDtypeExact(OutRule):
    """
    What it does:
        Finds `out=` tensors of another dtype than the result's for functions that do not cast into out.

    Why is this bad?
        `add`, `mul` and most elementwise functions write into any out of the result's kind or a higher one. `mm`, `clamp`,
        `index_select`, `linalg.vector_norm`, `float_power` and about 170 others accept one dtype only and raise
        "Expected out tensor to have dtype float, but got double instead".

    Example:
        accumulator = torch.empty(4, 6)
        torch.mm(a.half(), b.half(), out=accumulator)

    Use instead:
        accumulator = torch.empty(4, 6, dtype=torch.half)
        torch.mm(a.half(), b.half(), out=accumulator)

    Fix:
        The dtype of the result where the out is made by a factory, such as `torch.empty(4, 6)` (unsafe: all that uses the out
        gets another dtype).

    Confirmed by:
        Calling the function with tensors of these dtypes.
    """

    code = "TLC304"
    name = "out-dtype-exact"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

x = torch.rand(3, 4)
torch.mul(x, x, out=torch.empty(3, 4, dtype=torch.float64))
torch.float_power(x, 2, out=torch.empty(3, 4, dtype=torch.float64))
torch.sum(x, 0, out=torch.empty(4, dtype=torch.float64))
torch.bucketize(x, torch.rand(5).sort().values, out_int32=True, out=torch.empty(3, 4, dtype=torch.int32))
""",
        """\
import torch

def gemm(a, b, out):
    return torch.mm(a, b.to(out.dtype), out=out)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

accumulator = torch.empty(4, 6)
torch.mm(torch.rand(4, 5).half(), torch.rand(5, 6).half(), out=accumulator)
""",
            (
                (
                    4,
                    1,
                    "mm() raises because it needs a float16 out and 'accumulator' is float32 (Expected out tensor to have "
                    "dtype c10::Half, but got float instead); pass a float16 out",
                ),
            ),
            fixed="""\
import torch

accumulator = torch.empty(4, 6, dtype=torch.float16)
torch.mm(torch.rand(4, 5).half(), torch.rand(5, 6).half(), out=accumulator)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

values, indices = torch.empty(3), torch.empty(3, dtype=torch.int32)
torch.max(torch.rand(3, 7), 1, out=(values, indices))
""",
            (
                (
                    4,
                    1,
                    "max() raises because it needs an int64 out and 'indices' is int32 (Expected out tensor to have dtype "
                    "long int, but got int instead); pass an int64 out",
                ),
            ),
            fixed="""\
import torch

values, indices = torch.empty(3), torch.empty(3, dtype=torch.int64)
torch.max(torch.rand(3, 7), 1, out=(values, indices))
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

norms = torch.empty(3, dtype=torch.float64)
torch.linalg.vector_norm(torch.rand(3, 4), dim=1, out=norms)
""",
            (
                (
                    4,
                    1,
                    "linalg.vector_norm() raises because it needs a float32 out and 'norms' is float64 (Expected out tensor "
                    "to have dtype float, but got double instead); pass a float32 out",
                ),
            ),
            fixed="""\
import torch

norms = torch.empty(3, dtype=torch.float32)
torch.linalg.vector_norm(torch.rand(3, 4), dim=1, out=norms)
""",
            safe=False,
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """The dtype clause is broken although out's kind would do; both dtypes are known."""
        for index, out in call.outs:
            result = call.required(index)
            if result.dtype is None or out.facts.dtype is None or call.arguments.get("out_int32", False) is not False:
                continue  # Under autocast, or with another default dtype, the operands do not tell.
            verdict = dtype_clause(call.variant, index, call.arguments, out.facts)
            if verdict.violated is not Answer.YES or verdict.effect != "raises":
                continue
            if call.lower_kind(index, out.facts) is not Answer.NO:
                continue
            wanted = f"{'an' if result.dtype[0] == 'i' else 'a'} {result.dtype} out"
            message = (
                f"{call.name} raises because it needs {wanted} and {quoted(out, 'out')} is {dtype_text(out.facts)}"
                f"{gist(verdict)}; pass {wanted}"
            )
            yield found(self, call.event, message, about=(out,), claim=of_verdict(verdict))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """The result's dtype where the out is made."""
        call = out_call(finding.event) if isinstance(finding.event, TensorEvent) else None
        wrong = (
            [] if call is None else [each for each in call.outs if call.required(each[0]).dtype != each[1].facts.dtype]
        )
        return factory_fix(call, wrong, code)
