"""The fuzz agrees with PyTorch, and notices an engine that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stridelint.rules.contract import copies, elementwise, joins, layout, ordering, reshaping

torch = pytest.importorskip("torch")

from stridelint.runtime_probe import corpus, verify, verify_draw  # noqa: E402


def test_engine_equals_torch() -> None:
    report = verify.verify(12_000, seed=20)
    assert not report.mismatches, report.text()
    assert report.total >= 12_000


def test_command_reports_checks_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main(["--cases", "500", "--seed", "3"]) == 0
    assert " 0 mismatches" in capsys.readouterr().out.splitlines()[-1]


def _always_row_major(
    shape: tuple[int, ...], strides: tuple[int, ...], memory_format: str = "contiguous_format"
) -> bool:
    return True


@pytest.mark.parametrize(
    ("module", "name", "wrong", "checks", "kind"),
    [
        (layout, "is_contiguous", _always_row_major, "predicates", "is_contiguous channels_last"),
        (
            layout,
            "suggest_memory_format",
            lambda shape, strides: "contiguous_format",
            "predicates",
            "suggest_memory_format",
        ),
        (copies, "preserved_strides", lambda shape, strides: strides, "copied", "clone"),
        (copies, "suggest_memory_format", lambda shape, strides: "contiguous_format", "copied", "to(memory_format)"),
        (ordering, "_comes_after", lambda shape, operands, inner, outer: 0, "iterated", "2 tensors add"),
        (
            elementwise,
            "iterated_strides",
            lambda shape, operands: layout.contiguous_strides(shape),
            "iterated",
            "1 tensor neg",
        ),
        (joins, "suggest_memory_format", lambda shape, strides: "contiguous_format", "joined", "cat"),
        (reshaping, "view_strides", lambda shape, strides, new: layout.contiguous_strides(new), "reshaped", "view"),
    ],
)
def test_fuzz_has_teeth(
    module: Any, name: str, wrong: Callable[..., Any], checks: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, wrong)
    check = next(one for one in verify.CHECKS if one.__name__ == checks)
    report = verify.fuzz(3_000, seed=1, checks=[check])
    assert report.mismatches[kind] > 0
    assert f"smallest mismatch of {kind}:" in report.text()


def test_mismatch_makes_the_command_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(copies, "preserved_strides", lambda shape, strides: strides)
    assert verify.main(["--cases", "4000"]) == 1
    assert "smallest mismatch of clone" in capsys.readouterr().out


def test_missing_torch_is_explained(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(RuntimeError, match=r"pip install 'stridelint\[probe\]'"):
        verify_draw.load_torch()
    assert verify.main([]) == 2
    assert "stridelint[probe]" in capsys.readouterr().err


def test_corpus_is_what_torch_measures(tmp_path: Any) -> None:
    from pathlib import Path

    path = tmp_path / "corpus.csv"
    corpus.main([str(path)])
    kept = Path(__file__).parents[1] / "fixtures" / "layout_corpus.csv"
    assert path.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")
