"""Annotations for GitHub Actions: workflow commands on standard output, the gravest first, since GitHub shows few of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stridelint.linter.findings import Report, Reported
from stridelint.linter.reports.context import SEVERITIES, Context
from stridelint.linter.reports.escaping import line
from stridelint.linter.reports.text import summary, verdict

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
# What GitHub shows of the annotations of one step, for each level.
SHOWN = 10


def render(report: Report, context: Context) -> str:
    """One command for each finding, then what the log alone tells."""
    ordered = sorted(report.findings, key=lambda finding: (SEVERITIES.index(finding.severity), finding))
    lines = [_annotation(finding, context) for finding in ordered]
    if context.show_skipped:
        lines += [_plain(f"{skipped.path}: TLC901 [could-not-analyse] {skipped.reason}") for skipped in report.skipped]
    lines += [_plain(told) for told in (summary(report), *_cut(ordered))]
    return "".join(f"{each}\n" for each in lines)


def _annotation(finding: Reported, context: Context) -> str:
    first, column = context.sources.in_file(finding.path, finding.line, finding.column)
    last, end_column = context.sources.in_file(finding.path, finding.end_line, finding.end_column, behind=True)
    place = {"file": line(context.place(finding.path)), "line": str(first)}
    if first == last:  # GitHub refuses columns of a range of lines
        place |= {"col": str(column), "endColumn": str(end_column)}
    else:
        place["endLine"] = str(last)
    place["title"] = line(f"{finding.code} {finding.name}")
    properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::{LEVELS[finding.severity]} {properties}::{_data(chr(10).join(_message(finding, context)))}"


def _message(finding: Reported, context: Context) -> Iterator[str]:
    message = context.told(finding.path, finding.line, line(finding.message))
    yield message + (" (possible)" if finding.confidence == "possible" else "")
    for note in finding.notes:
        at = line(context.place(note.path)) + context.at(note.path, note.line)
        where = context.where(note.path, note.line) if note.path == finding.path else at
        yield f"{where}: {line(note.message)}"
    if finding.probe is not None:
        yield f"probe: {line(verdict(finding.probe))}"


def _cut(findings: list[Reported]) -> Iterator[str]:
    counts = Counter(LEVELS[finding.severity] for finding in findings)
    if any(count > SHOWN for count in counts.values()):
        told = ", ".join(
            f"{min(counts[level], SHOWN)} of {counts[level]} {level}s" for level in LEVELS.values() if counts[level]
        )
        yield (
            f"GitHub shows {told} of this step as annotations (at most {SHOWN} of each level); this log has all of them, "
            "and so has code scanning with --output sarif:FILE"
        )


def _data(text: str) -> str:
    """The message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """A line of the log that no text in it turns into a command: those start with `::`, or hold `##[` anywhere."""
    return "stridelint: " + line(text).replace("##[", r"#\x23[")
