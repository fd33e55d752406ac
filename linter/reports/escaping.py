"""Text from linted code and file names, made harmless: what is checked may have been written to deceive."""

from __future__ import annotations

import re

# Controls, and what turns the direction of text round or is invisible: it must be seen, not obeyed. The last range is what
# Python makes of bytes in file names that are not UTF-8, and half characters.
_UNSEEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
_TEXT = re.compile(f"[{_UNSEEN}]")
_LINE = re.compile(rf"[{_UNSEEN}\t\n]")


def visible(text: str) -> str:
    """Text in which every character is seen; line ends and tabs stay."""
    return _TEXT.sub(_escaped, text)


def line(text: str) -> str:
    """The same on one line."""
    return _LINE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # the byte that could not be decoded
    short = {9: "\\t", 10: "\\n", 13: "\\r"}
    return short.get(code) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def markup(text: str) -> str:
    """Text for HTML and XML, inside elements and inside quoted attributes."""
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#39;").replace("\n", "&#10;").replace("\t", "&#9;")
