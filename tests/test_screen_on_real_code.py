"""Screening changes no finding: what it keeps from a rule, the rule has nothing to say about. Tried on torch's own code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import libcst
import pytest

from stridelint.linter import screen, source
from stridelint.linter.deep import run_deep
from stridelint.linter.inference import analyse
from stridelint.rules.registry import all_rules

# As much as fits in a test: some of the files, each read with a small budget.
FILES = 60
MAX_BYTES = 15_000
BUDGET = 20_000


def sample() -> list[Path]:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return []
    paths = sorted(Path(spec.origin).parent.rglob("*.py"))
    paths = [path for path in paths if 500 < path.stat().st_size < MAX_BYTES and b"torch" in path.read_bytes()]
    return paths[:: max(1, len(paths) // FILES)]


@pytest.mark.skipif(not sample(), reason="torch is not installed")
def test_screening_changes_no_finding() -> None:
    screened_out = 0
    for path in sample():
        file = source.read(str(path))
        kept = screen.Code(screen.parse(file.text)).rules(all_rules())
        dropped = [rule for rule in all_rules() if rule not in kept]
        if dropped:
            screened_out += 1
            module = libcst.parse_module(file.text)
            findings = run_deep(lambda: analyse(module, dropped, budget=BUDGET).findings)  # noqa: B023
            assert not findings, path
    assert screened_out
