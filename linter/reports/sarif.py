"""SARIF 2.1.0, for GitHub code scanning, editors and other viewers.

Paths are relative to the repository (`%SRCROOT%`), columns count UTF-16 units. What GitHub limits is cut here, the least
important first, and the report says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from stridelint.linter.findings import Patch, Remark, Report, Reported, Skipped
from stridelint.linter.reports import rule_help
from stridelint.linter.reports.context import SEVERITIES, Context
from stridelint.linter.reports.cutting import MOST
from stridelint.linter.reports.escaping import visible
from stridelint.linter.reports.rule_help import RuleHelp
from stridelint.linter.source import NOTEBOOK

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
BASE = "%SRCROOT%"
# What GitHub takes and what it shows (docs.github.com, "SARIF results exceed one or more limits").
MOST_RESULTS, SHOWN_RESULTS = 25_000, 5_000
MOST_LOCATIONS = 100  # of a result; GitHub takes 1,000 and shows 100
MOST_TEXT = 1024  # characters of a rule's short and full description
MOST_BYTES = 10_000_000  # compressed
_PROBLEMS = {"error": "error", "warning": "warning", "note": "recommendation"}
_RANKS = {"certain": 95.0, "likely": 75.0, "possible": 40.0}

Document = dict[str, Any]


def render(report: Report, context: Context) -> str:
    """The document. Findings that are suppressed or in the baseline are part of it only if they are asked for.

    GitHub takes no notice of `suppressions` and `baselineState`, and would show them all as alerts.
    """
    marked = [(finding, "new" if report.has_baseline else "", False) for finding in report.findings]
    if context.show_suppressed:
        marked += [(finding, "unchanged", False) for finding in report.known]
        marked += [(finding, "", True) for finding in report.hidden]
    marked.sort(key=lambda each: (SEVERITIES.index(each[0].severity), each[2], each[1] == "unchanged", each[0]))
    cut = _cut(len(marked), context)
    marked = marked[:MOST_RESULTS]
    fingerprints = dict(context.sources.numbered(sorted(finding for finding, _, _ in marked)))
    rules = _rules((finding for finding, _, _ in marked), context)
    indices = {code: index for index, code in enumerate(rules)}
    places = _Places(context)
    results = [
        _result(finding, state, is_hidden, fingerprints[finding], indices[finding.code], places)
        for finding, state, is_hidden in marked
    ]
    notifications = [_notification(each, places) for each in report.skipped if context.show_skipped]
    notifications += [{"level": "warning", "message": {"text": remark}} for remark in cut]
    run = {
        "tool": {"driver": _driver(list(rules.values()))},
        "automationDetails": {"id": "stridelint/"},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {BASE: {"description": {"text": "The folder of the repository."}}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "results": results,
    }
    text = json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"
    _weigh(text, context)
    return text


def _cut(number: int, context: Context) -> list[str]:
    """What GitHub would not show of so many results."""
    remarks = []
    if number > MOST_RESULTS:
        remarks.append(
            f"{number - MOST_RESULTS:,} of {number:,} results are left out: GitHub takes {MOST_RESULTS:,} of a run"
        )
    if number > SHOWN_RESULTS:
        remarks.append(f"GitHub shows the {SHOWN_RESULTS:,} gravest of {min(number, MOST_RESULTS):,} results")
    for remark in remarks:
        context.remark(remark)
    return remarks


def _weigh(text: str, context: Context) -> None:
    """Say so if the file is too large for GitHub, which takes it compressed."""
    if len(text) > MOST_BYTES:
        import gzip

        size = len(gzip.compress(text.encode("utf-8", "backslashreplace")))
        if size > MOST_BYTES:
            context.remark(f"the report has {size:,} bytes when compressed, and GitHub takes {MOST_BYTES:,}")


def _driver(rules: Sequence[RuleHelp]) -> Document:
    from stridelint import __version__

    return {
        "name": "stridelint",
        "informationUri": rule_help.HOME,
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }


def _rules(findings: Iterator[Reported], context: Context) -> dict[str, RuleHelp]:
    """The rules with findings, by code, as grave as the settings have them."""
    found: dict[str, RuleHelp] = {}
    for finding in findings:
        if finding.code not in found:
            rule = rule_help.of(finding.code, finding.name, finding.severity)
            found[finding.code] = rule._replace(severity=context.severity_of(finding.code) or rule.severity)
    return dict(sorted(found.items()))


def _rule(rule: RuleHelp) -> Document:
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": _short(rule.name.replace("-", " ").capitalize())},
        "fullDescription": {"text": _short(rule.what)},
        "help": {"text": rule.plain(), "markdown": rule.markdown()},
        **({"helpUri": rule.uri} if rule.uri else {}),
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": ["pytorch", "correctness", rule.family],
            "precision": "medium" if rule.quiet else "high",
            "problem.severity": _PROBLEMS[rule.severity],
        },
    }


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."


class _Places:
    """Where things are, as SARIF says it."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def artifact(self, path: str) -> Document:
        """A file: relative to the repository, or absolute if it lies elsewhere."""
        inside = self.context.relative(path)
        if inside is not None:
            return {"uri": _quoted(inside), "uriBaseId": BASE}
        return {"uri": "file://" + _quoted(os.path.abspath(path).replace(os.sep, "/"))}

    def region(self, path: str, start: tuple[int, int], end: tuple[int, int], first: str | None = None) -> Document:
        """A range of (line, column), both from 1; `first` is the text of its first line, if it is known."""
        sources = self.context.sources
        if path.endswith(NOTEBOOK):
            start, end, first = sources.in_file(path, *start), sources.in_file(path, *end, behind=True), None
        line = sources.line_in_file
        return {
            "startLine": start[0],
            "startColumn": _units(line(path, start[0]) if first is None else first, start[1]),
            "endLine": end[0],
            "endColumn": _units(first if first is not None and start[0] == end[0] else line(path, end[0]), end[1]),
        }

    def line(self, path: str, number: int, message: str) -> Document:
        """A whole line, with what is to be said of it."""
        first, _ = self.context.sources.in_file(path, max(number, 1))
        physical = {"artifactLocation": self.artifact(path), "region": {"startLine": first}}
        return {"physicalLocation": physical, "message": {"text": visible(self.context.told(path, number, message))}}


def _quoted(path: str) -> str:
    """A path as part of a URI: bytes that are not UTF-8 as they are."""
    return quote(os.fsencode(path), safe="/")


def _units(text: str, column: int) -> int:
    """A column in UTF-16 units, from one in characters; both count from 1."""
    return column + sum(character > "\uffff" for character in text[: column - 1])


def _result(
    finding: Reported, state: str, is_hidden: bool, fingerprint: str, rule_index: int, places: _Places
) -> Document:
    start, end = (finding.line, finding.column), (finding.end_line, finding.end_column)
    region = places.region(finding.path, start, end, finding.excerpt)
    # In a notebook the line is one of JSON; and a snippet must be all of it, so that long lines have none.
    if finding.excerpt and len(finding.excerpt) <= MOST and not finding.path.endswith(NOTEBOOK):
        region["snippet"] = {"text": visible(finding.excerpt)}
    physical = {"artifactLocation": places.artifact(finding.path), "region": region}
    line_hash = places.context.sources.line_hash(finding.path, region["startLine"])
    hashes = {"primaryLocationLineHash": line_hash} if line_hash else {}
    result: Document = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": finding.severity,
        "kind": "fail",
        "rank": _RANKS[finding.confidence],
        "message": {"text": visible(places.context.told(finding.path, finding.line, finding.message))},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {**hashes, "stridelint/v1": fingerprint},
        "properties": _properties(finding),
    }
    if finding.notes:
        # The end of a story is nearest to the finding.
        notes = finding.notes[-(MOST_LOCATIONS - 1) :]
        result["codeFlows"] = [_flow(notes, result["message"], physical, places)]
        result["relatedLocations"] = [_related(index, note, places) for index, note in enumerate(notes, 1)]
    if is_hidden:
        result["suppressions"] = [{"kind": "inSource", "status": "accepted", "justification": "a comment in the code"}]
    if state:
        result["baselineState"] = state
    if finding.patch.edits:
        result["fixes"] = [_fix(finding.path, finding.patch, places.artifact(finding.path), places.region)]
    return result


def _properties(finding: Reported) -> Document:
    properties: Document = {"confidence": finding.confidence}
    if finding.probe is not None:
        properties["runtime"] = finding.probe.verdict
        properties["probe"] = {name: visible(value) for name, value in finding.probe._asdict().items()}
    if finding.patch.edits:
        properties["fixSafety"] = "safe" if finding.patch.safe else "unsafe"
    return properties


def _flow(notes: Sequence[Remark], message: Document, physical: Document, places: _Places) -> Document:
    """The story of a finding, step by step up to its own place."""
    steps = [{"location": places.line(note.path, note.line, note.message), "importance": "important"} for note in notes]
    steps.append({"location": {"physicalLocation": physical, "message": message}, "importance": "essential"})
    return {"threadFlows": [{"locations": steps}]}


def _related(index: int, note: Remark, places: _Places) -> Document:
    return {"id": index, **places.line(note.path, note.line, note.message)}


def _fix(path: str, patch: Patch, artifact: Document, region: Callable[..., Document]) -> Document:
    replacements = [
        {
            "deletedRegion": region(path, (edit.line, edit.column), (edit.end_line, edit.end_column)),
            "insertedContent": {"text": edit.text},
        }
        for edit in patch.edits
    ]
    description = patch.description or "Fix it"
    return {
        "description": {"text": visible(description)},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
    }


def _notification(skipped: Skipped, places: _Places) -> Document:
    return {
        "descriptor": {"id": "TLC901"},
        "level": "warning",
        "message": {"text": visible(skipped.reason) or "could not be analysed"},
        "locations": [{"physicalLocation": {"artifactLocation": places.artifact(skipped.path)}}],
    }
