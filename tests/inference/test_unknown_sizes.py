"""What is known of the result where unknown sizes face each other, and what calls tell about unknown sizes."""

from __future__ import annotations

import pytest
from probing import facts_at_strides

from stridelint.rules.contract.elementwise import broadcast_shape_of_rank
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.sizes import Size, add

NHWC = (0, 2, 3, 1)
MODEL = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        {}

    def forward(self, x, y):
        z = {}
        z.stride()
"""


def result(made: str, value: str) -> TensorFacts:
    """What is known of z if the inputs are channels_last."""
    return facts_at_strides(MODEL.format(made or "pass", value), ("channels_last",))[0]


def names(shape: Dims | None) -> list[str]:
    return [] if shape is None else [str(dim) for dim in shape]


@pytest.mark.parametrize(
    ("made", "value", "sizes"),
    [
        ("", "x * y", ["size", "size", "size", "size"]),
        ("", "x * 2 + x", ["x.size(0)", "x.size(1)", "x.size(2)", "x.size(3)"]),
        ("self.conv = nn.Conv2d(16, 32, 3, padding=1)", "self.conv(x) + y", ["size", "32", "size", "size"]),
        (
            "self.conv = nn.Conv2d(16, 16, 3, padding=1)",
            "self.conv(x) + x",
            ["x.size(0)", "16", "x.size(2)", "x.size(3)"],
        ),
        ("self.conv = nn.Conv2d(c, c, 3, padding=1)", "self.conv(x) + x", ["x.size(0)", "c", "x.size(2)", "x.size(3)"]),
        (
            "self.conv = nn.Conv2d(c, d, 3, padding=1)",
            "self.conv(x) + x",
            ["x.size(0)", "size", "x.size(2)", "x.size(3)"],
        ),
        (
            "self.down = nn.Conv2d(c, c, 2, stride=2)",
            "nn.Upsample(scale_factor=2)(self.down(x)) + x",
            ["x.size(0)", "c", "x.size(2)", "x.size(3)"],
        ),
        (
            "self.scale = nn.Parameter(torch.ones(1, 64, 1, 1))",
            "x * self.scale",
            ["x.size(0)", "64", "x.size(2)", "x.size(3)"],
        ),
        ("self.place = nn.Parameter(torch.ones(1, 64, 14, 14))", "x + self.place", ["x.size(0)", "64", "14", "14"]),
        ("self.norm = nn.BatchNorm2d(24)", "self.norm(x) * x", ["x.size(0)", "24", "x.size(2)", "x.size(3)"]),
        (
            "self.gate = nn.Conv2d(c, c, 1)",
            "x * self.gate(nn.AdaptiveAvgPool2d(1)(x)).sigmoid()",
            ["x.size(0)", "c", "x.size(2)", "x.size(3)"],
        ),
    ],
)
def test_results_stay_channels_last(made: str, value: str, sizes: list[str]) -> None:
    facts = result(made, value)
    assert names(facts.shape) == sizes
    assert facts.shape is not None and facts.strides == strides_in_order(facts.shape, NHWC)


def test_a_size_of_its_own_where_two_face_each_other() -> None:
    n, m, c = Size.fresh("n"), Size.fresh("m"), Size.fresh("c")
    found = broadcast_shape_of_rank((n, c, 4), (m, c, 1))
    assert found is not None and found[0] not in (n, m) and found[1:] == (c, 4)
    assert broadcast_shape_of_rank((n, 2), (m, 3)) is None
    assert broadcast_shape_of_rank((n, 1), (5,)) == (n, 5)
    assert broadcast_shape_of_rank((add(n, 2),), (n,)) == (n,)
    assert broadcast_shape_of_rank((1, n), (n,)) == (1, n)


def test_a_number_that_nobody_knows_is_the_same_in_two_layers() -> None:
    code = "self.first, self.second = nn.Conv2d(c, d, 1), nn.Conv2d(d, c, 1)"
    assert names(result(code, "self.second(self.first(x)) + x").shape) == ["x.size(0)", "c", "x.size(2)", "x.size(3)"]
