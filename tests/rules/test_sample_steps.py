"""Which steps from sample to sample, computed by hand, a test with a batch of one is told of, and which it is not."""

from __future__ import annotations

import pytest

from stridelint.linter import engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

PROGRAM = """\
import torch

def taken(batch):
    n, c, h, w = batch.shape
    flat = batch.permute(0, 2, 3, 1).reshape(-1)
    {}

def test_samples_of_nhwc():
    batch = torch.arange({} * 60.0).view({}, 3, 4, 5).to(memory_format=torch.channels_last)
    samples = taken(batch)
    for sample, image in zip(samples, batch):
        assert torch.equal(sample.flatten(), image.permute(1, 2, 0).flatten())
        assert torch.equal(batch, batch.clone())
"""
# What takes a sample, and whether the step is wrong.
CODE = [
    ("return [flat[i * h * w : i * h * w + c * h * w] for i in range(n)]", True),
    ("return [flat[i * (w * c) : i * (w * c) + 60] for i, _ in enumerate(batch)]", True),
    ("return [flat[16 * 0 + w * c * i : w * c * i + 60] for i in range(len(batch))]", True),
    ("return [flat[i * h * w : (i + 1) * c * h * w] for i in range(batch.size(0))]", True),
    ("return [batch.as_strided((h, w, c), (w * c, c, 1), h * w * i) for i in range(n)]", True),
    ("return [flat[i * c * h * w : (i + 1) * c * h * w] for i in range(n)]", False),
    ("return [flat[i * 64 : i * 64 + c * h * w] for i in range(n)]", False),  # padded, for all that is known
    ("return [flat[i * (flat.numel() // n) : i * (flat.numel() // n) + 60] for i in range(n)]", False),
    ("return [batch.as_strided((h, w, c), (w * c, c, 1), c * h * w * i) for i in range(n)]", False),
    ("return [batch.as_strided((h, w, c), (w * c, c, 1), batch.stride(0) * i) for i in range(n)]", False),
    ("return [flat[i * w : i * w + 60] for i in range(1)]", False),  # not the number of samples
    ("return [flat[i * n * w : i * n * w + 60] for i in range(n)]", False),  # grows with the number of samples
    ("return [flat[y * w : y * w + 60] for y in range(0, h, n)][:1]", False),  # rows
    ("return [flat[i * w : i * w + 60] for i in range(0, n)]", True),
    ("return [flat[y * w * c : 60] for y in range(h)][:1]", False),  # rows
]


def findings(code: str) -> list[str]:
    rules = tuple(rule for rule in all_rules() if rule.code == "TLC203")
    outcome = engine.check(
        source.from_bytes("example.py", code.encode(), explicit=True), Selection(rules, frozenset(), Confidence.LIKELY)
    )
    assert not outcome.skipped
    return [found.code for found in outcome.findings]


@pytest.mark.parametrize(("code", "is_wrong"), CODE)
def test_untaken_steps(code: str, is_wrong: bool) -> None:
    assert ("TLC203" in findings(PROGRAM.format(code, 1, 1))) is is_wrong


@pytest.mark.parametrize(("code", "is_wrong"), CODE)
def test_a_batch_of_two_takes_the_step(code: str, is_wrong: bool) -> None:
    assert "TLC203" not in findings(PROGRAM.format(code, 2, 2))
