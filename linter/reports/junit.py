"""JUnit XML: each file with findings is a suite, each finding a failed test."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.linter.findings import Report, Reported, Skipped
from stridelint.linter.reports.context import Context
from stridelint.linter.reports.cutting import part
from stridelint.linter.reports.escaping import line, markup
from stridelint.linter.reports.text import verdict


def render(report: Report, context: Context) -> str:
    """The document. A run without findings is one test that passes, as servers take an empty file for a mistake."""
    skipped = report.skipped if context.show_skipped else ()
    paths = sorted({finding.path for finding in report.findings} | {each.path for each in skipped})
    tests = len(report.findings) + len(skipped) or 1
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(
        f'<testsuites name="stridelint" tests="{tests}" failures="{len(report.findings)}" errors="0" time="0">'
    )
    for path in paths:
        inside = [finding for finding in report.findings if finding.path == path]
        lines += _suite(path, inside, [each for each in skipped if each.path == path], context)
    if not paths:
        lines.append('  <testsuite name="stridelint" tests="1" failures="0" errors="0" skipped="0" time="0">')
        lines.append('    <testcase classname="stridelint" name="no findings" time="0"/>')
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _suite(path: str, findings: list[Reported], skipped: list[Skipped], context: Context) -> Iterator[str]:
    name = _attribute(context.place(path))
    tests = len(findings) + len(skipped)
    yield (
        f'  <testsuite name="{name}" tests="{tests}" failures="{len(findings)}" errors="0" skipped="{len(skipped)}" time="0">'
    )
    for finding in findings:
        at = context.at(finding.path, finding.line, finding.column).removeprefix(":")
        title, number = (
            _attribute(f"{finding.code} {finding.name} {at}"),
            context.sources.in_file(path, finding.line)[0],
        )
        message = _attribute(context.told(finding.path, finding.line, finding.message))
        yield f'    <testcase classname="{name}" name="{title}" file="{name}" line="{number}" time="0">'
        yield f'      <failure type="{_attribute(finding.severity)}" message="{message}">'
        yield "\n".join(markup(told) for told in _body(finding, context))
        yield "      </failure>"
        yield "    </testcase>"
    for each in skipped:
        yield f'    <testcase classname="{name}" name="TLC901 could-not-analyse" file="{name}" time="0">'
        yield f'      <skipped message="{_attribute(each.reason)}"/>'
        yield "    </testcase>"
    yield "  </testsuite>"


def _body(finding: Reported, context: Context) -> Iterator[str]:
    at = context.at(finding.path, finding.line, finding.column)
    yield f"{line(context.place(finding.path))}{at}: {line(finding.message)}"
    if finding.excerpt.strip():
        yield f"    {context.sources.cell(finding.path, finding.line)[1]} | {line(part(finding.excerpt.strip(), finding.column - 1).text)}"
    for note in finding.notes:
        yield f"    {line(context.place(note.path))}{context.at(note.path, note.line)}: {line(note.message)}"
    if finding.probe is not None:
        yield f"    probe: {line(verdict(finding.probe))}"


def _attribute(text: str) -> str:
    return markup(line(text))
