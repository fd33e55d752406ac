"""What the server's helper process answers: findings, hovers, fixes of a text. Plain data in and out."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import config, screen, source
from stridelint.linter.findings import Report, Reported
from stridelint.linter.server.documents import as_source

if TYPE_CHECKING:
    from stridelint.linter.server.tree import Tree


class Checked(NamedTuple):
    """The findings of a text; `remarks`: what the user should hear besides, such as why it was not analysed."""

    findings: tuple[Reported, ...] = ()
    remarks: tuple[str, ...] = ()


class Edited(NamedTuple):
    """A text after a change; `reason` tells why there is none."""

    text: str
    reason: str = ""


class Told(NamedTuple):
    """A hover: Markdown, and the lines (from 1) and columns (from 0) that it is about."""

    text: str
    line: int
    column: int
    end_line: int
    end_column: int


def check(path: str, text: str) -> Checked:
    """What `stridelint check` finds in a file of this text. A text that is no Python yet has no findings."""
    from stridelint.linter import discover, run

    try:
        settings = _settings(path)
        if discover.is_excluded(path, settings):
            return Checked()
        file = as_source(path, text)
        report = _without_known(run.check_all([(file, settings)], processes=1), file, settings)
    except (config.ConfigError, source.Unreadable) as error:
        return Checked(remarks=(str(error),))
    own = tuple(each for each in report.findings if each.path == path)
    if report.skipped and not _parses(text):
        return Checked(own)
    return Checked(own, tuple(each.reason for each in report.skipped))


def _without_known(report: Report, file: source.Source, settings: config.Settings) -> Report:
    """The report without the findings of a baseline that the configuration names."""
    if not settings.baseline or not report.findings:
        return report
    from stridelint.linter import baseline_command, cli
    from stridelint.linter.fingerprints import Sources

    sources, options = Sources({file.path: file.data}), cli.check_options(())
    return baseline_command.apply(report, [settings], {file.path: settings}, sources, options)


def _settings(path: str) -> config.Settings:
    config.forget()
    return config.find(path)


def _parses(text: str) -> bool:
    try:
        screen.parse(text)
    except screen.Unparsable:
        return False
    return True


def hover(text: str, line: int, column: int) -> Told | None:
    """What is known of the tensor at a character; None where nothing is, or the text is no Python yet."""
    from stridelint.linter.deep import run_deep

    if len(text) > source.MAX_BYTES or "torch" not in text:
        return None
    return run_deep(lambda: _hover(text, line, column))


def _hover(text: str, line: int, column: int) -> Told | None:
    from stridelint.linter.server import hovering, looking

    try:
        try:
            found = hovering.hover(_tree(text), line, column)
        except looking.ReadingFailed:
            found = hovering.hover(_tree(text, exact=True), line, column)
    except screen.Unparsable:
        return None
    return None if found is None else Told(found.text, *found.place)


@functools.lru_cache(maxsize=4)
def _tree(text: str, exact: bool = False) -> Tree:
    from stridelint.linter.server.tree import Tree

    return Tree(text, exact)


def fix(path: str, text: str, finding: Reported) -> Edited:
    """The text with the fix of one finding, checked as `check --fix` does."""
    from stridelint.linter import edited, fixing_command
    from stridelint.rules.unused_suppression import UnusedSuppression

    if finding.code == UnusedSuppression.code:  # a comment, which no other finding depends on
        return Edited(edited.apply(text, finding.patch.edits))
    data, reason = fixing_command.fix_of(as_source(path, text), finding, _settings(path), unsafe=not finding.patch.safe)
    return Edited(source.decode(data), reason)


def fix_all(path: str, text: str) -> Edited:
    """The text with all safe fixes."""
    from stridelint.linter import fixing_command

    return Edited(source.decode(fixing_command.fixes_of(as_source(path, text), _settings(path)).data))


def suppress(path: str, text: str, finding: Reported) -> Edited:
    """The text with a comment that hides a finding, put as `check --add-noqa` does."""
    from stridelint.linter import suppress_adding

    done = suppress_adding.added(as_source(path, text), [finding])
    return Edited(source.decode(done.data), "" if done.hidden else done.left_out)


def explain(code: str) -> str:
    """What a rule finds, and why that is bad, in Markdown."""
    from stridelint.linter import documentation
    from stridelint.rules.registry import by_code

    rule = by_code().get(code)
    if rule is None:
        return ""
    told = documentation.sections(rule)
    return "\n\n".join(told[title] for title in ("What it does", "Why is this bad?") if title in told)


def ready() -> int:
    """Import what answers need, before anybody waits for one."""
    from stridelint.linter import fixing_command, inference, resolve  # noqa: F401
    from stridelint.linter.server import hovering  # noqa: F401
    from stridelint.rules.registry import all_rules

    all_rules()
    return os.getpid()


QUESTIONS = {each.__name__: each for each in (check, hover, fix, fix_all, suppress, explain, ready)}
