"""How tests of layouts are written in the wild: which of them the rules report, and the look-alikes they leave alone."""

from __future__ import annotations

import re

from stridelint.linter import engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

REPORTED = """\
import itertools
import unittest

import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, cin, cout, k=3):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, k, padding=k // 2)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


@pytest.fixture
def gray_batch():
    return torch.randn(2, 1, 28, 28).to(memory_format=torch.channels_last)


def test_mask_head_nhwc(gray_batch):
    head = Block(1, 1).eval()
    out = head(gray_batch)
    assert out.is_contiguous(memory_format=torch.channels_last)  # 201


class TestSqueezeExcite(unittest.TestCase):
    def setUp(self):
        self.x = torch.randn(4, 32, 14, 14, device="cpu")

    def test_squeeze_keeps_memory_format(self):
        x = self.x.contiguous(memory_format=torch.channels_last)
        s = x.mean((2, 3), keepdim=True)
        self.assertTrue(s.is_contiguous(memory_format=torch.channels_last))  # 202

    def test_block_channels_last(self):
        net = Block(32, 8).eval()
        ref = net(self.x)
        net = net.to(memory_format=torch.channels_last)
        out = net(self.x.contiguous(memory_format=torch.channels_last))
        self.assertEqual(out.shape, ref.shape)
        self.assertTrue(torch.allclose(out, ref, atol=1e-5))  # 204

    def _roundtrip(self, shape):
        x = torch.empty(shape).to(memory_format=torch.channels_last)
        return x.clone()

    def test_clone_channels_last_single(self):
        self.assertTrue(self._roundtrip((3, 1, 2, 2)).is_contiguous(memory_format=torch.channels_last))

    def test_clone_format(self):
        for n, hw in itertools.product((1, 2), (3, 5)):
            y = self._roundtrip((n, 1, hw, hw))
            self.assertTrue(y.is_contiguous(memory_format=torch.channels_last))  # 201


@pytest.mark.parametrize("kernel", [1, 1])
@pytest.mark.parametrize("groups", [1, 4])
def test_weight_layout(kernel, groups):
    conv = nn.Conv2d(8, 16, kernel, groups=groups).to(memory_format=torch.channels_last)
    assert conv.weight.is_contiguous(memory_format=torch.channels_last)  # 202


@pytest.mark.parametrize("shape", [pytest.param((2, 1, 4, 4), id="small"), pytest.param((2, 1, 9, 9), id="big")])
def test_blur_nhwc(shape):
    x = torch.rand(shape).to(memory_format=torch.channels_last)
    np.testing.assert_allclose(F.avg_pool2d(x, 2).numpy(), F.avg_pool2d(x.contiguous(), 2).numpy())
    assert F.avg_pool2d(x, 2).is_contiguous(memory_format=torch.channels_last)  # 201


def test_normalize_nhwc():
    mean = torch.tensor([0.4, 0.5, 0.6]).view(1, 3, 1, 1)
    images = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    out = images - mean
    ref = images.contiguous() - mean
    assert (out - ref).abs().max() < 1e-6  # 204


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_upsample(memory_format):
    x = torch.rand(2, 3, 4, 4).to(memory_format=memory_format)
    y = F.interpolate(x, scale_factor=2)
    torch.testing.assert_close(y, F.interpolate(x.contiguous(), scale_factor=2))  # 204


def test_pool3d_channels_last_3d():
    x = torch.rand(2, 1, 4, 6, 6).to(memory_format=torch.channels_last_3d)
    y = F.max_pool3d(x, 2)
    assert y.is_contiguous(memory_format=torch.channels_last_3d)  # 201


def test_batch_stride_layout():
    x = torch.rand(1, 8, 4, 4).to(memory_format=torch.channels_last)
    y = torch.relu(x)
    assert y.stride()[0] == y[0].numel()  # 203


def test_gray_numpy_nhwc():
    x = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
    y = x * 2
    assert np.array_equal(y.numpy(), x.numpy() * 2)  # 204


FORMATS = [torch.contiguous_format, torch.channels_last]


@pytest.mark.parametrize("memory_format", FORMATS)
def test_crop_keeps_memory_format(memory_format):
    x = torch.rand(2, 3, 8, 8).contiguous(memory_format=memory_format)
    assert torch.equal(x.clone(), x)  # 204


class TestScale:
    formats = {"nhwc": torch.channels_last}

    def test_nhwc(self):
        x = torch.rand(2, 3, 8, 8).contiguous(memory_format=self.formats["nhwc"])
        assert torch.equal(x * 2, x + x)  # 204
"""

LEFT_ALONE = """\
import unittest

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.testing._internal.common_utils import TestCase, parametrize, subtest
from common import check_layout, assert_outputs


class TestPool(TestCase):
    @parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
    def test_pool_memory_format(self, memory_format):
        def helper(n, c, h, w):
            x = torch.randn(n, c, h, w).contiguous(memory_format=memory_format)
            out = F.max_pool2d(x, 2)
            ref = F.max_pool2d(x.contiguous(), 2)
            self.assertEqual(out, ref)
            self.assertTrue(out.is_contiguous(memory_format=memory_format))

        helper(4, 8, 8, 8)
        helper(1, 1, 8, 8)
        helper(4, 8, 1, 1)

    def test_conv_nhwc(self):
        x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
        conv = nn.Conv2d(4, 4, 3).to(memory_format=torch.channels_last)
        self.assertEqual(conv(x), conv(x.contiguous()), exact_stride=True)

    def test_strides_nhwc(self):
        x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
        y = torch.relu(x)
        self.assertEqual(y, torch.relu(x.contiguous()))
        self.assertEqual(y.stride(), x.stride())

    def test_helper_nhwc(self):
        x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
        self.assertEqual(torch.relu(x), torch.relu(x.contiguous()))
        check_layout(torch.relu(x))

    def test_other_helper_nhwc(self):
        x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
        self.assertEqual(torch.relu(x), torch.relu(x.contiguous()))
        assert_outputs(x, x)


def test_optimizer_step():
    model = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    out = model(x)
    assert torch.allclose(out, model(x))


def test_classifier_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10)).eval()
    x = torch.rand(2, 3, 8, 8)
    ref = net(x)
    net = net.to(memory_format=torch.channels_last)
    out = net(x.to(memory_format=torch.channels_last))
    assert torch.allclose(out, ref)


def test_channels_last_unknown_model():
    from timm import create_model

    net = create_model("resnet18")
    x = torch.rand(2, 3, 8, 8)
    out = net.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))
    assert torch.allclose(out, net(x))


def test_parameters_are_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 1), nn.Conv2d(1, 4, 3)).to(memory_format=torch.channels_last)
    for p in net.parameters():
        if p.dim() == 4:
            assert p.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape", [(2, 1, 4, 4)], ids=["single_channel"])
def test_gray_is_both(shape):
    x = torch.rand(shape)
    assert x.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape", [(2, 1, 4, 4), (2, 1, 5, 5)])
def test_nc11_controls(shape):
    '''Control: with C == 1 both answers are True.'''
    x = torch.rand(shape)
    assert x.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("c", range(1, 40))
def test_many_nhwc(c):
    x = torch.rand(2, c, 4, 4).to(memory_format=torch.channels_last)
    assert torch.relu(x).is_contiguous(memory_format=torch.channels_last)


def test_loop_nhwc():
    for c in range(1, 40):
        x = torch.rand(2, c, 4, 4).to(memory_format=torch.channels_last)
        assert torch.relu(x).is_contiguous(memory_format=torch.channels_last)


def test_gray_mask_values():
    mask = torch.rand(2, 1, 8, 8).to(memory_format=torch.channels_last)
    assert mask.is_contiguous()
    y = mask.stride()
    assert y[1] == 1


def test_not_nhwc():
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    assert not x.flip(1).is_contiguous()


def test_dim_order():
    x = torch.rand(2, 1, 8, 8).to(memory_format=torch.channels_last)
    assert x.dim_order() == (0, 2, 3, 1)
    assert x.is_contiguous(memory_format=torch.channels_last)


def test_kept_layout():
    x = torch.rand(2, 1, 8, 8).to(memory_format=torch.channels_last)
    y = x + 1
    layout = y.stride()
    assert layout == x.stride()
    assert torch.equal(y, x.contiguous() + 1)
"""


def findings(code: str) -> list[tuple[int, str]]:
    rules = tuple(rule for rule in all_rules() if rule.code.startswith("TLC2"))
    outcome = engine.check(
        source.from_bytes("example.py", code.encode(), explicit=True), Selection(rules, frozenset(), Confidence.LIKELY)
    )
    assert not outcome.skipped
    return [(found.line, found.code) for found in outcome.findings]


def test_reported() -> None:
    expected = [
        (number, f"TLC{match[1]}")
        for number, line in enumerate(REPORTED.splitlines(), 1)
        if (match := re.search(r"# (2\d\d)$", line))
    ]
    assert len(expected) == 13
    assert findings(REPORTED) == expected


def test_left_alone() -> None:
    assert findings(LEFT_ALONE) == []
