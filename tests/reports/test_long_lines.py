"""A line of a megabyte with many findings makes no report of a gigabyte."""

from __future__ import annotations

import importlib
from html import unescape

import pytest

from stridelint.linter.findings import Patch, Remark, Replacement, Report, Reported
from stridelint.linter.fingerprints import Sources
from stridelint.linter.reports import outputs
from stridelint.linter.reports.context import Context
from stridelint.linter.reports.cutting import MOST, part

STATEMENTS = [f"x{number} = wrong({number})" for number in range(1000, 3000)]
LINE = "; ".join(STATEMENTS)


def finding(number: int) -> Reported:
    column = LINE.index(f"wrong({number})") + 1
    end = column + len("wrong(1000)")
    patch = Patch("put it right", True, (Replacement(1, column, 1, column + 5, "right"),))
    return Reported(
        "long.py",
        1,
        column,
        1,
        end,
        "TLC101",
        "n",
        "m",
        "error",
        "certain",
        (Remark("long.py", 1, "here"),),
        LINE,
        patch=patch,
    )


@pytest.mark.parametrize("form", outputs.FORMATS)
def test_reports_grow_with_findings_and_not_with_lines(form: str) -> None:
    render = importlib.import_module(f"stridelint.linter.reports.{form}").render

    def size(count: int) -> int:
        found = Report(tuple(finding(1000 + 3 * number) for number in range(count)), (), 0, 1, 0)
        return len(render(found, Context(Sources({"long.py": LINE.encode()}), "/")))

    assert size(100) - size(1) < 100 * 15 * MOST


def test_what_is_marked_is_what_is_found() -> None:
    found = Report((finding(1150),), (), 0, 1, 0)
    context = Context(Sources({"long.py": LINE.encode()}), "/")
    text = importlib.import_module("stridelint.linter.reports.text").render(found, context)
    _, code, marks, *_ = text.split("\n")
    assert code[marks.index("^") : marks.rindex("^") + 1] == "wrong(1150)"
    assert len(code) < MOST + 20
    html = importlib.import_module("stridelint.linter.reports.html").render(found, context)
    assert "<mark>wrong(1150)</mark>" in html
    assert "right(1150)" in unescape(html)  # the fix is shown where it is made


@pytest.mark.parametrize("length", [0, 1, MOST - 1, MOST, MOST + 1, 3 * MOST])
def test_parts(length: int) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(length))
    for start in range(0, length, 37):
        for end in (start, start + 1, start + 90, length):
            shown = part(text, start, end)
            assert len(shown.text) <= MOST + 2
            marked = shown.text[shown.start : shown.end]
            assert text[start:end].startswith(marked)
            assert len(marked) == min(end, length) - start or len(marked) >= MOST // 4
