"""`stridelint check`: from the command line's words to files and settings, and from the report to text."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stridelint.linter import config, run as runner, source
from stridelint.linter.config import ConfigError, Settings
from stridelint.linter.discover import Target, discover, unique

if TYPE_CHECKING:
    import argparse

    from stridelint.linter.findings import Report
    from stridelint.linter.fixing_command import Mended
    from stridelint.linter.project import Project
    from stridelint.linter.reports.context import Context

T = TypeVar("T")


class Checked(NamedTuple):
    """What a run came to.

    mended: the files in which something was fixed. given: the bytes from standard input if they are to be printed fixed.
    texts: what was read from elsewhere than files. error_stale: a baseline with stale entries makes the run fail.
    """

    report: Report
    show_skipped: bool
    mended: list[Mended]
    given: bytes | None = None
    texts: Mapping[str, bytes] = {}
    error_stale: bool = False


def run(options: argparse.Namespace) -> int:
    """Check what the options say, write the report, and return the exit status."""
    if options.fail_on != "any" and not options.probe:
        raise ConfigError(f"--fail-on {options.fail_on} needs --probe")
    if options.diff and (options.format not in (None, "text") or options.output):
        raise ConfigError("--diff prints a diff: it does not go with --format or --output")
    if options.operators:
        with _operators(options.operators):
            return _run(options)
    return _run(options)


@contextlib.contextmanager
def _operators(path: str) -> Iterator[None]:
    """Judge by the operator table in a file."""
    from stridelint.rules.contract import operators

    try:
        operators.use(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"--operators: cannot use {path}: {reason}") from None
    try:
        yield
    finally:
        operators.use(None)


def _run(options: argparse.Namespace) -> int:
    from stridelint.linter.reports import outputs

    if options.baseline is not None or options.update_baseline or options.prune_baseline:
        from stridelint.linter import baseline_command

        baseline_command.check_options(options)
    wanted = outputs.wanted(options.format, options.output)
    checked = _probed(options) if options.probe and not options.diff else _checked(options)
    report = checked.report
    if options.diff:
        from stridelint.linter import fixing_command

        status = fixing_command.show(checked.mended, report if checked.show_skipped else None)
        return 0 if options.exit_zero else status
    stdout = sys.stdout if checked.given is None else sys.stderr
    is_complete = outputs.write_all(wanted, report, _context(checked, options), stdout)
    if checked.given is not None:
        from stridelint.linter import fixing_command

        fixing_command.print_fixed(checked.given, checked.mended)
    if report.stale:
        from stridelint.linter import baseline_command

        baseline_command.tell_stale(report, checked.error_stale)
    if not is_complete:
        return 2
    failed = fails(report, options.fail_on) or (checked.error_stale and bool(report.stale))
    return 1 if failed and not options.exit_zero else 0


def _context(checked: Checked, options: argparse.Namespace) -> Context:
    import time

    from stridelint.linter.fingerprints import Sources
    from stridelint.linter.reports.context import Context, root_of

    return Context(
        Sources(checked.texts),
        root_of(os.getcwd()),
        show_skipped=checked.show_skipped,
        show_suppressed=options.show_suppressed,
        statistics=options.statistics,
        unsafe_fixes=options.unsafe_fixes,
        paths=tuple(options.paths or ["."]),
        day=time.strftime("%Y-%m-%d"),
    )


def fails(report: Report, fail_on: str) -> bool:
    """Whether the findings make the exit status 1."""
    if fail_on == "any":
        return bool(report.findings)
    return any(finding.probe is not None and finding.probe.verdict == fail_on for finding in report.findings)


def _probed(options: argparse.Namespace) -> Checked:
    from stridelint.linter.probing import Prober

    with Prober(options.probe) as prober:
        checked = _checked(options)
        report = checked.report._replace(findings=prober.verdicts(checked.report.findings))
        return checked._replace(report=report)


def _checked(options: argparse.Namespace) -> Checked:
    settings_of = _settings(options)
    paths = options.paths or ["."]
    if "-" in paths and len(paths) > 1:
        raise ConfigError("'-' (standard input) does not go with other paths")
    if options.stdin_filename and paths != ["-"]:
        raise ConfigError("--stdin-filename needs '-' as the path")
    jobs: dict[Settings, list[runner.Job]] = {}
    excluded = 0
    given: bytes | None = None
    texts: dict[str, bytes] = {}
    asked: list[Settings] = []
    if paths == ["-"]:
        settings = settings_of(options.stdin_filename or ".")
        _validate(settings)
        asked.append(settings)
        name, data = options.stdin_filename or "<stdin>", sys.stdin.buffer.read()
        given = data if options.fix and not options.diff else None
        texts[name] = data
        try:
            jobs[settings] = [(source.from_bytes(name, data, explicit=True), settings)]
        except source.Unreadable as error:
            from stridelint.linter.findings import Report, Skipped

            return Checked(Report((), (Skipped(name, str(error)),), 0, 1, 0), True, [], given)
    else:
        for path in paths:
            if not os.path.exists(path):
                raise ConfigError(f"no such file or folder: {path}")
        targets = []
        owner: dict[str, Settings] = {}
        for path in paths:
            settings = settings_of(path)
            _validate(settings)
            asked.append(settings)
            found = discover(path, settings)
            excluded += found.excluded
            targets += found.targets
            owner.update((target.path, settings) for target in found.targets)
        for target in unique(targets):
            jobs.setdefault(owner[target.path], []).append((target, owner[target.path]))
    if _has_baseline(asked, options):
        from stridelint.linter import baseline_command

        baseline_command.check_files(asked, options)
    processes = _option("--jobs", config.jobs, options.jobs) or max((s.jobs for s in jobs), default=0)
    every = [job for batch in jobs.values() for job in batch]
    report = runner.check_all(every, processes, excluded, _project(every, paths))
    mended: list[Mended] = []
    if options.fix or options.diff:
        from stridelint.linter import fixing_command

        report, mended = fixing_command.fix(report, every, options)
        texts.update((each.file.path, each.fixes.data) for each in mended if each.file.path in texts)
    report = _without_known(report, asked, every, texts, options)
    shows_skipped = not report.skipped or any(_shows_skipped(settings) for settings in jobs)
    error_stale = options.error_stale_baseline or any(settings.error_stale_baseline for settings in asked)
    return Checked(report, shows_skipped, mended, given, texts, error_stale)


def _has_baseline(asked: list[Settings], options: argparse.Namespace) -> bool:
    named = options.baseline is not None or options.update_baseline or options.prune_baseline
    return not options.diff and (named or any(settings.baseline for settings in asked))


def _without_known(
    report: Report,
    asked: list[Settings],
    jobs: list[runner.Job],
    texts: Mapping[str, bytes],
    options: argparse.Namespace,
) -> Report:
    """The report without the findings that a baseline knows; they are set apart."""
    if not _has_baseline(asked, options):
        return report
    from stridelint.linter import baseline_command
    from stridelint.linter.fingerprints import Sources

    return baseline_command.apply(
        report, asked, {item.path: settings for item, settings in jobs}, Sources(texts), options
    )


def _project(jobs: list[runner.Job], paths: list[str]) -> Project | None:
    """Where imports between the files are followed: among those of the folders that are checked."""
    targets = [item for item, _ in jobs if isinstance(item, Target) and not item.explicit]
    if not targets:
        return None
    from stridelint.linter.project import project_of

    return project_of(targets, paths)


def _settings(options: argparse.Namespace) -> Callable[[str], Settings]:
    """How a path gets its settings: from configuration, with the options on top."""
    changes: dict[str, Any] = {}
    for name in ("select", "ignore", "extend_select"):
        given = getattr(options, name)
        if given is not None:
            changes[name] = tuple(code.strip() for part in given for code in part.split(",") if code.strip())
    if options.select is not None:
        # A selection on the command line starts afresh: what the file ignores may be just what is asked for.
        changes = {"ignore": (), "extend_select": (), **changes}
    if options.min_confidence is not None:
        changes["min_confidence"] = _option("--min-confidence", config.confidence, options.min_confidence)
    if options.assume:
        changes["assume"] = _option("--assume", config.assumptions, options.assume)
    if options.force_exclude:
        changes["force_exclude"] = True
    if options.isolated:
        isolated = Settings(root=os.getcwd())._replace(**changes)
        return lambda path: isolated
    if options.config is not None:
        read = config.read(options.config)
        assert read is not None
        configured = read._replace(**changes)
        return lambda path: configured
    return lambda path: config.find(path)._replace(**changes)


def _option(name: str, convert: Callable[[object], T], value: object) -> T | None:
    if value is None:
        return None
    try:
        return convert(value)
    except ConfigError as error:
        raise ConfigError(f"{name} {error}") from None


def _validate(settings: Settings) -> None:
    """Wrong codes are an error even if no file needs the rules."""
    if settings.select or settings.ignore or settings.extend_select:
        from stridelint.linter.selection import select

        select(settings)


def _shows_skipped(settings: Settings) -> bool:
    from stridelint.linter.selection import select

    return select(settings).shows_skipped
