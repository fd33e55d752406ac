"""Comments that hide findings: which of them hides what.

`# noqa` has flake8's own meaning, and counts on any line of the statement as well as on the reported one. What comments of
our own say is told in `suppress_comments`, what a statement is in `suppress_lines`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from stridelint.linter.suppress_comments import (
    IGNORE,
    IGNORE_FILE,
    NOQA,
    NOQA_FILE,
    OFF,
    ON,
    Comment,
    Directive,
    directives,
)
from stridelint.linter.suppress_lines import Lines, Statement


class Suppressions:
    """The comments of one file that hide findings."""

    def __init__(self, text: str) -> None:
        """Find the comments and the statements' lines."""
        self.lines = Lines(text)
        self.directives = [each for comment in self.lines.comments for each in directives(comment)]
        self._file = [each for each in self.directives if each.verb in (NOQA_FILE, IGNORE_FILE) and each.hides]
        self._noqa = {each.comment.line: each for each in self.directives if each.verb == NOQA}
        self._of_statement: dict[int, list[Directive]] = {}
        self._blocks: list[tuple[Directive, int]] = []  # with the last line where they hold
        for each in self.directives:
            if each.verb in (NOQA, IGNORE) and not each.wrong:
                statement = self._statement_of(each)
                if statement is not None:
                    self._of_statement.setdefault(statement.first, []).append(each)
            elif each.verb in (OFF, ON) and not each.wrong:
                self._blocks.append((each, self._end_of_block(each.comment)))

    def hides(self, line: int, code: str, name: str = "") -> bool:
        """Whether a comment hides a finding of this rule on this line."""
        return any(True for _ in self.hiding(line, code, name))

    def hides_physically(self, line: int, code: str) -> bool:
        """Whether flake8 hides it too: by a comment on the reported line or one joined to it."""
        return any(True for _ in self._beside(line, code))

    def hiding(self, line: int, code: str, name: str = "") -> Iterator[Directive]:
        """The comments that hide a finding of this rule on this line; each would do so alone."""
        yield from (each for each in self._file if each.is_about(code, name))
        statement = self.lines.statement(line)
        if statement is not None:
            yield from (each for each in self._of_statement.get(statement.first, ()) if each.is_about(code, name))
        else:
            yield from self._beside(line, code)
        block = self.block(line, code, name)
        if block is not None and block.verb == OFF:
            yield block

    def block(self, line: int, code: str, name: str, indent: int | None = None) -> Directive | None:
        """The last `off` or `on` above a line that is about a rule and still holds there.

        indent: how far right it may stand at most.
        """
        holding = [
            each
            for each, last in self._blocks
            if each.comment.line < line <= last and (indent is None or each.comment.indent <= indent)
        ]
        return next((each for each in reversed(holding) if each.is_about(code, name)), None)

    def uses(self, line: int, code: str, name: str) -> Iterator[tuple[int, int]]:
        """Line and column of all that hides a finding: of the parts of lists that mean its rule, or of whole comments."""
        for each in self.hiding(line, code, name):
            columns = [each.column] if each.parts is None else [part.column for part in each.matching(code, name)]
            yield from ((each.comment.line, column) for column in columns)

    def _beside(self, line: int, code: str) -> Iterator[Directive]:
        for joined in self.lines.joined.get(line, (line,)):
            each = self._noqa.get(joined)
            if each is not None and each.is_about(code, ""):
                yield each

    def _statement_of(self, directive: Directive) -> Statement | None:
        """The statement that a comment is for: the one it stands in, or for our own on a line of its own the next one."""
        comment = directive.comment
        inside = self.lines.statement(comment.line)
        if inside is not None or directive.verb != IGNORE:
            return inside
        statements = self.lines.statements
        index = bisect_right(statements, comment.line, key=lambda each: each.first)
        # What is further left ends the block that the comment stands in.
        return statements[index] if index < len(statements) and statements[index].indent >= comment.indent else None

    def _end_of_block(self, comment: Comment) -> int:
        """The last line before the code is further left than a comment."""
        behind = (each for each in self.lines.statements if each.first > comment.line and each.indent < comment.indent)
        return min((each.first - 1 for each in behind), default=len(self.lines.text))
