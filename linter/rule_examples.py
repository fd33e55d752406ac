"""`stridelint test-rules`: runs the examples of a project's own rules, as the tests of stridelint do with its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.linter import config, engine, fixing, local_rules, source
from stridelint.linter.config import ConfigError
from stridelint.linter.findings import Outcome
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.rule import Invalid, Rule

if TYPE_CHECKING:
    import argparse

Found = tuple[tuple[int, int, str], ...]


def run(options: argparse.Namespace) -> int:
    """Check the examples of the rules in the named files and folders; exit status 1 if some do not hold."""
    paths = _paths(options)
    loaded = local_rules.load(paths, local_rules.stamp(paths))
    failures = [str(problem) for problem in loaded.problems]
    for rule in loaded.rules:
        failures += failures_of(rule)
    for failure in failures:
        print(failure)
    examples = sum(len(rule.VALID) + len(rule.INVALID) for rule in loaded.rules)
    if not loaded.rules and not failures:
        raise ConfigError(f"no rules in {', '.join(map(local_rules.shown, paths))}")
    number = f"{len(failures)} failure{'s' * (len(failures) != 1)}" if failures else "all hold"
    print(
        f"{len(loaded.rules)} rule{'s' * (len(loaded.rules) != 1)}, {examples} example{'s' * (examples != 1)}: {number}"
    )
    sys.stdout.flush()
    return 1 if failures else 0


def _paths(options: argparse.Namespace) -> tuple[str, ...]:
    if options.paths:
        for path in options.paths:
            if not os.path.exists(path):
                raise ConfigError(f"no such file or folder: {path}")
        return tuple(map(os.path.abspath, options.paths))
    settings = config.read(options.config) if options.config else config.find(".")
    if options.isolated or settings is None or not settings.local_rules:
        raise ConfigError("there are no local rules: name a folder, or set local-rules in [tool.stridelint]")
    return settings.local_rules


def failures_of(rule: type[Rule]) -> Iterator[str]:
    """What does not hold of a rule's examples, in words.

    A VALID example has no findings in a plain run. An INVALID one has exactly those that it lists, in an audit, and the fixes
    make of it what it says.
    """
    if not rule.INVALID:
        yield f"{rule.code}: it has no INVALID example, so that nothing shows that it finds anything"
    for number, code in enumerate(rule.VALID):
        yield from _told(f"{rule.code} VALID[{number}]", code, _checked(rule, code, Confidence.LIKELY), ())
    for number, example in enumerate(rule.INVALID):
        title = f"{rule.code} INVALID[{number}]"
        outcome = _checked(rule, example.code, Confidence.POSSIBLE)
        yield from _told(title, example.code, outcome, tuple(sorted(example.expected)))
        if not outcome.skipped:
            yield from _misfixed(title, rule, example)


def _checked(rule: type[Rule], code: str, least: Confidence) -> Outcome:
    chosen = Selection((rule,), frozenset({rule.code}), least)
    return engine.check(source.from_bytes("example.py", code.encode(), explicit=True), chosen)


def _told(title: str, code: str, outcome: Outcome, expected: Found) -> Iterator[str]:
    for skipped in outcome.skipped:
        yield f"{title}: {skipped.reason}"
    found = tuple(sorted((each.line, each.column, each.message) for each in outcome.findings))
    if found != expected:
        yield "\n".join(
            [
                f"{title}: the findings are not those that are expected",
                *(
                    f"    missing    {line}:{column}: {message}"
                    for line, column, message in expected
                    if (line, column, message) not in found
                ),
                *(
                    f"    unexpected {line}:{column}: {message}"
                    for line, column, message in found
                    if (line, column, message) not in expected
                ),
                *(f"    {number:4} | {line}" for number, line in enumerate(code.splitlines(), 1)),
            ]
        )


def _misfixed(title: str, rule: type[Rule], example: Invalid) -> Iterator[str]:
    file = source.from_bytes("example.py", example.code.encode(), explicit=True)
    for unsafe in (False, True):
        wanted = example.fixed if example.fixed is not None and (unsafe or example.safe) else example.code
        made = fixing.fixes_of(file, lambda text: _checked_file(rule, text), unsafe=unsafe).data.decode()
        if made != wanted:
            option = "--fix --unsafe-fixes" if unsafe else "--fix"
            yield f"{title}: {option} makes of it\n{_indented(made)}\n  and not\n{_indented(wanted)}"
            return


def _checked_file(rule: type[Rule], file: source.Source) -> Outcome:
    return engine.check(file, Selection((rule,), frozenset({rule.code}), Confidence.POSSIBLE))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
