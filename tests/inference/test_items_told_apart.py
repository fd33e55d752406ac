"""What happens to an item of a loop under a condition that is not known, and may be about that very item, is not sure."""

from __future__ import annotations

import libcst
import pytest

from stridelint.linter.inference import analyse
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

# Its state dict holds more entries than are followed one by one; some are counters (int64).
HEAD = """\
import torch
from torch import nn

model = nn.Sequential(*[part for _ in range(3) for part in (nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2))])
state = model.state_dict()

def main(wanted, verbose):
"""


def confidences(body: str) -> list[Confidence]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    found = analyse(libcst.parse_module(f"{HEAD}{lines}\n"), all_rules()).findings
    assert {each.rule.code for each in found} <= {"TLC401"}
    return [each.confidence for each in found]


@pytest.mark.parametrize(
    "body",
    [
        "for value in state.values():\n    value *= 0.5",
        "for name in state:\n    state[name] *= 0.5",
        "for name, value in state.items():\n    if verbose:\n        print(name)\n    value *= 0.5",
        "for mine, its in zip(state.values(), model.state_dict().values()):\n    mine *= 0.5",
        "for name, value in state.items():\n    if wanted(name):\n        print(name)\nfor value in state.values():\n    value *= 0.5",
    ],
)
def test_all_items(body: str) -> None:
    assert confidences(body) == [Confidence.CERTAIN]


@pytest.mark.parametrize(
    "body",
    [
        "for name, value in state.items():\n    if name in wanted:\n        value *= 0.5",
        "for name in state:\n    if not wanted(name):\n        continue\n    state[name] *= 0.5",
        "for value in state.values():\n    if wanted(value):\n        value *= 0.5",
        "for name in state:\n    if name in wanted:\n        print(name)\nfor name in state:\n    if name in wanted:\n        state[name] *= 0.5",
    ],
)
def test_items_that_may_be_left_out(body: str) -> None:
    assert confidences(body) == [Confidence.POSSIBLE]


@pytest.mark.parametrize(
    "body",
    [
        "for name, value in state.items():\n    if not name.endswith(('tracked', 'steps')):\n        value *= 0.5",
        "for name in state:\n    if name.startswith(('0.', '2.')):\n        state[name] *= 0.5",
        "for value in state.values():\n    if value.dim():\n        value *= 0.5",
    ],
)
def test_items_that_are_left_out(body: str) -> None:
    assert confidences(body) == []
