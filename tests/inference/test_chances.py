"""What is left to chance deep in calls happens either way, but what one draw decides is decided once."""

from __future__ import annotations

import libcst
import pytest

from stridelint.linter.inference import analyse
from stridelint.rules.registry import all_rules

HEAD = """
import random
import numpy as np
import torch

def coin(p):
    drawn = random.random()
    return drawn < p

def same(x):
    return x

def half(x):
    return x.mul_(0.5)

class Step:
    def __init__(self, p=0.5):
        self.p = p
        self.rng = np.random.default_rng(0)

    def heads(self):
        return torch.rand(1).item() < self.p

    def __call__(self, x):
"""
TAIL = """

class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x

class Rows:
    def __init__(self, transform):
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(torch.rand(4))

rows = [row for row in Rows(Compose([Step(), half]))]
"""


def findings(body: str) -> list[str]:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return [each.rule.code for each in analyse(libcst.parse_module(HEAD + lines + TAIL), all_rules()).findings]


TESTS = [
    "random.random() < self.p",
    "torch.rand(1) < self.p",
    "torch.rand(()).item() < self.p",
    "np.random.rand() < self.p",
    "self.rng.random() < self.p",
    "self.rng.integers(2) == 0",
    "random.randint(0, 1)",
    "not random.getrandbits(1)",
    "coin(self.p)",
    "self.heads()",
    "x.dim() == 1 and random.random() < self.p",
    "random.random() < self.p and x.dim() == 1",
]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    "body",
    ["if {}:\n    return x > 0.5\nreturn x", "if {}:\n    return x\nreturn x > 0.5", "return x > 0.5 if {} else x"],
)
def test_both_ways_are_taken(test: str, body: str) -> None:
    assert findings(body.format(test)) == ["TLC401"]


def test_a_name_may_hold_what_is_drawn() -> None:
    assert findings("heads = random.random() < self.p\nif heads:\n    return x > 0.5\nreturn x") == ["TLC401"]
    assert findings("kind = random.randint(0, 9)\nif kind == 3:\n    return x > 0.5\nreturn x") == ["TLC401"]


def test_a_transform_may_be_chosen() -> None:
    assert findings("return random.choice([same, torch.sign, lambda x: x > 0.5])(x)") == ["TLC401"]
    assert findings("return random.choice([lambda x: x > 0.5, same])(x)") == ["TLC401"]
    assert findings("return random.choice([same, torch.sign])(x)") == []
    assert findings("return x > random.choice([0.1, 0.2])") == ["TLC401"]


@pytest.mark.parametrize(
    "body",
    [
        "if random.random() < self.p:\n    return x * 2\nreturn x",
        "if random.random() < self.p:\n    return (x > 0.5).float()\nreturn x",
        # One draw is asked about twice.
        "p = random.random()\nif p < 0.3:\n    x = x > 0.5\nif p < 0.3:\n    x = x.float()\nreturn x",
        "p = random.random()\nif p >= 0.3:\n    x = x > 0.5\nif not p < 0.3:\n    x = x.float()\nreturn x",
        "p = random.random()\nx = x > 0.5\nif p < 0.3:\n    x = x.float()\nif p >= 0.3:\n    x = x.double()\nreturn x",
        "p = random.random()\nx = x > 0.5\nif p > 0.3:\n    x = x.float()\nif 0.3 >= p:\n    x = x.double()\nreturn x",
        "heads = coin(self.p)\nx = x > 0.5\nif heads:\n    return x.float()\nif not heads:\n    return x.double()\nreturn x",
    ],
)
def test_no_way_leads_there(body: str) -> None:
    assert findings(body) == []
