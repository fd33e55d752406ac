"""What common calls return, as the interpreter sees it, is what torch returns: one expression per line of fixtures/calls.txt."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import libcst
import pytest

from stridelint.linter.inference import roots
from stridelint.linter.inference.path import Path as Execution
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.statements import execute
from stridelint.linter.inference.values import Sequence, TensorValue, Value

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "numpy")), reason="torch is not installed"
)
CALLS = (Path(__file__).parent.parent.parent / "fixtures" / "calls.txt").read_text(encoding="utf-8").splitlines()
GIVEN = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

a, b, s, v = torch.rand(3, 5), torch.rand(5, 4), torch.rand(3, 3), torch.rand(5)
i, k = torch.tensor([2, 0, 1]), torch.arange(6)
m = a > 0.5
t3 = torch.rand(2, 5, 8)
y = torch.rand(2, 6, 4, 8)
v5 = torch.rand(2, 3, 4, 6, 8).to(memory_format=torch.channels_last_3d)
p = nn.Parameter(torch.rand(3, 5))
z = torch.rand(4, dtype=torch.complex64)
"""
# Made anew for each, as some change it.
FRESH = "x = torch.rand(2, 6, 4, 8).to(memory_format=torch.channels_last)"


def interpreted() -> list[Value]:
    lines = [f"{FRESH}; r{number} = {call}" for number, call in enumerate(CALLS)]
    module = libcst.parse_module(GIVEN + "\n".join(lines) + "\n")
    program = Program(module, [], 10_000_000)
    path = Execution(program)
    program.root_steps = program.steps
    scope = path.module_scope = roots.module_scope(program, True)
    execute(path, scope, module.body)
    return [scope.values[f"r{number}"] for number in range(len(CALLS))]


def differences(real: Any, seen: Value, torch: Any) -> tuple[int, list[str]]:
    """How many tensors are known in all respects, and what is wrong."""
    if isinstance(real, (tuple, list)) and isinstance(seen, Sequence) and seen.items is not None:
        if len(seen.items) != len(real):
            return 0, [f"{len(seen.items)} items instead of {len(real)}"]
        parts = [differences(*pair, torch) for pair in zip(real, seen.items)]
        return sum(known for known, _ in parts), [each for _, wrong in parts for each in wrong]
    if not isinstance(real, torch.Tensor) or not isinstance(seen, TensorValue):
        return 0, []
    facts = seen.facts
    pairs = (
        (facts.concrete_shape, tuple(real.shape)),
        (facts.concrete_strides, tuple(real.stride())),
        (facts.dtype, str(real.dtype).removeprefix("torch.")),
        (facts.requires_grad, real.requires_grad),
    )
    wrong = [f"{mine} instead of {theirs}" for mine, theirs in pairs if mine is not None and mine != theirs]
    return int(all(mine == theirs for mine, theirs in pairs)), wrong


def test_no_call_is_misjudged_and_most_are_known() -> None:
    import torch

    known, wrong = 0, []
    for call, seen in zip(CALLS, interpreted()):
        names: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(f"{GIVEN}\n{FRESH}\nresult = {call}", names)
        good, bad = differences(names["result"], seen, torch)
        known += good
        wrong += [f"{call}: {each}" for each in bad]
    assert not wrong
    assert known > 700
