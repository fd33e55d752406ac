"""What a run reports: plain records with resolved positions, which travel between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stridelint.linter.baseline import Entry
    from stridelint.linter.statistics import Statistics


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


class Replacement(NamedTuple):
    """`text` in place of what stands at a range of lines and columns, which count as in `Reported`."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Patch(NamedTuple):
    """What puts a finding right: `safe` if nothing else changes. No edits: nothing that could be written down does.

    cause: other findings may go with this one, and need no fix of their own then.
    """

    description: str = ""
    safe: bool = False
    edits: tuple[Replacement, ...] = ()
    cause: bool = False


NO_PATCH = Patch()


class Reported(NamedTuple):
    """A finding at its place. Lines and columns count from 1; the end column is the one after the last character.

    witness: what a probe needs to replay it, a JSON document (see `rules.witness`). probe: the verdict, if it was asked for.
    patch: how to fix it.
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
    patch: Patch = NO_PATCH

    def is_fixable(self, unsafe: bool = False) -> bool:
        """Whether there is a safe fix, or with `unsafe` any."""
        return bool(self.patch.edits) and (unsafe or self.patch.safe)


class Skipped(NamedTuple):
    """A file that was not analysed, or not to its end."""

    path: str
    reason: str


class Outcome(NamedTuple):
    """What came of one file. suppressed: findings that comments hide.

    used: path, line and column of what in comments hides findings (see `Suppressions.uses`), also those that would not be
    shown; only where unused comments are to be found. commented: there are comments to judge when the run is over.
    """

    findings: tuple[Reported, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    suppressed: tuple[Reported, ...] = ()
    used: tuple[tuple[str, int, int], ...] = ()
    commented: bool = False


class Report(NamedTuple):
    """What came of a whole run, in order of path and line.

    fixed: findings that were fixed, and are not among the findings. hidden: those that a noqa comment hides.
    known: those in a baseline, which are not among the findings either; stale: baselines with entries whose findings are gone.
    """

    findings: tuple[Reported, ...]
    skipped: tuple[Skipped, ...]
    suppressed: int
    checked: int
    excluded: int
    fixed: int = 0
    hidden: tuple[Reported, ...] = ()
    known: tuple[Reported, ...] = ()
    stale: tuple[tuple[str, Entry], ...] = ()
    has_baseline: bool = False
    statistics: Statistics | None = None
