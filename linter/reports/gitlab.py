"""GitLab's code quality report, which merge requests show beside the changed lines."""

from __future__ import annotations

import hashlib
import json

from stridelint.linter.findings import Report, Reported
from stridelint.linter.reports.context import Context
from stridelint.linter.reports.escaping import line
from stridelint.linter.reports.text import verdict

SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def render(report: Report, context: Context) -> str:
    """A list with one issue for each finding."""
    issues = [_issue(finding, number, context) for finding, number in context.sources.numbered(report.findings)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Reported, fingerprint: str, context: Context) -> dict[str, object]:
    path = line(context.place(finding.path))
    first, column = context.sources.in_file(finding.path, finding.line, finding.column)
    last, end_column = context.sources.in_file(finding.path, finding.end_line, finding.end_column, behind=True)
    message = context.told(finding.path, finding.line, line(finding.message))
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code} [{line(finding.name)}] {message}",
        "content": {"body": "\n".join(_story(finding, context))},
        "categories": ["Bug Risk"],
        "severity": SEVERITIES[finding.severity],
        # GitLab wants another one for each issue, and equal code in two files has equal fingerprints.
        "fingerprint": hashlib.sha256(f"{path}\0{fingerprint}".encode()).hexdigest()[:32],
        "location": {
            "path": path,
            "lines": {"begin": first, "end": last},
            "positions": {
                "begin": {"line": first, "column": column},
                "end": {"line": last, "column": end_column},
            },
        },
    }


def _story(finding: Reported, context: Context) -> list[str]:
    told = [
        f"{line(context.place(note.path))}{context.at(note.path, note.line)}: {line(note.message)}"
        for note in finding.notes
    ]
    if finding.probe is not None:
        told.append(f"probe: {line(verdict(finding.probe))}")
    return told
