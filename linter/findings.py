"""What a run reports: plain records with resolved positions, which travel between processes."""

from __future__ import annotations

from typing import NamedTuple


class Remark(NamedTuple):
    """One step of a finding's story."""

    path: str
    line: int
    message: str


class Verdict(NamedTuple):
    """What a replay of a finding came to: "confirmed", "refuted" or "inconclusive", why, what torch did, which one and where."""

    verdict: str
    reason: str
    observed: str
    torch: str
    device: str


class Reported(NamedTuple):
    """A finding at its place. Lines and columns count from 1; the end column is the one after the last character.

    witness: what a probe needs to replay it, a JSON document (see `rules.witness`). probe: the verdict, if it was asked for.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    message: str
    severity: str
    confidence: str
    notes: tuple[Remark, ...]
    excerpt: str
    witness: str = "{}"
    probe: Verdict | None = None


class Skipped(NamedTuple):
    """A file that was not analysed, or not to its end."""

    path: str
    reason: str


class Outcome(NamedTuple):
    """What came of one file. `suppressed`: findings that a noqa comment hides."""

    findings: tuple[Reported, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    suppressed: tuple[Reported, ...] = ()


class Report(NamedTuple):
    """What came of a whole run, in order of path and line."""

    findings: tuple[Reported, ...]
    skipped: tuple[Skipped, ...]
    suppressed: int
    checked: int
    excluded: int
