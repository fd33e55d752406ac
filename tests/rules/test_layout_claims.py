"""What TLC105-TLC112 claim is true: on real torch, each sample program does what its findings say.

`main` of a program returns pairs that were meant to agree, or raises; see `CHECKS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def load(name: str) -> dict[str, Any]:
    """The names of a sample program."""
    path = FIXTURES / name
    names: dict[str, Any] = {"__name__": "sample"}
    torch.manual_seed(0)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def different_values(got: Any, wanted: Any) -> bool:
    """Two tensors of one shape with other numbers."""
    return got.shape == wanted.shape and not torch.equal(got, wanted)


def wrong_answer(said: Any, so: Any) -> bool:
    """Code says one thing of a tensor, and another is so."""
    return bool(said != so)


def dropped(out: Any, kept: Any) -> bool:
    """Row-major only, where channels_last only went in."""
    formats = [(each.is_contiguous(), each.is_contiguous(memory_format=torch.channels_last)) for each in (out, kept)]
    return formats == [(True, False), (False, True)]


def refused(call: Any, error: Any) -> bool:
    """The call raises."""
    with pytest.raises(error):
        call()
    return True


CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "bad/lost_writes.py": different_values,
    "bad/raw_memory.py": different_values,
    "bad/guessed_layouts.py": wrong_answer,
    "bad/reshaped_axes.py": different_values,
    "bad/dropped_layouts.py": dropped,
    "bad/single_images.py": dropped,
    "bad/demanded_layouts.py": refused,
}


@pytest.mark.parametrize("name", CHECKS)
def test_pairs_do_not_agree(name: str) -> None:
    pairs = load(name)["main"]()
    assert pairs
    for index, (got, wanted) in enumerate(pairs):
        assert CHECKS[name](got, wanted), index


@pytest.mark.parametrize(
    "name",
    [
        "clean/copies.py",
        "clean/raw_memory.py",
        "clean/told_layouts.py",
        "clean/reshaped_axes.py",
        "clean/kept_layouts.py",
        "clean/single_images.py",
        "clean/demanded_layouts.py",
    ],
)
def test_clean_programs_run(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(name)["main"]()
