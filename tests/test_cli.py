"""`stridelint check`: what it prints, its exit status, and that it never shows a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
BAD = "import torch\n\n\ndef f(x):\n    return x.view(1)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubs: None) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text("import torch\n")
    return tmp_path


def test_text(project: Path, run: Run) -> None:
    result = run("check", "bad.py")
    assert result.out.splitlines() == [
        "bad.py:5:12: TLC104 [viewed] calls view",
        "    5 |     return x.view(1)",
        "      |            ^^^^^^^^^",
        "    bad.py:5: note: 'view' is here",
        "",
        "Found 1 finding in 1 file (1 file checked).",
    ]
    assert (result.status, result.err) == (1, "")


def test_text_of_wide_characters_and_tabs(project: Path, run: Run) -> None:
    (project / "bad.py").write_text("import torch\nif 1:\n\tprint('日本é', torch.x.view(1))\n", encoding="utf-8")
    lines = run("check", "bad.py").out.splitlines()
    assert lines[0].startswith("bad.py:3:15: ")
    assert lines[2] == "      | \t" + " " * len("print('xxxxé', ") + "^" * len("torch.x.view(1)")


def test_json(project: Path, run: Run) -> None:
    (project / "broken.py").write_text("import torch; x.view(\n")
    result = run("check", "--format", "json", ".")
    assert json.loads(result.out) == {
        "version": 1,
        "findings": [
            {
                "path": "bad.py",
                "line": 5,
                "column": 12,
                "end_line": 5,
                "end_column": 21,
                "code": "TLC104",
                "name": "viewed",
                "message": "calls view",
                "severity": "error",
                "confidence": "certain",
                "notes": [{"path": "bad.py", "line": 5, "message": "'view' is here"}],
                "fix": None,
                "witness": {"reason": "it is about how the code is written, and names no call to make"},
            }
        ],
        "skipped": [{"path": "broken.py", "reason": "is not valid Python: '(' was never closed on line 1"}],
        "checked": 3,
        "excluded": 0,
    }
    assert result.status == 1


def test_exit_status(project: Path, run: Run) -> None:
    assert run("check", ".").status == 1
    assert run("check", "--exit-zero", ".").status == 0
    assert run("check", "good.py").status == 0
    assert run("check", "--no-cache", "--isolated", "--jobs", "2", "bad.py").status == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "nowhere.py"], ["no such file or folder", "nowhere.py"]),
        (["check", "--nonsense"], ["--nonsense"]),
        (["check", "--format", "yaml"], ["yaml", "text", "json"]),
        (["check", "--select", "TLC1O4"], ["unknown rule 'TLC1O4'", "did you mean 'TLC104'"]),
        (["check", "--ignore", "TLC104,TLC8"], ["unknown rule 'TLC8'"]),
        (["check", "--min-confidence", "likly"], ["--min-confidence", "did you mean 'likely'"]),
        (["check", "--jobs", "0"], ["--jobs"]),
        (["check", "--config", "none.toml"], ["none.toml"]),
        (["check", "--output", "no/such/folder/x"], ["no/such/folder/x"]),
        (["check", "-", "bad.py"], ["'-'"]),
        (["check", "--stdin-filename", "x.py", "bad.py"], ["--stdin-filename"]),
        (["check", "--isolated", "--config", "x"], ["--isolated", "--config"]),
        (["chek"], ["chek"]),
        (["bad.py"], ["stridelint check bad.py"]),
        (["explain", "TLC999"], ["unknown rule 'TLC999'"]),
        (["explain", "tlc1"], ["TLC1 is a family: TLC101, TLC102, ", "; explain one of them"]),
        (["explain", ""], ["unknown rule ''"]),
        (["check", "--select", ""], ["--select names no rule"]),
        (["check", "--select", " , "], ["--select names no rule"]),
        (["probe", "verfy"], ["did you mean 'verify'"]),
    ],
)
def test_wrong_usage_is_one_line(project: Path, run: Run, arguments: list[str], words: list[str]) -> None:
    result = run(*arguments)
    assert result.status == 2
    assert len(result.err.splitlines()) == 1
    assert all(word in result.err for word in words), result.err


def test_selection(project: Path, run: Run) -> None:
    (project / "all.py").write_text("import torch\nx.view()\nx.store()\nx.store(1)\nx.hush()\n")

    def found(*options: str) -> list[int]:
        return [f["line"] for f in json.loads(run("check", "--format=json", *options, "all.py").out)["findings"]]

    assert found() == [2, 3]
    assert found("--select", "TLC1") == [2]
    assert found("--select", "viewed,TLC303") == [2, 3]
    assert found("--ignore", "TLC1") == [3]
    assert found("--ignore", "TLC1", "--extend-select", "TLC104") == [2, 3]
    assert found("--select", "TLC104", "--ignore", "TLC104") == []
    assert found("--min-confidence", "possible") == [2, 3, 4, 5]
    # A quiet rule speaks only in audits, or when its code is spelt out.
    assert found("--select", "TLC2") == []
    assert found("--select", "ALL") == [2, 3]
    assert found("--select", "TLC203") == [5]
    assert found("--extend-select", "TLC203") == [2, 3, 5]


def test_standard_input(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    result = run("check", "--stdin-filename", "src/new.py", "-")
    assert result.out.startswith("src/new.py:5:12: TLC104")


def test_configuration_and_command_line(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.stridelint]\nignore = ["TLC104"]\n')
    assert run("check", ".").status == 0
    assert run("check", "--isolated", ".").status == 1
    assert run("check", "--select", "TLC104", ".").status == 1
    (project / "other.toml").write_text('select = ["TLC1"]\n')
    assert run("check", "--config", "other.toml", ".").status == 1


def test_statistics_and_output(project: Path, run: Run) -> None:
    result = run("check", "--statistics", "--output", "report.txt", ".")
    assert (result.out, result.status) == ("", 1)
    assert "     1 TLC104 viewed" in (project / "report.txt").read_text()


def test_skipped_files_are_named_unless_ignored(project: Path, run: Run) -> None:
    (project / "bad.py").write_text("import torch; x.view(\n")
    result = run("check", ".")
    assert "bad.py: TLC901 [could-not-analyse] is not valid Python" in result.out
    assert result.status == 0
    result = run("check", "--ignore", "TLC9", ".")
    assert "TLC901" not in result.out
    assert "1 skipped" in result.out


def test_suppressed(project: Path, run: Run) -> None:
    (project / "bad.py").write_text("import torch\nx.view(\n    1,\n)  # noqa: TLC104\n")
    result = run("check", "bad.py")
    assert (result.status, result.out) == (0, "No findings (1 file checked, 1 suppressed).\n")


def test_a_file_named_twice_is_checked_once(project: Path, run: Run) -> None:
    (project / "link.py").symlink_to("bad.py")
    assert "Found 1 finding in 1 file (2 files checked)." in run("check", ".", "bad.py", "./link.py").out


def test_many_files_in_processes(project: Path, run: Run) -> None:
    for number in range(30):
        (project / f"many{number:02}.py").write_text(BAD)
    serial = run("check", "--format=json", "--jobs=1", ".")
    parallel = run("check", "--format=json", "--jobs=2", ".")
    assert serial.out == parallel.out
    assert len(json.loads(serial.out)["findings"]) == 31


def test_a_process_that_dies_costs_its_file_only(project: Path, run: Run) -> None:
    for number in range(25):
        (project / f"many{number:02}.py").write_text(BAD)
    for name in ("dies1.py", "dies2.py"):
        (project / name).write_text("import torch\nx.die().view(2)\nx.die()\n")
    report = json.loads(run("check", "--format=json", "--jobs=2", ".").out)
    assert len(report["findings"]) == 26
    assert [skipped["path"] for skipped in report["skipped"]] == ["dies1.py", "dies2.py"]
    assert all("died" in skipped["reason"] for skipped in report["skipped"])


def test_a_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        command = [sys.executable, "-m", "stridelint", "explain", "TLC901"]
        result = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert result.stderr == ""


def test_help_teaches(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["check", "--help"]):
        with pytest.raises(SystemExit) as stop:
            run(*arguments)
        text = capsys.readouterr().out
        assert stop.value.code == 0
        assert "examples:" in text
        assert "exit status:" in text
