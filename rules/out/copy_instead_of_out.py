"""TLC313: a result that is copied at once into a buffer it could have been written to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.contract import operators
from stridelint.rules.contract.answers import Answer
from stridelint.rules.events import Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening import name_of

if TYPE_CHECKING:
    import ast

    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

# Their out= does not honour every stride, draws other numbers, or is another function's.
_LEFT_OUT = frozenset(
    {"tril", "triu", "nn.functional.avg_pool3d", "nn.functional.gelu", "narrow_copy", "bernoulli", "normal"}
)


class CopyInsteadOfOut(Rule):
    """
    What it does:
        Finds `buffer.copy_(torch.add(a, b))`: the new result of a function that takes `out=`, copied at once into a buffer
        of its shape and dtype, where no gradient is recorded. Reported in audits only.

    Why is this bad?
        It is not wrong, but it allocates a tensor, writes it, reads it and writes it again. `torch.add(a, b, out=buffer)`
        writes once.

    Example:
        with torch.no_grad():
            self.scores.copy_(torch.mm(queries, bank))

    Use instead:
        with torch.no_grad():
            torch.mm(queries, bank, out=self.scores)

    Fix:
        `buffer.copy_(torch.mm(a, b))` becomes `torch.mm(a, b, out=buffer)` (unsafe: an operator may compute in another order for
        another layout of its out).

    Confirmed by:
        Calling the function both ways and comparing the results.
    """

    code = "TLC313"
    name = "copy-instead-of-out"
    severity = Severity.NOTE
    words = (".copy_(",)
    ops = frozenset({"copy_"})
    quiet = True

    VALID = (
        """\
import torch

a, buffer = torch.rand(3, 4), torch.zeros(3, 4)
buffer.copy_(a)
torch.add(a, 1, out=buffer)
buffer.copy_(torch.add(a, 1).half())
buffer.copy_(torch.sum(a, 1, keepdim=True))
buffer.copy_(torch.mm(buffer, torch.rand(4, 4)))
buffer.copy_(torch.relu(a))
weight = torch.rand(3, 4, requires_grad=True)
buffer.copy_(torch.mul(weight, 2))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

class Index:
    def __init__(self, bank):
        self.bank = bank
        self.scores = torch.zeros(2, 5)

    @torch.no_grad()
    def query(self, q):
        self.scores.copy_(torch.mm(q, self.bank))
        return self.scores

Index(torch.rand(3, 5)).query(torch.rand(2, 3))
""",
            (
                (
                    10,
                    9,
                    "'torch.mm(q, self.bank)' is made and then copied into 'self.scores', of the same shape and dtype; mm() can write "
                    "there with out=",
                ),
            ),
            fixed="""\
import torch

class Index:
    def __init__(self, bank):
        self.bank = bank
        self.scores = torch.zeros(2, 5)

    @torch.no_grad()
    def query(self, q):
        torch.mm(q, self.bank, out=self.scores)
        return self.scores

Index(torch.rand(3, 5)).query(torch.rand(2, 3))
""",
            safe=False,
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """`copy_` of what a call returns."""
        return frozenset(unit for call, unit in nodes.calls if name_of(call.func) == "copy_" and _copies_a_call(call))

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The source is a temporary, fits, and nothing needs a gradient or is read while it is written."""
        target, source = event.arguments.get("input"), event.arguments.get("src")
        if not isinstance(target, Operand) or not isinstance(source, Operand) or not source.fresh or not source.made_by:
            return
        operator = operators.lookup(source.made_by)
        if operator is None or not operator.accepts_out or not operator.is_function or source.made_by in _LEFT_OUT:
            return
        left, right = target.facts, source.facts
        same = (
            left.shape is not None
            and left.shape == right.shape
            and left.dtype is not None
            and left.dtype == right.dtype
        )
        recorded = event.grad_mode is not Answer.NO and (
            left.requires_grad is not False or right.requires_grad is not False
        )
        if not same or left.device != right.device or recorded or target.text in source.text:
            return
        message = (
            f"{quoted(source)} is made and then copied into {quoted(target)}, of the same shape and dtype; "
            f"{source.made_by.removeprefix('nn.functional.')}() can write there with out="
        )
        yield found(self, event, message, about=(target,))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Let the function write into the buffer."""
        from stridelint.rules.forms import edits, tensor_edits

        call, torch = code.call(finding.site), code.torch()
        edit = None if call is None or torch is None else tensor_edits.written_into(code, call, torch)
        return None if edit is None else edits.Fix("pass the buffer as out=", (edit,))


def _copies_a_call(call: ast.Call) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return bool(values) and bool(name_of(values[0])) and hasattr(values[0], "func")
