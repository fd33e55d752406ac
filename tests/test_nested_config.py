"""A wrong configuration found on the way costs its folder; one that holds for what is named ends the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import cli, config, watch

Run = Callable[..., Any]

LOWER = "import torch\n\ntorch.add(torch.ones(3), 1, out=torch.ones(3, dtype=torch.int64))\n"
WRONG = {
    'selct = ["TLC1"]': "unknown key 'selct' in [tool.stridelint]; did you mean 'select'?",
    'select = "TLC1"': "'select' in [tool.stridelint] must be a list of strings",
    'select = ["TLC999"]': "unknown rule 'TLC999'",
    'operators = "absent.json"': "cannot use",
    "= 1": "is not valid TOML",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    config.forget()
    for name in ("good.py", "sub/one.py", "sub/deep/two.py", "sub/own/three.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LOWER)
    (tmp_path / "sub" / "own" / "pyproject.toml").write_text('[tool.stridelint]\nselect = ["TLC3"]\n')
    return tmp_path


def spoil(folder: Path, text: str = 'selct = ["TLC1"]') -> None:
    (folder / "pyproject.toml").write_text(f"[tool.stridelint]\n{text}\n")
    config.forget()


def paths(entries: list[dict[str, Any]]) -> list[str]:
    return [each["path"] for each in entries]


@pytest.mark.parametrize("text", WRONG)
def test_it_costs_its_folder(tree: Path, run: Run, text: str) -> None:
    spoil(tree / "sub", text)
    result = run("check", "--format", "json", ".")
    report = json.loads(result.out)
    # A folder within it that has a configuration of its own is none of its business.
    assert paths(report["findings"]) == ["good.py", "sub/own/three.py"]
    assert paths(report["skipped"]) == ["sub/deep/two.py", "sub/one.py"]
    assert report["checked"] == 4
    for reason in [each["reason"] for each in report["skipped"]]:
        assert reason.startswith("its configuration cannot be used: sub/pyproject.toml")
        assert WRONG[text] in reason
    assert result.status == 1
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("stridelint: sub/pyproject.toml")
    assert result.err.endswith("; 2 files there are not checked\n")


def test_it_changes_the_exit_status_as_little_as_other_files_that_are_skipped(tree: Path, run: Run) -> None:
    spoil(tree / "sub")
    (tree / "good.py").write_text("")
    (tree / "sub" / "own" / "three.py").unlink()
    result = run("check", ".")
    assert result.status == 0
    assert (
        "sub/one.py: TLC901 [could-not-analyse] its configuration cannot be used: sub/pyproject.toml: unknown"
        in result.out
    )
    assert "No findings (3 files checked, 2 skipped)." in result.out


@pytest.mark.parametrize("named", [["sub"], ["sub/one.py"], ["good.py", "sub/deep"], ["sub/deep/two.py"]])
def test_what_is_named_needs_a_right_one(tree: Path, run: Run, named: list[str]) -> None:
    spoil(tree / "sub")
    result = run("check", *named)
    assert (result.status, result.out) == (2, "")
    assert "unknown key 'selct'" in result.err


def test_a_wrong_rule_on_the_command_line_ends_the_run_as_ever(tree: Path, run: Run) -> None:
    assert run("check", "--select", "TLC999", ".").status == 2


@pytest.mark.parametrize("text", ['select = ["TLC999"]', 'operators = "absent.json"'])
def test_what_a_file_has_wrong_is_told_with_its_name(tree: Path, run: Run, text: str) -> None:
    spoil(tree, text)
    assert run("check", ".").err.startswith("stridelint: pyproject.toml: ")
    assert run("check", "--select", "TLC998", ".").err.startswith("stridelint: unknown rule 'TLC998'")


def test_each_is_told_once(tree: Path, run: Run) -> None:
    spoil(tree / "sub")
    spoil(tree / "sub" / "own", "jobs = true")
    result = run("check", ".")
    assert [line.split(":")[1] for line in result.err.splitlines()] == [
        " sub/pyproject.toml",
        " sub/own/pyproject.toml",
    ]


@pytest.mark.parametrize("options", [["--isolated"], ["--extend-exclude", "sub/deep,sub/one.py"]])
def test_nobody_hears_of_one_that_is_not_needed(tree: Path, run: Run, options: list[str]) -> None:
    spoil(tree / "sub")
    result = run("check", *options, ".")
    assert result.err == ""
    assert "TLC901" not in result.out


def test_the_outer_configuration_may_ignore_that_they_are_skipped(tree: Path, run: Run) -> None:
    spoil(tree, 'per-file-ignores = {"sub/deep/*" = ["TLC901"]}')
    spoil(tree / "sub")
    report = json.loads(run("check", "--format", "json", ".").out)
    assert paths(report["skipped"]) == ["sub/one.py"]


def test_once_it_is_right_again_the_files_are_checked(tree: Path, run: Run) -> None:
    spoil(tree / "sub")
    run("check", ".")
    spoil(tree / "sub", "")
    report = json.loads(run("check", "--format", "json", ".").out)
    assert (len(report["findings"]), report["skipped"]) == (4, [])


def test_a_skipped_file_keeps_its_place_in_the_baseline(tree: Path, run: Run) -> None:
    assert run("check", "--baseline", "known.json", "--update-baseline", ".").status == 0
    spoil(tree / "sub")
    result = run("check", "--baseline", "known.json", "--error-stale-baseline", ".")
    assert (result.status, "gone" in result.err) == (0, False)


def test_watch_looks_at_it(tree: Path) -> None:
    seen = watch.files_of(cli.check_options(["."]))
    assert {str(tree / name / "pyproject.toml") for name in ("", "sub", "sub/deep", "sub/own")} <= set(seen)
    assert str(tree / "good.py" / "pyproject.toml") not in seen
