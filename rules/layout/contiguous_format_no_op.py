"""TLC108: `.to(memory_format=torch.contiguous_format)` where `.contiguous()` was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.events import TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix


class ContiguousFormatNoOp(Rule):
    """
    What it does:
        Finds `.to(memory_format=torch.contiguous_format)` on tensors that are not contiguous and that it leaves as they are:
        transposed, permuted, sliced or expanded ones.

    Why is this bad?
        `.to(memory_format=f)` compares f with the memory format that torch suggests for the strides. Anything that is not
        channels_last suggests contiguous_format, so the call returns its own tensor, with the old strides.

    Example:
        x = torch.rand(4, 6).t().to(memory_format=torch.contiguous_format)
        x.view(-1)      # raises

    Use instead:
        x = torch.rand(4, 6).t().contiguous()

    Fix:
        `.to(memory_format=torch.contiguous_format)` becomes `.contiguous()` (safe: it does the same for every tensor that the
        call does not leave strided).

    Confirmed by:
        Running the conversion and asking the result whether it is contiguous.
    """

    code = "TLC108"
    name = "contiguous-format-no-op"
    severity = Severity.ERROR
    words = ("contiguous_format",)
    ops = frozenset({"to"})

    VALID = (
        """\
import torch

pixels = torch.stack([torch.rand(3, 8, 8) for _ in range(4)])
pixels = pixels.to(memory_format=torch.contiguous_format).float()
nchw = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last).to(memory_format=torch.contiguous_format)
""",
        """\
import torch

frames_first = torch.fft.rfft(torch.rand(2, 16, 8), dim=1).transpose(1, 2)
frames_first = frames_first.to(memory_format=torch.contiguous_format)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

x = torch.rand(4, 6).t()
x = x.to(memory_format=torch.contiguous_format)
""",
            (
                (
                    4,
                    5,
                    "'x.to(memory_format=torch.contiguous_format)' changes nothing: 'x' keeps its strides (1, 6) and is not "
                    "contiguous; use .contiguous()",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(4, 6).t()
x = x.contiguous()
""",
        ),
        Invalid(
            """\
import torch

def bins_first(waves):
    pieces = torch.nn.functional.pad(torch.rand(2, 40), (0, 8)).unfold(-1, 16, 8)
    bins = torch.fft.rfft(pieces * torch.hann_window(16)).abs().log1p().transpose(1, 2)
    return bins.to(memory_format=torch.contiguous_format)
""",
            (
                (
                    6,
                    12,
                    "'bins.to(memory_format=torch.contiguous_format)' changes nothing: 'bins' keeps its strides (45, 1, 9) and is not "
                    "contiguous; use .contiguous()",
                ),
            ),
            fixed="""\
import torch

def bins_first(waves):
    pieces = torch.nn.functional.pad(torch.rand(2, 40), (0, 8)).unfold(-1, 16, 8)
    bins = torch.fft.rfft(pieces * torch.hann_window(16)).abs().log1p().transpose(1, 2)
    return bins.contiguous()
""",
        ),
    )

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """Not contiguous before, and the same strides after."""
        if event.arguments.get("memory_format") != "contiguous_format" or not event.tensors:
            return
        source = event.tensors[0]
        contiguous = questions.is_contiguous(source.facts, "contiguous_format")
        if contiguous.answer is not Answer.NO or event.result.strides != source.facts.strides:
            return
        message = (
            f"'{event.text}' changes nothing: {quoted(source)} keeps its strides {tuple_text(source.facts.strides)} and is not "
            "contiguous; use .contiguous()"
        )
        yield found(
            self, event, message, confidence=contiguous.confidence, about=(source,), claim=Claim(Kind.RETURNS_INPUT)
        )

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """`.contiguous()`, where the memory format is all that the call asks for."""
        from stridelint.rules.forms import edits

        call = code.call(finding.site)
        if (
            call is None
            or edits.method(call) != "to"
            or len(call.args) != 1
            or edits.keyword(call, "memory_format") is None
        ):
            return None
        contiguous = call.with_changes(func=call.func.with_changes(attr=edits.dotted("contiguous")), args=())
        return edits.Fix("call .contiguous()", (edits.replaced(code, call, contiguous),), safe=True, cause=True)
