"""TLC304: an out of the right kind but not of the dtype that the function insists on."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.claims import of_verdict
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.out_contract import dtype_clause
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, dtype_text, gist
from stridelint.rules.rule import Finding, Invalid, Severity


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
