"""`check --add-noqa`: hides what is found by comments, so that a project can start from where it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stridelint.linter import fixing_files, run as runner, source
from stridelint.linter.config import ConfigError
from stridelint.linter.findings import Report, Reported
from stridelint.linter.suppress_adding import added, grouped
from stridelint.linter.telling import counted, tell
from stridelint.rules.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    import argparse

    from stridelint.linter.run import Job


def check_options(options: argparse.Namespace) -> None:
    """Refuse what does not go together, before any work. Raises ConfigError."""
    for other in ("fix", "diff", "update_baseline", "prune_baseline"):
        if getattr(options, other):
            raise ConfigError(f"--add-noqa does not go with --{other.replace('_', '-')}: run them one after the other")
    if options.paths == ["-"]:
        raise ConfigError("--add-noqa needs files: it writes into them")


def add(report: Report, jobs: Iterable[Job]) -> Report:
    """Write a comment for each finding, and report what has none."""
    by_path = {job[0].path: job for job in jobs}
    hidden: list[Reported] = []
    files = 0
    for path, findings in grouped(each for each in report.findings if each.code != UnusedSuppression.code):
        try:
            file = runner.read(by_path[path])
            done = added(file, findings)
            if done.hidden:
                fixing_files.write(path, file.data, done.data)
                files += 1
                hidden += done.hidden
            if done.left_out:
                tell(f"{path}: {len(findings) - len(done.hidden)} without a comment: {done.left_out}")
        except KeyError:
            tell(f"{path}: left as it is: the file is none of those that are checked")
        except (source.Unreadable, fixing_files.NotWritten) as error:
            tell(f"{path}: left as it is: {error}")
    tell(f"added noqa for {counted(len(hidden), 'finding')} in {counted(files, 'file')}")
    gone = {_key(each) for each in hidden}
    return report._replace(
        findings=tuple(each for each in report.findings if _key(each) not in gone),
        hidden=tuple(sorted((*report.hidden, *hidden))),
        suppressed=report.suppressed + len(hidden),
    )


def _key(finding: Reported) -> tuple[object, ...]:
    return finding.path, finding.line, finding.column, finding.end_line, finding.end_column, finding.code
