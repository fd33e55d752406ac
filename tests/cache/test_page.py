"""The figures in docs/cache.md are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from stridelint.linter import cache, cache_file, config

PAGE = (Path(__file__).parents[2] / "docs/cache.md").read_text("utf-8")


def test_settings_and_limits(tmp_path: Path) -> None:
    (shown,) = re.findall(r"(?ms)^```toml\n(.*?)^```", PAGE)
    (tmp_path / "pyproject.toml").write_text(shown)
    settings = config.read(str(tmp_path / "pyproject.toml"))
    assert settings is not None
    assert cache.folder_for(settings, str(tmp_path)) == str(tmp_path)
    assert settings.cache_dir == ".cache/stridelint"
    assert (f"{cache_file.MAX_AGE // 24 // 3600} days" in PAGE, f"{cache_file.MAX_BYTES // 10**6} MB" in PAGE) == (
        True,
        True,
    )
    assert (cache.FOLDER in PAGE, cache.VARIABLE in PAGE) == (True, True)
