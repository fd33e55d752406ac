"""Applies the fixes of one file's findings, and checks what comes out before anybody sees it.

All fixes that do not overlap go in together; those that do wait for the next pass, in which the file is analysed anew, and so
do those whose findings may be gone by then, because a tensor is another one. A
fix is left out if the code does not parse with it, if its finding is still there, or if there is a finding that was not and
that cannot be fixed as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from stridelint.linter import edited, screen
from stridelint.linter.findings import Outcome, Patch, Replacement, Reported
from stridelint.linter.source import Source

# Each pass fixes something; nested calls on one line may take a few.
MAX_PASSES = 20
# How often what a fix brings about may be fixed in turn.
MAX_CONSEQUENCES = 8

Check = Callable[[Source], Outcome]


class LeftOut(NamedTuple):
    """A fix that is not made, and why."""

    finding: Reported
    reason: str


class Fixes(NamedTuple):
    """What fixing a file comes to.

    data: its new bytes. fixed: the findings that are gone, at the places they had when they were fixed.
    left_out: fixes that would do harm. outcome: what is still found.
    """

    data: bytes
    fixed: tuple[Reported, ...]
    left_out: tuple[LeftOut, ...]
    outcome: Outcome


class _State(NamedTuple):
    """A text that is on its way, with what is found in it: by the rules that were asked for, and by all."""

    text: str
    shown: Outcome
    all: Outcome


def fixes_of(
    file: Source,
    check: Check,
    check_all: Check | None = None,
    unsafe: bool = False,
    comments: Sequence[Reported] = (),
) -> Fixes:
    """All fixes of one file, made and checked in memory.

    check: finds what is to be fixed. check_all: finds what must not appear; the same if it is not given.
    unsafe: make also the fixes that change more than the hazard. comments: findings about comments, which `check` does not
        find, since only a whole run does; these are fixed first.
    """
    if not edited.is_written_back(file.data):
        shown = check(file)
        untouched = [each for each in (*comments, *shown.findings) if each.is_fixable(unsafe)]
        return Fixes(file.data, (), tuple(LeftOut(each, edited.NOT_WRITTEN_BACK) for each in untouched), shown)
    encode = edited.encoder(file.data)
    state = _states(file, check, check_all)
    now = state(file.text)
    fixed: list[Reported] = []
    left_out: dict[tuple[str, str, Patch], LeftOut] = {}
    batch = _disjoint(each for each in comments if each.is_fixable(unsafe))
    if batch:
        now, fixed, refused = _made(now, batch, state, unsafe)
        left_out.update((_identity(each.finding), each) for each in refused)
    for _ in range(MAX_PASSES):
        wanted = [
            finding
            for finding in now.shown.findings
            if finding.is_fixable(unsafe) and _identity(finding) not in left_out
        ]
        batch = _disjoint([each for each in wanted if each.patch.cause] or wanted)
        if not batch:
            break
        now, done, refused = _made(now, batch, state, unsafe)
        fixed += done
        left_out.update((_identity(each.finding), each) for each in refused)
    return Fixes(encode(now.text), tuple(fixed), tuple(left_out.values()), now.shown)


def fix_of(
    file: Source, finding: Reported, check: Check, check_all: Check | None = None, unsafe: bool = False
) -> tuple[bytes, str]:
    """The file with the fix of one finding, and of what that brings about; as it was, and why, if that would do harm."""
    if not edited.is_written_back(file.data):
        return file.data, edited.NOT_WRITTEN_BACK
    state = _states(file, check, check_all)
    now = state(file.text)
    if finding not in now.shown.findings or not finding.is_fixable(unsafe):
        return file.data, "the file has changed since"
    after, reason = _tried(now, [finding], state, unsafe)
    return (file.data, reason) if after is None else (edited.encoder(file.data)(after.text), "")


def _states(file: Source, check: Check, check_all: Check | None) -> Callable[[str], _State]:
    """What is found in a text that the file might hold."""
    encode = edited.encoder(file.data)

    def state(text: str) -> _State:
        as_file = file._replace(data=encode(text))
        shown = check(as_file)
        return _State(text, shown, shown if check_all is None else check_all(as_file))

    return state


def _identity(finding: Reported) -> tuple[str, str, Patch]:
    """What makes a fix the same one in the next pass, wherever its line is by then."""
    edits = tuple(each._replace(line=0, end_line=each.end_line - each.line) for each in finding.patch.edits)
    return finding.code, finding.message, finding.patch._replace(edits=edits)


def _disjoint(findings: Iterable[Reported]) -> list[Reported]:
    """Findings whose fixes can be made together, those first that stand first; equal edits are one."""
    taken: list[Reported] = []
    for finding in sorted(findings, key=lambda each: each.patch.edits):
        others = [edit for each in taken for edit in each.patch.edits if each.patch.edits != finding.patch.edits]
        if not any(edited.overlap(edit, other) for edit in finding.patch.edits for other in others):
            taken.append(finding)
    return taken


def _made(
    before: _State, batch: Sequence[Reported], state: Callable[[str], _State], unsafe: bool
) -> tuple[_State, list[Reported], list[LeftOut]]:
    """The state after all fixes of a batch that do no harm; harmful ones are found by halving."""
    accepted: list[Reported] = []
    refused: list[LeftOut] = []
    best = before

    def attempt(part: Sequence[Reported]) -> None:
        nonlocal best
        together = [*accepted, *part]
        after, reason = _tried(before, together, state, unsafe)
        if after is not None:
            accepted.extend(part)
            best = after
        elif len(part) == 1:
            refused.append(LeftOut(part[0], reason))
        else:
            attempt(part[: len(part) // 2])
            attempt(part[len(part) // 2 :])

    attempt(batch)
    return best, accepted, refused


def _tried(
    before: _State, batch: Sequence[Reported], state: Callable[[str], _State], unsafe: bool
) -> tuple[_State | None, str]:
    """The state after some fixes, or why it is none to go on with.

    What is fixed in one place may go wrong in the next: with a layout that is kept, the sum around it can drop it. If that has
    a fix, too, it is made as well.
    """
    moves: edited.Moves = _stay
    now, edits = before, _edits(batch)
    for _ in range(MAX_CONSEQUENCES):
        after, reason = _edited(now, edits, state)
        if after is None:
            return None, reason
        moves = edited.then(moves, edited.moved(edits))
        new = {*_new(before.shown, after.shown, batch, moves), *_new(before.all, after.all, batch, moves)}
        if not new:
            return after, ""
        edits = _edits(_disjoint(each for each in new if each.is_fixable(unsafe) and each in after.shown.findings))
        if not edits or any(not each.is_fixable(unsafe) for each in new):
            break
        now = after
    worst = min(new, key=lambda each: each.is_fixable(unsafe))
    stays = any(each.code == worst.code and each.message == worst.message for each in batch)
    return None, f"{worst.code} on line {worst.line} would {'not go away' if stays else f'appear: {worst.message}'}"


def _edits(findings: Iterable[Reported]) -> list[Replacement]:
    return sorted({edit for finding in findings for edit in finding.patch.edits})


def _stay(line: int) -> range:
    return range(line, line + 1)


def _edited(now: _State, edits: Sequence[Replacement], state: Callable[[str], _State]) -> tuple[_State | None, str]:
    """The state after some edits, or why there is none."""
    text = edited.apply(now.text, edits)
    try:
        screen.parse(text)
        after = state(text)
    except screen.Unparsable as error:
        return None, f"the code {error}"
    except UnicodeEncodeError as error:
        return None, f"the file's encoding has no {error.object[error.start : error.end]!r}"
    except UnicodeError as error:
        return None, f"the file's encoding cannot write it: {error}"
    if after.shown.skipped != now.shown.skipped or after.all.skipped != now.all.skipped:
        reasons = [each.reason for each in (*after.shown.skipped, *after.all.skipped)]
        return None, f"the file {reasons[0]}" if reasons else "the file is read further than before"
    return after, ""


def _new(before: Outcome, after: Outcome, batch: Sequence[Reported], moves: edited.Moves) -> list[Reported]:
    """The findings that were not there, or were to be gone."""
    mended = {_place(finding) for finding in batch}
    seen = [each for each in before.findings if _place(each) not in mended]
    hidden = [each for each in before.suppressed if _place(each) not in mended]
    new = []
    # What was hidden and is no longer is as good as new.
    for now, pools in ((after.findings, (seen,)), (after.suppressed, (hidden, seen))):
        for finding in now:
            if not any(_taken(finding, pool, moves) for pool in pools):
                new.append(finding)
    return new


def _taken(finding: Reported, pool: list[Reported], moves: edited.Moves) -> bool:
    """Whether a finding is one of those that were there; that one is taken out."""
    same = [each for each in pool if each.code == finding.code and finding.line in moves(each.line)]
    if same:
        # Of several on one line the one that says the same is the same.
        pool.remove(next((each for each in same if each.message == finding.message), same[0]))
    return bool(same)


def _place(finding: Reported) -> tuple[str, int, int, str]:
    return finding.code, finding.line, finding.column, finding.message
