"""Whatever a file holds, it costs at most itself: the reason is told, and other files' findings stay."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "import torch\nx.view(1)\n"

# Text after the head, and a part of the reason; None: the file is analysed after all.
CORPUS: dict[str, tuple[bytes, str | None]] = {
    "not_python": (b"def f(:\n", "is not valid Python"),
    "python_2": (b"print 'x'\n", "is not valid Python"),
    "bad_indentation": (b"if x:\n    a\n  b\n", "is not valid Python"),
    "unclosed_string": (b"'''\n", "is not valid Python"),
    "not_utf8": (b"x = '\xff'\n", "is not UTF-8: byte 0xff on line 3"),
    "nul": (b"x = 1\0\n", "NUL"),
    "lone_surrogate": ("x = '\ud800'\n".encode("utf-8", "surrogatepass"), "is not UTF-8"),
    "huge": (b"#" * 3_000_000, "too large"),
    "libcst_1061": (b"() if 0 else(lambda: ())\n", "valid Python that LibCST fails on"),
    "deep_parentheses": (b"x = " + b"(" * 5000 + b")" * 5000, "not valid Python: too many nested parentheses"),
    "deep_lists": (b"x = " + b"[" * 150 + b"]" * 150, None),
    "deep_unary": (b"x = " + b"-" * 100_000 + b"1", "nested too deeply"),
    "deep_not": (b"x = " + b"not " * 1500 + b"1", "nested too deeply"),
    "deep_sum": (b"x = " + b"+".join([b"a"] * 2000), "nested too deeply"),
    "long_sum": (b"x = " + b"+".join([b"a"] * 900), None),
    "deep_attributes": (b"x = a" + b".b" * 5000, "nested too deeply"),
    "deep_calls": (b"x = a" + b"()" * 900, None),
    "many_elifs": (b"if a: pass\n" + b"elif b: pass\n" * 900, None),
    "too_many_elifs": (b"if a: pass\n" + b"elif b: pass\n" * 20_000, "nested too deeply"),
    "deep_lambdas": (b"x = " + b"lambda: " * 900 + b"1", None),
    "deep_conditions": (b"x = " + b"1 if a else " * 900 + b"2", None),
    "rule_raises": (b"x.raise_error()\n", "internal error, please report it: KeyError: 'a mistake' at conftest.py:"),
    "rule_recurses": (b"x.recurse()\n", "nested too deeply to analyse"),
    "form_feed": (b"\x0cx = 1\n", None),
    "carriage_returns": (b"x = 1\ry = 2\r", None),
    "no_newline_at_end": (b"x = 1", None),
    "backslash_at_end": (b"x = 1 \\\n", "is not valid Python"),
    "one_long_line": (b"x = [" + b"1," * 10_000 + b"]", None),
}


@pytest.mark.parametrize("name", CORPUS)
def test_one_bad_file(name: str, tmp_path: Path, run: Callable[..., Any], stubs: None) -> None:
    data, reason = CORPUS[name]
    (tmp_path / "bad.py").write_bytes(HEAD.encode() + data)
    (tmp_path / "good.py").write_text(HEAD)
    result = run("check", "--format", "json", "--isolated", tmp_path)
    report = json.loads(result.out)
    assert (result.status, result.err) == (1, "")
    assert [finding["path"] for finding in report["findings"]][-1] == str(tmp_path / "good.py")
    if reason is None:
        assert report["skipped"] == []
        assert len(report["findings"]) == 2
    else:
        assert [skipped["path"] for skipped in report["skipped"]] == [str(tmp_path / "bad.py")]
        assert reason in report["skipped"][0]["reason"]
        assert len(report["findings"]) == 1


def test_all_at_once_in_processes(tmp_path: Path, run: Callable[..., Any], stubs: None) -> None:
    for name, (data, _) in CORPUS.items():
        (tmp_path / f"{name}.py").write_bytes(HEAD.encode() + data)
    report = json.loads(run("check", "--format", "json", "--isolated", "--jobs", "2", tmp_path).out)
    assert len(report["skipped"]) == sum(reason is not None for _, reason in CORPUS.values())
    assert len(report["findings"]) == sum(reason is None for _, reason in CORPUS.values())


def test_an_exhausted_budget_keeps_the_findings(tmp_path: Path, run: Callable[..., Any], stubs: None) -> None:
    (tmp_path / "long.py").write_text(HEAD + "x.exhaust()\n")
    report = json.loads(run("check", "--format", "json", tmp_path).out)
    assert len(report["findings"]) == 1
    assert report["skipped"] == [{"path": str(tmp_path / "long.py"), "reason": "analysis stopped early: 1000 steps"}]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_no_permission(tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "x.py").write_text("")
    (tmp_path / "x.py").chmod(0)
    assert "cannot be read: Permission denied" in run("check", tmp_path).out


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff"])
def test_an_empty_file_is_clean(tmp_path: Path, run: Callable[..., Any], text: str) -> None:
    (tmp_path / "x.py").write_text(text, encoding="utf-8")
    result = run("check", tmp_path / "x.py")
    assert (result.status, result.out) == (0, "No findings (1 file checked).\n")


def test_a_broken_file_is_told_when_it_is_named_even_without_torch(tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "x.py").write_text("def f(:\n")
    assert "TLC901" in run("check", tmp_path / "x.py").out
    # In a folder it is screened out: without torch it cannot hold a finding, so nothing is missed.
    assert "TLC901" not in run("check", tmp_path).out


def test_odd_file_names(tmp_path: Path, run: Callable[..., Any], stubs: None) -> None:
    for name in (b"a b.py", "é.py".encode(), b"\xff.py", b"-x.py"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(HEAD)
    assert len(json.loads(run("check", "--format", "json", tmp_path).out)["findings"]) == 4
    assert run("check", tmp_path).status == 1
