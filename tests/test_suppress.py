"""noqa comments: flake8's meaning of the words, ours of the place."""

from __future__ import annotations

import pytest

from stridelint.linter.suppress import Suppressions


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
        ("TLC101", {3}),  # in the middle of a statement: its line only
        ("TLC102", {1, 2, 3, 4, 5}),
        ("TLC103", {6, 7, 8}),
        ("TLC104", {9, 10, 11}),
        ("TLC105", {9, 10, 11}),  # the header, not the body
        ("TLC106", set()),
        ("TLC107", {12, 13, 14}),
        ("TLC108", set()),
        ("TLC109", {17}),
        ("TLC111", {18}),
        ("TLC112", {20, 21}),
        ("TLC113", {23, 24, 25}),
        ("TLC114", {26, 27, 28}),
        ("TLC115", {29, 30}),  # as flake8: a string joins its lines
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
