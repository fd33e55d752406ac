"""TLC204: a test of a layout compares values only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Kind
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.layout import RANK_OF
from stridelint.rules.events import Assertion, Operand, TestEvent, TestRun
from stridelint.rules.findings import quoted, story
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.tests_of_layout import subject
from stridelint.rules.tests_of_layout.subject import Sight

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix

# Words by which a test says that values are what it is about, or something else than the layout.
OTHER_SUBJECTS = frozenset(
    """match matches matching parity equivalent equivalence equality numeric numerics numerical numerically value values correctness accuracy
    same agree agrees against versus optimizer optim quantize quantized quantizer qat fx graph compile compiled inductor dynamo export
    exported onnx jit script scripted trace traced autocast amp ddp fsdp distributed checkpoint gradcheck grad grads gradient gradients
    backward benchmark speed""".split()
)
# It is no matter of values where the layout is what matches: "layout_matches", "same_strides".
_MATCHING = frozenset("match matches matching same agree agrees".split())
_LAYOUTS = ("layout", "layouts", "stride", "strides")
LAYOUT_MATCHES = frozenset(
    f"{pair[0]}_{pair[1]}" for word in _MATCHING for each in _LAYOUTS for pair in ((word, each), (each, word))
)


class ValuesOnlyLayoutTest(Rule):
    """
    What it does:
        Finds tests that say they are about a memory format, bring a tensor or a module into it, and then compare values
        only.

    Why is this bad?
        `torch.equal`, `torch.allclose` and `torch.testing.assert_close` ignore strides: the test passes whatever layout the
        code under test produces.

    Example:
        def test_resize_keeps_channels_last():
            x = torch.rand(2, 3, 8, 8)
            y = resize(x.to(memory_format=torch.channels_last))
            torch.testing.assert_close(y, resize(x))

    Use instead:
            assert y.is_contiguous(memory_format=torch.channels_last)
            # or, where the expected tensor has the right layout and all its sizes are at least 2:
            torch.testing.assert_close(y, expected, check_stride=True)

    Fix:
        `check_stride=True` where both tensors surely have the same strides (safe: the test passes as before). Else
        `assert y.is_contiguous(memory_format=...)` in front of the comparison, where `y` is known to be in that format (unsafe: it
        is for you to say that this is what the test is about).

    Confirmed by:
        Making the comparison of a row-major and of a channels_last tensor of the result's shape: both pass. The test is not run.
    """

    code = "TLC204"
    name = "values-only-layout-test"
    severity = Severity.WARNING
    words = ("channels_last",)
    ops = subject.CONVERSIONS

    VALID = (
        """\
import torch
import torch.nn.functional as F

def test_pool_channels_last():
    x = torch.rand(2, 3, 8, 8)
    y = F.max_pool2d(x.to(memory_format=torch.channels_last), 2)
    torch.testing.assert_close(y, F.max_pool2d(x, 2))
    assert y.is_contiguous(memory_format=torch.channels_last)
""",
        """\
import torch
from torch import nn

def test_state_round_trip():
    net = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
    other = nn.Conv2d(3, 8, 3)
    other.load_state_dict(net.state_dict())
    assert torch.equal(net.weight, other.weight)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch
import torch.nn.functional as F

def test_pool_keeps_channels_last():
    x = torch.rand(2, 3, 8, 8)
    y = F.max_pool2d(x.to(memory_format=torch.channels_last), 2)
    torch.testing.assert_close(y, F.max_pool2d(x, 2))
""",
            (
                (
                    7,
                    5,
                    "this test of a memory format compares only values: a row-major 'y' passes; assert "
                    "is_contiguous(memory_format=...) too, or use check_stride=True with all sizes >= 2",
                ),
            ),
            fixed="""\
import torch
import torch.nn.functional as F

def test_pool_keeps_channels_last():
    x = torch.rand(2, 3, 8, 8)
    y = F.max_pool2d(x.to(memory_format=torch.channels_last), 2)
    assert y.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(y, F.max_pool2d(x, 2))
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def test_relu_nhwc():
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    torch.testing.assert_close(
        torch.relu(x),
        x.clamp(min=0),  # the same
    )
""",
            (
                (
                    5,
                    5,
                    "this test of a memory format compares only values: a row-major result passes; assert "
                    "is_contiguous(memory_format=...) too, or use check_stride=True with all sizes >= 2",
                ),
            ),
            fixed="""\
import torch

def test_relu_nhwc():
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    torch.testing.assert_close(
        torch.relu(x),
        x.clamp(min=0),  # the same
        check_stride=True,
    )
""",
        ),
        Invalid(
            """\
import unittest
import torch
from torch import nn

class TestChannelsLast(unittest.TestCase):
    def test_convolution(self):
        conv = nn.Conv2d(3, 8, 3)
        x = torch.rand(2, 3, 8, 8)
        expected = conv(x)
        conv.to(memory_format=torch.channels_last)
        actual = conv(x)
        self.assertTrue(torch.allclose(actual, expected, atol=1e-5))
""",
            (
                (
                    12,
                    9,
                    "this test of a memory format compares only values: a row-major 'actual' passes; assert "
                    "is_contiguous(memory_format=...) too, or use check_stride=True with all sizes >= 2",
                ),
            ),
            fixed="""\
import unittest
import torch
from torch import nn

class TestChannelsLast(unittest.TestCase):
    def test_convolution(self):
        conv = nn.Conv2d(3, 8, 3)
        x = torch.rand(2, 3, 8, 8)
        expected = conv(x)
        conv.to(memory_format=torch.channels_last)
        actual = conv(x)
        self.assertTrue(actual.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(torch.allclose(actual, expected, atol=1e-5))
""",
            safe=False,
        ),
    )

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        """Only modules with tests."""
        return subject.has_tests(tree)

    def check_test(self, test: TestEvent) -> Iterator[Finding]:
        """A conversion, a comparison of values of a tensor with a layout, and nothing that looks at it."""
        if (
            not subject.speaks_of_layout(test)
            or subject.is_deliberate(test)
            or not any(map(subject.converts, test.runs))
        ):
            return
        asserted = [(each, run) for run in test.runs for each in run.assertions]
        if any(each.kind in subject.LAYOUT_KINDS for each, _ in asserted) or subject.sees_layout_otherwise(test):
            return
        if subject.queries_layout_otherwise(test):
            return
        for assertion, run in asserted:
            if assertion.kind in subject.VALUE_KINDS and subject.converts(run) and _has_layout(assertion):
                yield self._finding(test, assertion, run)
                return

    def _finding(self, test: TestEvent, assertion: Assertion, run: TestRun) -> Finding:
        about = assertion.tensors[0]
        message = (
            f"this test of a memory format compares only values: a row-major {quoted(about, 'result')} passes; assert "
            "is_contiguous(memory_format=...) too, or use check_stride=True with all sizes >= 2"
        )
        other = OTHER_SUBJECTS if LAYOUT_MATCHES.isdisjoint(test.subject) else OTHER_SUBJECTS - _MATCHING
        confidence = Confidence.CERTAIN if other.isdisjoint(test.subject) else Confidence.POSSIBLE
        return Finding(
            type(self),
            subject.place(test, assertion),
            message,
            min(confidence, run.confidence),
            story(about),
            None,
            subject.asked(Kind.SAME_FOR_BOTH_FORMATS, [assertion]),
            test,
        )

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Compare the strides too, or assert the format that the result has."""
        from stridelint.rules.forms import edits, tensor_edits

        asserted = finding.claim.events[0] if finding.claim is not None and finding.claim.events else None
        call, torch = code.call(finding.site), code.torch()
        if asserted is None or call is None or torch is None or asserted.site.node is not finding.site.node:
            return None
        result, expected = (each.facts for each in asserted.tensors)
        if asserted.op == "assert_close" and edits.method(call) == "assert_close":
            same = result.concrete_strides is not None and result.concrete_strides == expected.concrete_strides
            if same and all(size >= 2 for size in result.concrete_shape or (1,)):
                strict = edits.with_keyword(call, "check_stride", edits.dotted("True"))
                return edits.Fix("compare strides too", (edits.replaced(code, call, strict),), safe=True)
        if not subject.is_channels_last(asserted.tensors[0]):
            return None
        wanted = next(name for name, rank in RANK_OF.items() if rank == result.rank)
        text = f"{asserted.tensors[0].text}.is_contiguous(memory_format={torch}.{wanted})"
        edit = tensor_edits.asserted_before(code, call, asserted.tensors[0].text, text)
        return None if edit is None else edits.Fix("assert the memory format", (edit,))


def _has_layout(assertion: Assertion) -> bool:
    """It compares tensors that can be in one format or another, and one of them was brought into it or comes of one that was."""
    told = [subject.sight(tensor, "") is Sight.TELLING for tensor in assertion.tensors]
    return len(told) == 2 and all(told) and any(map(_was_channels_last, assertion.tensors))


def _was_channels_last(tensor: Operand) -> bool:
    """It is channels-last, or made of something that was brought into this format last."""
    formats = [note.message for note in tensor.story if note.message.startswith("becomes ")]
    return subject.is_channels_last(tensor) or bool(formats and "channels_last" in formats[-1])
