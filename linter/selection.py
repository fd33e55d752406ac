"""Which rules run, which of their findings are shown, and as how grave."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import local_rules
from stridelint.linter.config import ConfigError, Settings, suggestion, torch_version
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules, by_code
from stridelint.rules.rule import Finding, Rule, Severity
from stridelint.rules.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    from stridelint.linter.findings import Outcome, Reported


class Selection(NamedTuple):
    """The rules to run.

    by_name: codes the user spelt out in full, which shows even their quiet findings.
    assume: what is assumed of the inputs of models (see `config.assumptions`).
    severities: prefixes of codes, with the severity that their findings are reported with.
    ignored_in: patterns of paths (relative to `root`), with the prefixes that are ignored there.
    operators, target_torch: the table of operators to judge by, and for which torch (see `contract.operators`).
    shows_unused: whether comments are reported that hide nothing (TLC902).
    """

    rules: tuple[type[Rule], ...]
    by_name: frozenset[str]
    min_confidence: Confidence
    shows_skipped: bool = True
    assume: tuple[str, ...] = ()
    severities: tuple[tuple[str, str], ...] = ()
    ignored_in: tuple[tuple[str, tuple[str, ...]], ...] = ()
    root: str = ""
    operators: str = ""
    target_torch: tuple[int, int] | None = None
    shows_unused: bool = False

    @property
    def reporting(self) -> tuple[type[Rule], ...]:
        """The rules whose findings are reported: about tensors, and about comments."""
        return (*self.rules, UnusedSuppression) if self.shows_unused else self.rules

    def without_local(self) -> Selection:
        """The same without the rules of the project's own."""
        return self._replace(rules=tuple(rule for rule in self.rules if rule.__module__.startswith("stridelint.")))

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is sure and important enough to be shown."""
        if finding.confidence < self.min_confidence:
            return False
        severity = finding.severity or finding.rule.severity
        quiet = finding.rule.quiet or severity is Severity.NOTE
        return not quiet or self.min_confidence is Confidence.POSSIBLE or finding.rule.code in self.by_name

    def ignores(self, path: str, code: str) -> str:
        """The pattern because of which findings of this code are not reported in a file; "" for none."""
        from stridelint.linter.discover import matches

        for pattern, ignored in self.ignored_in:
            if _longest(ignored, code) and matches(path, self.root, (pattern,)):
                return pattern
        return ""

    def settled(self, outcome: Outcome) -> Outcome:
        """An outcome as the settings want it: without what is ignored in some files, with the severities asked for."""
        if not self.severities and not self.ignored_in:
            return outcome

        def kept(findings: tuple[Reported, ...]) -> tuple[Reported, ...]:
            return tuple(self._graded(each) for each in findings if not self.ignores(each.path, each.code))

        skipped = tuple(each for each in outcome.skipped if not self.ignores(each.path, "TLC901"))
        return outcome._replace(findings=kept(outcome.findings), suppressed=kept(outcome.suppressed), skipped=skipped)

    def severity_of(self, code: str) -> str:
        """The severity that the settings give a rule's findings; "" for their own."""
        matching = [(len(prefix), severity) for prefix, severity in self.severities if code.startswith(prefix)]
        return max(matching, key=lambda each: each[0])[1] if matching else ""

    def _graded(self, finding: Reported) -> Reported:
        severity = self.severity_of(finding.code)
        return finding._replace(severity=severity) if severity else finding


class Choice(NamedTuple):
    """Whether a rule runs, and why."""

    is_on: bool
    why: str


@functools.cache
def select(settings: Settings) -> Selection:
    """The selection that settings ask for. The longest matching prefix decides; `ignore` wins a tie."""
    names = _Names(settings)
    chosen = dict(choices(settings))
    return Selection(
        tuple(rule for rule in names.judging if chosen[rule].is_on),
        _by_name(settings, names),
        settings.min_confidence,
        not _longest(names.prefixes(settings.ignore), "TLC901"),
        settings.assume,
        tuple((prefix, severity) for rule, severity in settings.severity for prefix in names.prefixes((rule,))),
        tuple((pattern, names.prefixes(codes)) for pattern, codes in settings.per_file_ignores),
        settings.root,
        settings.operators,
        settings.target_torch,
        chosen[UnusedSuppression].is_on,
    )


def choices(settings: Settings) -> list[tuple[type[Rule], Choice]]:
    """Each rule about tensors or comments, with whether it runs and why."""
    names = _Names(settings)
    chosen = {} if settings.select else dict.fromkeys(names.prefixes(("ALL",)), "")
    for written in (*settings.select, *settings.extend_select):
        chosen.update(dict.fromkeys(names.prefixes((written,)), written))
    ignored = {prefix: written for written in settings.ignore for prefix in names.prefixes((written,))}
    by_name = _by_name(settings, names)
    return [(rule, _choice(rule, settings, chosen, ignored, by_name)) for rule in (*names.judging, UnusedSuppression)]


def _choice(
    rule: type[Rule], settings: Settings, chosen: Mapping[str, str], ignored: Mapping[str, str], by_name: frozenset[str]
) -> Choice:
    selected, against = _longest(chosen, rule.code), _longest(ignored, rule.code)
    if not selected:
        return Choice(False, "not selected")
    if selected <= against:
        return Choice(False, f"ignored by '{ignored[rule.code[:against]]}'")
    version = settings.target_torch
    if version is not None and rule.since is not None and version < torch_version(rule.since):
        return Choice(False, f"holds for torch {rule.since} and later, not for {dotted(version)}")
    if version is not None and rule.until is not None and version >= torch_version(rule.until):
        return Choice(False, f"holds for torch before {rule.until}, not for {dotted(version)}")
    if rule.quiet and settings.min_confidence is not Confidence.POSSIBLE and rule.code not in by_name:
        return Choice(False, "only in audits, or selected by its code")
    written = chosen[rule.code[:selected]]
    why = f"selected by '{written}'" if written else "by default"
    if (
        rule.severity is Severity.NOTE
        and settings.min_confidence is not Confidence.POSSIBLE
        and rule.code not in by_name
    ):
        why += "; its notes only in audits, or selected by its code"
    return Choice(True, why)


def _by_name(settings: Settings, names: _Names) -> frozenset[str]:
    chosen = names.prefixes((*settings.select, *settings.extend_select))
    return frozenset(prefix for prefix in chosen if prefix in names.rules)


class _Names:
    """The rules that settings can name."""

    def __init__(self, settings: Settings) -> None:
        own = loaded(settings)
        # The registry may know those of another configuration.
        built_in = {code: rule for code, rule in by_code().items() if code.startswith("TLC")}
        self.rules = built_in | {rule.code: rule for rule in own.rules}
        self.judging = (*all_rules(), *own.rules)
        self._codes = {rule.name: code for code, rule in self.rules.items()}
        self._is_complete = not own.problems

    def prefixes(self, selectors: Iterable[str]) -> tuple[str, ...]:
        """Prefixes of codes for what the user wrote: prefixes, full codes, names of rules, or ALL."""
        found: list[str] = []
        for written in selectors:
            prefix = self._codes.get(written.lower(), written.upper())
            if prefix == "ALL":
                found += sorted({code.rstrip("0123456789") for code in self.rules})
            elif prefix and any(code.startswith(prefix) for code in self.rules):
                found.append(prefix)
            elif self._is_complete or prefix.startswith("TLC"):
                raise ConfigError(f"unknown rule '{written}'{suggestion(written, [*self.rules, *self._codes])}")
            # Else it may be of a local rule that is broken, which is told, and must not stop the others.
        return tuple(found)


def loaded(settings: Settings) -> local_rules.Loaded:
    """The project's own rules."""
    if not settings.local_rules:
        return local_rules.NONE
    return local_rules.load(settings.local_rules, settings.local_rules_stamp)


def _longest(prefixes: Iterable[str], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def dotted(version: tuple[int, int]) -> str:
    """A version as people write it."""
    return f"{version[0]}.{version[1]}"
