"""Mistakes of our own, in words for a report."""

from __future__ import annotations

import os


def internal_error(error: BaseException) -> str:
    """A reason that helps to find the mistake, which is ours."""
    import traceback

    if os.environ.get("STRIDELINT_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    detail = " ".join(str(error).split())[:200]
    return f"internal error, please report it: {type(error).__name__}: {detail}{where}"
