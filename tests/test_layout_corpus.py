"""The engine agrees with what PyTorch measured, on a machine without PyTorch."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from stridelint.rules.contract import layout

CORPUS = Path(__file__).parents[1] / "fixtures" / "layout_corpus.csv"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def _rows() -> list[dict[str, str]]:
    with CORPUS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = _rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"({row['shape']})@({row['strides']})")
def test_engine_reports_the_measured_bits(row: dict[str, str]) -> None:
    shape, strides = _numbers(row["shape"]), _numbers(row["strides"])
    assert {
        "is_contiguous": layout.is_contiguous(shape, strides),
        "is_contiguous_channels_last": layout.is_contiguous(shape, strides, "channels_last"),
        "is_contiguous_channels_last_3d": layout.is_contiguous(shape, strides, "channels_last_3d"),
        "channels_last_strides_2d": layout.is_channels_last_strides_2d(shape, strides),
        "channels_last_strides_3d": layout.is_channels_last_strides_3d(shape, strides),
        "non_overlapping_and_dense": layout.is_non_overlapping_and_dense(shape, strides),
    } == {
        name: value == "1" for name, value in row.items() if name not in ("shape", "strides", "suggest_memory_format")
    }
    assert layout.suggest_memory_format(shape, strides) == row["suggest_memory_format"]


def test_corpus_covers_what_it_is_for() -> None:
    layouts = {(_numbers(row["shape"]), _numbers(row["strides"])) for row in ROWS}
    assert ((1, 1, 3, 4), (24, 24, 4, 1)) in layouts
    assert ((2, 1, 4, 5), (20, 1, 5, 1)) in layouts
    assert {len(shape) for shape, _ in layouts} == set(range(7))
    assert any(0 in shape for shape, _ in layouts)
    assert any(0 in strides for _, strides in layouts)
    assert len(layouts) == len(ROWS) >= 300


def test_engine_needs_no_torch() -> None:
    """Checked in a fresh interpreter, since other tests import torch here."""
    import subprocess

    program = (
        "import sys; from stridelint.rules.contract import questions, overlap, shapes, spatial; "
        "sys.exit('torch' in sys.modules or 'libcst' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
