"""TLC306: a row-major out takes the memory format from a channels_last result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Operand, Site, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.out.clauses import OutCall, OutRule, out_call
from stridelint.rules.rule import Finding, Invalid, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix

FORMATS = ("channels_last", "channels_last_3d")


class OutKeepsStrides(OutRule):
    """
    What it does:
        Finds row-major `out=` tensors for functions whose inputs were converted to channels_last.

    Why is this bad?
        An out of the right shape keeps its own strides. The result is row-major although its inputs are not, and everything
        that is computed from it: convolutions convert it back, or run on the slow path.

    Example:
        buffer = torch.empty(images.shape)
        images = images.to(memory_format=torch.channels_last)
        torch.mul(images, 2, out=buffer)

    Use instead:
        images = images.to(memory_format=torch.channels_last)
        buffer = torch.empty_like(images)
        torch.mul(images, 2, out=buffer)

    Fix:
        `torch.empty(shape)` gets `memory_format=torch.channels_last`, `torch.zeros(shape)` is converted where it is made, and
        `x.new_empty(x.shape)` becomes `torch.empty_like(x)` (unsafe: all that uses the out sees another layout).

    Confirmed by:
        Calling the function with and without out= and comparing the strides.
    """

    code = "TLC306"
    name = "out-keeps-strides"
    severity = Severity.WARNING

    VALID = (
        """\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
torch.mul(x, 2, out=torch.empty_like(x))
torch.mul(x, 2, out=torch.empty(2, 3, 4, 5, memory_format=torch.channels_last))
torch.mul(x, 2, out=torch.empty(0))
torch.softmax(x, 1, out=torch.empty(2, 3, 4, 5))
torch.sum(x, dim=(2, 3), out=torch.empty(2, 3))
gray = torch.rand(2, 1, 4, 5).to(memory_format=torch.channels_last)
torch.mul(gray, 2, out=torch.empty(2, 1, 4, 5))
""",
        """\
import torch

def to_planes(pixels, planes):
    torch.div(pixels.permute(0, 3, 1, 2), 255, out=planes)

to_planes(torch.rand(2, 4, 5, 3), torch.empty(2, 3, 4, 5))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

class Stage:
    def __init__(self, shape):
        self.buffer = torch.empty(shape)

    def mix(self, a, b):
        return torch.add(a, b, out=self.buffer)

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
Stage((2, 3, 4, 5)).mix(x, x)
""",
            (
                (
                    8,
                    16,
                    "add() gives a row-major result because 'self.buffer' is row-major, although 'a' is channels_last; make the out "
                    "with empty_like, or with memory_format=torch.channels_last",
                ),
            ),
            fixed="""\
import torch

class Stage:
    def __init__(self, shape):
        self.buffer = torch.empty(shape, memory_format=torch.channels_last)

    def mix(self, a, b):
        return torch.add(a, b, out=self.buffer)

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
Stage((2, 3, 4, 5)).mix(x, x)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def halve(images):
    images = images.to(memory_format=torch.channels_last)
    out = images.new_empty(images.shape)
    return torch.div(images, 2, out=out)

halve(torch.rand(2, 3, 4, 5))
""",
            (
                (
                    6,
                    12,
                    "div() gives a row-major result because 'out' is row-major, although 'images' is channels_last; make the out with "
                    "empty_like, or with memory_format=torch.channels_last",
                ),
            ),
            fixed="""\
import torch

def halve(images):
    images = images.to(memory_format=torch.channels_last)
    out = torch.empty_like(images)
    return torch.div(images, 2, out=out)

halve(torch.rand(2, 3, 4, 5))
""",
            safe=False,
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """Without out= the result would be channels_last, and out is row-major; neither is ambiguous."""
        for index, out in call.outs:
            result = call.required(index)
            for memory_format in FORMATS:
                source = _converted(call, memory_format)
                if source is None or result.shape != out.facts.shape:
                    continue
                wanted, given = _is(result, memory_format), _is(out.facts, "contiguous_format", memory_format)
                if wanted is None or given is None:
                    continue
                message = (
                    f"{call.name} gives a row-major result because {quoted(out, 'out')} is row-major, although "
                    f"{quoted(source, 'an input')} is {memory_format}; make the out with empty_like, or with "
                    f"memory_format=torch.{memory_format}"
                )
                claim = Claim(Kind.KEEPS_OUT_STRIDES)
                yield found(
                    self,
                    call.event,
                    message,
                    confidence=min(wanted, given),
                    about=(source, out),
                    claim=claim,
                    explained=_makers(out),
                )

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Make the out in the format of the inputs, where it is made at a known place."""
        from stridelint.rules.forms import edits, tensor_edits

        call = out_call(finding.event) if isinstance(finding.event, TensorEvent) else None
        torch = code.torch()
        if call is None or torch is None or len(call.outs) != 1 or len(call.outs[0][1].story) != 1:
            return None
        out = call.outs[0][1]
        maker = code.call(out.story[0].site)
        wanted = next((name for name in FORMATS if _converted(call, name) is not None), None)
        if maker is None or wanted is None:
            return None
        like = tensor_edits.made_like(code, maker, torch)
        if like is not None:
            return edits.Fix("make the out like the input", (like,), cause=True)
        better = tensor_edits.made_in_format(code, maker, torch, wanted)
        return None if better is None else edits.Fix(f"make the out {wanted}", (better,), cause=True)


def _makers(out: Operand) -> tuple[Site, ...]:
    """Where the out was made: that it is row-major is told here."""
    return tuple(note.site for note in out.story)


def _converted(call: OutCall, memory_format: str) -> Operand | None:
    """The input that the code converts to a memory format; a permuted one may be meant to become row-major."""
    for operand in call.event.tensors:
        if any(note.message == f"becomes {memory_format} here" for note in operand.story):
            return operand
    return None


def _is(facts: TensorFacts, memory_format: str, other: str = "contiguous_format") -> Confidence | None:
    """How sure it is that a tensor has one format and not the other."""
    judged = questions.is_only(facts, memory_format, other)
    return judged.confidence if judged.answer is Answer.YES else None
