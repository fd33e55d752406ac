"""[tool.stridelint]: what it may say, where it is found, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from stridelint.linter import config
from stridelint.rules.contract.answers import Confidence


def write(folder: Path, text: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text)
    return str(path)


def test_all_keys(tmp_path: Path) -> None:
    text = """
    [tool.stridelint]
    select = ["TLC1"]
    ignore = ["TLC103"]
    extend-select = ["TLC203"]
    min-confidence = "possible"
    exclude = ["a"]
    extend-exclude = ["b/*.py"]
    force-exclude = true
    jobs = 3
    """
    assert config.read(write(tmp_path, text)) == config.Settings(
        ("TLC1",), ("TLC103",), ("TLC203",), Confidence.POSSIBLE, ("a",), ("b/*.py",), True, 3, str(tmp_path)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("selct = []", ["unknown key 'selct'", "did you mean 'select'"]),
        ('select = "TLC1"', ["'select'", "list of strings"]),
        ("select = [1]", ["'select'", "list of strings"]),
        ("jobs = true", ["'jobs'", "auto"]),
        ("jobs = -1", ["'jobs'"]),
        ('jobs = "many"', ["'jobs'"]),
        ("force-exclude = 1", ["'force-exclude'", "true or false"]),
        ('min-confidence = "sure"', ["'min-confidence'", "certain"]),
        ("= 1", ["not valid TOML"]),
    ],
)
def test_mistakes_name_file_and_key(tmp_path: Path, text: str, words: list[str]) -> None:
    path = write(tmp_path, f"[tool.stridelint]\n{text}\n")
    with pytest.raises(config.ConfigError) as error:
        config.find(str(tmp_path))
    assert all(word in str(error.value) for word in [*words, path]), error.value


def test_the_nearest_file_with_settings_holds(tmp_path: Path) -> None:
    write(tmp_path, '[tool.stridelint]\nselect = ["TLC1"]\n')
    write(tmp_path / "a", "[tool.other]\n")
    write(tmp_path / "a" / "b", '[tool.stridelint]\nselect = ["TLC2"]\n')
    assert config.find(str(tmp_path / "a")).select == ("TLC1",)
    assert config.find(str(tmp_path / "a" / "new.py")).select == ("TLC1",)
    assert config.find(str(tmp_path / "a" / "b" / "c")).select == ("TLC2",)
    assert config.find(str(tmp_path / "a" / "b")).root == str(tmp_path / "a" / "b")


def test_a_broken_file_that_is_not_about_us_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, "= nonsense")
    assert config.find(str(tmp_path)).select == ()


def test_a_named_file(tmp_path: Path) -> None:
    own = tmp_path / "stridelint.toml"
    own.write_text('ignore = ["TLC1"]\n')
    read = config.read(str(own))
    assert read is not None
    assert read.ignore == ("TLC1",)
    with pytest.raises(config.ConfigError, match=r"no \[tool.stridelint\]"):
        config.read(write(tmp_path / "x", "[tool.other]\n"))
