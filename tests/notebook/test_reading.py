"""Notebooks: which of their code is read, as one program, and which files are none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebooks import CONVERTED, ROOT, cell, read, write


def test_the_program() -> None:
    made = read(
        cell("# torch", "markdown"),
        "import torch\n%magic\nx = 1",
        cell("raw", "raw"),
        "",
        "%%bash\nls",
        cell("let x = 1", vscode={"languageId": "javascript"}),
        cell("y = 1", vscode={"languageId": "python"}),
        "if (\n",
        {"cell_type": "code", "source": "z = 1\r\nz = 2\rz = 3", "metadata": None},
        {"cell_type": "code"},
        3,  # type: ignore[arg-type]
    )
    assert made.text == "import torch\npass\nx = 1\n\ny = 1\nz = 1\nz = 2\nz = 3\n"
    assert made.lines[1] == "%magic"
    assert [made.place(line) for line in range(1, 9)] == [
        (2, 1),
        (2, 2),
        (2, 3),
        (4, 1),
        (7, 1),
        (9, 1),
        (9, 2),
        (9, 3),
    ]
    assert made.around(2) == range(1, 4)
    assert made.around(8) == range(6, 9)
    assert made.broken == ("cell 8 is not valid Python: '(' was never closed on line 1",)


@pytest.mark.parametrize(
    ("metadata", "is_python"),
    [
        ({}, True),
        ({"kernelspec": {"language": "python"}}, True),
        ({"language_info": {"name": "python"}, "kernelspec": {"language": "x"}}, True),
        ({"language_info": {"name": "ipython"}}, True),
        ({"language_info": {"name": "R"}}, False),
        ({"kernelspec": {"language": "julia"}}, False),
        ({"kernelspec": None, "language_info": [1]}, True),
        ([], True),
    ],
)
def test_languages(project: Path, run: Callable[..., Any], metadata: Any, is_python: bool) -> None:
    write(project / "n.ipynb", f"import torch\n{CONVERTED}\na * b;", metadata=metadata)
    result = run("check", "--no-cache", "n.ipynb")
    assert result.out.count("TLC101") == is_python
    assert "TLC901" not in result.out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no notebook: not valid JSON: Expecting property name enclosed in double quotes on line 1"),
        ("", "is no notebook: not valid JSON: Expecting value on line 1"),
        ("[]", "is no notebook: it does not say of which format (nbformat) it is"),
        ("{}", "is no notebook: it does not say of which format (nbformat) it is"),
        ('{"nbformat": 4}', "is no notebook: it has no list of cells"),
        ('{"nbformat": 4, "cells": {}}', "is no notebook: it has no list of cells"),
        (
            '{"nbformat": 3, "worksheets": []}',
            "is a notebook of format 3, and only format 4 is read: save it in that one",
        ),
        ("[" * 100_000, "is no notebook: its JSON is nested too deeply"),
    ],
)
def test_what_is_no_notebook(project: Path, run: Callable[..., Any], text: str, reason: str) -> None:
    (project / "n.ipynb").write_text(text)
    result = run("check", "--no-cache", "n.ipynb")
    assert result.out.splitlines()[0] == f"n.ipynb: TLC901 [could-not-analyse] {reason}"
    assert result.status == 0
    assert "TLC901" not in run("check", "--no-cache", ".").out  # it does not mention torch
    (project / "n.ipynb").write_text(text + " torch")
    assert "TLC901" in run("check", "--no-cache", ".").out


def test_bytes_that_are_no_text(project: Path, run: Callable[..., Any]) -> None:
    (project / "n.ipynb").write_bytes(b'{"torch": "\xff"}')
    assert "is not UTF-8: byte 0xff on line 1" in run("check", "--no-cache", ".").out
    (project / "n.ipynb").write_bytes(b'\xef\xbb\xbf{"nbformat": 4, "cells": []}')
    assert "TLC901" not in run("check", "--no-cache", "n.ipynb").out
    write(project / "n.ipynb", "torch = '\ud800'", "x = '\0'", "y = 1")
    out = run("check", "--no-cache", "n.ipynb").out
    assert out.count("TLC901") == 2
    assert "cell 1 is not valid Python" in out
    assert "cell 2 is not valid Python" in out


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("a.float()", 0),
        ("a.float()  # shown", 0),
        ("(a\n .float())", 0),
        ("'é', a.float()", 0),
        ("await a.float()", 0),
        ("a.float();", 1),
        ("a.float() ; # hidden", 1),
        ("a.float()\nx = 1", 1),
        ("a.float()\n# end", 0),
        ("if x:\n    a.float()", 1),
        ("a.float()\n!ls", 1),
    ],
)
def test_the_last_expression_is_shown(project: Path, run: Callable[..., Any], last: str, found: int) -> None:
    write(project / "n.ipynb", f"import torch\n{CONVERTED}", last, "y = 1")
    assert run("check", "--no-cache", "n.ipynb").out.count("TLC103") == found


def test_imports_are_followed(project: Path, run: Callable[..., Any]) -> None:
    (project / "helper.py").write_text("import torch\n\n\ndef make():\n    return torch.ones(2, 3, 4, 5)\n")
    write(
        project / "n.ipynb",
        "import torch\nfrom helper import make",
        "b = make().to(memory_format=torch.channels_last)\nmake() * b;",
    )
    assert "n.ipynb:cell 2:2:1: TLC101" in run("check", "--no-cache", ".").out


def test_folders(project: Path, run: Callable[..., Any]) -> None:
    for folder in ("a", ".ipynb_checkpoints", "b"):
        (project / folder).mkdir()
        write(project / folder / "n.ipynb", f"import torch\n{CONVERTED}\na * b;")
    (project / "pyproject.toml").write_text('[tool.stridelint]\nextend-exclude = ["b"]\n')
    out = run("check", "--no-cache", ".").out
    assert out.startswith("a/n.ipynb:cell 1:4:1: TLC101")
    assert "Found 1 finding in 1 file (1 file checked, 1 file excluded)." in out


def test_a_notebook_without_torch_costs_little(project: Path) -> None:
    write(project / "n.ipynb", "import os\nx.view(-1)")
    code = (
        "import sys; from stridelint.linter.cli import main; main(sys.argv[1:]); "
        "print({'libcst', 'json', 'stridelint.linter.notebook'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, "check", "--no-cache", "."]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1] == "set()"
    write(project / "n.ipynb", "import torch")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "libcst" not in result.stdout.splitlines()[-1]


def test_large_outputs_are_no_obstacle(project: Path, run: Callable[..., Any]) -> None:
    shown = cell(f"import torch\n{CONVERTED}\na * b;")
    shown["outputs"] = [{"data": {"image/png": "A" * 3_000_000}, "output_type": "display_data"}]
    write(project / "n.ipynb", shown)
    assert "n.ipynb:cell 1:4:1: TLC101" in run("check", "--no-cache", ".").out
    write(project / "n.ipynb", "import torch\n" + "x = 1\n" * 400_000)
    assert "too large: its code has more than 2,000,000 characters" in run("check", "--no-cache", ".").out


def test_the_hooks() -> None:
    """What `pre-commit` runs on which files."""
    yaml = pytest.importorskip("yaml")
    hooks = {each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {name: (each["entry"], each["types_or"]) for name, each in hooks.items()} == {
        "stridelint": ("stridelint check --force-exclude", ["python", "pyi"]),
        "stridelint-fix": ("stridelint check --fix --force-exclude", ["python", "pyi"]),
        "stridelint-jupyter": ("stridelint check --force-exclude", ["jupyter"]),
    }
    for each in hooks.values():
        assert (each["language"], each["require_serial"]) == ("python", True)
        assert each["description"]
