"""Cells that LibCST makes nothing of cost themselves; what they may have changed is unknown from there on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter.notebook import program
from stridelint.linter.notebook.leaving_out import without_rejected

Run = Callable[..., Any]
REJECTED = "f = 3 if 0 else(lambda: 3)"
MAKE = "import torch\na = torch.ones(2, 3, 4, 5)\nb = a.to(memory_format=torch.channels_last)"
FOUND = "y = (a * b).relu()"


def notebook(*cells: str) -> bytes:
    made = [{"cell_type": "code", "metadata": {}, "source": text, "outputs": []} for text in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def lines(run: Run, *cells: str) -> tuple[list[str], list[str]]:
    Path("n.ipynb").write_bytes(notebook(*cells))
    document = json.loads(run("check", "--isolated", "--no-cache", "--format", "json", "n.ipynb").out)
    found = [f"{each['cell']}:{each['line']} {each['code']}" for each in document["findings"]]
    return found, [each["reason"] for each in document["skipped"]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_other_cells_are_read(run: Run) -> None:
    found, (told,) = lines(run, MAKE, FOUND, f"\n{REJECTED}", f"{MAKE}\n{FOUND}")
    assert found == ["2:1 TLC101", "4:4 TLC101"]
    assert told.startswith("cell 3 is valid Python that LibCST ")


@pytest.mark.parametrize(
    "cell",
    [
        REJECTED,  # a and b may have been changed in place
        f"{REJECTED}\na, b = b, a",
        f"{REJECTED}\ndef torch(): pass",
        f"{REJECTED}\nimport other as torch",
        f"{REJECTED}\ntorch.ones = torch.zeros",
        f"{REJECTED}\nfor torch in []: pass",
    ],
)
def test_nothing_is_claimed_of_what_it_may_have_changed(run: Run, cell: str) -> None:
    again = MAKE.removeprefix("import torch\n") if "torch" in cell else ""
    before, (told,) = lines(run, MAKE, FOUND, cell, f"{again}\n{FOUND}")
    assert before == ["2:1 TLC101"]
    assert told.startswith("cell 3 ")


def test_functions_and_imports_of_other_cells_stay(run: Run) -> None:
    mixed = "def mixed(x, y):\n    return (x * y).relu()"
    found, _ = lines(run, "import torch", mixed, REJECTED, f"{MAKE.removeprefix('import torch')}\nmixed(a, b)\n{FOUND}")
    assert found == ["2:2 TLC101", "4:5 TLC101"]


@pytest.mark.parametrize(
    "cell",
    ["from somewhere import *", "torch.set_default_dtype(torch.float64)", "setattr(torch, 'ones', 3)", "exec('a = 3')"],
)
def test_a_cell_that_reaches_far_costs_the_notebook(run: Run, cell: str) -> None:
    found, (told,) = lines(run, MAKE, FOUND, f"{REJECTED}\n{cell}")
    assert found == []
    assert told.startswith("is valid Python that LibCST ")


def test_no_line_moves() -> None:
    whole = program.read(notebook("a = 1\nb = 2", "c = 3\nwith d as e: pass\ndel g\nh[0].i = 4", "j = 5"))
    left = without_rejected(whole, lambda text: "no" if "c =" in text else "")
    assert left is not None
    assert left.text == "a = 1\nb = 2\na = b = c = e = g = h = get_ipython()\n\n\n\nj = 5\n"
    assert (left.lines, left.cells, left.broken) == (whole.lines, whole.cells, ("cell 2 no",))
    assert without_rejected(whole, lambda text: "") is None
