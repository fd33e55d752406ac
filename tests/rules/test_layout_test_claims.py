"""What TLC201 to 204 claim is true: a test they warn about still passes when its tensors come in the other layout.

Every example and sample program runs twice on real torch: as it is, and with a plugin that hands each question about a
layout, and each comparison of values, a copy of the tensor in the other format. Reported tests must not notice; tests
without a finding must fail, which shows that the plugin's other format is another one.

Where only stride(0) is at stake, another plugin hands out copies with the format's own, and sees that torch takes the tensor
for row-major as it is.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest

from stridelint.linter import engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

torch = pytest.importorskip("torch")

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
RULES = tuple(rule for rule in all_rules() if rule.code.startswith("TLC2"))
PLUGIN = '''
import itertools
import pytest
import torch

ROW_MAJOR, CHANNELS_LAST = torch.contiguous_format, {4: torch.channels_last, 5: torch.channels_last_3d}
is_contiguous, stride, dim_order = torch.Tensor.is_contiguous, torch.Tensor.stride, torch.Tensor.dim_order


def laid_out(tensor, wanted):
    """A copy whose axes lie in memory as in the format, size-1 axes included."""
    order = list(range(tensor.dim())) if wanted is ROW_MAJOR else [0, *range(2, tensor.dim()), 1]
    strides, step = [0] * tensor.dim(), 1
    for axis in reversed(order):
        strides[axis], step = step, step * max(tensor.shape[axis], 1)
    with torch.no_grad():
        return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)


def other(tensor, asked=None):
    if not isinstance(tensor, torch.Tensor) or tensor.dim() not in CHANNELS_LAST:
        return tensor
    mine = asked
    if mine is None:
        mine = CHANNELS_LAST[tensor.dim()] if is_contiguous(tensor, memory_format=CHANNELS_LAST[tensor.dim()]) else ROW_MAJOR
    return laid_out(tensor, CHANNELS_LAST[tensor.dim()] if mine is ROW_MAJOR else ROW_MAJOR)


def first_in_other_format(function):
    def compare(first, *rest, **named):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.Tensor, "is_contiguous", is_contiguous)
            patch.setattr(torch.Tensor, "stride", stride)
            return function(other(first), *rest, **named)
    return compare


@pytest.fixture(autouse=True)
def sabotage(monkeypatch):
    as_strided = torch.as_strided

    def wrong_step(tensor, size, strides, *rest):
        return as_strided(tensor, size, (strides[0] - 1, *strides[1:]), *rest)

    def of_other(tensor, memory_format=ROW_MAJOR):
        return is_contiguous(other(tensor, memory_format), memory_format=memory_format)

    monkeypatch.setattr(torch.Tensor, "is_contiguous", of_other)
    monkeypatch.setattr(torch.Tensor, "stride", lambda self, *axis: stride(other(self), *axis))
    monkeypatch.setattr(torch.Tensor, "dim_order", lambda self: dim_order(other(self)))
    monkeypatch.setattr(torch, "as_strided", wrong_step)
    monkeypatch.setattr(torch.Tensor, "as_strided", wrong_step)
    for owner, name in ((torch, "equal"), (torch, "allclose"), (torch.testing, "assert_close")):
        monkeypatch.setattr(owner, name, first_in_other_format(getattr(owner, name)))
'''
BATCH_PLUGIN = (
    PLUGIN[: PLUGIN.index("def other(")]
    + """
@pytest.fixture(autouse=True)
def sabotage(monkeypatch):
    def of_whole_batch(tensor, memory_format=ROW_MAJOR):
        pooled = torch.nn.functional.max_pool2d(tensor, 1)
        assert is_contiguous(pooled) and not is_contiguous(pooled, memory_format=memory_format)
        whole = laid_out(tensor, memory_format)
        assert stride(whole, 0) != stride(tensor, 0)
        return is_contiguous(whole, memory_format=memory_format)

    monkeypatch.setattr(torch.Tensor, "is_contiguous", of_whole_batch)
"""
)
LOST_BATCH_STRIDE = "which is_contiguous ignores"


def programs() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        for number, example in enumerate(rule.INVALID):
            yield f"test_{rule.code}_invalid_{number}", example.code
    for path in sorted(FIXTURES.glob("*/*_tests.py")):
        yield f"test_{path.parent.name}_{path.stem}", path.read_text(encoding="utf-8")


def warned(code: str) -> dict[str, str]:
    """The test functions with a finding that is more than a note, and its message."""
    selection = Selection(RULES, frozenset(), Confidence.LIKELY)
    outcome = engine.check(source.from_bytes("example.py", code.encode(), explicit=True), selection)
    assert not outcome.skipped
    functions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)]
    return {
        each.name: found.message
        for each in functions
        for found in outcome.findings
        if each.lineno <= found.line <= (each.end_lineno or 0)
    }


def outcomes(folder: Path, *options: str) -> dict[tuple[str, str], bool]:
    """Which tests pass, by file and function; with parameters, whether all do."""
    report = folder / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        *options,
        str(folder),
    ]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    passed: dict[tuple[str, str], bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        key = case.attrib["classname"].split(".")[0], case.attrib["name"].partition("[")[0]
        passed[key] = passed.get(key, True) and not list(case.iter("failure")) and not list(case.iter("error"))
    return passed


def test_reported_tests_are_blind_and_others_are_not(tmp_path: Path) -> None:
    expected = {}
    for name, code in programs():
        blind = warned(code)
        if any(LOST_BATCH_STRIDE in message for message in blind.values()):
            continue
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                expected[name, node.name] = node.name in blind
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    assert all(outcomes(tmp_path).values())
    (tmp_path / "sabotage.py").write_text(PLUGIN, encoding="utf-8")
    assert outcomes(tmp_path, "-p", "sabotage") == expected
    assert len(set(expected.values())) == 2


def test_reported_batches_of_one_are_row_major_to_torch(tmp_path: Path) -> None:
    expected = {}
    for name, code in programs():
        for function, message in warned(code).items():
            if LOST_BATCH_STRIDE in message:
                (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
                expected[name, function] = True
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    assert expected
    assert outcomes(tmp_path) == expected
    (tmp_path / "sabotage.py").write_text(BATCH_PLUGIN, encoding="utf-8")
    assert outcomes(tmp_path, "-p", "sabotage") == expected
