"""Comments that hide findings: flake8's meaning of `noqa`, ours of the place; those that hide nothing."""

from __future__ import annotations

from typing import Any

import pytest

from stridelint.linter import edited, engine, screen, source
from stridelint.linter.config import Settings
from stridelint.linter.findings import Reported
from stridelint.linter.selection import select
from stridelint.linter.suppress import Suppressions
from stridelint.linter.suppress_unused import unused
from stridelint.rules.unused_suppression import UnusedSuppression


def hidden_lines(text: str, code: str = "TLC101", name: str = "argument-order-layout") -> set[int]:
    suppressions = Suppressions(text)
    return {line for line in range(1, text.count("\n") + 2) if suppressions.hides(line, code, name)}


@pytest.mark.parametrize(
    ("comment", "hidden"),
    [
        ("# noqa", True),
        ("# NOQA", True),
        ("# noqa: TLC101", True),
        ("# noqa:TLC101", True),
        ("# noqa: TLC1", True),
        ("# noqa: E501,TLC101", True),
        ("# noqa: E501 TLC101", True),
        ("# noqa: TLC101 because", True),
        ("# type: ignore # noqa: TLC101", True),
        ("# noqa: TLC102", False),
        ("# noqa: E501", False),
        ("#noqa", False),
        ("# no qa", False),
        # These look like lists of codes, but flake8 takes them for blanket ones.
        ("# noqa : TLC102", True),
        ("# noqa:  TLC102", True),
        ("# noqa: TLC", True),
    ],
)
def test_words(comment: str, hidden: bool) -> None:
    assert Suppressions(f"x = 1  {comment}\n").hides(1, "TLC101") is hidden


TEXT = '''\
x = f(  # 1
    a,
    b,  # noqa: TLC101
    c,
)  # noqa: TLC102
y = [
    1
]  # noqa: TLC103
def f(  # noqa: TLC104
    a,
):  # noqa: TLC105
    return """
    # noqa: TLC106
    """  # noqa: TLC107
z = "# noqa: TLC108"
if a:
    b()  # noqa: TLC109
else:  # noqa: TLC111
    c()
@d(
    1)  # noqa: TLC112
class A: pass
s = 1 + \\
    2 + \\
    3  # noqa: TLC113
for i in (
    1, 2
): pass  # noqa: TLC114
g("""
""",  # noqa: TLC115
  1
)
'''


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("TLC101", {1, 2, 3, 4, 5}),  # in the midst of a statement: all of it
        ("TLC102", {1, 2, 3, 4, 5}),
        ("TLC103", {6, 7, 8}),
        ("TLC104", {9, 10, 11}),
        ("TLC105", {9, 10, 11}),  # the header, not the body
        ("TLC106", set()),
        ("TLC107", {12, 13, 14}),
        ("TLC108", set()),
        ("TLC109", {17}),
        ("TLC111", {18}),
        ("TLC112", {20, 21, 22}),  # a class with its decorators
        ("TLC113", {23, 24, 25}),
        ("TLC114", {26, 27, 28}),
        ("TLC115", {29, 30, 31, 32}),
    ],
)
def test_places(code: str, lines: set[int]) -> None:
    suppressions = Suppressions(TEXT)
    assert {line for line in range(1, 33) if suppressions.hides(line, code)} == lines


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings(ending: str) -> None:
    suppressions = Suppressions(f"x = 1{ending}y = 2  # noqa{ending}")
    assert [suppressions.hides(line, "TLC101") for line in (1, 2)] == [False, True]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("# flake8: noqa\nx = 1\n", True),
        ("x = 1\n    # flake8: NOQA\n", True),
        ("# flake8: noqa: TLC1\nx = 1\n", True),
        ("# flake8: noqa: E501\nx = 1\n", False),
        ("y = 1  # flake8: noqa\nx = 1\n", False),
        ("y = '''\n# flake8: noqa\n'''\nx = 1\n", False),
    ],
)
def test_whole_file(text: str, hidden: bool) -> None:
    line = text.splitlines().index("x = 1") + 1
    assert Suppressions(text).hides(line, "TLC101") is hidden


def test_text_that_tokenize_does_not_like() -> None:
    assert Suppressions("x = 1  # noqa\ny = (\n").hides(1, "TLC101")


@pytest.mark.parametrize(
    ("comment", "hidden"),
    [
        ("# stridelint: ignore", True),
        ("#stridelint:ignore", True),
        ("# Stridelint: Ignore[tlc101]", True),
        ("# stridelint: ignore[TLC101]", True),
        ("# stridelint: ignore [ TLC103 , TLC101 ]", True),
        ("# stridelint: ignore[TLC1] the reason", True),
        ("# stridelint: ignore[argument-order-layout]", True),
        ("# stridelint: ignore[ALL]", True),
        ("# type: ignore # stridelint: ignore[TLC101]", True),
        ("# stridelint: ignore because it is right", True),
        ("# stridelint: ignore[TLC102]", False),
        ("# stridelint: ignore[discarded-conversion]", False),
        # What is not understood hides nothing, least of all everything.
        ("# stridelint: ignore[TLC101", False),
        ("# stridelint: ignore[]", False),
        ("# stridelint: ignore=TLC102", False),
        ("# stridelint: ignore: TLC102", False),
        ("# stridelint: ignore TLC102", False),
        ("# stridelint: ignored", False),
        ("# stridelint: off", False),
        ("# stridelint: ignore-file", False),
        ("# see stridelint: ignore", False),
        ("# noqa: argument-order-layout", True),  # to flake8 this is a blanket one
    ],
)
def test_words_of_our_own(comment: str, hidden: bool) -> None:
    assert hidden_lines(f"x = 1  {comment}\n") == ({1} if hidden else set())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# stridelint: ignore\nx = f(\n    1)\ny = 2\n", {2, 3}),
        ("# stridelint: ignore[TLC101]\n\n# more\nx = 1\n", {4}),
        # A header with its decorators, not the body.
        ("# stridelint: ignore\n@d(\n  1)\n# why\n@e\ndef f(\n  a):\n    return a\n", {2, 3, 4, 5, 6, 7}),
        ("@d\n# stridelint: ignore\n@e\nasync def f(): pass\nx = 1\n", {1, 2, 3, 4}),
        ("# stridelint: ignore\nwith a:\n    b\n", {2}),
        ("if a:\n    b\n# stridelint: ignore\nelse:\n    c\n", {4}),
        # Behind the last statement of a block it is for nothing.
        ("if a:\n    b\n    # stridelint: ignore\nc\n", set()),
        ("x = 1\n# stridelint: ignore\n", set()),
        ("def f():\n# stridelint: ignore\n    return 1\n", {3}),
        # In brackets it is for the statement around them.
        ("x = [\n    # stridelint: ignore\n    a,\n    b]\ny = 1\n", {1, 2, 3, 4}),
        ("x = '''\n# stridelint: ignore\n'''\ny = 1\n", set()),
        ("x = (a\n  for a in b\n  if c  # stridelint: ignore\n)\n", {1, 2, 3, 4}),
    ],
)
def test_own_lines(text: str, lines: set[int]) -> None:
    assert hidden_lines(text) == lines


BLOCKS = """\
a
# stridelint: off[TLC101]
b
def f():
    c
    # stridelint: on
    d
    if e:
        g
# stridelint: on[TLC101]
h
def i():
    j
    # stridelint: off
    k
    if l:
        # stridelint: on[TLC1]
        m
    n
o
# stridelint: off
p"""


def test_blocks() -> None:
    # Line 6 holds to the end of the function, line 14 likewise, line 17 in its branch; the last one to the end.
    assert hidden_lines(BLOCKS) == {3, 4, 5, 6, 15, 16, 17, 19, 22}
    assert hidden_lines(BLOCKS, "TLC301", "out-lower-kind") == {15, 16, 17, 18, 19, 22}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("x = 1\n# stridelint: ignore-file\n", {"TLC101", "TLC301"}),
        ("# stridelint: ignore-file[TLC3, discarded-conversion]\nx = 1\n", {"TLC301"}),
        ("x = 1  # stridelint: ignore-file\n", set()),
    ],
)
def test_whole_files_of_our_own(text: str, codes: set[str]) -> None:
    line = source.lines(text).index("x = 1") + 1 if "x = 1\n" in text else 1
    assert {code for code in ("TLC101", "TLC301") if Suppressions(text).hides(line, code)} == codes


def test_columns_of_tabs_and_blanks() -> None:
    assert hidden_lines("if a:\n\tb\n        # stridelint: ignore\n\tc\n") == {4}


CONVERTED = """\
import torch

a = torch.ones(2, 3, 4, 5)
b = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
"""


def findings(text: str, alone: bool = False, **settings: Any) -> tuple[Reported, ...]:
    """What TLC902 says of a text."""
    selection = select(Settings(extend_select=("TLC902",), **settings))
    outcome = engine.check(source.from_bytes("x.py", text.encode()), selection)
    assert outcome.commented is screen.has_comments(text.encode())
    return unused("x.py", text, frozenset(outcome.used), selection, alone).findings


def edit(text: str, found: tuple[Reported, ...]) -> str:
    return edited.apply(text, [edit for each in found if each.is_fixable() for edit in each.patch.edits])


@pytest.mark.parametrize("text", UnusedSuppression.VALID)
def test_examples_without_unused(text: str) -> None:
    assert findings(text) == ()


@pytest.mark.parametrize("example", UnusedSuppression.INVALID)
def test_examples_with_unused(example: Any) -> None:
    found = findings(example.code)
    assert tuple((each.line, each.column, each.message) for each in found) == example.expected
    assert edit(example.code, found) == (example.fixed or example.code)


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("y = a * a  # noqa: TLC101", "y = a * a"),
        ("y = a * a  # noqa: TLC101 for this reason", "y = a * a"),
        ("y = a * a  # why # noqa: TLC101", "y = a * a  # why"),
        ("y = a * a  # noqa: TLC101 # type: ignore", "y = a * a  # type: ignore"),
        ("y = a * a  # noqa: TLC101,E501", "y = a * a  # noqa: E501"),
        ("y = a * a  # noqa: E501, TLC101", "y = a * a  # noqa: E501"),
        ("y = a * a  # noqa: E501 TLC101 W291 why", "y = a * a  # noqa: E501 W291 why"),
        ("y = a * b  # noqa: TLC103, TLC101, TLC104", "y = a * b  # noqa: TLC101"),
        (
            "y = a * b  # stridelint: ignore[TLC103, argument-order-layout]",
            "y = a * b  # stridelint: ignore[argument-order-layout]",
        ),
        ("y = a * a  # stridelint: ignore[TLC1]", "y = a * a"),
        ("# stridelint: ignore[TLC101]\ny = a * a", "y = a * a"),
        ("if a is b:\n    # noqa: TLC101\n    y = 1", "if a is b:\n    y = 1"),
        ("# stridelint: on\ny = a * a", "y = a * a"),
        ("y = a * a\n# stridelint: off[TLC101]", "y = a * a\n"),
        # Not ours to judge, or in use.
        ("y = a * a  # noqa", None),
        ("y = a * a  # noqa: E501", None),
        ("y = a * a  # noqa: TLC313", None),  # not run
        ("y = a * a  # noqa: TLC3", None),  # TLC313 is one of them
        ("y = a * a  # flake8: noqa", None),
        ("y = '# noqa: TLC101'", None),
        ("y = a * b  # noqa: TLC101", None),
        ("y = a * b  # noqa: TLC1", None),
        ("y = (\n    a * b  # noqa: E501,TLC101\n)", None),
        ("y = a * b  # stridelint: ignore", None),
        ("# stridelint: off\ny = a * b\n# stridelint: on", None),
        ("# stridelint: off[TLC101]\ny = a * b\n# stridelint: on[argument-order-layout]", None),
        ("# stridelint: ignore-file\ny = a * b", None),
        ("y = a * a  # noqa: TLC101, TLC902", None),  # says so itself
        ("y = b.softmax(dim=1)\nz = y.sum()  # noqa: TLC1", "y = b.softmax(dim=1)\nz = y.sum()"),
        ("z = b.softmax(dim=1)  # noqa: TLC107", None),  # only audits show it
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_unused(line: str, fixed: str | None, ending: str) -> None:
    text = (CONVERTED + line).replace("\n", ending)
    found = findings(text)
    assert len(found) == (fixed is not None)
    assert edit(text, found) == (CONVERTED + (line if fixed is None else fixed)).replace("\n", ending)
    if fixed is not None:
        assert findings(edit(text, found)) == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = a  # noqa: TLC999", "there is no rule 'TLC999'; did you mean 'TLC902'?"),
        (
            "y = a  # stridelint: ignore[argument-order]",
            "there is no rule 'argument-order'; did you mean 'argument-order-layout'?",
        ),
        ("y = a  # stridelint: ignor", "there is no 'stridelint: ignor'; did you mean 'ignore'?"),
        ("y = a  # stridelint: ignore=TLC101", "rules stand in brackets: stridelint: ignore[TLC101]"),
        ("y = a  # stridelint: off", "'stridelint: off' must stand on a line of its own"),
        ("y = a  # stridelint: ignore", "'stridelint: ignore' hides nothing here"),
        ("# noqa: TLC101\ny = a", "'TLC101' hides nothing here; above a statement write '# stridelint: ignore[...]'"),
        ("# stridelint: on\ny = a", "'stridelint: on' ends no 'stridelint: off'"),
    ],
)
def test_what_is_wrong_with_a_comment(line: str, message: str) -> None:
    (found,) = findings(CONVERTED + line)
    assert found.message == message
    assert (found.code, found.severity) == ("TLC902", "warning")


def test_only_rules_that_run_are_judged() -> None:
    text = CONVERTED + "y = a * a  # noqa: TLC101, TLC103\nz = a  # stridelint: ignore\n"
    assert [each.message for each in findings(text, select=("TLC101",))] == ["'TLC101' hides nothing here"]
    assert findings(text, ignore=("TLC1",)) == ()
    assert findings(text, per_file_ignores=(("x.py", ("TLC1",)),)) == ()


def test_callers_may_be_what_a_comment_in_a_function_is_for() -> None:
    text = "def f(x):\n    return x  # noqa: TLC101\n\n\ny = 1  # noqa: TLC101\n"
    assert [each.line for each in findings(text)] == [2, 5]
    assert [each.line for each in findings(text, alone=True)] == [5]
    from stridelint.rules.contract.answers import Confidence

    audited = findings(text, alone=True, min_confidence=Confidence.POSSIBLE)
    assert [(each.line, each.confidence, each.is_fixable()) for each in audited] == [
        (2, "possible", False),
        (5, "certain", True),
    ]
