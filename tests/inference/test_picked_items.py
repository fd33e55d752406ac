"""Of an item that is picked in a way that is not known, only what all have in common is known."""

from __future__ import annotations

import pytest

from stridelint.linter.config import Settings
from stridelint.linter.engine import check
from stridelint.linter.selection import select
from stridelint.linter.source import Source

HEAD = """
import numpy as np
import torch

def f(i, other):
    ints = [torch.zeros(3, dtype=torch.int64), torch.arange(4)]
    floats = [torch.rand(3), torch.rand(4)]
    back = [np.arange(3.0)[::-1], np.arange(4.0)[::-1]]
    whole = [torch.rand(3).round(), torch.rand(4).floor()]
"""


def codes(body: str) -> list[str]:
    code = f"{HEAD}    {body}\n    return ints, floats, back\n"
    outcome = check(Source("a.py", code.encode()), select(Settings()))
    assert not outcome.skipped
    return [finding.code for finding in outcome.findings]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("ints[i] += 0.5", "TLC401"),
        ("max(ints, key=other).add_(0.5)", "TLC401"),
        ("sorted(ints, key=other)[0].add_(0.5)", "TLC401"),
        ("[(each, floats) for each in ints][i][0].add_(0.5)", "TLC401"),
        ("[ints[0]][i].add_(0.5)", "TLC401"),
        ("torch.from_numpy(back[i])", "TLC110"),
        ("full = [torch.full((3,), each, dtype=torch.uint8) for each in (200, 220)]; full[0] += 100", "TLC311"),
        ("torch.from_numpy(min(back, key=lambda each: each[0]))", "TLC110"),
    ],
)
def test_what_all_have_in_common(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        "[*ints, *floats][i].add_(0.5)",
        "[*ints, None][i].add_(0.5)",
        "[*ints, other][i].add_(0.5)",
        "max(*ints, other, key=other).add_(0.5)",
        "max(ints, key=other, default=floats[0]).add_(0.5)",
        "torch.from_numpy([*back, np.arange(3.0)][i])",
        "torch.from_numpy(back[i].copy())",
        "ints[0].copy_(whole[i][:3])",
        "ints[i][0] = 2",
        "floats[i].add_(0.5)",
        "[ints[0], floats][i][0].add_(0.5)",
        "x = floats[i]; torch.add(x, 1, out=floats[0]) if x is floats[0] else None",
        "full = [torch.full((3,), each, dtype=torch.uint8) for each in (200, 220)]; full[i].fill_(0); full[0] += 100",
    ],
)
def test_what_one_of_them_may_not_have(body: str) -> None:
    assert codes(body) == []
