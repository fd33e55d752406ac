"""The pages about rules, made from their docstrings and examples."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from stridelint.linter import contracts_page
from stridelint.rules.registry import by_code
from stridelint.rules.rule import Rule, Severity

HEADINGS = ("What it does", "Why is this bad?", "Example", "Use instead", "Confirmed by")
CODE = ("Example", "Use instead")
FIX = "Fix"  # only where a rule has one
_NOTICE = "<!-- Written by `stridelint docs` from the rule's own file; change it there. -->"


def is_quiet(rule: type[Rule]) -> bool:
    """Whether the rule's findings are shown in audits only."""
    return rule.quiet or rule.severity is Severity.NOTE


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
    parts = [f"# {rule.code} {rule.name}", f"Severity: {shown}."]
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


def index() -> str:
    """The table of all rules, in Markdown."""
    rows = ["| code | name | severity | fix | what it finds |", "|---|---|---|---|---|"]
    for code, rule in by_code().items():
        quiet = " (audits)" if is_quiet(rule) else ""
        text = summary(rule).replace("|", "\\|")
        rows.append(f"| [{code}](rules/{code}.md) | {rule.name} | {rule.severity.value}{quiet} | {fixability(rule)} | {text} |")
    return "\n\n".join(
        [
            "# Rules",
            "*error*: torch raises or computes wrong numbers. *warning*: silently another layout, or a test that cannot "
            "fail. *note*: advice. Rules marked *audits* report only with `--min-confidence possible`, or when selected "
            "by code. *fix*: whether `--fix` (safe) or `--fix --unsafe-fixes` puts some of the findings right, see "
            "[fixes.md](fixes.md).",
            "\n".join(rows),
        ]
    ) + "\n"


def write(folder: Path, check: bool = False) -> list[Path]:
    """Write all pages and delete those of rules that are gone. The paths that changed, or would if `check`."""
    pages = {folder / "rules.md": index()}
    pages |= {folder / "rules" / f"{code}.md": page(rule) for code, rule in by_code().items()}
    contracts = folder / "operator-contracts.md"
    pages[contracts] = contracts_page.page()
    changed = []
    for path, text in pages.items():
        heading, rest = text.split("\n", 1)
        text = f"{heading}\n\n{contracts_page.NOTICE if path == contracts else _NOTICE}\n{rest}"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in sorted((folder / "rules").glob("TLC*.md")):
        if path not in pages:
            changed.append(path)
            if not check:
                path.unlink()
    return changed


def _block(code: str, language: str) -> str:
    return f"```{language}\n{code.strip()}\n```"
