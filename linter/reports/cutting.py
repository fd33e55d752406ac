"""Long lines are shown in part: a line may hold a megabyte, and a thousand findings."""

from __future__ import annotations

from typing import NamedTuple

# Characters of a line of code that a report shows.
MOST = 400
# So many of them before what is marked.
_BEFORE = 100


class Part(NamedTuple):
    """What is shown of a line, and where in that the marked part is, as a slice."""

    text: str
    start: int
    end: int


def part(text: str, start: int = 0, end: int = 0) -> Part:
    """The part of a line around a slice of it; all of a line that is not long."""
    if len(text) <= MOST:
        return Part(text, start, end)
    first = max(0, min(start - _BEFORE, len(text) - MOST))
    before, behind = "…" if first else "", "…" if first + MOST < len(text) else ""
    moved = len(before) - first
    return Part(f"{before}{text[first : first + MOST]}{behind}", start + moved, min(end, first + MOST) + moved)
