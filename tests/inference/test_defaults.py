"""What rests on the default of a parameter is only likely, also through attributes that a constructor sets."""

from __future__ import annotations

import libcst
import pytest

from stridelint.linter.inference import analyse
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

CLASS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, dtype=torch.int32, size=4):
        super().__init__()
        {}

    def step(self):
        self.count.add_(0.5)
"""
FUNCTION = "import torch\n\ndef step(dtype=torch.int32, size=4):\n    {}\n    count.add_(0.5)\n"
WHOLE = "torch.zeros(3, dtype=torch.int32)"


def confidences(code: str) -> list[Confidence]:
    return [
        each.confidence
        for each in analyse(libcst.parse_module(code), all_rules()).findings
        if each.rule.code == "TLC401"
    ]


@pytest.mark.parametrize(
    ("constructor", "confidence"),
    [
        (f"self.count = {WHOLE}", Confidence.CERTAIN),
        ("self.count = torch.zeros(3, dtype=dtype)", Confidence.LIKELY),
        ("kind = dtype\n        self.count = torch.zeros(3, dtype=kind)", Confidence.LIKELY),
        ("self.kind = dtype\n        self.count = torch.zeros(3, dtype=self.kind)", Confidence.LIKELY),
        (f"self.other = torch.zeros(size)\n        self.count = {WHOLE}", Confidence.CERTAIN),
        (f"self.many = [size]\n        self.many[0] = size\n        self.count = {WHOLE}", Confidence.LIKELY),
        (f"if size == 4:\n            self.count = {WHOLE}", Confidence.LIKELY),
        ("self.register_buffer('count', torch.zeros(3, dtype=dtype))", Confidence.LIKELY),
        (
            f"self.register_buffer('o', torch.zeros(size))\n        self.register_buffer('count', {WHOLE})",
            Confidence.CERTAIN,
        ),
        ("setattr(self, 'count', torch.zeros(3, dtype=dtype))", Confidence.LIKELY),
        (f"a, b = size, 2\n        self.count, self.other = {WHOLE}, b", Confidence.LIKELY),
    ],
)
def test_attributes_of_an_object_that_nobody_makes(constructor: str, confidence: Confidence) -> None:
    assert confidences(CLASS.format(constructor)) == [confidence]


def test_an_object_that_is_made_with_the_defaults_is_certain() -> None:
    code = CLASS.format("self.count = torch.zeros(3, dtype=dtype)") + "\nNet().step()\n"
    assert confidences(code) == [Confidence.CERTAIN]


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("count = torch.zeros(3, dtype=dtype)", Confidence.LIKELY),
        (f"other = torch.zeros(size)\n    count = {WHOLE}", Confidence.CERTAIN),
        (f"other = torch.zeros(size)\n    count = {WHOLE}\n    print(other)", Confidence.LIKELY),
        (f"count = {WHOLE}\n    for _ in range(size):\n        pass", Confidence.LIKELY),
        ("count = torch.zeros(3)\n    other = count.to(dtype)\n    count = other", Confidence.LIKELY),
        (f"count = {WHOLE}\n    other = count.resize_(size)", Confidence.LIKELY),
    ],
)
def test_names_of_a_function_that_nobody_calls(body: str, confidence: Confidence) -> None:
    assert confidences(FUNCTION.format(body)) == [confidence]
