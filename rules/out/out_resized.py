"""TLC303: an out of another shape than the result."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.claims import of_verdict
from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.out_contract import shape_clause
from stridelint.rules.events import Operand
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.out.clauses import OutCall, OutRule, gist
from stridelint.rules.rule import Finding, Invalid, Severity

# They warn too, in other words: "The number of elements in the out tensor ... does not match the computed number".
OWN_WARNING = frozenset({"arange", "range", "fft.fftfreq", "fft.rfftfreq"})


class OutResized(OutRule):
    """
    What it does:
        Finds `out=` tensors that are not empty and have another shape than the result.

    Why is this bad?
        Torch resizes them: other code that holds the buffer now sees another shape. Most functions warn that this is
        deprecated and will be an error; `zeros`, `ones`, `full`, `rand`, `randn`, `eye`, `multinomial` and others say
        nothing. A resized view writes over whatever lies behind it in its base, which no warning mentions.

    Example:
        buffer = torch.empty(4, 2)
        torch.sigmoid(last_batch, out=buffer)       # last_batch has shape (2, 2)

    Use instead:
        torch.sigmoid(last_batch, out=buffer[: len(last_batch)])
        # or let torch choose the shape: an empty out is resized without complaint
        buffer.resize_(0)
        torch.sigmoid(last_batch, out=buffer)

    Confirmed by:
        Calling the function with tensors of these shapes and reading out's shape and the warnings.
    """

    code = "TLC303"
    name = "out-resized"
    severity = Severity.WARNING

    VALID = (
        """\
import torch

buffer = torch.empty(0)
torch.add(torch.rand(2, 3), 1, out=buffer)
rows = torch.empty(4, 2)
torch.sigmoid(torch.rand(3, 2), out=rows[:3])
rows.resize_(0)
torch.sigmoid(torch.rand(3, 2), out=rows)
""",
        """\
import torch

def rescale(x, buffer):
    torch.sum(x, dim=(0, 1), keepdim=True, out=buffer)
    return torch.mul(x, buffer, out=torch.empty_like(x))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

buffer = torch.empty(4, 2)
torch.sigmoid(torch.rand(2, 2), out=buffer)
""",
            (
                (
                    4,
                    1,
                    "sigmoid() resizes 'buffer' from (4, 2) to (2, 2), which is deprecated; pass an out of the result's "
                    "shape, or an empty one",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def append(cache, used, rows):
    window = cache[:used]
    torch.cat([window.clone(), rows], out=window)

append(torch.zeros(10, 3), 2, torch.ones(3, 3))
""",
            (
                (
                    5,
                    5,
                    "cat() resizes 'window' from (2, 3) to (5, 3), which is deprecated, and overwrites what lies behind "
                    "this view in memory; pass an out of the result's shape, or an empty one",
                ),
            ),
        ),
        Invalid(
            """\
import torch

total = torch.zeros(6, 4)
torch.zeros(3, 4, out=total)
torch.arange(24, out=total)
""",
            (
                (
                    4,
                    1,
                    "zeros() resizes 'total' from (6, 4) to (3, 4) without a warning; pass an out of the result's shape, "
                    "or an empty one",
                ),
                (
                    5,
                    1,
                    "arange() resizes 'total' from (3, 4) to (24,); pass an out of the result's shape, or an empty one",
                ),
            ),
        ),
    )

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """The shape clause is broken."""
        if "compile" in call.event.transforms:
            return  # It raises there (TLC310).
        for index, out in call.outs:
            required = call.required(index).shape
            verdict = shape_clause(call.variant, required, out.facts)
            if verdict.violated is not Answer.YES or required is None:
                continue
            name, old, new = quoted(out, "out"), tuple_text(out.facts.shape), tuple_text(required)
            severity = None
            if verdict.effect == "raises":
                severity = Severity.ERROR
                does = f"raises because {name} has shape {old} and the result {new}{gist(verdict)}"
            elif verdict.effect == "kept":
                does = f"fills {name} in its shape {old} although the result has shape {new}"
            else:
                how = ", which is deprecated" if verdict.effect == "warns" else " without a warning"
                if call.event.op in OWN_WARNING:
                    how = ""
                does = f"resizes {name} from {old} to {new}{how}"
                if _reaches_beyond(out, required):
                    severity = Severity.ERROR
                    does += f"{',' if verdict.effect == 'warns' else ''} and overwrites what lies behind this view in memory"
            message = f"{call.name} {does}; pass an out of the result's shape, or an empty one"
            claim = of_verdict(verdict)
            yield found(
                self, call.event, message, confidence=verdict.confidence, about=(out,), severity=severity, claim=claim
            )


def _reaches_beyond(out: Operand, required: Dims) -> bool:
    """Whether out is a part of another tensor and the resized one takes more of its memory."""
    part = out.facts.storage_offset not in (0, None) or any("sliced" in note.message for note in out.story)
    if not part or out.facts.shape is None or out.facts.strides is None:
        return False
    shape = out.facts.shape
    longer = sizes.subtract(sizes.product(required), sizes.product(shape))
    dense = out.facts.strides == strides_in_order(shape, range(len(shape)))
    return not dense or (isinstance(longer, int) and longer > 0)
