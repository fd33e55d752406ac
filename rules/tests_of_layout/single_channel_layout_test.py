"""TLC201: a memory format is asserted of a tensor with one channel."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.events import TestEvent
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.tests_of_layout import blind_checks, subject
from stridelint.rules.tests_of_layout.subject import Sight

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix


class SingleChannelLayoutTest(Rule):
    """
    What it does:
        Finds tests that assert `is_contiguous(memory_format=...)` of tensors with one channel only.

    Why is this bad?
        With C == 1 the channel stride is never used, and both `is_contiguous()` and
        `is_contiguous(memory_format=torch.channels_last)` are True for a row-major tensor. The test passes whatever
        layout the code under test produces.

    Example:
        x = torch.rand(4, 1, 16, 16).to(memory_format=torch.channels_last)
        assert blur(x).is_contiguous(memory_format=torch.channels_last)

    Use instead:
        x = torch.rand(4, 3, 16, 16).to(memory_format=torch.channels_last)
        assert blur(x).is_contiguous(memory_format=torch.channels_last)

    Fix:
        `torch.rand(4, 1, 16, 16)` gets three channels where the test makes the tensor with a literal size and does nothing
        with it that hangs on the number of channels (unsafe: the test may fail then, and show what it hid).

    Confirmed by:
        Asking what is asserted of a row-major and of a channels_last tensor of the asserted tensor's shape: both give the same
        answer. The test is not run.
    """

    code = "TLC201"
    name = "single-channel-layout-test"
    severity = Severity.WARNING
    words = ("is_contiguous",)
    ops = subject.CONVERSIONS

    VALID = (
        """\
import torch
import torch.nn.functional as F

def test_pool_keeps_format():
    for channels in (1, 3):
        x = torch.rand(2, channels, 8, 8).to(memory_format=torch.channels_last)
        assert F.max_pool2d(x, 2).is_contiguous(memory_format=torch.channels_last)
""",
        """\
import torch

def test_one_channel_is_ambiguous():
    x = torch.rand(2, 1, 4, 5)
    assert x.is_contiguous(memory_format=torch.channels_last)

def test_mask_is_in_both_formats():
    mask = torch.rand(2, 1, 4, 5)
    assert mask.is_contiguous()
    assert mask.is_contiguous(memory_format=torch.channels_last)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch
import torch.nn.functional as F

def test_blur_keeps_channels_last():
    x = torch.rand(4, 1, 16, 16).to(memory_format=torch.channels_last)
    y = F.avg_pool2d(x, 3)
    assert y.is_contiguous(memory_format=torch.channels_last)
""",
            (
                (
                    7,
                    5,
                    "'y' has one channel (shape (4, 1, 5, 5)), so a row-major tensor passes this check too; "
                    "test with C > 1 and H * W > 1",
                ),
            ),
            fixed="""\
import torch
import torch.nn.functional as F

def test_blur_keeps_channels_last():
    x = torch.rand(4, 3, 16, 16).to(memory_format=torch.channels_last)
    y = F.avg_pool2d(x, 3)
    assert y.is_contiguous(memory_format=torch.channels_last)
""",
            safe=False,
        ),
        Invalid(
            """\
import unittest
import torch

class TestMasks(unittest.TestCase):
    def test_memory_format(self):
        for shape in [(1, 1, 7, 5), (2, 1, 8, 8)]:
            with self.subTest(shape=shape):
                mask = torch.sigmoid(torch.rand(shape).contiguous(memory_format=torch.channels_last))
                self.assertTrue(mask.is_contiguous(memory_format=torch.channels_last))
""",
            (
                (
                    9,
                    17,
                    "'mask' has one channel (shapes (1, 1, 7, 5), (2, 1, 8, 8)), so a row-major tensor passes this check too; "
                    "test with C > 1 and H * W > 1",
                ),
            ),
        ),
        Invalid(
            """\
import pytest
import torch
import torch.nn.functional as F

@pytest.mark.parametrize("channels", [1, 3])
def test_pool_keeps_format(channels):
    x = torch.rand(2, channels, 8, 8).to(memory_format=torch.channels_last)
    assert F.max_pool2d(x, 2).is_contiguous(memory_format=torch.channels_last)
""",
            ((5, 39, "'channels = 1' gives the asserted tensor one channel: both formats pass the check in this run"),),
        ),
    )

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        """Only modules with tests."""
        return subject.has_tests(tree)

    def check_test(self, test: TestEvent) -> Iterator[Finding]:
        """Assertions that see one channel in every run."""
        yield from blind_checks.find(self, test, Sight.ONE_CHANNEL, "test with C > 1 and H * W > 1")

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Three channels."""
        return subject.telling_fix(finding, code, lambda rank: {1: 3}, "test with three channels")
