"""What a run says on standard error, beside its report."""

from __future__ import annotations

import sys


def tell(text: str) -> None:
    """Say something on one line: names in it may be anybody's, and must not move the cursor or look like another line."""
    from stridelint.linter.reports.escaping import line

    print(f"stridelint: {line(text)}", file=sys.stderr, flush=True)
