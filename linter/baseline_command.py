"""`check --baseline`: takes the findings out of a report that a baseline knows, and writes baselines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from stridelint.linter import baseline, writing
from stridelint.linter.config import ConfigError, Settings
from stridelint.linter.findings import Report, Reported
from stridelint.linter.fingerprints import Sources
from stridelint.linter.telling import tell

if TYPE_CHECKING:
    import argparse

_MOST_SHOWN = 10


def path_of(settings: Settings, options: argparse.Namespace) -> str:
    """The baseline to compare with; "" for none. What the command line names wins over the configuration."""
    if options.no_baseline:
        return ""
    if options.baseline is not None:
        return str(options.baseline)
    return os.path.join(settings.root, settings.baseline) if settings.baseline else ""


def check_options(options: argparse.Namespace) -> None:
    """Refuse what does not go together, before any work. Raises ConfigError."""
    writes = [name for name in ("update_baseline", "prune_baseline") if getattr(options, name)]
    named = ["--" + name.replace("_", "-") for name in writes]
    if len(writes) > 1:
        raise ConfigError(f"{named[0]} does all that {named[1]} does: name one of them")
    if writes and options.no_baseline:
        raise ConfigError(f"{named[0]} does not go with --no-baseline")
    if writes and options.diff:
        raise ConfigError(f"{named[0]} does not go with --diff")
    if writes and options.paths == ["-"]:
        raise ConfigError(f"{named[0]} needs files: standard input has no place in a baseline")
    if options.baseline is not None and (not options.baseline or os.path.isdir(options.baseline)):
        raise ConfigError(f"--baseline needs the name of a file, not {options.baseline!r}")


def check_files(asked: Iterable[Settings], options: argparse.Namespace) -> None:
    """Read the baselines, so that a wrong one does not cost a long run. Raises ConfigError."""
    for file in sorted({path_of(settings, options) for settings in asked}):
        if file:
            _read(file, options)
            obstacle = writing.obstacle(file) if options.update_baseline or options.prune_baseline else ""
            if obstacle:
                raise ConfigError(f"cannot write the baseline {file}: {obstacle}")


def _read(file: str, options: argparse.Namespace) -> list[baseline.Entry]:
    try:
        return baseline.read(file)
    except FileNotFoundError:
        if options.update_baseline:
            return []
        raise ConfigError(f"no such baseline: {file}; make it with --update-baseline") from None


def apply(
    report: Report,
    asked: Iterable[Settings],
    jobs: Mapping[str, Settings],
    sources: Sources,
    options: argparse.Namespace,
) -> Report:
    """The report with the findings that baselines know set apart, and with stale entries; writes baselines if asked to.

    asked: the settings of what the user named, even if that has no files. jobs: those of each path that was checked.
    """
    groups: dict[str, dict[str, Settings]] = {}
    first: dict[str, Settings] = {}
    for settings in asked:
        groups.setdefault(path_of(settings, options), {})
        first.setdefault(path_of(settings, options), settings)
    for path, settings in jobs.items():
        groups[path_of(settings, options)][path] = settings
    files = [file for file in groups if file]
    if not files:
        if options.update_baseline or options.prune_baseline:
            raise ConfigError("no baseline to write: name one with --baseline FILE, or baseline in [tool.stridelint]")
        return report
    unjudged = {skipped.path for skipped in report.skipped}
    file_of = {path: file for file, paths in groups.items() for path in paths}
    findings = [finding for finding in report.findings if not file_of.get(finding.path, files[0])]
    known: list[Reported] = []
    stale: list[tuple[str, baseline.Entry]] = []
    for file in sorted(files):
        # What was found on the way, in a file that was not asked for, counts as in the first.
        inside = [finding for finding in report.findings if file_of.get(finding.path, files[0]) == file]
        paths = {path: settings for path, settings in groups[file].items() if path not in unjudged}
        compared = _compared(file, inside, paths, first[file], sources, options)
        findings += [finding for finding, is_known in zip(inside, compared.known) if not is_known]
        known += [finding for finding, is_known in zip(inside, compared.known) if is_known]
        stale += [(file, entry) for entry in compared.stale]
    return report._replace(
        findings=tuple(sorted(findings)), known=tuple(sorted(known)), stale=tuple(stale), has_baseline=True
    )


def _compared(
    file: str,
    findings: Sequence[Reported],
    paths: Mapping[str, Settings],
    others: Settings,
    sources: Sources,
    options: argparse.Namespace,
) -> baseline.Compared:
    """How the findings stand to one baseline, after writing it anew if asked to.

    paths: the files that were judged, with their settings. others: the settings for files that are no longer there.
    """
    entries = _read(file, options)
    found = [_entry(finding, file, sources) for finding in findings]
    checked = {baseline.relative(path, file): settings for path, settings in paths.items()}
    folder = os.path.dirname(os.path.realpath(file))

    def would_report(entry: baseline.Entry) -> bool:
        settings = checked.get(entry.path)
        if settings is None and not os.path.exists(os.path.join(folder, entry.path)):
            settings = others
        return settings is not None and _reports(settings, entry)

    compared = baseline.compare(entries, found, would_report)
    if options.update_baseline:
        _write(file, [*found, *compared.kept], f"{compared.known.count(False)} new, {_total(compared.stale)} gone")
        return baseline.Compared([True] * len(found), [], [])
    if options.prune_baseline:
        still = [entry for entry, is_known in zip(found, compared.known) if is_known]
        _write(file, [*still, *compared.kept], f"{_total(compared.stale)} gone")
        return compared._replace(stale=[])
    return compared


def _reports(settings: Settings, entry: baseline.Entry) -> bool:
    """Whether a run with these settings would report such a finding; a rule that no longer exists never comes back."""
    from stridelint.linter.config import CONFIDENCES
    from stridelint.linter.selection import loaded, select
    from stridelint.rules.events import Site
    from stridelint.rules.registry import by_code
    from stridelint.rules.rule import Finding, Severity

    selected = select(settings)
    rule = next((rule for rule in selected.reporting if rule.code == entry.code), None)
    if rule is None:
        # Of local rules nothing is known in a run without them, or with broken ones.
        is_known_of = entry.code.startswith("TLC") or (settings.local_rules and not loaded(settings).problems)
        return bool(is_known_of) and entry.code not in by_code()
    sure = CONFIDENCES.get(entry.confidence, max(CONFIDENCES.values()))
    severity = next((each for each in Severity if each.value == entry.severity), None)
    return selected.shows(Finding(rule, Site(), "", sure, severity=severity))


def _entry(finding: Reported, file: str, sources: Sources) -> baseline.Entry:
    scope, code, fingerprint = sources.identity(finding)
    path = baseline.relative(finding.path, file)
    return baseline.Entry(path, finding.code, scope, code, fingerprint, finding.severity, finding.confidence)


def _write(file: str, entries: Sequence[baseline.Entry], changes: str) -> None:
    text = baseline.render(entries)
    try:
        with open(file, encoding="utf-8") as old:
            is_same = old.read() == text
    except (OSError, ValueError):
        is_same = False
    if not is_same:
        try:
            writing.write(file, text)
        except OSError as error:
            raise ConfigError(f"cannot write the baseline {file}: {error.strerror or error}") from None
    number = _total(entries)
    tell(f"{file}: {number} finding{'s' * (number != 1)} ({changes})")


def _total(entries: Iterable[baseline.Entry]) -> int:
    return sum(entry.times for entry in entries)


def tell_stale(report: Report, is_error: bool) -> None:
    """Name the entries whose findings are gone, on standard error."""
    files: dict[str, list[baseline.Entry]] = {}
    for file, entry in report.stale:
        files.setdefault(file, []).append(entry)
    for file, entries in files.items():
        number = _total(entries)
        verb = "is" if number == 1 else "are"
        kind = "error" if is_error else "note"
        tell(
            f"{kind}: {file}: {number} finding{'s' * (number != 1)} of the baseline {verb} gone; "
            "take them out with --prune-baseline"
        )
        for entry in entries[:_MOST_SHOWN]:
            where = f" in {entry.scope}" if entry.scope else ""
            tell(f"  {entry.path}: {entry.code}{where}: {entry.source}")
        if len(entries) > _MOST_SHOWN:
            tell(f"  and {len(entries) - _MOST_SHOWN} more")
