"""The table on the page of a GitHub Actions run."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter.findings import Report
from stridelint.linter.reports import step_summary


def test_github_appends_it(project: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    path = project / "summary.md"
    monkeypatch.setenv(step_summary.VARIABLE, str(path))
    path.write_text("before\n")
    run("check", "--format", "text", "bad.py")
    run("check", "--output", "sarif:a.sarif", "bad.py")
    assert path.read_text() == "before\n"
    assert run("check", "--format", "github", "bad.py").status == 1
    shown = html.unescape(path.read_text())
    assert shown.startswith("before\n### stridelint\n\nFound 1 finding in 1 file (1 file checked).\n")
    assert "| error | <code>bad.py:5:12</code> | TLC104 viewed | calls view |" in shown
    run("check", "--output", "github:log.txt", "bad.py")
    assert html.unescape(path.read_text()).count("| error |") == 2


def test_where_it_cannot_be_written(project: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    monkeypatch.setenv(step_summary.VARIABLE, str(project / "no" / "folder"))
    result = run("check", "--format", "github", "bad.py")
    assert result.status == 1
    assert "::error " in result.out
    assert "the step summary is not written: No such file or directory" in result.err


def test_the_whole_of_it(whole: Any) -> None:
    shown = html.unescape(step_summary.render(whole.report, whole.context))
    rows = [line.split(" | ") for line in shown.splitlines() if line.startswith("| ") and "severity" not in line]
    assert [row[0] for row in rows] == ["| error", "| error", "| warning", "| warning", "| note"]
    assert "<br>probe: confirmed on cpu, torch 2.13.0: " in shown
    assert "- not analysed: <code>broken.py</code>: is not valid Python" in shown


def test_it_stays_small(whole: Any, tmp_path: Path) -> None:
    findings = [whole.report.findings[0]._replace(line=number + 1) for number in range(step_summary.ROWS + 7)]
    report: Report = whole.report._replace(findings=tuple(findings))
    shown = step_summary.render(report, whole.context)
    assert len(re.findall(r"(?m)^\| (?:error|warning|note) ", shown)) == step_summary.ROWS
    assert "\n7 more are in the log of this step.\n" in shown
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (step_summary.BYTES - 10))
    step_summary.append(report, whole.context, {step_summary.VARIABLE: str(path)})
    assert path.stat().st_size == step_summary.BYTES - 10
    step_summary.append(report, whole.context, {})
