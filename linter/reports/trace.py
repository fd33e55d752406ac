"""What a traced run shows, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from stridelint.linter.telling import counted
from stridelint.linter.tracing import CONFIRMED, REFUTED, UNJUDGED, UNREACHED, Traced

_MOST_PLACES = 30


def render_json(traced: Traced, program: list[str], status: int | None) -> str:
    """The report as one JSON document."""
    import json

    document = {"version": 1, "program": program, "exit": status, **traced._asdict()}
    return json.dumps(document, indent=2)


def render_text(traced: Traced) -> Iterator[str]:
    """The lines of the report."""
    yield from _findings(traced)
    for skipped in traced.skipped:
        yield f"{skipped['path']}: TLC901 [could-not-analyse] {skipped['reason']}"
    if traced.hazards:
        yield "Seen only in this run:"
        for hazard in traced.hazards:
            yield from _finding(hazard, "    ")
    if traced.layout:
        yield "channels_last goes in and row-major comes out, by number of calls:"
        for each in traced.layout[:_MOST_PLACES]:
            yield f"    {each['calls']:8}  {each['path']}:{each['line']}:{each['column']}  {each['operator']}"
        if len(traced.layout) > _MOST_PLACES:
            yield f"    and {len(traced.layout) - _MOST_PLACES} places more (--format json lists all)"
    yield _summary(traced)
    if traced.failures:
        yield (
            f"The trace failed at {counted(traced.failures, 'call')}, which it did not judge; the program was not affected. "
            f"Please report it: {traced.failure}"
        )
    if not traced.ended:
        yield "The program ended in a way that no Python code sees (a signal, os._exit): counts and layouts are missing."


def _findings(traced: Traced) -> Iterator[str]:
    reached = {each["path"] for each in traced.findings if each["trace"]["verdict"] != UNREACHED}
    hidden = 0
    for finding in traced.findings:
        verdict = finding["trace"]["verdict"]
        if verdict == UNREACHED and finding["path"] not in reached:
            hidden += 1
            continue
        yield from _finding(finding)
        yield f"    trace: {verdict}: {finding['trace']['reason']}"
    if hidden:
        yield f"{counted(hidden, 'finding')} in files of which nothing ran (--format json lists them)."


def _finding(finding: dict[str, Any], indent: str = "") -> Iterator[str]:
    place = f"{finding['path']}:{finding['line']}:{finding['column']}"
    yield f"{indent}{place}: {finding['code']} [{finding['name']}] {finding['message']}"
    for note in finding["notes"]:
        yield f"{indent}    {note['path']}:{note['line']}: note: {note['message']}"


def _summary(traced: Traced) -> str:
    verdicts = Counter(each["trace"]["verdict"] for each in traced.findings)
    told = ", ".join(f"{verdicts[each]} {each}" for each in (CONFIRMED, REFUTED, UNREACHED, UNJUDGED) if verdicts[each])
    checked = f"{counted(len(traced.findings), 'finding')} by check" + (f" ({told})" if told else "")
    return (
        f"{checked}, {counted(len(traced.hazards), 'hazard')} only in this run; {counted(traced.calls, 'call')} of torch at "
        f"{counted(traced.places, 'place')}, {traced.judged} judged."
    )
