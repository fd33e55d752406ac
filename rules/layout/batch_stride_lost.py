"""TLC112: a batch of one that looks channels_last and is taken for row-major."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form, TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.layout import screening
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

FORMATS = {4: "channels_last", 5: "channels_last_3d"}
# Measured: these ask torch which format it suggests for their input.
ASKING = frozenset(
    """cat concat conv2d conv_transpose2d max_pool2d pixel_shuffle pixel_unshuffle channel_shuffle nn.functional.conv2d nn.functional.pad
    nn.functional.conv_transpose2d nn.functional.max_pool2d nn.functional.avg_pool2d nn.functional.adaptive_avg_pool2d
    nn.functional.adaptive_max_pool2d nn.functional.interpolate nn.functional.pixel_shuffle nn.functional.pixel_unshuffle
    nn.functional.lp_pool2d nn.functional.channel_shuffle conv3d nn.functional.conv3d""".split()
)


class BatchStrideLost(Rule):
    """
    What it does:
        Finds a batch of one that got its first axis from `unsqueeze(0)` or `[None]` behind channels_last pixels, and goes
        into a convolution, a pooling, `interpolate` or `cat`.

    Why is this bad?
        `is_contiguous(memory_format=torch.channels_last)` is True for it, but its stride(0) is that of a pixel. Operators that
        ask which format torch suggests are told row-major: their result is row-major, and the image was converted for
        nothing. `.contiguous(memory_format=torch.channels_last)` does not help: it returns the tensor as it is.

    Example:
        image = torch.from_numpy(hwc).permute(2, 0, 1).unsqueeze(0)
        y = F.max_pool2d(image, 2)              # row-major

    Use instead:
        image = torch.from_numpy(hwc)[None].permute(0, 3, 1, 2)
        y = F.max_pool2d(image, 2)              # channels_last

    Confirmed by:
        Running the operator and reading the strides of its result.
    """

    code = "TLC112"
    name = "batch-stride-lost"
    severity = Severity.WARNING
    words = ("permute(", "transpose(", "movedim(", "moveaxis(", "channels_last")
    ops = ASKING

    VALID = (
        """\
import torch
import torch.nn.functional as F

hwc = torch.rand(8, 9, 3)
F.max_pool2d(hwc[None].permute(0, 3, 1, 2), 2)
F.max_pool2d(hwc.permute(2, 0, 1).contiguous().unsqueeze(0), 2)
F.relu(hwc.permute(2, 0, 1).unsqueeze(0))
batch = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
F.avg_pool2d(batch[:1], 2)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch
import torch.nn.functional as F

image = torch.rand(8, 9, 3).permute(2, 0, 1).unsqueeze(0)
y = F.max_pool2d(image, 2)
batch = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
z = torch.cat([batch[0][None], batch[1][None]])
""",
            (
                (
                    5,
                    5,
                    "'F.max_pool2d(image, 2)' is row-major: 'image' has the strides (3, 1, 27, 3) of channels_last pixels, but its "
                    "stride(0) is that of a pixel, so torch takes it for row-major",
                ),
                (
                    7,
                    5,
                    "'torch.cat([batch[0][None], batch[1][None]])' is row-major: 'batch[0][None]' has the strides (3, 1, 12, 3) of "
                    "channels_last pixels, but its stride(0) is that of a pixel, so torch takes it for row-major",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """A batch axis is added in front, somewhere behind a permutation or a conversion."""
        return screening.batches_of_one(nodes)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The input is channels_last by its strides, but torch suggests row-major, and so the result is."""
        if event.form is Form.INPLACE or event.out is not None or not event.tensors:
            return
        source = event.tensors[0]
        lost, confidence = _lost(source.facts)
        if lost is not Answer.YES or event.result.rank not in FORMATS:
            return
        plain = questions.is_contiguous(event.result, "contiguous_format")
        if (
            plain.answer is Answer.YES
            and questions.is_contiguous(event.result, FORMATS[event.result.rank]).answer is not Answer.YES
        ):
            message = (
                f"'{event.text}' is row-major: {quoted(source)} has the strides {tuple_text(source.facts.strides)} of channels_last "
                "pixels, but its stride(0) is that of a pixel, so torch takes it for row-major"
            )
            claim = Claim(Kind.BATCH_STRIDE_DECIDES)
            yield found(
                self, event, message, confidence=min(confidence, plain.confidence), about=(source,), claim=claim
            )


def _lost(facts: TensorFacts) -> tuple[Answer, Confidence]:
    """Whether a tensor's strides are channels_last but for the batch."""
    if facts.rank not in FORMATS or facts.strides is None or facts.shape is None:
        return Answer.UNKNOWN, Confidence.POSSIBLE
    wanted, plain = (
        questions.is_contiguous(facts, FORMATS[facts.rank]),
        questions.is_contiguous(facts, "contiguous_format"),
    )
    suggested = questions.suggests(facts, FORMATS[facts.rank])
    return wanted.answer & ~plain.answer & ~suggested.answer, min(
        wanted.confidence, plain.confidence, suggested.confidence
    )
