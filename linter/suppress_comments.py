"""What a comment says about findings: flake8's `noqa`, and comments of our own, which start with `stridelint:`.

    # noqa: TLC101                        what flake8 makes of it
    # stridelint: ignore[TLC101]          in the statement, or above it on a line of its own
    # stridelint: off[TLC101] ... on      from here to there, at most to the end of the block
    # stridelint: ignore-file[TLC101]     in the whole file

Without brackets they are about all rules. In brackets stand codes, their beginnings, and names of rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# flake8's own expression (flake8.defaults): people know what it matches, odd as some of it is.
_CODES = r"(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?"
_NOQA = re.compile("# noqa" + _CODES, re.IGNORECASE)
# With codes flake8 7 still skips the whole file; whoever names E501 there means E501, so here codes count.
_NOQA_FILE = re.compile(r"# flake8[:=]\s*noqa" + _CODES, re.IGNORECASE)
_OURS = re.compile(r"#\s*stridelint:\s*(?P<verb>[a-z][\w-]*)(?:\s*\[(?P<codes>[^\[\]#]*)\])?", re.IGNORECASE)
# What looks like a list of rules and is none must not be taken for "all rules".
_NO_LIST = re.compile(r"\s*[\[(=:]|\s+(?:TLC\d|ALL\b)", re.IGNORECASE)
_PART = re.compile(r"[^,\s]+")

NOQA, NOQA_FILE = "noqa", "flake8: noqa"
IGNORE, IGNORE_FILE, OFF, ON = "ignore", "ignore-file", "off", "on"
VERBS = (IGNORE, IGNORE_FILE, OFF, ON)


class Comment(NamedTuple):
    """A comment, `column` from 0. alone: nothing else stands on its line. indent: the columns of white space before it."""

    line: int
    column: int
    text: str
    alone: bool
    indent: int


class Part(NamedTuple):
    """A code or name in a list, `column` from 0."""

    text: str
    column: int


class Directive(NamedTuple):
    """What a comment says. verb: one of VERBS, NOQA or NOQA_FILE, or what stands in the place of one.

    column, end: where it begins and ends, the end without blanks and what is not part of it.
    parts: the rules it names; None: all. wrong: why it has no effect.
    """

    verb: str
    comment: Comment
    column: int
    end: int
    parts: tuple[Part, ...] | None
    wrong: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is one of stridelint's own."""
        return self.verb not in (NOQA, NOQA_FILE)

    @property
    def hides(self) -> bool:
        """Whether it may hide findings."""
        return not self.wrong and self.verb != ON

    def matching(self, code: str, name: str) -> list[Part]:
        """Those of its parts that mean a rule."""
        return [part for part in self.parts or () if means(part.text, code, name if self.is_ours else "")]

    def is_about(self, code: str, name: str) -> bool:
        """Whether it is about a rule."""
        return self.parts is None or bool(self.matching(code, name))


def means(written: str, code: str, name: str) -> bool:
    """Whether what stands in a list means a rule: by its code, the beginning of that, or its name."""
    return code.startswith(written.upper()) or (bool(name) and written.lower() in (name, "all"))


def directives(comment: Comment) -> Iterator[Directive]:
    """All that a comment says to us."""
    match = _NOQA_FILE.match(comment.text) if comment.alone else None
    if match is not None:
        yield _directive(NOQA_FILE, comment, match)
    # As in flake8 the first one counts.
    match = _NOQA.search(comment.text)
    if match is not None:
        yield _directive(NOQA, comment, match)
    for match in _OURS.finditer(comment.text):
        directive = _directive(match["verb"].lower(), comment, match)
        yield directive._replace(wrong=_mistake(directive, comment.text[match.end() :]))


def _directive(verb: str, comment: Comment, match: re.Match[str]) -> Directive:
    parts = None
    if match["codes"] is not None:
        start = comment.column + match.start("codes")
        parts = tuple(Part(part[0], start + part.start()) for part in _PART.finditer(match["codes"]))
    end = comment.column + match.start() + len(match[0].rstrip(", \t"))
    return Directive(verb, comment, comment.column + match.start(), end, parts)


def _mistake(directive: Directive, rest: str) -> str:
    """Why one of our comments has no effect; "" if it has."""
    verb = directive.verb
    if verb not in VERBS:
        return f"there is no 'stridelint: {verb}'"
    if directive.parts is None and _NO_LIST.match(rest):
        return f"rules stand in brackets: stridelint: {verb}[TLC101]"
    if directive.parts == ():
        return f"'stridelint: {verb}[]' names no rule"
    if verb != IGNORE and not directive.comment.alone:
        return f"'stridelint: {verb}' must stand on a line of its own"
    return ""
