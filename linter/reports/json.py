"""Findings for programs; `version` changes when a field changes its meaning or goes away."""

from __future__ import annotations

from stridelint.linter.findings import Report


def render(report: Report) -> str:
    """The report as one JSON document. Lines and columns count from 1; the end column is the one after the last character."""
    import json

    findings = [
        {
            "path": finding.path,
            "line": finding.line,
            "column": finding.column,
            "end_line": finding.end_line,
            "end_column": finding.end_column,
            "code": finding.code,
            "name": finding.name,
            "message": finding.message,
            "severity": finding.severity,
            "confidence": finding.confidence,
            "notes": [note._asdict() for note in finding.notes],
            "witness": json.loads(finding.witness),
            **({} if finding.probe is None else {"probe": finding.probe._asdict()}),
        }
        for finding in report.findings
    ]
    document = {"version": 1, "findings": findings, "skipped": [skipped._asdict() for skipped in report.skipped]}
    return json.dumps(document, indent=2)
