"""Tables of one's own: what differs from the shipped one, and checking by another."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stridelint.rules.contract import operators
from stridelint.runtime_probe.harvest_diff import differences

CODE = """\
import torch

power = torch.rand(3, 3)
torch.mm(power, torch.rand(3, 3), out=power)
"""


def document() -> dict[str, Any]:
    table = dataclasses.asdict(operators.shipped())
    return {"format": operators.FORMAT, **table, "operators": table["rows"]}


@pytest.fixture
def changed() -> Iterator[dict[str, Any]]:
    """The shipped table, in which mm reads its operands before it writes."""
    made = copy.deepcopy(document())
    for variant in made["operators"]["mm"]["variants"]:
        variant["full_overlap"] = {"input": "ok", "mat2": "wrong"}
    yield made
    operators.use(None)


def test_a_table_does_not_differ_from_itself() -> None:
    assert differences(operators.shipped(), operators.shipped()) == []


def test_differences_are_told_by_clause(changed: dict[str, Any]) -> None:
    del changed["operators"]["sin"]
    changed["operators"]["add"]["variants"][0]["outputs"][0]["rule"] = "float64"
    lines = differences(operators.shipped(), operators.read(changed))
    version = document()["torch"]
    assert lines == [
        "add outputs[0].rule: promote -> float64",
        "mm(input, mat2) full_overlap.input: wrong -> ok",
        f"sin: only in torch {version} on cpu",
    ]


def test_check_judges_by_another_table(
    changed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("power.py").write_text(CODE)
    Path("table.json").write_text(json.dumps(changed))
    Path("broken.json").write_text("{}")
    assert run("check", "--isolated", "power.py").status == 1
    result = run("check", "--isolated", "--operators", "table.json", "power.py")
    assert result.status == 0, result.out
    assert run("check", "--isolated", "power.py").status == 1
    for name, reason in (("absent.json", "No such file or directory"), ("broken.json", "it is no table of operators")):
        result = run("check", "--operators", name, "power.py")
        assert (result.status, result.err) == (2, f"stridelint: --operators: cannot use {name}: {reason}\n")


def test_harvest_compares(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from stridelint.runtime_probe import harvest

    if not _same_torch():
        pytest.skip("the shipped table is of another torch")
    assert harvest.main(["--diff", "sin"]) == 0
    assert capsys.readouterr().out.startswith("0 differences between torch ")


def _same_torch() -> bool:
    import torch

    return str(torch.__version__).partition("+")[0] == operators.shipped().torch
