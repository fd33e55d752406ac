"""Which rules run, and which of their findings are shown."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from stridelint.linter.config import ConfigError, Settings, suggestion
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules, by_code
from stridelint.rules.rule import Finding, Rule, Severity


class Selection(NamedTuple):
    """The rules to run.

    by_name: codes the user spelt out in full, which shows even their quiet findings.
    assume: what is assumed of the inputs of models (see `config.assumptions`).
    """

    rules: tuple[type[Rule], ...]
    by_name: frozenset[str]
    min_confidence: Confidence
    shows_skipped: bool = True
    assume: tuple[str, ...] = ()

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is sure and important enough to be shown."""
        if finding.confidence < self.min_confidence:
            return False
        severity = finding.severity or finding.rule.severity
        quiet = finding.rule.quiet or severity is Severity.NOTE
        return not quiet or self.min_confidence is Confidence.POSSIBLE or finding.rule.code in self.by_name


@functools.cache
def select(settings: Settings) -> Selection:
    """The selection that settings ask for. The longest matching prefix decides; `ignore` wins a tie."""
    chosen = prefixes(settings.select) or ("TLC",)
    chosen += prefixes(settings.extend_select)
    ignored = prefixes(settings.ignore)
    by_name = frozenset(code for code in chosen if code in by_code())
    audit = settings.min_confidence is Confidence.POSSIBLE

    def wanted(rule: type[Rule]) -> bool:
        if _longest(chosen, rule.code) <= _longest(ignored, rule.code):
            return False
        return audit or not rule.quiet or rule.code in by_name

    rules = tuple(rule for rule in all_rules() if wanted(rule))
    return Selection(rules, by_name, settings.min_confidence, not _longest(ignored, "TLC901"), settings.assume)


def prefixes(selectors: Iterable[str]) -> tuple[str, ...]:
    """Code prefixes for what the user wrote: prefixes, full codes, names of rules, or ALL."""
    known = by_code()
    names = {rule.name: code for code, rule in known.items()}
    found = []
    for written in selectors:
        prefix = names.get(written.lower(), written.upper())
        if prefix == "ALL":
            prefix = "TLC"
        if not prefix or not any(code.startswith(prefix) for code in known):
            raise ConfigError(f"unknown rule '{written}'{suggestion(written, [*known, *names])}")
        found.append(prefix)
    return tuple(found)


def _longest(prefixes: Iterable[str], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)
