from __future__ import annotations

import pytest

from stridelint.linter import source
from stridelint.linter.server.documents import (
    Change,
    Position,
    as_source,
    changed,
    characters,
    edits,
    position,
    units,
)

LINE = "值 = '😀é' + x"


@pytest.mark.parametrize(("encoding", "length"), [("utf-8", 18), ("utf-16", 13), ("utf-32", 12)])
def test_units_count_as_the_encoding_does(encoding: str, length: int) -> None:
    assert units(LINE, encoding) == length
    for column in range(len(LINE) + 1):
        assert characters(LINE, units(LINE[:column], encoding), encoding) == column


def test_a_place_within_an_emoji_is_its_beginning() -> None:
    assert characters("a😀b", 2, "utf-16") == 1
    assert characters("a😀b", 3, "utf-8") == 1


def test_a_position_behind_the_end_is_the_end() -> None:
    assert characters("abc", 99, "utf-16") == 3
    assert position(["abc"], 7, 0, "utf-16") == Position(1, 0)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (Change("x"), "x"),
        (Change("X", Position(1, 0), Position(1, 2)), "a😀\nX\r\nc"),
        (Change("", Position(0, 1), Position(0, 3)), "a\n值d\r\nc"),
        (Change("Z", Position(0, 3), Position(1, 0)), "a😀Z值d\r\nc"),
        (Change("!", Position(2, 1), Position(2, 1)), "a😀\n值d\r\nc!"),
        (Change("!", Position(9, 9), Position(9, 9)), "a😀\n值d\r\nc!"),
        (Change("!", Position(1, 99), Position(2, 0)), "a😀\n值d!c"),
    ],
)
def test_a_change_replaces_its_range(change: Change, after: str) -> None:
    assert changed("a😀\n值d\r\nc", [change], "utf-16") == after


def test_only_line_ends_end_lines() -> None:
    """A form feed and a line separator are characters; str.splitlines would count three more lines."""
    text = "a = 1\n\x0c\nb = '\u2028\x85'\nc = 2\n"
    assert changed(text, [Change("3", Position(3, 4), Position(3, 5))], "utf-16") == text.replace("c = 2", "c = 3")


def test_changes_count_in_what_the_one_before_left() -> None:
    first = Change("a\nb\n", Position(0, 0), Position(0, 0))
    second = Change("c", Position(1, 0), Position(1, 1))
    assert changed("x", [first, second], "utf-16") == "a\nc\nx"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb  # noqa"),
        ("a\nb", "a\nb\n"),
        ("a\r\nb\r\n", "a\r\n"),
        ("", "x\n"),
        ("x\n", ""),
        ("值 = 😀\nb", "b"),
        ("a\n", "a\nb"),
        ("a\nb\x0c\nc", "a\nc"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_edits_make_the_new_text(old: str, new: str, encoding: str) -> None:
    text = old
    for change in reversed(edits(old, new, encoding)):
        text = changed(text, [change], encoding)
    assert text == new


@pytest.mark.parametrize("cookie", ["latin-1", "utf-8", "cp1252", "shift_jis"])
def test_a_coding_comment_does_not_garble_the_text(cookie: str) -> None:
    text = f"# -*- coding: {cookie} -*-\nx = '{'値' if cookie == 'shift_jis' else 'é'}'\n"
    assert as_source("x.py", text).text == text


@pytest.mark.parametrize("text", ["# coding: latin-1\nx = '値'\n", "# coding: nonsense\n", "x\0"])
def test_what_no_file_can_hold_is_refused(text: str) -> None:
    with pytest.raises(source.Unreadable):
        as_source("x.py", text)


def test_half_an_emoji_is_one_character() -> None:
    text = "x = '\ud83d' + y\n"
    assert len(as_source("x.py", text).text) == len(text)
