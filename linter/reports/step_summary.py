"""What GitHub shows on the page of a run: a Markdown table, appended to the file that `GITHUB_STEP_SUMMARY` names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from stridelint.linter.findings import Report, Reported
from stridelint.linter.reports.context import SEVERITIES, Context
from stridelint.linter.reports.escaping import line
from stridelint.linter.reports.text import summary, verdict

VARIABLE = "GITHUB_STEP_SUMMARY"
# More rows than anybody reads; GitHub refuses a summary of more than a mebibyte, with all steps' commands in it.
ROWS = 100
BYTES = 1024 * 1024
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def append(report: Report, context: Context, environment: dict[str, str]) -> None:
    """Add the table to the summary of this step, if there is one. Raises OSError.

    A table that would be too large for what the file holds already is left out: GitHub would drop all of it.
    """
    path = environment.get(VARIABLE, "")
    if not path:
        return
    data = render(report, context).encode("utf-8")
    with open(path, "ab") as file:
        if os.fstat(file.fileno()).st_size + len(data) <= BYTES:
            file.write(data)


def render(report: Report, context: Context) -> str:
    """The table as Markdown, the gravest findings first."""
    return "".join(f"{each}\n" for each in _lines(report, context))


def _lines(report: Report, context: Context) -> Iterator[str]:
    yield from ("### stridelint", "", _text(summary(report)), "")
    ordered = sorted(report.findings, key=lambda finding: (SEVERITIES.index(finding.severity), finding))
    if ordered:
        yield from ("| severity | place | rule | finding |", "|---|---|---|---|")
        yield from (_row(finding, context) for finding in ordered[:ROWS])
        yield ""
    if len(ordered) > ROWS:
        yield from (f"{len(ordered) - ROWS} more are in the log of this step.", "")
    if context.show_skipped and report.skipped:
        for skipped in report.skipped[:ROWS]:
            yield f"- not analysed: {_code(context.place(skipped.path))}: {_text(skipped.reason)}"
        yield ""


def _row(finding: Reported, context: Context) -> str:
    place = context.place(finding.path) + context.at(finding.path, finding.line, finding.column)
    told = _text(finding.message + (" (possible)" if finding.confidence == "possible" else ""))
    if finding.probe is not None:
        told += f"<br>probe: {_text(verdict(finding.probe))}"
    return f"| {finding.severity} | {_code(place)} | {_text(f'{finding.code} {finding.name}')} | {told} |"


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """Text of which Markdown reads nothing as markup: CommonMark takes no character reference for a sign of its own."""
    return _PUNCTUATION.sub(lambda sign: f"&#{ord(sign.group())};", line(text))
