"""Markdown for hovers: code that may hold anything, and tables that are readable as plain text, too."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_CODE = 60


def code(text: str) -> str:
    """Code on one line, shortened, that cannot end the span or the table's cell it is in."""
    text = " ".join(text.split())
    text = text if len(text) <= MAX_CODE else text[: MAX_CODE - 3] + "..."
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    padding = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{fence}{padding}{text}{padding}{fence}".replace("|", "\\|")


def prose(text: str) -> str:
    """Text that stays what it is: no markup, links or HTML in it take effect."""
    return re.sub(r"([\\`*{}\[\]<>|#!&~]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns line up where it is shown as it is."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)
