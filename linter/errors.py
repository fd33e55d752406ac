"""Mistakes of our own, in words for a report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stridelint.rules.rule import Rule

TRACEBACK = "STRIDELINT_TRACEBACK"  # if it is set, an internal error shows where it arose


def internal_error(error: BaseException) -> str:
    """A reason that helps to find the mistake, which is ours."""
    import traceback

    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    detail = " ".join(str(error).split())[:200]
    return f"internal error, please report it: {type(error).__name__}: {detail}{where}"


def rule_failed(rule: type[Rule], error: BaseException) -> str:
    """What to say of a rule that raised an exception, and is left out of a file: whose mistake it is, and where."""
    import sys
    import traceback

    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    own = getattr(sys.modules.get(rule.__module__), "__file__", "") or ""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    where = f" at {os.path.relpath(own)}:{lines[-1]}" if lines else ""
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ") + where
    if rule.__module__.startswith("stridelint."):
        return f"{rule.code} failed and is left out here, please report it: {text}"
    return f"the local rule {rule.code} failed and is left out here: {text}"


def may_pass(reason: str) -> bool:
    """Whether the next run may do better with a file that was skipped for this reason, although nothing changed."""
    return any(word in reason for word in ("memory", "MemoryError", "OSError", "[Errno", "TimeoutError"))
