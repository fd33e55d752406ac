"""What the interpreter predicts for scripts is what torch does when they run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import compared

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
FILES = sorted(path for folder in ("bad", "clean", "programs") for path in (FIXTURES / folder).glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_predictions_hold(path: Path) -> None:
    _, wrong = compared(path)
    assert not wrong


def test_the_programs_try_many_predictions() -> None:
    assert sum(compared(path)[0] for path in (FIXTURES / "programs").glob("*.py")) > 100
