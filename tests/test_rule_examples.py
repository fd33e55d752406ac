"""Each example of each rule is a test: what VALID and INVALID say is what users get.

An INVALID example lists all findings of its rule, those of an audit included; a VALID one has none in a plain run.
"""

from __future__ import annotations

import pytest

from stridelint.linter import engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules
from stridelint.rules.rule import Invalid, Rule

VALID = [
    pytest.param(rule, code, id=f"{rule.code}-valid-{number}")
    for rule in all_rules()
    for number, code in enumerate(rule.VALID)
]
INVALID = [
    pytest.param(rule, example, id=f"{rule.code}-invalid-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.INVALID)
]


def findings(rule: type[Rule], code: str, least: Confidence) -> tuple[tuple[int, int, str], ...]:
    selection = Selection((rule,), frozenset({rule.code}), least)
    outcome = engine.check(source.from_bytes("example.py", code.encode(), explicit=True), selection)
    assert not outcome.skipped
    return tuple((found.line, found.column, found.message) for found in outcome.findings)


@pytest.mark.parametrize(("rule", "code"), VALID)
def test_valid(rule: type[Rule], code: str) -> None:
    assert findings(rule, code, Confidence.LIKELY) == ()


@pytest.mark.parametrize(("rule", "example"), INVALID)
def test_invalid(rule: type[Rule], example: Invalid) -> None:
    assert findings(rule, example.code, Confidence.POSSIBLE) == tuple(sorted(example.expected))
