"""`check --fix` and `--diff`: from a report to files that are fixed, or to a diff of them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import fixing, fixing_files, run as runner, source
from stridelint.linter.config import Settings
from stridelint.linter.findings import Report, Reported, Skipped
from stridelint.linter.source import Source
from stridelint.linter.telling import tell
from stridelint.rules.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    import argparse

    from stridelint.linter.project import Project
    from stridelint.linter.run import Job


class Mended(NamedTuple):
    """A file with the fixes made in memory."""

    file: Source
    fixes: fixing.Fixes

    @property
    def is_changed(self) -> bool:
        """Whether anything was fixed."""
        return self.fixes.data != self.file.data


def fix(
    report: Report, jobs: Iterable[Job], options: argparse.Namespace, project: Project | None = None
) -> tuple[Report, list[Mended]]:
    """Make all fixes, write them unless a diff is wanted, and report what is still found. project: of the run."""
    by_path = {job[0].path: job for job in jobs}
    for path in dict.fromkeys(each.path for each in report.findings if each.path.endswith(source.NOTEBOOK)):
        tell(f"{path}: not fixed: notebooks are only read")
    paths = dict.fromkeys(each.path for each in report.findings if each.is_fixable(options.unsafe_fixes))
    mended = []
    for path in paths:
        try:
            file = runner.read(by_path[path])
        except source.Unreadable as error:
            tell(f"{path}: not fixed: {error}")
            continue
        comments = [each for each in report.findings if each.path == path and each.code == UnusedSuppression.code]
        done = Mended(file, fixes_of(file, by_path[path][1], options.unsafe_fixes, project, comments))
        for each in done.fixes.left_out:
            tell(f"{path}:{each.finding.line}: the fix of {each.finding.code} is left out: {each.reason}")
        if not done.is_changed:
            continue
        if not options.diff and path in _files(by_path):
            try:
                fixing_files.write(path, file.data, done.fixes.data)
            except fixing_files.NotWritten as error:
                tell(f"{path}: not fixed: {error}")
                continue
        mended.append(done)
    return _after(report, mended), mended


def fixes_of(
    file: Source,
    settings: Settings,
    unsafe: bool = False,
    project: Project | None = None,
    comments: Sequence[Reported] = (),
) -> fixing.Fixes:
    """The fixes of one file, made in memory; findings of rules that are not selected must not appear either.

    project: where its imports are followed. comments: findings about comments that are to be fixed, too.
    """
    return fixing.fixes_of(file, *_checks(settings, project), unsafe, comments)


def fix_of(file: Source, finding: Reported, settings: Settings, unsafe: bool = False) -> tuple[bytes, str]:
    """The fix of one finding alone, made in memory; see `fixing.fix_of`."""
    return fixing.fix_of(file, finding, *_checks(settings), unsafe)


def _checks(settings: Settings, project: Project | None = None) -> tuple[fixing.Check, fixing.Check | None]:
    every = settings._replace(select=(), ignore=(), extend_select=(*settings.select, *settings.extend_select))

    def check(wanted: Settings) -> fixing.Check:
        return lambda file: runner.check_file((file, wanted), project)

    return check(settings), check(every) if every != settings else None


def _files(by_path: Mapping[str, Job]) -> set[str]:
    """The paths of files, as opposed to standard input."""
    return {path for path, job in by_path.items() if not isinstance(job[0], Source)}


def _after(report: Report, mended: Iterable[Mended]) -> Report:
    """The report with the fixed files as they are now."""
    now = {each.file.path: each.fixes for each in mended}
    findings: list[Reported] = [each for each in report.findings if each.path not in now]
    findings += _comments_left(report, now)
    skipped: list[Skipped] = [each for each in report.skipped if each.path not in now]
    hidden: list[Reported] = [each for each in report.hidden if each.path not in now]
    for fixes in now.values():
        findings += fixes.outcome.findings
        skipped += fixes.outcome.skipped
        hidden += fixes.outcome.suppressed
    fixed = sum(len(fixes.fixed) for fixes in now.values())
    return report._replace(
        findings=tuple(sorted(findings)),
        skipped=tuple(sorted(skipped)),
        hidden=tuple(sorted(hidden)),
        fixed=fixed,
    )


def _comments_left(report: Report, now: Mapping[str, fixing.Fixes]) -> Iterator[Reported]:
    """The findings about comments that are not fixed, where these stand now."""
    for finding in report.findings:
        fixes = now.get(finding.path)
        if fixes is not None and finding.code == UnusedSuppression.code and finding not in fixes.fixed:
            lines = source.lines(source.decode(fixes.data))
            same = [number for number, line in enumerate(lines, 1) if line == finding.excerpt]
            if same:
                line = min(same, key=lambda number: abs(number - finding.line))
                yield finding._replace(line=line, end_line=line)


def show(changed: Collection[Mended], report: Report | None) -> int:
    """Print a diff of what would change, and in a word how much that is; 1 if it is something.

    report: names the files that could not be analysed, if the user wants to hear of them.
    """
    for each in changed:
        sys.stdout.writelines(
            fixing_files.diff(each.file.path, each.file.data, each.fixes.data, plain=not sys.stdout.isatty())
        )
    sys.stdout.flush()
    number = sum(len(each.fixes.fixed) for each in changed)
    files = f"{len(changed)} file{'s' * (len(changed) != 1)}"
    for skipped in report.skipped if report is not None else ():
        tell(f"{skipped.path}: {skipped.reason}")
    print(
        f"{number} finding{'s' * (number != 1)} in {files} would be fixed." if changed else "No fixes.", file=sys.stderr
    )
    return 1 if changed else 0


def print_fixed(given: bytes, mended: Collection[Mended]) -> None:
    """Print the text from standard input as it is after the fixes, byte for byte."""
    sys.stdout.flush()
    sys.stdout.buffer.write(next((each.fixes.data for each in mended), given))
    sys.stdout.buffer.flush()
