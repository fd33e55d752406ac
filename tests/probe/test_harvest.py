"""Measuring again gives what ships."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from stridelint.rules.contract import operators
from stridelint.runtime_probe import harvest

pytest.importorskip("torch")

NAMES = ("add", "addmm", "cat", "max", "nn.functional.gelu", "softmax", "sum", "zeros")


@pytest.fixture(scope="module")
def measured() -> Any:
    command = [sys.executable, "-m", "stridelint.runtime_probe.harvest", *NAMES]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_handful_of_operators_equals_the_table(measured: Any) -> None:
    import torch

    if not torch.__version__.startswith(operators.table().torch):
        pytest.skip("the table is of another version of torch")
    assert sorted(measured["operators"]) == sorted(NAMES)
    for name in NAMES:
        assert measured["operators"][name] == operators.table().rows[name], name


def test_the_document_can_be_read(measured: Any) -> None:
    table = operators.read(measured)
    assert operators.decode(table, "addmm").variants[0].full_overlap["mat1"] == "wrong"


def test_it_is_written_with_one_operator_per_line(measured: Any) -> None:
    lines = harvest.write(measured).splitlines()
    assert sum(line.startswith('  "') for line in lines) >= len(NAMES)
    assert json.loads(harvest.write(measured)) == measured


def test_a_crash_is_reported_and_harms_no_other() -> None:
    import os
    import signal

    def work(index: int) -> dict[str, Any]:
        if index == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if index == 2:
            raise ValueError("no")
        return {"index": index}

    results = harvest.in_children(4, work, jobs=2)
    assert [row for row, _ in results] == [{"index": 0}, None, None, {"index": 3}]
    assert "status -11" in results[1][1]
    assert results[2][1] == "ValueError: no"


def test_without_torch_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert harvest.main(["add"]) == 2
    assert "pip install 'stridelint[probe]'" in capsys.readouterr().err
