"""TLC305: out lies on another device than the result."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.claims import raises
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.out_contract import device_clause
from stridelint.rules.events import Operand
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, gist
from stridelint.rules.rule import Finding, Invalid, Severity


class OutDevice(OutRule):
    """
    What it does:
        Finds `out=` tensors on another device than the tensors that the result is computed from.

    Why is this bad?
        `x.copy_(y)` copies between devices; `out=` does not: the function raises. A buffer that is made once, with a shape
        only, is on the default device; it stays there when the module or the inputs move, unless it is registered as a
        buffer of the module.

    Example:
        scores = torch.empty(2, 5)
        torch.mm(queries.cuda(), bank.cuda(), out=scores)

    Use instead:
        scores = torch.empty(2, 5, device="cuda")
        torch.mm(queries.cuda(), bank.cuda(), out=scores)
        # or, to get the result on the host
        scores.copy_(torch.mm(queries.cuda(), bank.cuda()))

    Confirmed by:
        Calling the function with tensors on these devices.
    """

    code = "TLC305"
    name = "out-device"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

a = torch.rand(2, 3, device="meta")
torch.add(a, 1, out=torch.empty(2, 3, device="meta"))
torch.mul(a, torch.tensor(2.0), out=torch.empty_like(a))
torch.add(a, 1, out=a.new_empty(2, 3))
with torch.device("meta"):
    buffer = torch.empty(2, 3)
torch.sub(a, 1, out=buffer)
""",
        """\
import torch

def scores(queries, bank, device):
    out = torch.empty(len(queries), len(bank), device=device)
    return torch.mm(queries.to(device), bank.to(device).T, out=out)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

scores = torch.empty(2, 5)
torch.mm(torch.rand(2, 3, device="meta"), torch.rand(3, 5, device="meta"), out=scores)
""",
            (
                (
                    4,
                    1,
                    "mm() raises because it computes on meta and 'scores' is on cpu (Attempting to copy from device meta to device "
                    "cpu, but cross-device copies are not allowed!); pass an out on meta",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def gather(parts, device):
    device = torch.device(device)
    rows = torch.empty(5, 4)
    return torch.cat([part.to(device) for part in parts], out=rows)

gather([torch.rand(2, 4), torch.rand(3, 4)], "meta")
""",
            (
                (
                    6,
                    12,
                    "cat() raises because it computes on meta and 'rows' is on cpu (Attempting to copy from device meta to device "
                    "cpu, but cross-device copies are not allowed!); pass an out on meta",
                ),
            ),
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """The device clause is broken."""
        for _, out in call.outs:
            verdict = device_clause(call.variant, call.arguments, out.facts)
            if verdict.violated is not Answer.YES:
                continue
            device = _computes_on(call)
            text = (
                gist(verdict) if device.startswith("meta") else ""
            )  # measured with meta in the place of an accelerator
            message = (
                f"{call.name} raises because it computes on {device} and {quoted(out, 'out')} is on {out.facts.device}{text}; "
                f"pass an out on {device}"
            )
            claim = raises(verdict.message) if text else raises()
            yield found(self, call.event, message, about=(out,), claim=claim)


def _computes_on(call: OutCall) -> str:
    """The device of the tensors that compute."""
    for value in call.arguments.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Operand) and each.facts.device is not None and each.facts.rank != 0:
                return each.facts.device
    asked = call.arguments.get("device")
    return asked if isinstance(asked, str) else "another device"
