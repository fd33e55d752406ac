"""TLC202: a memory format is asserted of a tensor with H == W == 1."""

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


class PointwiseLayoutTest(Rule):
    """
    What it does:
        Finds tests that assert `is_contiguous(memory_format=...)` of tensors whose spatial sizes are all 1: what global
        pooling returns, the weights of 1x1 convolutions.

    Why is this bad?
        With H == W == 1 the channels lie side by side in both formats, and both `is_contiguous()` and
        `is_contiguous(memory_format=torch.channels_last)` are True. The test passes whatever layout the code under test
        produces.

    Example:
        x = torch.rand(2, 64, 7, 7).to(memory_format=torch.channels_last)
        assert nn.AdaptiveAvgPool2d(1)(x).is_contiguous(memory_format=torch.channels_last)

    Use instead:
        x = torch.rand(2, 64, 7, 7).to(memory_format=torch.channels_last)
        assert nn.AdaptiveAvgPool2d(2)(x).is_contiguous(memory_format=torch.channels_last)

    Fix:
        `torch.rand(2, 64, 1, 1)` gets spatial sizes of 4 where the test makes the tensor with literal sizes and does nothing with
        it that hangs on them (unsafe: the test may fail then, and show what it hid).

    Confirmed by:
        Asking what is asserted of a row-major and of a channels_last tensor of the asserted tensor's shape: both give the same
        answer. The test is not run.
    """

    code = "TLC202"
    name = "pointwise-layout-test"
    severity = Severity.WARNING
    words = ("is_contiguous",)
    ops = subject.CONVERSIONS

    VALID = (
        """\
import torch
from torch import nn

def test_weights_are_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 1)).to(memory_format=torch.channels_last)
    for weight in (net[0].weight, net[1].weight):
        assert weight.is_contiguous(memory_format=torch.channels_last)
""",
        """\
import torch

def test_height_of_one():
    x = torch.rand(2, 64, 1, 7).to(memory_format=torch.channels_last)
    assert torch.relu(x).is_contiguous(memory_format=torch.channels_last)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch
from torch import nn

def test_pooling_layout():
    x = torch.rand(2, 64, 7, 7).to(memory_format=torch.channels_last)
    pooled = nn.AdaptiveAvgPool2d(1)(x)
    assert pooled.is_contiguous(memory_format=torch.channels_last)
""",
            (
                (
                    7,
                    5,
                    "'pooled' has a spatial size of 1 (shape (2, 64, 1, 1)), so a row-major tensor passes this check too; "
                    "test with H * W > 1",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def test_scaling_keeps_nhwc():
    gates = torch.rand((2, 64, 1, 1)).to(memory_format=torch.channels_last)
    assert torch.sigmoid(gates).is_contiguous(memory_format=torch.channels_last)
""",
            (
                (
                    5,
                    5,
                    "'torch.sigmoid(gates)' has a spatial size of 1 (shape (2, 64, 1, 1)), so a row-major tensor passes this check too; "
                    "test with H * W > 1",
                ),
            ),
            fixed="""\
import torch

def test_scaling_keeps_nhwc():
    gates = torch.rand((2, 64, 4, 4)).to(memory_format=torch.channels_last)
    assert torch.sigmoid(gates).is_contiguous(memory_format=torch.channels_last)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch
from torch import nn

def test_conversion_reaches_the_weight():
    conv = nn.Conv2d(16, 8, 1).to(memory_format=torch.channels_last)
    assert conv.weight.is_contiguous(memory_format=torch.channels_last)
""",
            (
                (
                    6,
                    5,
                    "'conv.weight' has a spatial size of 1 (shape (8, 16, 1, 1)), so a row-major tensor passes this check too; "
                    "test with H * W > 1",
                ),
            ),
        ),
    )

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        """Only modules with tests."""
        return subject.has_tests(tree)

    def check_test(self, test: TestEvent) -> Iterator[Finding]:
        """Assertions that see a spatial size of 1 in every run."""
        yield from blind_checks.find(self, test, Sight.POINTWISE, "test with H * W > 1")

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Spatial sizes of 4."""
        return subject.telling_fix(
            finding, code, lambda rank: dict.fromkeys(range(2, rank), 4), "test with spatial sizes of 4"
        )
