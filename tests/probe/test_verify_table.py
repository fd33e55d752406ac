"""The table predicts what torch does on random calls, and the comparison notices when it does not."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from stridelint.rules.contract import operators  # noqa: E402
from stridelint.runtime_probe import verify_calls, verify_table  # noqa: E402
from stridelint.runtime_probe.verify_draw import Draw, Report  # noqa: E402


def test_no_mismatch_on_random_calls() -> None:
    draw, report = Draw(torch, seed=7), Report()
    while report.total < 3000:
        verify_table.table(draw, report)
    assert not report.mismatches, report.text()
    assert len(report.checks) >= 7


def test_a_wrong_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = verify_calls.case

    def spoiled(draw: Draw, *, dtypes: bool = False) -> verify_calls.Case | None:
        found = real(draw, dtypes=dtypes)
        if found is not None:
            found.variant = dataclasses.replace(found.variant, out_grad="accepted", out_grad_nonleaf="accepted")
        return found

    monkeypatch.setattr(verify_table, "case", spoiled)
    draw, report = Draw(torch, seed=7), Report()
    while report.checks["out requires grad"] < 300:
        verify_table.out_grads(draw, report)
    assert report.mismatches["out requires grad"] > 10


def test_the_pool_covers_most_functions_that_take_out() -> None:
    names = {name for name, _ in verify_calls.pool()}
    taking = [name for name in operators.table().names() if getattr(operators.lookup(name), "accepts_out", False)]
    assert len(names & set(taking)) >= 250
