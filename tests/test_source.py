"""Files are read as Python reads them."""

from __future__ import annotations

import codecs
from pathlib import Path

import libcst
import pytest

from stridelint.linter import source


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\r\n", "x = 1\r\n"),
        ("x = 'é'".encode(), "x = 'é'"),
        (codecs.BOM_UTF8 + b"x = 1", "x = 1"),
        ("# -*- coding: latin-1 -*-\nx = 'é'".encode("latin-1"), "# -*- coding: latin-1 -*-\nx = 'é'"),
        ("#!/usr/bin/python\n# vim: fileencoding=cp1251\nx = 'ж'".encode("cp1251"), None),
        (codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1", "# coding: utf-8\nx = 1"),
        (b"", ""),
    ],
)
def test_decoding(data: bytes, text: str | None) -> None:
    decoded = source.from_bytes("x.py", data).text
    assert decoded == (text if text is not None else data.decode("cp1251"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a = 1\nx = '\xff'", "is not UTF-8: byte 0xff on line 2"),
        ("x = 1".encode("utf-16"), "contains NUL bytes: not Python source"),
        (b"# coding: klingon\n", "cannot be decoded: unknown encoding: klingon"),
        (b"# coding: hex\n00", "cannot be decoded: 'hex' is not a text encoding"),
        (b"# coding: undefined\n", "is not undefined: undefined encoding"),
        (b"# coding: punycode\nx = 1 -> \n", "is not punycode: Invalid extended code point '>'"),
        (b"# coding: ascii\n\xe9", "is not ascii: byte 0xe9 on line 2"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "cannot be decoded: encoding problem: utf-8"),
        (b"#" * 2_000_001, "too large: 2,000,001 bytes, the limit is 2,000,000"),
    ],
)
def test_what_cannot_be_decoded(data: bytes, reason: str) -> None:
    with pytest.raises(source.Unreadable) as error:
        source.from_bytes("x.py", data)
    assert str(error.value) == reason


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(source.Unreadable, match="cannot be read: No such file"):
        source.read(str(tmp_path / "none.py"))
    with pytest.raises(source.Unreadable, match="cannot be read: Is a directory"):
        source.read(str(tmp_path))


@pytest.mark.parametrize("text", ["a\rb\nc\r\nd", "a = '\x0c'\nb", "a = '\u2028\x85'\nb\n", "x = '''\r\n\r'''\r\ny"])
def test_lines_are_counted_as_python_and_libcst_count_them(text: str) -> None:
    from libcst.metadata import MetadataWrapper, PositionProvider

    lines = source.lines(text)
    wrapper = MetadataWrapper(libcst.parse_module(text))
    places = wrapper.resolve(PositionProvider)
    for node, place in places.items():
        if isinstance(node, libcst.Name):
            assert lines[place.start.line - 1][place.start.column : place.end.column] == node.value
