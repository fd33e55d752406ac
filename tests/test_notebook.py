"""Notebooks: which code is read, where findings are, and that nothing is written."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from stridelint.linter import config, source
from stridelint.linter.notebook import magics, program
from stridelint.linter.notebook.file_places import FilePlaces

ROOT = Path(__file__).parent.parent
CONVERTED = "a = torch.ones(2, 3, 4, 5)\nb = a.to(memory_format=torch.channels_last)"


def cell(text: str, kind: str = "code", **metadata: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata, "source": text.splitlines(keepends=True), **shown}


def notebook(*cells: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    made = [cell(each) if isinstance(each, str) else each for each in cells]
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def read(*cells: str | dict[str, Any], **more: Any) -> program.Program:
    return program.read(json.dumps(notebook(*cells, **more)).encode())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.stridelint]\n")
    return tmp_path


def write(path: Path, *cells: str | dict[str, Any], indent: int | None = 1, **more: Any) -> str:
    text = json.dumps(notebook(*cells, **more), indent=indent) + "\n"
    path.write_text(text)
    return text


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("%matplotlib inline", "pass"),
        ("    %cd ..", "    pass"),
        ("!pip install torch", "pass"),
        ("!!ls", "pass"),
        ("?torch", "pass"),
        ("torch.ones?", "pass"),
        ("torch.ones??", "pass"),
        ("x = torch?", "pass"),
        ("pip install torch", "pass"),
        ("%time f(x)", "pass"),
        ("%time y = f(x)", "y = get_ipython()"),
        ("%timeit -n 3 y, z = f(x)", "y, z = get_ipython()"),
        ("  files = !ls", "  files = get_ipython()"),
        ("a, b = %magic", "a, b = get_ipython()"),
        ("d['a'].b = !ls", "d['a'].b = get_ipython()"),
        # Python.
        ("x = 3", None),
        ("x %= 3", None),
        ("x = a != b", None),
        ("pip = 3", None),
        ("time.time()", None),
        ("ls -l", None),
        ("print('what?')", None),
        ("# why?", None),
        ("x = 1  # why?", None),
        ("x = '# = !ls'", None),
        ("x;", None),
        ("y = (a\n% b)", None),
        ("y = a \\\n% b", None),
        ("s = '''\n!ls\n# '\nwhat?\n'''", None),
        ('s = """\n%a\\"""\n!b\n"""', None),
        ("s = 'abc\\\n%d'", None),
        ("s = \"it's\"\nt = ('''a''', \"b\", # (\n!= c)", None),
        ("x = f'{a}'  # (\ny = [ # '\n1]", None),
    ],
)
def test_lines_that_are_not_python(line: str, python: str | None) -> None:
    assert magics.plain(line.split("\n")) == (line if python is None else python).split("\n")


def test_lines_that_go_on() -> None:
    lines = ["!pip install \\", "  torch \\", "  numpy", "x = !ls \\", "  -l", "y = 1"]
    assert magics.plain(lines) == ["pass", "", "", "x = get_ipython()", "", "y = 1"]


@pytest.mark.parametrize(
    ("first", "is_python"),
    [
        ("%%time", True),
        ("%%timeit -n 3", True),
        ("%%capture", True),
        ("%%capture out --no-stderr", True),
        ("\n  %%prun", True),
        ("%%debug", True),
        ("%%python3", True),
        ("%%bash", False),
        ("%%html", False),
        ("%%writefile x.py", False),
        ("%%", False),
    ],
)
def test_cell_magics(first: str, is_python: bool) -> None:
    assert read(f"{first}\nx = 1").text.endswith("x = 1\n") is is_python


def test_what_a_magic_assigns_is_unknown(project: Path, run: Callable[..., Any]) -> None:
    for line, found in (("b = b", 1), ("%time b = f(b)", 0), ("b = !ls", 0), ("%%capture b", 0)):
        write(project / "n.ipynb", f"import torch\n{CONVERTED}", f"{line}\nb2 = 0", "a * b;")
        assert run("check", "--no-cache", "n.ipynb").out.count("TLC101") == found


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


CELLS = (
    cell("# Title", "markdown"),
    f"%matplotlib inline\nimport torch\n{CONVERTED}",
    "# é 😀\ny = f('😀é\\t\"', (a\n   * b), a - b)  # twice",
    "z = a / b  # noqa: TLC101\n# stridelint: ignore[TLC101]\nz = a / b",
    "if (",
)


def test_text(project: Path, run: Callable[..., Any]) -> None:
    write(project / "n.ipynb", *CELLS)
    assert run("check", "--no-cache", ".").out.splitlines() == [
        "n.ipynb:cell 3:2:17: TLC101 [argument-order-layout] result of '(a * b)' is row-major because 'a' comes first; "
        "with 'b' first it is channels_last",
        "    2 | y = f('😀é\\t\"', (a",
        "      |                  ^",
        "    n.ipynb:cell 2:3: note: 'a' is made here",
        "    n.ipynb:cell 2:3: note: 'b' is made here",
        "    n.ipynb:cell 2:4: note: 'b' becomes channels_last here",
        "n.ipynb:cell 3:3:10: TLC101 [argument-order-layout] result of 'a - b' is row-major because 'a' comes first; "
        "with 'b' first it is channels_last",
        "    3 |    * b), a - b)  # twice",
        "      |          ^^^^^",
        "    n.ipynb:cell 2:3: note: 'a' is made here",
        "    n.ipynb:cell 2:3: note: 'b' is made here",
        "    n.ipynb:cell 2:4: note: 'b' becomes channels_last here",
        "n.ipynb: TLC901 [could-not-analyse] cell 5 is not valid Python: '(' was never closed on line 1",
        "",
        "Found 2 findings in 1 file (1 file checked, 1 skipped, 2 suppressed).",
    ]


def test_json(project: Path, run: Callable[..., Any]) -> None:
    write(project / "n.ipynb", *CELLS)
    first, second = json.loads(run("check", "--no-cache", "--format", "json", ".").out)["findings"]
    places = [
        {name: each[name] for name in ("path", "cell", "line", "column", "end_line", "end_column")}
        for each in (first, second)
    ]
    assert places == [
        {"path": "n.ipynb", "cell": 3, "line": 2, "column": 17, "end_line": 3, "end_column": 7},
        {"path": "n.ipynb", "cell": 3, "line": 3, "column": 10, "end_line": 3, "end_column": 15},
    ]
    assert first["notes"][2] == {"path": "n.ipynb", "cell": 2, "line": 4, "message": "'b' becomes channels_last here"}
    assert first["fix"] is None


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("as_list", [True, False])
def test_platforms_point_into_the_file(
    project: Path, run: Callable[..., Any], indent: int | None, as_list: bool
) -> None:
    made = notebook(*CELLS)
    if not as_list:
        for each in made["cells"]:
            each["source"] = "".join(each["source"])
    text = json.dumps(made, indent=indent, ensure_ascii=as_list) + "\n"
    (project / "n.ipynb").write_text(text)
    lines = text.split("\n")
    run("check", "--no-cache", "--output=sarif:s", "--output=github:g", "--output=gitlab:l", "--output=junit:j", ".")
    told = "cell 3, line 3: result of 'a - b' is row-major because 'a' comes first; with 'b' first it is channels_last"
    result = json.loads((project / "s").read_text())["runs"][0]["results"][1]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert result["message"]["text"] == told
    assert "snippet" not in region
    line = region["startLine"]
    assert region["endLine"] == line
    units = lines[line - 1].encode("utf-16-le")
    assert units[2 * region["startColumn"] - 2 : 2 * region["endColumn"] - 2].decode("utf-16-le") == "a - b"
    related = result["relatedLocations"][2]
    assert related["message"]["text"] == "cell 2, line 4: 'b' becomes channels_last here"
    assert "memory_format" in lines[related["physicalLocation"]["region"]["startLine"] - 1]
    column = lines[line - 1].index("a - b") + 1
    place = f"file=n.ipynb,line={line},col={column},endColumn={column + 5},"
    assert any(
        each.startswith(f"::warning {place}") and told in each for each in (project / "g").read_text().splitlines()
    )
    issue = json.loads((project / "l").read_text())[1]
    assert issue["location"]["positions"] == {
        "begin": {"line": line, "column": column},
        "end": {"line": line, "column": column + 5},
    }
    assert "cell 3, line 3: result of" in issue["description"]
    junit = (project / "j").read_text()
    assert f'name="TLC101 argument-order-layout cell 3:3:10" file="n.ipynb" line="{line}"' in junit
    assert 'message="cell 3, line 3: result of' in junit


def test_html(project: Path, run: Callable[..., Any]) -> None:
    write(project / "n.ipynb", *CELLS)
    run("check", "--no-cache", "--output", "html:a.html", ".")
    page = (project / "a.html").read_text()
    assert '<span class="place">cell 3, line 2</span>' in page
    assert '<span class="where">cell 2, line 4</span>' in page
    assert '<span class="number">1</span># é 😀' in page  # the first line of the cell, and none of the one before
    assert "<mark>a - b</mark>" in page
    excerpt = page[page.index('<pre class="excerpt">') :].partition("</pre>")[0]
    assert "matplotlib" not in excerpt
    assert "noqa" not in excerpt


def test_baseline(project: Path, run: Callable[..., Any]) -> None:
    path = project / "n.ipynb"
    write(path, *CELLS)
    baseline = ("--no-cache", "--baseline", "b.json")
    assert run("check", *baseline, "--update-baseline", ".").status == 0
    entry = json.loads((project / "b.json").read_text())["files"]["n.ipynb"][0]
    assert entry["source"] == "a * b"
    write(path, CELLS[0], "# moved", *CELLS[1:], "a + b;", indent=None)
    result = run("check", *baseline, ".")
    assert result.status == 1
    assert [line.partition(": ")[0] for line in result.out.splitlines() if "TLC101" in line] == ["n.ipynb:cell 7:1:1"]


@pytest.mark.parametrize("option", ["--fix", "--diff", "--add-noqa"])
def test_notebooks_are_only_read(project: Path, run: Callable[..., Any], option: str) -> None:
    text = write(project / "n.ipynb", f"import torch\n{CONVERTED}\ny = a * b  # noqa: TLC103")
    result = run("check", "--no-cache", option, "--extend-select", "TLC902", ".")
    assert "n.ipynb" in result.err
    assert "notebooks are only read" in result.err
    assert (project / "n.ipynb").read_text() == text
    assert "fixable" not in result.out
    assert "[*]" not in result.out


def test_replayed_findings_name_the_cell(project: Path, run: Callable[..., Any]) -> None:
    pytest.importorskip("torch")
    write(project / "n.ipynb", f"import torch\n{CONVERTED}", "a * b;")
    (project / "n.json").write_text(run("check", "--no-cache", "--format", "json", ".").out)
    assert run("probe", "n.json").out.startswith("n.ipynb:cell 2:1:1: TLC101")


def test_standard_input(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    text = json.dumps(notebook(f"import torch\n{CONVERTED}", "a * b;"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    result = run("check", "--isolated", "--stdin-filename", "new.ipynb", "-")
    assert result.out.startswith("new.ipynb:cell 2:1:1: TLC101")


def test_unused_comments(project: Path, run: Callable[..., Any]) -> None:
    write(project / "n.ipynb", "import torch", f"{CONVERTED}\ny = a * a  # noqa: TLC101")
    out = run("check", "--no-cache", "--extend-select", "TLC902", ".").out
    assert out.startswith("n.ipynb:cell 2:3:20: TLC902 [unused-suppression] 'TLC101' hides nothing here\n")


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


def pieces(text: str, cuts: Iterable[int]) -> list[str]:
    ends = [*sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends)]


@settings(max_examples=300, deadline=None)
@given(
    strategies.text(strategies.sampled_from('ab "\\\n\r\té\u2028😀'), max_size=30),
    strategies.lists(strategies.integers(0, 30), max_size=4),
    strategies.sampled_from([None, 1, "\t"]),
    strategies.booleans(),
)
def test_places_in_the_file(text: str, cuts: list[int], indent: int | str | None, is_ascii: bool) -> None:
    """Each character of a cell is where it is said to be, however the JSON is written."""
    cells = [{"source": "x\n", "outputs": [{"source": ["no"]}]}, {"source": pieces(text, cuts), "a": {"source": 1}}]
    written = json.dumps({"a": [{"cells": []}], "cells": cells}, indent=indent, ensure_ascii=is_ascii)
    places = FilePlaces(written)
    for number, line in enumerate(source.lines(text), 1):
        for column, character in enumerate(line, 1):
            row, at = places.place(2, number, column)
            escaped = json.dumps(character, ensure_ascii=is_ascii)[1:-1]
            assert source.lines(written)[row - 1][at - 1 :].startswith(escaped)
            assert places.place(2, number, column + 1, behind=True) == (row, at + len(escaped))


@settings(max_examples=200, deadline=None)
@given(
    strategies.lists(
        strategies.sampled_from(['"', "'", '"""', "\\", "#", "(", ")", "!", "%", "?", "=", "x", " ", "\n"]), max_size=25
    )
)
def test_python_is_left_as_it_is(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        lines = magics.plain(text.split("\n"))
        assert lines is None or len(lines) == text.count("\n") + 1
    else:
        assert magics.plain(text.split("\n")) == text.split("\n")


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


def test_the_page_about_it(project: Path, run: Callable[..., Any]) -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text()
    shown = page.partition("```text\n")[2].partition("```")[0]
    cells = (
        cell("# Analysis", "markdown"),
        "import torch\nmask = torch.ones(2, 3, 4, 5)",
        "x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)",
        "%matplotlib inline\ny = (mask * x).mean()",
    )
    write(project / "analysis.ipynb", *cells)
    for command in re.findall(r"`(stridelint check [^`]*)`", page):
        assert run(*command.split()[1:], "--no-cache").out.startswith(shown)
    (project / "pyproject.toml").write_text('[tool.stridelint]\nextend-exclude = ["*.ipynb"]\n')
    config.forget()
    assert 'extend-exclude = ["*.ipynb"]' in page
    assert run("check", "--no-cache", ".").out == "No findings (0 files checked, 1 file excluded).\n"
