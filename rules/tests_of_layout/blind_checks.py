"""Findings about `is_contiguous` assertions that a row-major and a channels-last tensor both pass."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.claims import Kind
from stridelint.rules.contract.layout import CONTIGUOUS
from stridelint.rules.events import TestEvent
from stridelint.rules.findings import quoted, story, tuple_text
from stridelint.rules.rule import Finding, Rule, Severity
from stridelint.rules.tests_of_layout import subject
from stridelint.rules.tests_of_layout.subject import Check, Sight


def find(rule: Rule, test: TestEvent, cause: Sight, advice: str) -> Iterator[Finding]:
    """The checks that are blind for one cause: warnings where the test sees the layout nowhere else, else notes."""
    if subject.is_deliberate(test) or subject.sees_layout_otherwise(test):
        return
    for check in subject.checks(test):
        if check.is_blind and check.sights[0] is cause and test.complete and not subject.is_about_both(test, check):
            yield _blind(rule, test, check, cause, advice)
        elif cause in check.sights and Sight.TELLING in check.sights:
            yield from _blind_runs(rule, check, cause)


def _blind(rule: Rule, test: TestEvent, check: Check, cause: Sight, advice: str) -> Finding:
    first = check.assertions[0]
    operand = first.tensors[0]
    shapes = list(dict.fromkeys(tuple_text(each.tensors[0].facts.shape) for each in check.assertions))
    shape = (
        f"shape {shapes[0]}"
        if len(shapes) == 1
        else f"shapes {', '.join(shapes[:3])}{', ...' if len(shapes) > 3 else ''}"
    )
    other = "channels_last" if first.arguments.get("memory_format") == CONTIGUOUS else "row-major"
    message = f"{quoted(operand, 'the asserted tensor')} has {cause.value} ({shape}), so a {other} tensor passes this check too; {advice}"
    severity = Severity.NOTE if subject.tells_elsewhere(test, check) else None
    claim = subject.asked(Kind.SAME_FOR_BOTH_FORMATS, check.assertions)
    notes = (*story(operand), *subject.parameter_notes(check))
    return Finding(type(rule), subject.place(test, first), message, check.confidence, notes, severity, claim, test)


def _blind_runs(rule: Rule, check: Check, cause: Sight) -> Iterator[Finding]:
    """Parameters that add nothing to a test which other parameters make telling."""
    for assertion, sight, run in zip(check.assertions, check.sights, check.runs):
        for parameter in run.parameters if sight is cause else ():
            if _decides(check, parameter.name, parameter.text):
                message = f"'{parameter.name} = {parameter.text}' gives the asserted tensor {cause.value}: both formats pass the check in this run"
                yield Finding(
                    type(rule),
                    parameter.site,
                    message,
                    run.confidence,
                    story(assertion.tensors[0]),
                    Severity.NOTE,
                    subject.asked(Kind.SAME_FOR_BOTH_FORMATS, [assertion]),
                )


def _decides(check: Check, name: str, text: str) -> bool:
    """All runs with this value are blind, and some with another are not."""
    sights = {
        sight
        for sight, run in zip(check.sights, check.runs)
        for each in run.parameters
        if (each.name, each.text) == (name, text)
    }
    return bool(text) and sights <= {Sight.ONE_CHANNEL, Sight.POINTWISE}
