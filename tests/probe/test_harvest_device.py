"""Measuring on another device than the CPU: everything is made there, and nothing else changes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stridelint.rules.contract import operators  # noqa: E402
from stridelint.runtime_probe import harvest  # noqa: E402

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu_check.sh"
NAMES = ("add", "zeros", "cat", "masked_fill", "nn.functional.gelu")


def test_a_device_by_name_measures_the_same_as_the_default() -> None:
    """ "cpu:0" is the CPU, and takes the way that other devices take."""
    document, failures = harvest.harvest(NAMES, device="cpu:0")
    assert not failures
    assert document["device"] == "cpu:0"
    shipped = operators.shipped()
    assert document["operators"] == {name: shipped.rows[name] for name in NAMES}


@pytest.mark.parametrize("device", ["nowhere", "cuda"])
def test_a_device_that_is_missing_is_told_at_once(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    assert harvest.main(["--device", device, "add"]) == 2
    assert f"cannot measure on {device}" in capsys.readouterr().err


def test_the_check_for_a_gpu_runs_on_a_cpu(tmp_path: Path) -> None:
    summary = tmp_path / "summary.txt"
    settings = {**os.environ, "DEVICE": "cpu", "CASES": "1000", "OPERATORS": "add tril"}
    result = subprocess.run([SCRIPT, summary], env=settings, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    text = summary.read_text()
    for part in ("torch ", "0 mismatches", "0 differences between", "confirmed", "nothing failed"):
        assert part in text


def test_the_check_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    result = subprocess.run([SCRIPT, tmp_path / "summary.txt"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "torch sees no CUDA device here" in result.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_measures_an_operator() -> None:
    document, failures = harvest.harvest(("add",), device="cuda")
    assert not failures
    assert document["operators"] == {"add": operators.shipped().rows["add"]}
