"""What a run says on standard error, beside its report, and how people count."""

from __future__ import annotations

import sys


def tell(text: str) -> None:
    """Say something on one line: names in it may be anybody's, and must not move the cursor or look like another line."""
    from stridelint.linter.reports.escaping import line

    print(f"stridelint: {line(text)}", file=sys.stderr, flush=True)


def counted(number: int, noun: str) -> str:
    """A number of things: "1 file", "2 files"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
