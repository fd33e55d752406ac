"""Lines that IPython reads and Python does not: which they are, and what they leave of a cell."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies
from notebooks import CONVERTED, read, write

from stridelint.linter.notebook import magics


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
