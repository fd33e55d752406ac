"""TLC307: out shares memory with an input, or with itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stridelint.rules.claims import of_verdict
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.out_contract import overlap_clause, self_overlap_clause
from stridelint.rules.contract.overlap import Overlap, is_moved_by_one, is_part, overlap
from stridelint.rules.contract.verdict import Verdict
from stridelint.rules.events import Operand
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, gist
from stridelint.rules.rule import Finding, Invalid, Severity


class OutOverlap(OutRule):
    """
    What it does:
        Finds `out=` tensors that share memory with an input in a way that the function does not support, and outs several
        elements of which are one place in memory: expanded tensors, overlapping windows.

    Why is this bad?
        Elementwise functions may write into one of their inputs, but others write the first results while they still read:
        `mm(x, y, out=x)` and `sum(x, 0, out=x[0])` return wrong numbers without an error. Where torch does notice it raises
        "unsupported operation". In an out that overlaps itself the last write wins; torch notices that for expanded
        tensors only.

    Example:
        for _ in range(3):
            torch.mm(power, step, out=power)

    Use instead:
        for _ in range(3):
            power = torch.mm(power, step)

    Confirmed by:
        Calling the function on tensors in these places and comparing with the result without out=.
    """

    code = "TLC307"
    name = "out-overlap"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

a, b = torch.rand(3, 3), torch.rand(3, 3)
torch.max(a, b, out=a)
torch.addmm(a, b, b, out=a)
torch.nan_to_num(a, out=a)
torch.add(a[:2], 1, out=a[:2])
torch.mul(a[0], 2, out=a[1])
torch.mm(a, b, out=torch.empty_like(a))
""",
        """\
import torch

def smooth(n: int, grid):
    x = torch.rand(n, 4)
    torch.add(x[2:], x[:-2], out=x[2:])
    torch.add(x[:1], x[1:2], out=x[:1])
    torch.add(grid[1:], grid[:-1], out=grid[1:])

def frames(x, size):
    windows = x.unfold(0, size, size)
    return torch.mul(windows, 2, out=windows)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

step = torch.rand(3, 3)
power = step.clone()
torch.mm(power, step, out=power)
""",
            (
                (
                    5,
                    1,
                    "mm() writes into 'power' while it still reads it, and computes wrong numbers without an error; write "
                    "into another tensor",
                ),
            ),
        ),
        Invalid(
            """\
import torch

x = torch.rand(4, 3)
torch.sum(x, 0, out=x[0])
torch.add(x[:3], 1, out=x[1:])
torch.mm(x[:3, :2], x[:2], out=x[1:])
rows = torch.rand(int(torch.randint(5, 9, ())), 4)
torch.add(rows[1:], rows[:-1], out=rows[1:])
""",
            (
                (
                    4,
                    1,
                    "sum() writes into 'x[0]', which is a part of 'x', while it still reads it, and computes wrong numbers "
                    "without an error; write into another tensor",
                ),
                (
                    5,
                    1,
                    "add() raises because 'x[1:]' overlaps 'x[:3]' (unsupported operation: some elements of the input "
                    "tensor and the written-to tensor refer to a single memory location); write into another tensor",
                ),
                (
                    6,
                    1,
                    "mm() writes into 'x[1:]', which overlaps 'x[:3, :2]', while it still reads it, and computes wrong "
                    "numbers without an error; write into another tensor",
                ),
                (
                    8,
                    1,
                    "add() raises because 'rows[1:]' overlaps 'rows[:-1]' (unsupported operation: some elements of the input "
                    "tensor and the written-to tensor refer to a single memory location); write into another tensor",
                ),
            ),
        ),
        Invalid(
            """\
import torch

bias = torch.zeros(1, 6).expand(4, 6)
torch.add(torch.rand(4, 6), 0.5, out=bias)
slots = torch.zeros(10).unfold(0, 4, 2)
torch.mul(torch.rand(4, 4), 2, out=slots)
""",
            (
                (
                    4,
                    1,
                    "add() raises because elements of 'bias' share memory (unsupported operation: more than one element of "
                    "the written-to tensor refers to a single memory location); write into a tensor of its own, such as a "
                    "clone()",
                ),
                (
                    6,
                    1,
                    "mul() writes results over each other because elements of 'slots' share memory, without an error; write "
                    "into a tensor of its own, such as a clone()",
                ),
            ),
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """Either clause about overlap is broken."""
        for index, out in call.outs:
            name = quoted(out, "out")
            verdict = self_overlap_clause(call.variant, out.facts)
            if verdict.violated is Answer.YES:
                does = {
                    "raises": f"raises because elements of {name} share memory{gist(verdict)}",
                    "either": f"raises or computes wrong numbers because elements of {name} share memory",
                }.get(
                    verdict.effect,
                    f"writes results over each other because elements of {name} share memory, without an error",
                )
                message = f"{call.name} {does}; write into a tensor of its own, such as a clone()"
                yield found(
                    self, call.event, message, confidence=verdict.confidence, about=(out,), claim=of_verdict(verdict)
                )
                continue
            broken = _broken(call, index, out)
            if broken is not None:
                operand, verdict = broken
                message = f"{call.name} {_does(out, operand, verdict)}; write into another tensor"
                yield found(
                    self, call.event, message, confidence=verdict.confidence, about=(out,), claim=of_verdict(verdict)
                )


def _broken(call: OutCall, index: int, out: Operand) -> tuple[Operand, Verdict] | None:
    """The first operand that out must not overlap, with what happens."""
    for name in call.variant.tensor_parameters:
        value = call.arguments.get(name)
        alone: Mapping[str, object] = {name: value}
        verdict = overlap_clause(call.variant, alone, out.facts, call.required(index))
        if verdict.violated is not Answer.YES:
            continue
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Operand) and _shares(out, each) in (Overlap.FULL, Overlap.PARTIAL):
                return each, verdict
    return None


def _shares(out: Operand, operand: Operand) -> Overlap:
    if out.facts is operand.facts:
        return Overlap.FULL
    return Overlap.PARTIAL if is_moved_by_one(out.facts, operand.facts) else overlap(out.facts, operand.facts)


def _does(out: Operand, operand: Operand, verdict: Verdict) -> str:
    name, other = quoted(out, "out"), quoted(operand, "an input")
    full = _shares(out, operand) is Overlap.FULL
    if verdict.effect == "raises":
        return f"raises because {name} {'is an input' if name == other else f'overlaps {other}'}{gist(verdict)}"
    is_ = "is" if full else "is a part of" if is_part(out.facts, operand.facts) is Answer.YES else "overlaps"
    place = "" if name == other else f", which {is_} {other},"
    what = (
        "raises or computes wrong numbers" if verdict.effect == "either" else "computes wrong numbers without an error"
    )
    return f"writes into {name}{place} while it still reads it, and {what}"
