"""TLC203: a layout is tested with a batch of one, which leaves the batch stride untested."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dim
from stridelint.rules.contract.layout import RANK_OF
from stridelint.rules.events import Assertion, Operand, TensorEvent, TestEvent
from stridelint.rules.findings import quoted, story
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.tests_of_layout import subject, untaken_steps
from stridelint.rules.tests_of_layout.subject import Sight

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix


class BatchOfOneLayoutTest(Rule):
    """
    What it does:
        Finds tests of a layout in which the batch size is always 1, and where that hides something: the only assertion is
        about `stride(0)`, the code under test gives `as_strided` a step from sample to sample that is not the tensor's, or computes
        offsets with one (`i * step`) at which samples would overlap, or
        `is_contiguous(memory_format=torch.channels_last)` is asserted of `hwc.permute(2, 0, 1)[None]`, which convolution and
        pooling take for row-major. A test that asserts `is_contiguous(memory_format=...)` of other batches of one only is worth a
        note, in audits.

    Why is this bad?
        The stride of an axis of size 1 is never used. `is_contiguous(memory_format=...)` still tells the formats apart
        (when C > 1 and H * W > 1), but it ignores stride(0), which convolution and pooling look at, and so do kernels that
        compute offsets. And stride(0) alone is C * H * W in both formats.

    Example:
        y = conv(torch.rand(1, 3, 10, 10).to(memory_format=torch.channels_last))
        assert y.stride(0) == y.shape[1] * y.shape[2] * y.shape[3]

    Use instead:
        y = conv(torch.rand(2, 3, 10, 10).to(memory_format=torch.channels_last))
        assert y.is_contiguous(memory_format=torch.channels_last)

    Fix:
        `torch.rand(1, 3, 4, 5)` gets a batch of two where the test makes the tensor with a literal size and does nothing with it
        that hangs on the number of samples (unsafe: the test may fail then, and show what it hid).

    Confirmed by:
        Asking what is asserted of another stride(0), or giving `as_strided` the tensor's own step: the answer, or the numbers read,
        stay the same. Of an assertion about `stride(0)` itself both formats are asked. The test is not run.
    """

    code = "TLC203"
    name = "batch-of-one-layout-test"
    severity = Severity.WARNING
    words = ("stride(", "as_strided", "is_contiguous", "channels_last")
    ops = subject.CONVERSIONS | {"as_strided"}

    VALID = (
        """\
import torch

def test_strides_of_a_batch_of_one():
    y = torch.relu(torch.rand(1, 3, 4, 5).to(memory_format=torch.channels_last))
    assert y.stride() == (60, 1, 15, 3)
""",
        """\
import torch

def to_input(frame):
    return torch.from_numpy(frame).permute(2, 0, 1)[None]

def test_strides_of_channels_last_input():
    batch = to_input(torch.rand(4, 5, 3).numpy())
    assert batch.is_contiguous(memory_format=torch.channels_last) and batch.stride() == (3, 1, 15, 3)
""",
        """\
import torch

def pixels(images):
    return torch.as_strided(images, images.shape[:2], (images.stride(0), 1))

def test_pixels_of_nhwc():
    images = torch.rand(1, 3, 4, 5).to(memory_format=torch.channels_last)
    assert torch.equal(pixels(images), images[:, :, 0, 0])
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

def test_relu_layout():
    y = torch.relu(torch.rand(1, 3, 4, 5).to(memory_format=torch.channels_last))
    assert y.stride(0) == 60
""",
            (
                (
                    5,
                    5,
                    "only stride(0) of 'y' is asserted, in a batch of one: it is never used there, and both formats make it "
                    "C * H * W; assert is_contiguous(memory_format=...) or all strides, with N > 1",
                ),
            ),
            fixed="""\
import torch

def test_relu_layout():
    y = torch.relu(torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last))
    assert y.stride(0) == 60
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def second_row(images):
    n, c, h, w = images.shape
    return images.as_strided((n, c), (c * w, 1), c * w)

def test_second_row_of_nhwc():
    images = torch.rand(1, 3, 4, 5).to(memory_format=torch.channels_last)
    rows = second_row(images)
    torch.testing.assert_close(rows, images[:, :, 1, 0])
""",
            (
                (
                    10,
                    5,
                    "'images' is a batch of one, so the step of 15 from sample to sample that as_strided is given is never taken "
                    "(the tensor's own stride(0) is 60); test with N > 1",
                ),
            ),
            fixed="""\
import torch

def second_row(images):
    n, c, h, w = images.shape
    return images.as_strided((n, c), (c * w, 1), c * w)

def test_second_row_of_nhwc():
    images = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    rows = second_row(images)
    torch.testing.assert_close(rows, images[:, :, 1, 0])
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def to_input(frame):
    return torch.from_numpy(frame).float().div_(255).permute(2, 0, 1)[None]

def test_input_is_channels_last():
    batch = to_input(torch.rand(4, 5, 3).numpy())
    assert batch.is_contiguous(memory_format=torch.channels_last)
""",
            (
                (
                    8,
                    5,
                    "'batch' is a batch of one with a stride(0) of 3, which is_contiguous ignores: convolution, pooling and cat "
                    "take it for row-major; test with N > 1 too",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def test_relu_keeps_channels_last():
    y = torch.relu(torch.rand(1, 3, 4, 5).to(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)
""",
            (
                (
                    5,
                    5,
                    "'y' is a batch of one in every run: is_contiguous ignores stride(0), by which convolution, pooling and cat "
                    "choose the format; test with N > 1 too",
                ),
            ),
            fixed="""\
import torch

def test_relu_keeps_channels_last():
    y = torch.relu(torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)
""",
            safe=False,
        ),
    )

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        """Only modules with tests."""
        return subject.has_tests(tree)

    def check_test(self, test: TestEvent) -> Iterator[Finding]:
        """Lone assertions of stride(0), steps that are never taken, and (as a note) checks of batches of one."""
        if subject.is_deliberate(test) or not test.complete:
            return
        yield from self._batch_strides(test)
        yield from self._untaken_steps(test)
        yield from self._offsets(test)
        yield from self._contiguous(test)

    def _batch_strides(self, test: TestEvent) -> Iterator[Finding]:
        layout = [(each, run) for run in test.runs for each in run.assertions if each.kind in subject.LAYOUT_KINDS]
        if not layout or not (subject.speaks_of_layout(test) or any(map(subject.converts, test.runs))):
            return
        if not all(
            subject.is_batch_stride(each) and each.holds and untaken_steps.batch(each.tensors[0]) == 1
            for each, _ in layout
        ):
            return
        first = layout[0][0]
        if subject.sight(first.tensors[0], "") is not Sight.TELLING or subject.queries_layout_otherwise(
            test, {"stride"}
        ):
            return
        message = (
            f"only stride(0) of {quoted(first.tensors[0])} is asserted, in a batch of one: it is never used there, and both formats make it "
            "C * H * W; assert is_contiguous(memory_format=...) or all strides, with N > 1"
        )
        claim = subject.asked(Kind.SAME_FOR_BOTH_FORMATS, [first])
        yield self._finding(test, first, message, _confidence(test), first.tensors[0], claim)

    def _untaken_steps(self, test: TestEvent) -> Iterator[Finding]:
        if not subject.speaks_of_layout(test):
            return
        found: list[tuple[Assertion, TensorEvent, Operand, Dim, Dim]] = []
        for run in test.runs:
            untaken = untaken_steps.by_stride(run)
            if untaken is None:
                return
            found.append(untaken)
        assertion, event, images, given, own = found[0]
        message = (
            f"{quoted(images)} is a batch of one, so the step of {given} from sample to sample that as_strided is given is never taken "
            f"(the tensor's own stride(0) is {own}); test with N > 1"
        )
        claim = Claim(Kind.IGNORES_BATCH_STRIDE, events=(event,))
        yield self._finding(test, assertion, message, min(_confidence(test), event.confidence), images, claim)

    def _offsets(self, test: TestEvent) -> Iterator[Finding]:
        found = [untaken_steps.by_offset(run) for run in test.runs] if subject.speaks_of_layout(test) else []
        if not found or found[0] is None or None in found:
            return
        assertion, step = found[0]
        message = (
            f"{quoted(step.batch, 'the batch')} is a batch of one, so the step of {step.step} from sample to sample, by which offsets are "
            f"computed, is never taken (a sample takes {step.taken}); test with N > 1"
        )
        claim = subject.asked(Kind.IGNORES_BATCH_STRIDE, [untaken_steps.format_asked(step.batch, assertion)])
        yield self._finding(test, assertion, message, _confidence(test), step.batch, claim)

    def _contiguous(self, test: TestEvent) -> Iterator[Finding]:
        if subject.sees_layout_otherwise(test):
            return
        for check in subject.checks(test):
            tensors = [each.tensors[0] for each in check.assertions]
            if all(untaken_steps.batch(tensor) == 1 for tensor in tensors) and all(
                sight is Sight.TELLING for sight in check.sights
            ):
                name = quoted(tensors[0], "the asserted tensor")
                message = (
                    f"{name} is a batch of one in every run: is_contiguous ignores stride(0), by which convolution, pooling and cat "
                    "choose the format; test with N > 1 too"
                )
                lost = all(map(_is_taken_for_row_major, check.assertions))
                if lost:
                    message = (
                        f"{name} is a batch of one with a stride(0) of {(tensors[0].facts.strides or '?')[0]}, which is_contiguous ignores: "
                        "convolution, pooling and cat take it for row-major; test with N > 1 too"
                    )
                claim = subject.asked(Kind.IGNORES_BATCH_STRIDE, check.assertions)
                severity = None if lost else Severity.NOTE
                yield self._finding(test, check.assertions[0], message, check.confidence, tensors[0], claim, severity)

    def _finding(
        self,
        test: TestEvent,
        at: Assertion,
        message: str,
        confidence: Confidence,
        about: Operand,
        claim: Claim,
        severity: Severity | None = None,
    ) -> Finding:
        return Finding(type(self), subject.place(test, at), message, confidence, story(about), severity, claim, test)

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """A batch of two."""
        return subject.telling_fix(finding, code, lambda rank: {0: 2}, "test with a batch of two", ("stride",))


def _is_taken_for_row_major(assertion: Assertion) -> bool:
    """The channels_last format that is asserted is not the one that torch suggests for the tensor."""
    wanted = str(assertion.arguments.get("memory_format"))
    return wanted in RANK_OF and questions.suggests(assertion.tensors[0].facts, wanted).answer is Answer.NO


def _confidence(test: TestEvent) -> Confidence:
    return min(run.confidence for run in test.runs)
