"""A project with files that the cache takes for settled, and a run that tells how many outcomes it knew."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from caching import BAD, GOOD, Known, Run, write


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files can be old in every respect: the time of a file's creation is not looked at in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRIDELINT_CACHE_DIR")
    monkeypatch.setattr("stridelint.linter.cache._SETTLED", -1000.0)
    write(tmp_path / "bad.py", BAD)
    write(tmp_path / "good.py", GOOD)
    return tmp_path


@pytest.fixture
def known(run: Run) -> Known:
    """Runs `check`, and tells of how many files the outcome was known, and the report."""

    def known(*arguments: object) -> tuple[int, Any]:
        result = run("check", "--format", "json", "--verbose", *arguments)
        told = re.search(r"the outcome of (\d+) files? was known", result.err)
        return int(told[1]) if told else 0, json.loads(result.out)

    return known
