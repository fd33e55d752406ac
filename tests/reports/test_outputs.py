"""Which reports a run writes, and that each arrives whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import writing
from stridelint.linter.config import ConfigError
from stridelint.linter.reports import html, outputs
from stridelint.linter.reports.outputs import STDOUT

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("form", "written", "expected"),
    [
        (None, None, [("text", STDOUT)]),
        ("json", None, [("json", STDOUT)]),
        ("json", ["a.json"], [("json", "a.json")]),
        (None, ["a.txt"], [("text", "a.txt")]),
        (None, ["html:a.html", "sarif:a.sarif"], [("html", "a.html"), ("sarif", "a.sarif")]),
        ("github", ["html:a.html"], [("github", STDOUT), ("html", "a.html")]),
        ("github", ["a.txt", "html:a.html"], [("github", "a.txt"), ("html", "a.html")]),
        (None, ["github:-", "html:a.html"], [("github", STDOUT), ("html", "a.html")]),
        (None, ["github:"], [("github", STDOUT)]),
        ("json", ["-"], [("json", STDOUT)]),
        (None, ["./html:a"], [("text", "./html:a")]),
        (None, ["a.b:c"], [("text", "a.b:c")]),
        (None, ["C:\\a.txt"], [("text", "C:\\a.txt")]),
        (None, ["json:a:b"], [("json", "a:b")]),
    ],
)
def test_what_the_options_mean(
    form: str | None, written: list[str] | None, expected: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "obstacle", lambda path: "")
    assert [each[:2] for each in outputs.wanted(form, written)] == expected


@pytest.mark.parametrize(
    ("form", "written", "message"),
    [
        (
            None,
            ["htm:a"],
            "--output htm:a: unknown format 'htm', known are text, json, sarif, github, gitlab, junit, html; did",
        ),
        (None, ["foo:bar"], "a file of that name is ./foo:bar"),
        (None, ["html"], "--output html: name a file (html:FILE), or write ./html for a file of that name"),
        (None, ["json:a", "html:./a"], "both the json and the html report would go to ./a"),
        (None, ["json:-", "html:"], "both the json and the html report would go to standard output"),
        ("text", ["json:-"], "both the text and the json report would go to standard output"),
        (None, ["json:no/folder/a"], "cannot write no/folder/a: there is no folder no/folder"),
        (None, ["json:/"], "cannot write /: it is a folder"),
    ],
)
def test_options_that_cannot_be_followed(form: str | None, written: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        outputs.wanted(form, written)
    assert message in str(error.value)


def test_all_formats_from_one_run(project: Path, run: Run) -> None:
    named = [f"--output={form}:report.{form}" for form in outputs.FORMATS]
    result = run("check", *named, ".")
    files = ", ".join(f"report.{form}" for form in outputs.FORMATS)
    assert (result.status, result.err) == (1, "")
    assert result.out == f"Found 1 finding in 1 file (1 file checked). Written to {files}.\n"
    assert (project / "report.text").read_text().startswith("bad.py:5:12: TLC104")
    assert len(json.loads((project / "report.json").read_text())["findings"]) == 1
    assert len(json.loads((project / "report.gitlab").read_text())) == 1
    assert len(json.loads((project / "report.sarif").read_text())["runs"][0]["results"]) == 1
    assert (project / "report.github").read_text().startswith("::error file=bad.py,line=5,col=12,")
    assert ElementTree.parse(project / "report.junit").getroot().attrib["failures"] == "1"
    assert (project / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert not [path.name for path in project.iterdir() if path.suffix == ".tmp"]


def test_a_report_and_standard_output(project: Path, run: Run) -> None:
    result = run("check", "--format", "text", "--output", "json:report.json", ".")
    assert "bad.py:5:12: TLC104" in result.out
    assert (project / "report.json").exists()


def test_a_report_that_fails_stops_no_other(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise KeyError("a mistake")

    monkeypatch.setattr(html, "render", fail)
    result = run("check", "--output", "html:a.html", "--output", "json:a.json", ".")
    assert result.status == 2
    assert result.err.startswith(
        "stridelint: the html report is not written: internal error, please report it: KeyError"
    )
    assert (project / "a.json").exists() and not (project / "a.html").exists()


def test_a_disk_that_is_full(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.json").write_text("as before")

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    result = run("check", "--output", "json:a.json", ".")
    assert result.status == 2
    assert result.err == "stridelint: the json report is not written: cannot write a.json: No space left on device\n"
    assert (project / "a.json").read_text() == "as before"
    assert sorted(path.name for path in project.iterdir()) == ["a.json", "bad.py"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_that_is_full(project: Path, run: Run) -> None:
    result = run("check", "--output", "json:/dev/full", "--output", "text:a.txt", ".")
    assert (result.status, (project / "a.txt").exists()) == (2, True)
    assert "cannot write /dev/full: No space left on device" in result.err


def test_modes_and_links_stay(project: Path, run: Run) -> None:
    real = project / "real.json"
    real.write_text("")
    real.chmod(0o640)
    (project / "link.json").symlink_to("real.json")
    run("check", "--output", "json:link.json", "--output", "text:new.txt", ".")
    assert (project / "link.json").is_symlink() and real.read_text().startswith("{")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((project / "new.txt").stat().st_mode) == 0o666 & ~mask


def test_an_interrupted_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        writing.write(str(tmp_path / "a"), "text")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_read_only_folder_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    def refuse(**_: object) -> tuple[int, str]:
        raise PermissionError

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    (tmp_path / "a").write_text("old")
    writing.write(str(tmp_path / "a"), "new")
    assert (tmp_path / "a").read_text() == "new"


def test_standard_output_as_a_file_and_as_a_pipe(project: Path) -> None:
    command = [sys.executable, "-m", "stridelint", "check", "--output", "json:/dev/stdout", "bad.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert json.loads(result.stdout.partition("No findings")[0])["version"] == 1


def test_fixed_text_and_report_do_not_mix(project: Path) -> None:
    code = "import torch\n\n\ndef f(x):\n    a = torch.ones(2, 3, 4, 5)\n"
    command = [sys.executable, "-m", "stridelint", "check", "--isolated", "--fix", "--output", "sarif:a.sarif", "-"]
    result = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    assert result.stdout == code
    assert json.loads((project / "a.sarif").read_text())["version"] == "2.1.0"


def test_suppressed_findings_are_shown_where_they_can_be_marked(project: Path, run: Run) -> None:
    bad = project / "bad.py"
    bad.write_text(bad.read_text().replace("view(1)", "view(1)  # noqa: TLC104"))
    reports = ("--output", "json:a.json", "--output", "sarif:a.sarif", "--output", "html:a.html")
    assert run("check", *reports, ".").status == 0
    assert "suppressed" not in json.loads((project / "a.json").read_text())
    assert json.loads((project / "a.sarif").read_text())["runs"][0]["results"] == []
    assert run("check", "--show-suppressed", *reports, ".").status == 0
    assert [each["line"] for each in json.loads((project / "a.json").read_text())["suppressed"]] == [5]
    (result,) = json.loads((project / "a.sarif").read_text())["runs"][0]["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "a comment in the code"}
    ]
    assert '<span class="badge mark">suppressed</span>' in (project / "a.html").read_text()
