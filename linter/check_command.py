"""`stridelint check`: from the command line's words to files and settings, and from the report to text."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import config, gathering, run as runner, run_helpers, setting_options, source
from stridelint.linter.config import ConfigError, Settings
from stridelint.linter.discover import Target
from stridelint.linter.telling import tell

if TYPE_CHECKING:
    import argparse

    from stridelint.linter.findings import Report
    from stridelint.linter.fixing_command import Mended
    from stridelint.linter.project import Project
    from stridelint.linter.reports.context import Context


class Checked(NamedTuple):
    """What a run came to.

    mended: the files in which something was fixed. given: the bytes from standard input if they are to be printed fixed.
    texts: what was read from elsewhere than files. error_stale: a baseline with stale entries makes the run fail.
    fail_on: so do these findings. settings: all that files were checked with, those of the named paths first. misnamed: something
    is assumed of what is nowhere.
    """

    report: Report
    show_skipped: bool
    mended: list[Mended]
    given: bytes | None = None
    texts: Mapping[str, bytes] = {}
    error_stale: bool = False
    fail_on: str = "any"
    settings: Sequence[Settings] = ()
    misnamed: bool = False


def run(options: argparse.Namespace) -> int:
    """Check what the options say, write the report, and return the exit status."""
    if options.fail_on == "confirmed" and not options.probe:
        raise ConfigError("--fail-on confirmed needs --probe")
    if options.diff and (options.format not in (None, "text") or options.output):
        raise ConfigError("--diff prints a diff: it does not go with --format or --output")
    try:
        with _ending_cleanly():
            if options.watch:
                from stridelint.linter import watch

                return watch.run(options, _run)
            return _run(options)
    finally:
        _judge_by("", None)


@contextlib.contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Who asks the program to end gets the same as with Ctrl-C: no half of a file, no process left behind."""
    import signal
    import threading

    def end(number: int, _: object) -> None:
        raise KeyboardInterrupt("terminated")

    ours = []
    if threading.current_thread() is threading.main_thread():
        every = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
        ours = [each for each in every if signal.getsignal(each) is signal.SIG_DFL]
    for each in ours:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


def _judge_by(table: str, target: tuple[int, int] | None) -> None:
    """Judge by an operator table, for a version of torch, in this process and its children."""
    if table or target or "stridelint.rules.contract.operators" in sys.modules:
        from stridelint.rules.contract import operators

        operators.adjust(table, target)


def _run(options: argparse.Namespace) -> int:
    from stridelint.linter.reports import outputs

    if options.baseline is not None or options.update_baseline or options.prune_baseline:
        from stridelint.linter import baseline_command

        baseline_command.check_options(options)
    if options.add_noqa:
        from stridelint.linter import suppress_command

        suppress_command.check_options(options)
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
    if not is_complete or checked.misnamed:
        return 2
    failed = fails(report, checked.fail_on) or (checked.error_stale and bool(report.stale))
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
        quiet=options.quiet,
        paths=tuple(options.paths or ["."]),
        day=time.strftime("%Y-%m-%d"),
        severity_of=functools.partial(_severity_of, [each for each in checked.settings if each.severity]),
    )


def _severity_of(settings: Sequence[Settings], code: str) -> str:
    """The severity that settings give a rule; "" for its own."""
    from stridelint.linter.selection import select

    return next(filter(None, (select(each).severity_of(code) for each in settings)), "")


def fails(report: Report, fail_on: str) -> bool:
    """Whether the findings make the exit status 1."""
    if fail_on == "any":
        return bool(report.findings)
    if fail_on in config.SEVERITIES:
        grave = config.SEVERITIES[: config.SEVERITIES.index(fail_on) + 1]
        return any(finding.severity in grave for finding in report.findings)
    return any(finding.probe is not None and finding.probe.verdict == fail_on for finding in report.findings)


def _probed(options: argparse.Namespace) -> Checked:
    from stridelint.linter.probing import Prober

    settings_of = setting_options.settings_for(options)
    for settings in map(settings_of, options.paths or ["."]):
        _judge_by(settings.operators, settings.target_torch)  # the child process reads the same table
    with Prober(options.probe) as prober:
        checked = _checked(options)
        report = checked.report._replace(findings=prober.verdicts(checked.report.findings))
        return checked._replace(report=report)


def _checked(options: argparse.Namespace) -> Checked:
    watch = run_helpers.Watch(options)
    with watch.measuring():
        checked = _checked_files(options, watch)
    return checked._replace(report=checked.report._replace(statistics=watch.statistics()))


def _checked_files(options: argparse.Namespace, watch: run_helpers.Watch) -> Checked:
    settings_of = setting_options.settings_for(options)
    paths = options.paths or ["."]
    if "-" in paths and len(paths) > 1:
        raise ConfigError("'-' (standard input) does not go with other paths")
    if options.stdin_filename and paths != ["-"]:
        raise ConfigError("--stdin-filename needs '-' as the path")
    given: bytes | None = None
    texts: dict[str, bytes] = {}
    if paths == ["-"]:
        name = options.stdin_filename or "<stdin>"
        settings = settings_of(options.stdin_filename or ".")
        gathering.validate(settings)
        texts[name] = data = sys.stdin.buffer.read()
        given = data if options.fix and not options.diff else None
        try:
            gathered = gathering.of_text(name, data, settings)
        except source.Unreadable as error:
            from stridelint.linter.findings import Report, Skipped

            return Checked(Report((), (Skipped(name, str(error)),), 0, 1, 0), True, [], given)
    else:
        gathered = gathering.gather(paths, settings_of)
    if _has_baseline(gathered.asked, options):
        from stridelint.linter import baseline_command

        baseline_command.check_files(gathered.asked, options)
    project = _project(gathered.jobs, paths)
    cache = run_helpers.cache_of(options, gathered.jobs, project)
    usable = gathering.validated(gathered, functools.partial(run_helpers.is_known, cache))
    if usable is not gathered:
        project = _project(usable.jobs, paths)
        cache = run_helpers.cache_of(options, usable.jobs, project)
    gathering.tell_unusable(usable.unusable)
    _tell_unmeasured(usable.asked)
    asked, every = usable.asked, usable.jobs
    processes = max((settings.jobs for settings in asked), default=0)
    with run_helpers.helping(options, cache, watch) as helpers:
        report = runner.check_all(every, processes, usable.excluded, project, helpers)
    report = _with_unusable(_without_ignored(report, every), usable.unusable)
    report = _with_local_rules(report, asked)
    mended: list[Mended] = []
    if options.fix or options.diff:
        from stridelint.linter import fixing_command

        report, mended = fixing_command.fix(report, every, options, project)
        texts.update((each.file.path, each.fixes.data) for each in mended if each.file.path in texts)
    report = _without_known(report, asked, every, texts, options)
    if options.add_noqa:
        from stridelint.linter import suppress_command

        report = suppress_command.add(report, every)
    used = dict.fromkeys([*(settings for _, settings in every), *(each.settings for each in usable.unusable)])
    shows_skipped = not report.skipped or any(map(_shows_skipped, used))
    error_stale = options.error_stale_baseline or any(settings.error_stale_baseline for settings in asked)
    every_settings = tuple(dict.fromkeys([*asked, *used]))
    misnamed = _is_misnamed(paths, asked, every, options)
    return Checked(report, shows_skipped, mended, given, texts, error_stale, _fail_on(asked), every_settings, misnamed)


def _is_misnamed(
    paths: Sequence[str], asked: Sequence[Settings], jobs: Sequence[runner.Job], options: argparse.Namespace
) -> bool:
    """Whether something is assumed of what is nowhere, though it should be there; it is told in any case."""
    if not any(settings.assume for settings in asked):
        return False
    from stridelint.linter import assumed_names

    return assumed_names.tell_missing(
        list(map(assumed_names.Asked, paths, asked)), jobs, is_option=options.assume is not None
    )


def _tell_unmeasured(asked: Iterable[Settings]) -> None:
    """Say for which versions of torch the table that ships tells nothing."""
    targets = {each.target_torch for each in asked if each.target_torch is not None and not each.operators}
    if not targets:
        return
    from stridelint.linter.selection import dotted
    from stridelint.rules.contract.torch_versions import NEWEST, OLDEST

    for target in sorted(targets):
        if not OLDEST <= target <= NEWEST:
            tell(
                f"nothing was measured for torch {dotted(target)}, only for {dotted(OLDEST)} and {dotted(NEWEST)}: "
                "findings may not hold there"
            )


def _has_baseline(asked: Sequence[Settings], options: argparse.Namespace) -> bool:
    named = options.baseline is not None or options.update_baseline or options.prune_baseline
    return not options.diff and (named or any(settings.baseline for settings in asked))


def _without_known(
    report: Report,
    asked: Sequence[Settings],
    jobs: Sequence[runner.Job],
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


def _project(jobs: Sequence[runner.Job], paths: list[str]) -> Project | None:
    """Where imports between the files are followed: among those of the folders that are checked."""
    found = [item.path for item, _ in jobs if isinstance(item, Target) and not item.explicit]
    if not found:
        return None
    from stridelint.linter.project import project_of

    return project_of(found, paths)


def _fail_on(asked: Iterable[Settings]) -> str:
    """Which findings make the run fail: the most that any of the settings name."""
    wanted = {settings.fail_on for settings in asked}
    order = ("any", *reversed(config.SEVERITIES), "confirmed")
    return min(wanted, key=order.index, default="any")


def _without_ignored(report: Report, jobs: Iterable[runner.Job]) -> Report:
    """The report without the files that were not analysed where that is to be ignored."""
    picky = {item.path: settings for item, settings in jobs if settings.per_file_ignores} if report.skipped else {}
    if not picky:
        return report
    from stridelint.linter.selection import select

    kept = tuple(
        each
        for each in report.skipped
        if each.path not in picky or not select(picky[each.path]).ignores(each.path, "TLC901")
    )
    return report._replace(skipped=kept)


def _with_unusable(report: Report, unusable: Sequence[gathering.Unusable]) -> Report:
    """The report with the files whose own configuration is wrong, as files that were not analysed."""
    if not unusable:
        return report
    from stridelint.linter.selection import select

    skipped = [
        skipped
        for each in unusable
        for skipped in each.skipped()
        if not select(each.settings).ignores(skipped.path, "TLC901")
    ]
    checked = report.checked + sum(len(each.paths) for each in unusable)
    return report._replace(skipped=tuple(sorted((*report.skipped, *skipped))), checked=checked)


def _with_local_rules(report: Report, asked: Iterable[Settings]) -> Report:
    """The report with what is wrong with the project's own rules."""
    for file in sorted({settings.file for settings in asked if settings.distrusted}):
        tell(
            f"note: the local-rules of {file} are not run: it is not the configuration of the current folder "
            "(--config would name it)"
        )
    broken = [settings for settings in asked if settings.local_rules]
    if not broken:
        return report
    from stridelint.linter import local_rules, selection
    from stridelint.linter.findings import Skipped

    problems = {
        Skipped(local_rules.shown(each.path), f"{each.reason} (line {each.line})" if each.line else each.reason)
        for settings in broken
        for each in selection.loaded(settings).problems
    }
    return report._replace(skipped=tuple(sorted({*report.skipped, *problems})))


def _shows_skipped(settings: Settings) -> bool:
    from stridelint.linter.selection import select

    return select(settings).shows_skipped
