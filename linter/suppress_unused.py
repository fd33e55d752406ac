"""TLC902: comments that are to hide findings and hide nothing, and those that nobody understands.

What a comment in one file hides may be found while another file is read, so this is judged when a run is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import screen
from stridelint.linter.config import suggestion
from stridelint.linter.findings import NO_PATCH, Outcome, Patch, Replacement, Reported
from stridelint.linter.suppress import Suppressions
from stridelint.linter.suppress_comments import IGNORE, NOQA, NOQA_FILE, OFF, ON, VERBS, Directive, Part, means
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import by_code
from stridelint.rules.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    import ast

    from stridelint.linter.selection import Selection

_WITNESS = '{"reason": "it is about a comment, and names no call to make"}'


def unused(path: str, text: str, used: Collection[tuple[str, int, int]], selection: Selection, alone: bool) -> Outcome:
    """The findings in a file that was analysed to its end.

    used: what all files of the run have found comments for (see `Outcome`). alone: the file was read without those that
    may call its functions, so that nothing is certain about comments in these.
    """
    if not selection.shows_unused:
        return Outcome()
    try:
        tree = screen.parse(text)
    except screen.Unparsable:
        return Outcome()  # nobody has asked for more of this file than its bytes
    suppressions = Suppressions(text)
    judge = _Judge(path, text, suppressions, used, selection)
    bodies = _bodies(tree) if alone else []
    found: list[Reported] = []
    for directive in suppressions.directives:
        for each in judge.complaints(directive):
            if alone and each.depends:
                whole = directive.verb not in (NOQA, IGNORE)
                if any(whole or directive.comment.line in body for body in bodies):
                    each = each._replace(confidence=Confidence.POSSIBLE)
            if each.confidence >= selection.min_confidence:
                found.append(_reported(path, suppressions.lines.text, directive, each))
    # Only a comment that names TLC902 hides it: one about everything is not about itself.
    hidden = {each for each in found if _hides(suppressions, each)}
    return selection.settled(
        Outcome(
            tuple(each for each in found if each not in hidden), (), tuple(each for each in found if each in hidden)
        )
    )


def _hides(suppressions: Suppressions, finding: Reported) -> bool:
    return any(each.parts is not None for each in suppressions.hiding(finding.line, finding.code, finding.name))


class _Complaint(NamedTuple):
    """What is wrong with a directive, and the part of it that this is about; `depends` on what callers do.

    gone: the parts to take out; all of the comment if these are all its parts. None: there is no fix.
    """

    message: str
    column: int
    end: int
    gone: tuple[Part, ...] | None = None
    confidence: Confidence = Confidence.CERTAIN
    depends: bool = False


class _Judge:
    """Judges the comments of one file."""

    def __init__(
        self,
        path: str,
        text: str,
        suppressions: Suppressions,
        used: Collection[tuple[str, int, int]],
        selection: Selection,
    ) -> None:
        self.known = by_code()
        self.run = {rule.code for rule in selection.rules if not selection.ignores(path, rule.code)}
        self.suppressions = suppressions
        self.used = {(line, column) for name, line, column in used if name == path}

    def complaints(self, directive: Directive) -> Iterator[_Complaint]:
        """What is wrong with one comment."""
        if directive.wrong:
            verb = directive.verb
            hint = suggestion(verb, VERBS) if verb not in VERBS else ""
            yield _Complaint(directive.wrong + hint, directive.column, directive.end)
        elif directive.parts is None:
            if directive.is_ours and self._is_idle(directive, None):
                yield self._whole(directive)
        else:
            yield from self._of_list(directive, directive.parts)

    def _whole(self, directive: Directive) -> _Complaint:
        # A rule that only audits run may be what it is there for.
        every = set(self.known) - {"TLC901", UnusedSuppression.code}
        sure = Confidence.CERTAIN if directive.verb == ON or every <= self.run else Confidence.LIKELY
        message = f"'stridelint: {directive.verb}' {self._does_nothing(directive)}"
        return _Complaint(message, directive.column, directive.end, (), sure, directive.verb != ON)

    def _of_list(self, directive: Directive, parts: Sequence[Part]) -> Iterator[_Complaint]:
        gone = []
        for part in parts:
            if self._is_unknown(directive, part):
                names = [] if directive.verb in (NOQA, NOQA_FILE) else [rule.name for rule in self.known.values()]
                hint = suggestion(part.text.upper(), self.known) or suggestion(part.text.lower(), names)
                end = part.column + len(part.text)
                yield _Complaint(f"there is no rule '{part.text}'{hint}", part.column, end)
            elif self._is_idle(directive, part):
                gone.append(part)
        if gone:
            named = ", ".join(f"'{part.text}'" for part in gone)
            many = len(gone) > 1
            message = f"{named} {self._does_nothing(directive, many)}"
            end = gone[-1].column + len(gone[-1].text)
            yield _Complaint(message, gone[0].column, end, tuple(gone), depends=directive.verb != ON)

    def _does_nothing(self, directive: Directive, many: bool = False) -> str:
        if directive.verb == ON:
            return f"end{'' if many else 's'} no 'stridelint: {OFF}'"
        told = f"hide{'' if many else 's'} nothing here"
        if directive.verb == NOQA and directive.comment.alone:
            inside = self.suppressions.lines.statement(directive.comment.line)
            told += "; above a statement write '# stridelint: ignore[...]'" if inside is None else ""
        return told

    def _is_unknown(self, directive: Directive, part: Part) -> bool:
        if not directive.is_ours and not part.text.upper().startswith("TLC"):
            return False  # another tool's
        return not any(
            means(part.text, code, rule.name if directive.is_ours else "") for code, rule in self.known.items()
        )

    def _is_idle(self, directive: Directive, part: Part | None) -> bool:
        """Whether a comment, or one part of its list, is known to do nothing."""
        if directive.verb == ON:
            return not self._ends_something(directive, part)
        column = directive.column if part is None else part.column
        if (directive.comment.line, column) in self.used:
            return False
        if part is None:
            return {code for code, rule in self.known.items() if not rule.quiet} - {"TLC901"} <= self.run
        meant = {
            code for code, rule in self.known.items() if means(part.text, code, rule.name if directive.is_ours else "")
        }
        return bool(meant) and meant <= self.run

    def _ends_something(self, directive: Directive, part: Part | None) -> bool:
        for code, rule in self.known.items():
            if part is None or means(part.text, code, rule.name):
                comment = directive.comment
                before = self.suppressions.block(comment.line, code, rule.name, comment.indent)
                if before is not None and before.verb == OFF:
                    return True
        return False


def _bodies(tree: ast.Module) -> list[range]:
    """The lines of all functions' bodies."""
    import ast

    return [
        range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def _reported(path: str, lines: Sequence[str], directive: Directive, complaint: _Complaint) -> Reported:
    line = directive.comment.line
    rule = UnusedSuppression
    return Reported(
        path,
        line,
        complaint.column + 1,
        line,
        complaint.end + 1,
        rule.code,
        rule.name,
        complaint.message,
        rule.severity.value,
        complaint.confidence.name.lower(),
        (),
        lines[line - 1],
        _WITNESS,
        patch=_patch(lines, directive, complaint),
    )


def _patch(lines: Sequence[str], directive: Directive, complaint: _Complaint) -> Patch:
    """How a comment goes away, or codes out of its list."""
    if complaint.gone is None:
        return NO_PATCH
    left = [part for part in directive.parts or () if part not in complaint.gone]
    is_safe = complaint.confidence is Confidence.CERTAIN
    if left:
        named = ", ".join(part.text for part in complaint.gone)
        return Patch(f"Take {named} out of the comment", is_safe, (_shortened(lines, directive, complaint.gone),))
    return Patch("Take the comment out", is_safe, (_removed(lines, directive),))


def _shortened(lines: Sequence[str], directive: Directive, gone: Collection[Part]) -> Replacement:
    """The list without some of its parts, with the separators that were between the others."""
    line = lines[directive.comment.line - 1]
    parts = directive.parts or ()
    first, last = parts[0].column, parts[-1].column + len(parts[-1].text)
    text, end = "", first
    for part in parts:
        if part not in gone:
            separator = line[end : part.column] if text else ""
            text += separator + part.text
        end = part.column + len(part.text)
    number = directive.comment.line
    return Replacement(number, first + 1, number, last + 1, text)


def _removed(lines: Sequence[str], directive: Directive) -> Replacement:
    """The comment without a directive and the reason that follows it; no line at all if nothing else stands there."""
    number, comment = directive.comment.line, directive.comment
    line = lines[number - 1]
    following = line.find("#", directive.end)
    before = line[: directive.column]
    if following >= 0:
        return Replacement(number, directive.column + 1, number, following + 1, "")
    if before.strip():
        return Replacement(number, len(before.rstrip()) + 1, number, len(line) + 1, "")
    if number < len(lines):
        return Replacement(number, 1, number + 1, 1, "")
    return Replacement(number, comment.column + 1, number, len(line) + 1, "")
