"""What docs/cache.md shows does what it says there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import cache, cache_file, config

PAGE = (Path(__file__).parent.parent / "docs/cache.md").read_text("utf-8")


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRIDELINT_CACHE_DIR")
    (tmp_path / "found.py").write_text("import torch\nx = torch.rand(2, 3)\nx.to(torch.float64)\n")
    commands = re.findall(r"^stridelint (?!.*--watch)(.*?)(?:  #|$)", PAGE, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        result = run(*shlex.split(command))
        assert result.status in (0, 1), (command, result.err)
    assert not (tmp_path / cache.FOLDER).exists()  # the last one deletes it


def test_settings_and_limits(tmp_path: Path) -> None:
    (shown,) = re.findall(r"(?ms)^```toml\n(.*?)^```", PAGE)
    (tmp_path / "pyproject.toml").write_text(shown)
    settings = config.read(str(tmp_path / "pyproject.toml"))
    assert settings is not None
    assert cache.folder_for(settings, str(tmp_path)) == str(tmp_path)
    assert settings.cache_dir == ".cache/stridelint"
    assert (f"{cache_file.MAX_AGE // 24 // 3600} days" in PAGE, f"{cache_file.MAX_BYTES // 10**6} MB" in PAGE) == (True, True)
    assert (cache.FOLDER in PAGE, cache.VARIABLE in PAGE) == (True, True)
