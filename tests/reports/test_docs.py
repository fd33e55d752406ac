"""The commands and settings in docs/reports.md and docs/baseline.md do what they are there for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import baseline, config

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = ("reports.md", "baseline.md")
CODE = (
    "import torch\n\n\ndef fuse(images):\n    mask = torch.ones(2, 3, 4, 5)\n"
    "    x = images.to(memory_format=torch.channels_last)\n    return mask * x\n"
)


def blocks(page: str, *languages: str) -> list[str]:
    found = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"))
    return [text for language, text in found if language in languages]


def commands(page: str) -> list[str]:
    lines = [line for text in blocks(page, "sh", "yaml") for line in text.split("\n")]
    return [
        match.group() for line in lines if (match := re.search(r"stridelint check .*", line.partition("#")[0].rstrip()))
    ]


@pytest.mark.parametrize("page", PAGES)
def test_commands(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fuse.py").write_text(CODE)
    assert len(commands(page)) >= 2
    for command in commands(page):
        result = run(*shlex.split(command)[1:])
        assert result.status in (0, 1), result.err
        for file in re.findall(r"--output (?:\w+:)?(\S+)", command):
            assert (tmp_path / file).stat().st_size
            (tmp_path / file).unlink()


def test_a_baseline_as_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    (shown,) = blocks("baseline.md", "json")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fuse.py").write_text(CODE)
    run("check", "--baseline", "known.json", "--update-baseline", ".")
    assert (tmp_path / "known.json").read_text() == shown
    assert baseline.read("known.json")


def test_settings(tmp_path: Path) -> None:
    (shown,) = blocks("baseline.md", "toml")
    (tmp_path / "pyproject.toml").write_text(shown)
    settings = config.read(str(tmp_path / "pyproject.toml"))
    assert settings is not None
    assert (settings.baseline, settings.error_stale_baseline) == ("stridelint-baseline.json", True)
