"""`check --add-noqa`, and `--fix` for comments that hide nothing: what is written into files."""

from __future__ import annotations

import ast
import codecs
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import engine, source
from stridelint.linter.config import Settings
from stridelint.linter.findings import Reported
from stridelint.linter.selection import select
from stridelint.linter.suppress_adding import added
from stridelint.linter.suppress_lines import Lines

CONVERTED = """\
import torch

a = torch.ones(2, 3, 4, 5)
b = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
"""


def with_noqa(code: str) -> str:
    """The code behind CONVERTED with its comments; it has no findings then, and flake8 sees none either."""
    file = source.from_bytes("x.py", (CONVERTED + code).encode())
    selection = select(Settings())
    findings = engine.check(file, selection).findings
    assert findings
    done = added(file, findings)
    assert not done.left_out
    after = engine.check(file._replace(data=done.data), selection)
    assert (after.findings, len(after.suppressed)) == ((), len(findings))
    return done.data.decode().removeprefix(CONVERTED)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("y = a * b\n", "y = a * b  # noqa: TLC101\n"),
        ("y = a * b", "y = a * b  # noqa: TLC101"),
        ("y = a * b \t\n", "y = a * b  # noqa: TLC101\n"),
        ("y = a * b  # why\n", "y = a * b  # why  # noqa: TLC101\n"),
        ("y = a * b # noqa: E501\n", "y = a * b # noqa: E501, TLC101\n"),
        ("y = a * b  # NOQA:E501,W291 because\n", "y = a * b  # NOQA:E501,W291,TLC101 because\n"),
        ("y = a * b  # noqa: E501 W291\n", "y = a * b  # noqa: E501 W291 TLC101\n"),
        ("y = a * b  # stridelint: ignore[TLC301]\n", "y = a * b  # stridelint: ignore[TLC301]  # noqa: TLC101\n"),
        ("a.float(); y = a * b\n", "a.float(); y = a * b  # noqa: TLC101, TLC103\n"),
        # On the reported line, which flake8 looks at, where that can hold a comment.
        ("y = f(\n    a * b,\n)\n", "y = f(\n    a * b,  # noqa: TLC101\n)\n"),
        (
            "y = f(  # why\n    a,\n    (a\n     * b),\n)\n",
            "y = f(  # why\n    a,\n    (a  # noqa: TLC101\n     * b),\n)\n",
        ),
        ("y = a * \\\n    b + \\\n    1\n", "y = a * \\\n    b + \\\n    1  # noqa: TLC101\n"),
        ('y = a * b, """\n# noqa\n"""\n', 'y = a * b, """\n# noqa\n"""  # noqa: TLC101\n'),
        ('y = (a * b, """\n""", 1\n)\n', 'y = (a * b, """\n""", 1  # noqa: TLC101\n)\n'),
        ("y = [a * b, '\\\n', \\\n1,\n2]\n", "y = [a * b, '\\\n', \\\n1,  # noqa: TLC101\n2]\n"),
        ('y = a * b, f"""\n{\n1}\n"""\n', 'y = a * b, f"""\n{\n1}\n"""  # noqa: TLC101\n'),
        ("if True: y = a * b\n", "if True: y = a * b  # noqa: TLC101\n"),
    ],
)
def test_where_a_comment_goes(code: str, expected: str) -> None:
    assert with_noqa(code) == expected


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.stridelint]\n")
    return tmp_path


@pytest.mark.parametrize(
    ("mark", "encoding", "head", "ending"),
    [
        (b"", "utf-8", "# é\n", "\n"),
        (b"", "utf-8", "# é\n", "\r\n"),
        (b"", "utf-8", "# é\n", "\r"),
        (codecs.BOM_UTF8, "utf-8", "# é\n", "\n"),
        (codecs.BOM_UTF8, "utf-8", "# é\n", "\r\n"),
        (b"", "latin-1", "# -*- coding: latin-1 -*-\n# é\n", "\n"),
        (b"", "latin-1", "# -*- coding: latin-1 -*-\n# é\n", "\r\n"),
    ],
)
def test_bytes_stay(project: Path, run: Callable[..., Any], mark: bytes, encoding: str, head: str, ending: str) -> None:
    text = (head + CONVERTED + "y = a * b  # é\nz = 1\n").replace("\n", ending)
    path = project / "x.py"
    path.write_bytes(mark + text.encode(encoding))
    result = run("check", "--no-cache", "--add-noqa", "x.py")
    assert (result.status, result.err) == (0, "stridelint: added noqa for 1 finding in 1 file\n")
    assert result.out == "No findings (1 file checked, 1 suppressed).\n"
    expected = text.replace("a * b  # é", "a * b  # é  # noqa: TLC101")
    assert path.read_bytes() == mark + expected.encode(encoding)
    state = path.stat().st_mtime_ns
    assert run("check", "--no-cache", "--add-noqa", "x.py").err == "stridelint: added noqa for 0 findings in 0 files\n"
    assert path.stat().st_mtime_ns == state
    assert run("check", "--no-cache", "x.py").status == 0


def test_flake8_sees_them(project: Path, run: Callable[..., Any]) -> None:
    pytest.importorskip("flake8")
    text = CONVERTED + "y = f(\n    a * b,\n    a\n    * b,\n)\nz = a * \\\n    b\nu = a * b, '''\n'''\n"
    (project / "x.py").write_text(text)

    def flake8() -> str:
        command = [sys.executable, "-m", "flake8", "--isolated", "--select", "TLC", "x.py"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert flake8().count("TLC101") == 4
    assert run("check", "--no-cache", "--add-noqa", "x.py").status == 0
    assert flake8() == ""


def test_what_cannot_be_hidden_is_told(project: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "x.py").write_text(CONVERTED + "y = a * b\n")
    (project / "y.py").write_text(CONVERTED + "y = a * b\n")
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "y.py" not in str(path) and may(path, mode))
    result = run("check", "--no-cache", "--add-noqa", ".")
    assert result.status == 1
    assert "stridelint: y.py: left as it is: it is read-only\n" in result.err
    assert "added noqa for 1 finding in 1 file" in result.err
    assert "y.py:5:5: TLC101" in result.out


def test_the_first_line_may_be_for_the_system() -> None:
    file = source.from_bytes("x.py", b"#!/usr/bin/env python\nx = 1\n")
    finding = Reported("x.py", 1, 1, 1, 1, "TLC101", "argument-order-layout", "", "warning", "certain", (), "")
    assert added(file, [finding]) == (file.data, (), "the line cannot hold a comment")


@pytest.mark.parametrize("other", ["--fix", "--diff", "--update-baseline", "--prune-baseline"])
def test_options_that_do_not_go_together(project: Path, run: Callable[..., Any], other: str) -> None:
    result = run("check", "--add-noqa", other, ".")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert f"--add-noqa does not go with {other}" in result.err
    assert "needs files" in run("check", "--add-noqa", "-").err


def test_findings_in_the_baseline_need_no_comment(project: Path, run: Callable[..., Any]) -> None:
    path = project / "x.py"
    path.write_text(CONVERTED + "y = a * b\n")
    assert run("check", "--no-cache", "--baseline", "b.json", "--update-baseline", "x.py").status == 0
    path.write_text(path.read_text() + "z = (a - b)\n")
    assert run("check", "--no-cache", "--baseline", "b.json", "--add-noqa", "x.py").status == 0
    assert path.read_text() == CONVERTED + "y = a * b\nz = (a - b)  # noqa: TLC101\n"


def test_comments_in_the_baseline(project: Path, run: Callable[..., Any]) -> None:
    path = project / "x.py"
    path.write_text("y = 1  # noqa: TLC101\n")
    options = ("check", "--no-cache", "--baseline", "b.json")
    assert run(*options, "--extend-select", "TLC902", "--update-baseline", "x.py").status == 0
    assert run(*options, "--extend-select", "TLC902", "x.py").status == 0
    path.write_text("y = 1\n")
    assert run(*options, "--error-stale-baseline", "x.py").status == 0  # not looked for
    assert run(*options, "--extend-select", "TLC902", "--error-stale-baseline", "x.py").status == 1


def test_fix_takes_out_what_hides_nothing(project: Path, run: Callable[..., Any]) -> None:
    path = project / "x.py"
    path.write_text(
        CONVERTED
        + "y = a * a  # noqa: TLC101, TLC103\n# stridelint: ignore[TLC101]\nz = a * a\nu = a * b  # noqa: TLC101\n"
        "v = a  # noqa: TLC999\n"
    )
    options = ("check", "--no-cache", "--extend-select", "TLC902")
    result = run(*options, "--diff", ".")
    assert result.status == 1
    assert "-# stridelint: ignore[TLC101]\n" in result.out
    result = run(*options, "--fix", ".")
    assert path.read_text() == CONVERTED + "y = a * a\nz = a * a\nu = a * b  # noqa: TLC101\nv = a  # noqa: TLC999\n"
    assert result.out.splitlines()[0].startswith("x.py:8:16: TLC902 [unused-suppression] there is no rule 'TLC999'")
    assert "(2 fixed, 1 file checked, 1 suppressed)" in result.out


def test_fix_together_with_other_fixes(project: Path, run: Callable[..., Any]) -> None:
    path = project / "x.py"
    path.write_text(CONVERTED + "# stridelint: ignore[TLC103]\ny = (a * b)  # noqa: TLC102\nz = y  # noqa: TLC999\n")
    result = run("check", "--no-cache", "--extend-select", "TLC902", "--fix", "--unsafe-fixes", ".")
    assert path.read_text() == CONVERTED + "y = (b * a)\nz = y  # noqa: TLC999\n"
    assert "x.py:6:16: TLC902" in result.out


def test_a_comment_for_what_another_file_finds(project: Path, run: Callable[..., Any]) -> None:
    helper, caller = project / "helper.py", project / "caller.py"
    helper.write_text(
        "def add(x, y):\n    return x * y  # noqa: TLC101\n\n\ndef sub(x, y):\n    return x - y  # noqa: TLC101\n"
    )
    caller.write_text("from helper import add\n\n" + CONVERTED + "add(a, b)\n")
    options = ("check", "--no-cache", "--extend-select", "TLC902")
    result = run(*options, "--fix", ".")
    assert "1 fixed" in result.out
    assert (
        helper.read_text() == "def add(x, y):\n    return x * y  # noqa: TLC101\n\n\ndef sub(x, y):\n    return x - y\n"
    )
    # Alone it does not know its callers.
    assert run(*options, "helper.py").status == 0


def test_a_file_that_cannot_be_analysed_is_not_judged(project: Path, run: Callable[..., Any]) -> None:
    (project / "x.py").write_text("import torch\n() if 0 else(lambda: ())\ntorch.ones(1).view(1)  # noqa: TLC101\n")
    assert "TLC902" not in run("check", "--no-cache", "--extend-select", "TLC902", "x.py").out
    (project / "x.py").write_text("x = (  # noqa: TLC101\n")
    assert "TLC902" not in run("check", "--no-cache", "--extend-select", "TLC902", ".").out


def test_a_warm_cache_says_the_same(project: Path, run: Callable[..., Any]) -> None:
    (project / "x.py").write_text(CONVERTED + "y = a * a  # noqa: TLC101\nz = a * b  # noqa: TLC101\n")
    (project / "y.py").write_text("y = 1  # noqa: TLC101\n")
    options = ("check", "--extend-select", "TLC902", ".")
    cold = run(*options)
    assert cold.out.count("TLC902") == 2
    assert run(*options).out == cold.out


def test_it_is_off_by_default(project: Path, run: Callable[..., Any]) -> None:
    (project / "x.py").write_text("y = 1  # noqa: TLC101\n")
    for options, found in (
        ((), 0),
        (("--select", "TLC9"), 0),
        (("--extend-select", "unused-suppression"), 1),
        (("--min-confidence", "possible"), 1),
        (("--min-confidence", "possible", "--ignore", "TLC902"), 0),
    ):
        assert run("check", "--no-cache", *options, "x.py").out.count("TLC902") == found


def test_comments_are_put_only_where_python_takes_them() -> None:
    """On every line of a text with all that joins lines."""
    text = 'x = f("""\n""", \\\n  1,\n  f"""\n{\n1\n} """)\nif x: \\\n  y\n'
    tree = ast.dump(ast.parse(text))
    lines = text.splitlines()
    for number in range(1, len(lines) + 1):
        place = Lines(text).place_behind(number) - 1
        commented = [*lines[:place], lines[place] + "  # noqa", *lines[place + 1 :]]
        assert ast.dump(ast.parse("\n".join(commented))) == tree


def test_the_page_about_it(project: Path, run: Callable[..., Any]) -> None:
    page = (Path(__file__).parent.parent / "docs" / "suppression.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    example = (
        CONVERTED.replace("a =", "mask =").replace("b =", "x =") + "scale = 2\n" + example.replace("fuse(", "print(")
    )
    path = project / "x.py"
    path.write_text(example)
    assert "2 suppressed" in run("check", "--no-cache", "x.py").out
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (project / "pyproject.toml").write_text(settings)
    path.write_text(example + "y = x  # noqa: TLC101\n")
    commands = re.findall(r"stridelint check [^`\n]*", page)
    assert commands == ["stridelint check --extend-select TLC902 --fix .", "stridelint check --add-noqa ."]
    for command, left in zip(commands, ("", "z = mask * x  # noqa: TLC101\n")):
        run(*command.split()[1:], "--no-cache")
        assert path.read_text() == example + "y = x\n" + left
        path.write_text(path.read_text() + "z = mask * x\n")
