"""Findings for people: one line each, the source with the place underlined, and the story."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.linter.findings import Report, Reported, Verdict
from stridelint.linter.reports.cutting import part
from stridelint.linter.reports.escaping import line, visible
from stridelint.linter.statistics import PHASES, Statistics
from stridelint.linter.telling import counted

if TYPE_CHECKING:
    from stridelint.linter.reports.context import Context

_VERDICTS = {"confirmed": "32", "refuted": "31", "inconclusive": "33"}
_COLOURS = {"error": "31", "warning": "33", "note": "36"}


def render(report: Report, context: Context) -> str:
    """The report. What `--fix` can fix is marked `[*]`, with `unsafe_fixes` all that can be fixed."""
    return "".join(f"{each}\n" for each in _lines(report, context))


def _lines(report: Report, context: Context) -> Iterator[str]:
    paint = _paint if context.colour else _plain
    for finding in report.findings:
        yield from _finding(finding, context)
    if context.show_skipped:
        for skipped in report.skipped:
            place = paint("1", line(skipped.path))
            yield f"{place}: {paint('36', 'TLC901')} [could-not-analyse] {line(skipped.reason)}"
    if context.statistics:
        yield from _statistics(report)
    if context.quiet:
        return
    if report.findings:
        yield ""
    yield summary(report)
    fixable = _fixable(report, context.unsafe_fixes)
    if fixable:
        yield fixable


def _finding(finding: Reported, context: Context) -> Iterator[str]:
    paint = _paint if context.colour else _plain
    place = paint("1", line(finding.path)) + f"{context.at(finding.path, finding.line, finding.column)}:"
    code = paint(_COLOURS.get(finding.severity, "1"), finding.code)
    sure = " (possible)" if finding.confidence == "possible" else ""
    star = f" [{paint('36', '*')}]" if finding.is_fixable(context.unsafe_fixes) else ""
    yield f"{place} {code} [{line(finding.name)}]{star} {line(finding.message)}{sure}"
    for each in _excerpt(finding, str(context.sources.cell(finding.path, finding.line)[1])):
        yield paint("2", each)
    for note in finding.notes:
        yield f"    {line(note.path)}{context.at(note.path, note.line)}: {paint('36', 'note')}: {line(note.message)}"
    if finding.probe is not None:
        yield f"    {paint(_VERDICTS[finding.probe.verdict], 'probe')}: {line(verdict(finding.probe))}"


def verdict(probe: Verdict) -> str:
    """What a replay came to, in one line."""
    where = "fake tensors, a device is missing" if probe.device == "fake" else probe.device
    told = probe.observed if probe.verdict == "confirmed" else probe.reason
    return f"{probe.verdict} on {where}, torch {probe.torch}: {told}"


def _excerpt(finding: Reported, number: str) -> Iterator[str]:
    source = finding.excerpt.rstrip()
    if not source:
        return
    stop = finding.end_column - 1 if finding.end_line == finding.line else len(source)
    source, start, stop = part(source, finding.column - 1, stop)
    yield f"    {number} | {visible(source)}"
    # Tabs stay tabs, so that the carets stand right at any tab width.
    shown = visible(source[:start])
    before = "".join("\t" if character == "\t" else " " * _width(character) for character in shown)
    marks = "^" * max(1, sum(map(_width, visible(source[start:stop]))))
    yield f"    {' ' * len(number)} | {before}{marks}"


def _width(character: str) -> int:
    """Columns that a terminal gives a character."""
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _statistics(report: Report) -> Iterator[str]:
    counts: dict[tuple[str, str], int] = {}
    for finding in report.findings:
        counts[finding.code, finding.name] = counts.get((finding.code, finding.name), 0) + 1
    if counts:
        yield ""
    for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:6} {code} {name}"
    if report.statistics is not None:
        yield from _times(report.statistics, report.checked)


def _times(times: Statistics, checked: int) -> Iterator[str]:
    """Where the time went. The phases of several processes add up to more than the run took."""
    yield ""
    yield f"{times.seconds:9.3f} s in all; the outcome of {times.cached} of {counted(checked, 'file')} was known"
    for name, seconds in times.phases.items():
        yield f"{seconds:9.3f} s {PHASES[name]}"
    for code, seconds in times.rules.items():
        if seconds >= 0.0005:
            yield f"{seconds:11.3f} s {code}"


def summary(report: Report) -> str:
    """What the run came to, in one line."""
    number = len(report.findings)
    files = len({finding.path for finding in report.findings})
    text = f"Found {counted(number, 'finding')} in {counted(files, 'file')}" if number else "No findings"
    details = [f"{counted(report.checked, 'file')} checked"]
    if report.fixed:
        details.insert(0, f"{report.fixed} fixed")
    if report.skipped:
        details.append(f"{len({skipped.path for skipped in report.skipped})} skipped")
    if report.suppressed:
        details.append(f"{report.suppressed} suppressed")
    if report.has_baseline:
        details.append(f"{len(report.known)} in the baseline")
    if report.excluded:
        details.append(f"{counted(report.excluded, 'file')} excluded")
    verdicts = [finding.probe.verdict for finding in report.findings if finding.probe is not None]
    details += [f"{verdicts.count(kind)} {kind}" for kind in _VERDICTS if kind in verdicts]
    return f"{text} ({', '.join(details)})."


def _fixable(report: Report, unsafe: bool) -> str:
    """How many findings can be fixed, and how."""
    safe = sum(finding.is_fixable() for finding in report.findings)
    every = sum(finding.is_fixable(unsafe=True) for finding in report.findings)
    if not every:
        return ""
    if unsafe:
        return f"{every} fixable with --fix --unsafe-fixes."
    more = f"{every - safe} more with --unsafe-fixes" if every > safe else ""
    if not safe:
        return f"{every} fixable with --fix --unsafe-fixes, none with --fix alone."
    return f"{safe} fixable with --fix{', ' if more else ''}{more}."


def _paint(style: str, text: str) -> str:
    return f"\033[{style}m{text}\033[0m"


def _plain(style: str, text: str) -> str:
    return text
