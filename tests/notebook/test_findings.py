"""Findings in notebooks: every report names the cell, or the place in the file, and nothing is written to it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies
from notebooks import CONVERTED, ROOT, cell, notebook, write

from stridelint.linter import config, source
from stridelint.linter.notebook.file_places import FilePlaces

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


def test_the_page_about_it(project: Path, run: Callable[..., Any]) -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text()
    shown = page.partition("```text\n")[2].partition("```")[0]
    cells = (
        cell("# Analysis", "markdown"),
        "import torch\nmask = torch.ones(2, 3, 4, 5)",
        "x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)",
        "%matplotlib inline\ny = (mask * x).relu()",
    )
    write(project / "analysis.ipynb", *cells)
    for command in re.findall(r"`(stridelint check [^`]*)`", page):
        assert run(*command.split()[1:], "--no-cache").out.startswith(shown)
    (project / "pyproject.toml").write_text('[tool.stridelint]\nextend-exclude = ["*.ipynb"]\n')
    config.forget()
    assert 'extend-exclude = ["*.ipynb"]' in page
    assert run("check", "--no-cache", ".").out == "No findings (0 files checked, 1 file excluded).\n"
