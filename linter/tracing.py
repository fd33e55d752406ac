"""What a traced run says about the findings of `check`, and what it shows besides.

Both sides are plain documents: findings as `check --format json` writes them, and what the trace kept
(`runtime_probe/trace_record.py`).
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stridelint.linter.selection import Selection

CONFIRMED, REFUTED, UNREACHED, UNJUDGED = "confirmed", "refuted", "unreached", "unjudged"
Document = dict[str, Any]


class Traced(NamedTuple):
    """A run and the findings about the files that were watched.

    findings: those of `check`, each with a "trace": verdict, reason and the number of calls there.
    hazards: what only the run shows. layout: where channels_last went in and row-major came out, most calls first.
    skipped: files that `check` could not analyse.
    """

    findings: list[Document]
    hazards: list[Document]
    layout: list[Document]
    skipped: list[Document]
    calls: int
    places: int
    judged: int
    failures: int
    failure: str
    ended: bool

    def failing(self, which: str) -> bool:
        """Whether there is anything to fail for: "none", "confirmed" or "any"."""
        confirmed = self.hazards or any(each["trace"]["verdict"] == CONFIRMED for each in self.findings)
        return which != "none" and bool(confirmed or (which == "any" and self.findings))


def checked(arguments: Sequence[str]) -> Document:
    """What `stridelint check` says with these arguments: "findings" and "skipped". Raises ConfigError."""
    from stridelint.linter import check_command
    from stridelint.linter.cli import check_options

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "findings.json")
        check_command.run(check_options([*arguments, "--no-baseline", "--format", "json", "--output", path]))
        report: Document = json.loads(Path(path).read_text(encoding="utf-8"))
    return report


def selection_of(arguments: Sequence[str]) -> Selection:
    """The rules that these arguments of `check` select in the current folder. Raises ConfigError."""
    from stridelint.linter import selection, setting_options
    from stridelint.linter.cli import check_options

    return selection.select(setting_options.settings_for(check_options(arguments))("."))


def read(path: str) -> list[Document]:
    """What a trace wrote, as far as it got."""
    documents = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                documents.append(json.loads(line))
            except ValueError:
                break  # the process died while it wrote
    return documents


def traced(report: Document, documents: Iterable[Document], selection: Selection) -> Traced:
    """Put both sides together: the report of `checked`, and what the trace kept."""
    documents = list(documents)
    ends = [each for each in documents if each["kind"] == "end"]
    spots = [spot for end in ends for spot in end["spots"]]
    seen = [each for each in documents if each["kind"] == "finding"]
    escaped = [each for each in documents if each["kind"] == "escaped"]
    judged = [{**finding, "trace": _verdict(finding, seen, spots)} for finding in report["findings"]]
    new = [each for each in seen if not any(_same(each, finding) for finding in judged)]
    return Traced(
        judged,
        _shown([each for each in new if not each["raised"] or _left(each, escaped)], selection),
        _layout(spots),
        report["skipped"],
        sum(end["calls"] for end in ends),
        len(spots),
        sum(end["judged"] for end in ends),
        sum(end["failures"] for end in ends),
        next((end["failure"] for end in ends if end["failure"]), ""),
        bool(ends),
    )


def _verdict(finding: Document, seen: list[Document], spots: list[Document]) -> Document:
    """What the run says about a finding."""
    code = finding["code"]
    here = [spot for spot in spots if _overlap(spot, finding)]
    calls = sum(spot["calls"] for spot in here)
    if any(_same(each, finding) for each in seen):
        calls = sum(spot["calls"] for spot in here if code in spot["codes"])
        raised = next((each["raised"] for each in seen if _same(each, finding) and each["raised"]), "")
        return _told(
            CONFIRMED, f"torch raises {raised}" if raised else "the rule reports the call that was made here", calls
        )
    if any(f"{code}?" in spot["codes"] for spot in here):
        calls = sum(spot["calls"] for spot in here if f"{code}?" in spot["codes"])
        return _told(CONFIRMED, "the call was made here with tensors of these layouts", calls)
    if not here:
        return _told(UNREACHED, "no call of torch was seen here", 0)
    reason = _reasons().get(code) if code.startswith("TLC") else "it is of a local rule, which the trace does not ask"
    if reason is not None:
        return _told(UNJUDGED, reason, calls)
    operator = _operator(finding)
    same = [spot for spot in here if operator and spot["op"].rpartition(".")[2] == operator.rpartition(".")[2]]
    if not same:
        return _told(UNJUDGED, "the call that it is about was not seen here", calls)
    calls = sum(spot["calls"] for spot in same)
    if any(spot["raised"] for spot in same):
        return _told(UNJUDGED, "the call raised an error, and nothing else came of it", calls)
    return _told(REFUTED, f"in this run the rule reports none of the calls made here ({calls})", calls)


def _told(verdict: str, reason: str, calls: int) -> Document:
    return {"verdict": verdict, "reason": reason, "calls": calls}


def _reasons() -> dict[str, str]:
    reasons: dict[str, str] = importlib.import_module("stridelint.runtime_probe.trace_rules").NEEDS_SOURCE
    return reasons


def _operator(finding: Document) -> str:
    """The operator that a finding is about, by its witness; "" if it names none."""
    calls = finding["witness"].get("calls") or [[]]
    return str(calls[0][0]["op"]) if calls[0] else ""


def _same(one: Document, other: Document) -> bool:
    return bool(one["code"] == other["code"] and _overlap(one, other))


def _overlap(one: Document, other: Document) -> bool:
    """Two places in one file that have a character in common."""
    if os.path.realpath(one["path"]) != os.path.realpath(other["path"]):
        return False
    (first, last), (start, stop) = _range(one), _range(other)
    return first < stop and start < last


def _range(place: Document) -> tuple[tuple[int, int], tuple[int, int]]:
    """A range of lines and columns; a place without columns is its whole line."""
    if (
        not place["column"]
        or not place["end_column"]
        or (place["end_line"], place["end_column"]) <= (place["line"], place["column"])
    ):
        return (place["line"], 0), (max(place["line"], place["end_line"]), 1 << 30)
    return (place["line"], place["column"]), (place["end_line"], place["end_column"])


def _left(finding: Document, escaped: list[Document]) -> bool:
    """Whether the error of a call left the program; one that the code handles is no hazard."""
    return any(
        each["error"] == finding["raised"]
        and any(
            path == finding["path"] and finding["line"] <= line <= finding["end_line"] for path, line in each["lines"]
        )
        for each in escaped
    )


def _shown(seen: list[Document], selection: Selection) -> list[Document]:
    """One finding for each rule and place, of those that the selection shows and no comment hides."""
    from stridelint.linter.suppress import Suppressions
    from stridelint.rules.contract.answers import Confidence
    from stridelint.rules.events import Site
    from stridelint.rules.registry import by_code
    from stridelint.rules.rule import Finding, Severity

    first: dict[tuple[Any, ...], Document] = {}
    for each in seen:
        first.setdefault((each["path"], each["line"], each["column"], each["code"]), each)
    texts: dict[str, Suppressions] = {}
    shown = []
    for (path, line, _, code), each in sorted(first.items()):
        rule = by_code()[code]
        judged = Finding(
            rule, Site(), each["message"], Confidence[each["confidence"].upper()], severity=Severity(each["severity"])
        )
        if path not in texts:
            texts[path] = Suppressions(_text(path))
        if selection.shows(judged) and not texts[path].hides(line, code):
            notes = [{"path": relative(where), "line": at, "message": message} for where, at, message in each["notes"]]
            shown.append(
                {**{key: value for key, value in each.items() if key != "kind"}, "name": rule.name, "notes": notes}
                | {"path": relative(path)}
            )
    return shown


def _text(path: str) -> str:
    from stridelint.linter import source

    try:
        return source.read(path).text
    except source.Unreadable:
        return ""


def _layout(spots: list[Document]) -> list[Document]:
    counts: Counter[tuple[str, int, int, str]] = Counter()
    for spot in spots:
        if spot["drops"]:
            counts[relative(spot["path"]), spot["line"], spot["column"], spot["op"]] += spot["drops"]
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"path": path, "line": line, "column": column, "operator": op, "calls": calls}
        for (path, line, column, op), calls in ordered
    ]


def relative(path: str) -> str:
    """A path below the current folder, as people write it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
