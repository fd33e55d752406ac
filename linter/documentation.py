"""The pages about rules, made from their docstrings and examples."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from stridelint.linter import contracts_page
from stridelint.rules.could_not_analyse import CouldNotAnalyse
from stridelint.rules.registry import built_in
from stridelint.rules.rule import Rule, Severity

HEADINGS = ("What it does", "Why is this bad?", "Example", "Use instead", "Confirmed by")
CODE = ("Example", "Use instead")
FIX = "Fix"  # only where a rule has one
_NOTICE = "<!-- Written by `stridelint docs` from the rule's own file; change it there. -->"


def is_quiet(rule: type[Rule]) -> bool:
    """Whether the rule's findings are shown in audits only. That a file was not analysed always is."""
    return rule.quiet or (rule.severity is Severity.NOTE and rule is not CouldNotAnalyse)


def file_of(rule: type[Rule]) -> str | None:
    """The file of a rule of a project's own; None for one that ships with the package."""
    if rule.__module__.startswith("stridelint."):
        return None
    file = inspect.getsourcefile(rule)
    return None if file is None else os.path.relpath(file).replace(os.sep, "/")


def versions(rule: type[Rule]) -> str:
    """For which versions of torch a rule holds, as a sentence; "" for all."""
    parts = [f"from torch {rule.since}" * bool(rule.since), f"before torch {rule.until}" * bool(rule.until)]
    told = " and ".join(part for part in parts if part)
    return f"{told[0].upper()}{told[1:]} only." if told else ""


def summary(rule: type[Rule]) -> str:
    """The first sentence of what the rule finds, on one line."""
    text = " ".join(sections(rule).get("What it does", "").split())
    return re.split(r"(?<=\.) (?=[A-Z])", text)[0]


def sections(rule: type[Rule]) -> dict[str, str]:
    """The text under each heading; a heading may be marked with `##` or stand alone on its line."""
    return {title: textwrap.dedent("\n".join(lines)).strip() for title, lines in _sections(rule).items()}


def _sections(rule: type[Rule]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in inspect.cleandoc(rule.__doc__ or "").splitlines():
        title = line.strip().lstrip("#").strip().removesuffix(":")
        if title in HEADINGS or title == FIX:
            current = found.setdefault(title, [])
        elif not re.fullmatch(r"[-=~]{3,}", line.strip()):
            current.append(line)
    return found


def page(rule: type[Rule]) -> str:
    """The page of one rule, in Markdown."""
    told = sections(rule)
    shown = f"**{rule.severity.value}**"
    if is_quiet(rule):
        shown += f", shown only with `--min-confidence possible` or `--select {rule.code}`"
    heads = [f"Severity: {shown}.", versions(rule), f"A local rule, from {file_of(rule)}." * bool(file_of(rule))]
    parts = [f"# {rule.code} {rule.name}", " ".join(each for each in heads if each)]
    for title in HEADINGS:
        if title in told:
            parts += [f"## {title}", _block(told[title], "python") if title in CODE else told[title]]
    if FIX in told:
        parts += [f"## {FIX}", told[FIX], *_fixed(rule)]
    if rule.INVALID:
        parts += ["## Found", "Examples that the tests run, with what is reported on them."]
        for example in rule.INVALID[:2]:
            reports = "\n".join(f"{line}:{column}: {rule.code} {message}" for line, column, message in example.expected)
            parts += [_block(example.code, "python"), _block(reports, "text")]
    if rule.VALID:
        parts += ["## Not found", *(_block(example, "python") for example in rule.VALID[:2])]
    return "\n\n".join(parts) + "\n"


def _fixed(rule: type[Rule]) -> Iterator[str]:
    """What the fixes make of the first examples that have some."""
    examples = [each for safe in (True, False) for each in rule.INVALID if each.fixed is not None and each.safe is safe]
    for option, safe in (("--fix", True), ("--fix --unsafe-fixes", False)):
        example = next((each for each in examples if each.safe is safe), None)
        if example is not None and example.fixed is not None:
            before, after = example.code.splitlines(), example.fixed.splitlines()
            changes = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
            yield f"With `{option}`:"
            yield _block("\n".join(changes), "diff")


def fixability(rule: type[Rule]) -> str:
    """Which fixes a rule has: "safe", "unsafe", both, or none."""
    kinds = {each.safe for each in rule.INVALID if each.fixed is not None}
    return " / ".join(name for name, safe in (("safe", True), ("unsafe", False)) if safe in kinds)


def _rows(rules: Iterable[type[Rule]], folder: str) -> str:
    rows = ["| code | name | severity | fix | what it finds |", "|---|---|---|---|---|"]
    for rule in rules:
        code, quiet = rule.code, " (audits)" if is_quiet(rule) else ""
        text = summary(rule).replace("|", "\\|")
        rows.append(
            f"| [{code}]({folder}{code}.md) | {rule.name} | {rule.severity.value}{quiet} | {fixability(rule)} | {text} |"
        )
    return "\n".join(rows)


def index() -> str:
    """The table of all rules, in Markdown."""
    return (
        "\n\n".join(
            [
                "# Rules",
                "*error*: torch raises or computes wrong numbers. *warning*: silently another layout, or a test that cannot "
                "fail. *note*: advice. Rules marked *audits* report only with `--min-confidence possible`, or when selected "
                "by code. *fix*: whether `--fix` (safe) or `--fix --unsafe-fixes` puts some of the findings right, see "
                "[fixes.md](fixes.md).",
                _rows(built_in().values(), "rules/"),
            ]
        )
        + "\n"
    )


def write(folder: Path, check: bool = False) -> list[Path]:
    """Write all pages and delete those of rules that are gone. The paths that changed, or would if `check`."""
    pages = {folder / "rules.md": index()}
    pages |= {folder / "rules" / f"{code}.md": page(rule) for code, rule in built_in().items()}
    contracts = folder / "operator-contracts.md"
    pages[contracts] = contracts_page.page()
    return _written(
        {path: _noticed(text, contracts_page.NOTICE if path == contracts else _NOTICE) for path, text in pages.items()},
        sorted((folder / "rules").glob("TLC*.md")),
        check,
    )


def write_local(folder: Path, rules: Sequence[type[Rule]], check: bool = False) -> list[Path]:
    """The same for a project's own rules: a page each, and a table of them (`rules.md`)."""
    pages = {folder / "rules.md": "# Rules\n\n" + _rows(rules, "") + "\n"}
    pages |= {folder / f"{rule.code}.md": page(rule) for rule in rules}
    return _written({path: _noticed(text, _NOTICE) for path, text in pages.items()}, [], check)


def _noticed(text: str, notice: str) -> str:
    heading, rest = text.split("\n", 1)
    return f"{heading}\n\n{notice}\n{rest}"


def _written(pages: Mapping[Path, str], old: Iterable[Path], check: bool) -> list[Path]:
    """Write pages, delete old ones that are not among them; the paths that changed."""
    changed = []
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in old:
        if path not in pages:
            changed.append(path)
            if not check:
                path.unlink()
    return changed


def _block(code: str, language: str) -> str:
    return f"```{language}\n{code.strip()}\n```"
