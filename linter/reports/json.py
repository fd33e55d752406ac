"""Findings for programs; `version` changes when a field changes its meaning or goes away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stridelint.linter.findings import Patch, Report, Reported

if TYPE_CHECKING:
    from stridelint.linter.reports.context import Context
    from stridelint.linter.statistics import Statistics


def render(report: Report, context: Context) -> str:
    """The report as one JSON document. Lines and columns count from 1; the end column is the one after the last character.

    What is in a notebook has a `cell`, and lines count in that.
    """
    import json

    document: dict[str, Any] = {"version": 1, "findings": [_finding(finding, context) for finding in report.findings]}
    if context.show_suppressed:
        document["suppressed"] = [_finding(finding, context) for finding in report.hidden]
    if report.has_baseline:
        stale = [{"baseline": file, **entry._asdict()} for file, entry in report.stale]
        document["baseline"] = {"known": len(report.known), "stale": stale}
        if context.show_suppressed:
            document["baseline"]["findings"] = [_finding(finding, context) for finding in report.known]
    document["skipped"] = [skipped._asdict() for skipped in report.skipped]
    document["checked"], document["excluded"] = report.checked, report.excluded
    if report.statistics is not None:
        document["statistics"] = _statistics(report, report.statistics)
    return json.dumps(document, indent=2) + "\n"


def _statistics(report: Report, times: Statistics) -> dict[str, Any]:
    """Counts, and where the time went, in seconds; those of several processes are added up."""
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    return {
        "findings": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        "files": {"checked": report.checked, "known": times.cached, "excluded": report.excluded},
        "seconds": {"all": times.seconds, "phases": times.phases, "rules": times.rules},
    }


def _place(path: str, line: int, context: Context) -> dict[str, Any]:
    cell, number = context.sources.cell(path, line)
    return {"path": path, **({"cell": cell} if cell else {}), "line": number}


def _finding(finding: Reported, context: Context) -> dict[str, Any]:
    import json

    return {
        **_place(finding.path, finding.line, context),
        "column": finding.column,
        "end_line": context.sources.cell(finding.path, finding.end_line)[1],
        "end_column": finding.end_column,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "notes": [{**_place(note.path, note.line, context), "message": note.message} for note in finding.notes],
        "fix": _fix(finding.patch),
        "witness": json.loads(finding.witness),
        **({} if finding.probe is None else {"probe": finding.probe._asdict()}),
    }


def _fix(patch: Patch) -> dict[str, Any] | None:
    """The edits of a fix, which belong together; None if there is no fix."""
    if not patch.edits:
        return None
    edits = [
        {
            "line": edit.line,
            "column": edit.column,
            "end_line": edit.end_line,
            "end_column": edit.end_column,
            "replacement": edit.text,
        }
        for edit in patch.edits
    ]
    return {"description": patch.description, "safety": "safe" if patch.safe else "unsafe", "edits": edits}
