"""TLC308: out= with the wrong number of tensors, or of a function that has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import of_verdict, raises
from stridelint.rules.contract import operators
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.operators import Variant
from stridelint.rules.contract.out_contract import accepts_clause
from stridelint.rules.contract.verdict import Verdict
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutRule, arity, call_name, gist, outs_of, plain_arguments
from stridelint.rules.rule import Finding, Invalid, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix


class OutTuple(OutRule):
    """
    What it does:
        Finds calls that pass a lone tensor for several results, too few or too many tensors, a tuple for one result or one
        tensor for two results, and calls that take no `out=` at all, such as all tensor methods.

    Why is this bad?
        Most of this raises a TypeError, often on a path that seldom runs. One tensor for two results does not always:
        `qr`, `slogdet`, `aminmax` and others write both results into it, and the last one wins.

    Example:
        torch.max(states, 1, out=buffer)
        q, r = torch.linalg.qr(block, out=(work, work))

    Use instead:
        torch.max(states, 1, out=(buffer, indices))
        q, r = torch.linalg.qr(block, out=(work, torch.empty_like(block)))

    Fix:
        `x.add(y, out=z)` becomes `torch.add(x, y, out=z)`, and `out=(z,)` of a function with one result `out=z` (safe: both calls
        always raise).

    Confirmed by:
        Calling the function with such an out=.
    """

    code = "TLC308"
    name = "out-tuple"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

x, values, indices = torch.rand(3, 7), torch.empty(3), torch.empty(3, dtype=torch.long)
torch.max(x, 1, out=(values, indices))
torch.min(x, dim=1, out=[values, indices])
torch.max(x, x, out=x)
torch.linalg.slogdet(torch.rand(3, 3), out=(torch.empty(()), torch.empty(())))
""",
        """\
import torch

class Meter:
    def __init__(self):
        self.total = torch.ones(3, 4)

    def sum(self, dim, out):
        return torch.sum(self.total, dim, out=out)

Meter().sum(0, out=None)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

states, buffer = torch.rand(2, 5, 8), torch.empty(2, 8)
torch.max(states, 1, out=buffer)
torch.add(states, 1, out=(states,))
torch.linalg.svd(torch.rand(5, 3), full_matrices=False, out=(torch.empty(5, 3), torch.empty(3)))
""",
            (
                (
                    4,
                    1,
                    "max() raises because it has 2 results and out is a tensor; pass a tuple of 2 tensors",
                ),
                (
                    5,
                    1,
                    "add() raises because it has 1 result and out is a tuple; pass a tensor",
                ),
                (
                    6,
                    1,
                    "linalg.svd() raises because it has 3 results and out has 2 tensors (expected tuple of 3 elements but "
                    "got 2); pass a tuple of 3 tensors",
                ),
            ),
            fixed="""\
import torch

states, buffer = torch.rand(2, 5, 8), torch.empty(2, 8)
torch.max(states, 1, out=buffer)
torch.add(states, 1, out=states)
torch.linalg.svd(torch.rand(5, 3), full_matrices=False, out=(torch.empty(5, 3), torch.empty(3)))
""",
        ),
        Invalid(
            """\
import torch

both = torch.empty(())
sign, size = torch.linalg.slogdet(torch.rand(3, 3), out=(both, both))
""",
            (
                (
                    4,
                    14,
                    "linalg.slogdet() writes both results into 'both' and the last one wins, without an error; pass two tensors",
                ),
            ),
        ),
        Invalid(
            """\
import torch

x, y = torch.rand(3), torch.empty(3)
x.add(1, out=y)
torch.relu(x, out=y)
torch.neg(x, out=(y,))
""",
            (
                (4, 1, "Tensor.add() raises because no tensor method takes out=; call torch.add"),
                (
                    5,
                    1,
                    "relu() raises because it takes no out= (relu() got an unexpected keyword argument 'out'); use its result, or copy_ it",
                ),
                (6, 1, "neg() raises because it has 1 result and out is a tuple; pass a tensor"),
            ),
            fixed="""\
import torch

x, y = torch.rand(3), torch.empty(3)
torch.add(x, 1, out=y)
torch.relu(x, out=y)
torch.neg(x, out=y)
""",
        ),
    )

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The number of outs does not fit the call."""
        operator = operators.lookup(event.op)
        if event.out is None or operator is None:
            return
        if event.form is not Form.FUNCTION:
            if isinstance(event.out, Operand) and operator.is_method:
                does = "raises because no tensor method takes out="
                remedy = f"call torch.{event.op}" if operator.accepts_out and operator.is_function else "use its result"
                yield found(self, event, f"Tensor.{event.op}() {does}; {remedy}", claim=raises(exception="TypeError"))
            return
        outs, variant = outs_of(event), operator.variant(plain_arguments(event))
        refused = accepts_clause(operator, variant)
        if refused.violated is Answer.YES and outs is not None:
            message = f"{call_name(event)} raises because it takes no out={gist(refused)}; use its result, or copy_ it"
            yield found(self, event, message, claim=of_verdict(refused))
        elif variant is not None and outs is not None:
            verdict = arity(operator, variant, event)
            if verdict.violated is Answer.YES:
                message = f"{call_name(event)} {_does(event, variant, verdict, outs)}"
                yield found(self, event, message, claim=of_verdict(verdict))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """The function for the method; the tensor for the tuple of one."""
        from stridelint.rules.forms import edits, tensor_edits

        event, call, torch = finding.event, code.call(finding.site), code.torch()
        if not isinstance(event, TensorEvent) or call is None or torch is None:
            return None
        operator = operators.lookup(event.op)
        if event.form is Form.METHOD:
            takes = operator is not None and operator.accepts_out and operator.is_function and operator.is_method
            edit = tensor_edits.as_function(code, call, torch) if takes and edits.method(call) == event.op else None
            return None if edit is None else edits.Fix(f"call {torch}.{event.op}", (edit,), safe=True)
        lone = tensor_edits.unpacked(code, call, "out")
        variant = None if operator is None else operator.variant(plain_arguments(event))
        if lone is None or variant is None or not variant.accepts_out or len(variant.outputs) != 1:
            return None
        return edits.Fix("pass the tensor", (lone,), safe=True)


def _does(event: TensorEvent, variant: Variant, verdict: Verdict, outs: tuple[Operand | None, ...]) -> str:
    wanted = len(variant.outputs)
    lone = isinstance(event.out, Operand)
    if len(outs) == wanted and not lone and wanted > 1:
        name = quoted(outs[0], "one tensor") if outs[0] is not None else "one tensor"
        if verdict.effect == "raises":
            return f"raises because both results go into {name}{gist(verdict)}; pass two tensors"
        if verdict.effect == "either":
            return (
                f"writes both results into {name}: the last one wins without an error, or it raises; pass two tensors"
            )
        return f"writes both results into {name} and the last one wins, without an error; pass two tensors"
    if wanted == 1:
        return "raises because it has 1 result and out is a tuple; pass a tensor"
    has = "out is a tensor" if lone else f"out has {len(outs)} tensor{'s' * (len(outs) != 1)}{gist(verdict)}"
    return f"raises because it has {wanted} results and {has}; pass a tuple of {wanted} tensors"
