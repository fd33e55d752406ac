"""What a rule's documentation says, for reports that carry it along."""

from __future__ import annotations

from typing import NamedTuple

from stridelint.linter import documentation
from stridelint.rules.registry import by_code
from stridelint.rules.rule import Rule

HOME = "https://github.com/stridelint/stridelint"
# The first digit after TLC.
FAMILIES = {"1": "memory-format", "2": "layout-tests", "3": "out-argument", "4": "in-place"}


class RuleHelp(NamedTuple):
    """A rule for a reader: `what` in one sentence, and the parts of its page as (title, text, is it code)."""

    code: str
    name: str
    severity: str
    quiet: bool
    what: str
    parts: tuple[tuple[str, str, bool], ...]

    @property
    def uri(self) -> str:
        """Where the page is; "" for a local rule."""
        return "" if self.family == "local" else f"{HOME}/blob/main/docs/rules/{self.code}.md"

    @property
    def family(self) -> str:
        """What the rule is about."""
        return FAMILIES.get(self.code[3:4], "run") if self.code.startswith("TLC") else "local"

    def markdown(self) -> str:
        """The page."""
        shown = [f"## {title}\n\n" + (f"```python\n{text}\n```" if code else text) for title, text, code in self.parts]
        return "\n\n".join((f"# {self.code} {self.name}", *shown)) + "\n"

    def plain(self) -> str:
        """The page without marks."""
        return "\n\n".join(f"{title}:\n{text}" for title, text, _ in self.parts) or self.name


def of(code: str, name: str, severity: str) -> RuleHelp:
    """The help of a rule; of one that is not known, what its findings say."""
    rule = by_code().get(code)
    if rule is None:
        return RuleHelp(code, name, severity, False, name, ())
    parts = tuple(_parts(rule))
    what = next((" ".join(text.split()) for title, text, _ in parts if title == documentation.HEADINGS[0]), rule.name)
    return RuleHelp(rule.code, rule.name, rule.severity.value, documentation.is_quiet(rule), what, parts)


def _parts(rule: type[Rule]) -> list[tuple[str, str, bool]]:
    told = documentation.sections(rule)
    titles = [title for title in (*documentation.HEADINGS, documentation.FIX) if told.get(title)]
    return [(title, told[title], title in documentation.CODE) for title in titles]
