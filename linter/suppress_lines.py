"""How the lines of a file hang together, for comments: its statements, and lines that strings and backslashes join.

Comments are found with tokenize, so that a string that holds `# noqa` hides nothing.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from stridelint.linter import source
from stridelint.linter.suppress_comments import Comment

_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
# From Python 3.12 on the parts of an f-string are tokens, and its line ends may be.
_OPENING = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
_CLOSING = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}


class Statement(NamedTuple):
    """A statement's first and last line, and its indentation: of a compound one the header, with its decorators."""

    first: int
    last: int
    indent: int


class Lines:
    """The lines of one file.

    joined: from a line to all those that strings or backslashes join it with, where there are others; flake8 looks for
        `noqa` in all of them. formatted: the lines of f-strings, where a line of their code ends there without a comment.
    """

    def __init__(self, text: str) -> None:
        self.text = source.lines(text)
        self.comments: list[Comment] = []
        self.statements: list[Statement] = []
        self.joined: dict[int, range] = {}
        self.formatted: list[range] = []
        self._of_line: dict[int, Statement] = {}
        try:
            self._scan(text)
        except (tokenize.TokenError, SyntaxError):
            pass  # Python parsed it, so this is tokenize's own limit: what was read so far holds

    def statement(self, line: int) -> Statement | None:
        """The statement that a line belongs to; None between statements."""
        return self._of_line.get(line)

    def place_behind(self, line: int) -> int:
        """The first line from this one on that a comment can be put at the end of."""
        while True:
            joined = self.joined.get(line, range(line, line + 1))
            end = max((each[-1] for each in self.formatted if joined[-1] in each), default=joined[-1])
            if end == line:
                return line
            line = end

    def indent(self, line: int, column: int) -> int:
        """How far a column is from the margin, if only blanks stand before it."""
        return len(self.text[line - 1][:column].expandtabs(8))

    def _scan(self, text: str) -> None:
        first = start = 0
        opened: list[int] = []
        decorated: Statement | None = None
        column = 0
        is_decorator = False
        for token in _tokens(text):
            kind, line = token.type, token.start[0]
            if kind == tokenize.COMMENT:
                before = self.text[line - 1][: token.start[1]]
                indent = self.indent(line, token.start[1])
                self.comments.append(Comment(line, token.start[1], token.string, not before.strip(), indent))
            elif kind not in _LAYOUT:
                start = start or line
                if not first:
                    first, column, is_decorator = line, token.start[1], token.string == "@"
            if kind in _OPENING:
                opened.append(line)
            elif kind in _CLOSING and opened:
                self.formatted.append(range(opened.pop(), token.end[0] + 1))
            if kind == tokenize.NEWLINE and first:
                statement = decorated or Statement(first, line, self.indent(first, column))
                statement = statement._replace(last=line)
                decorated = statement if is_decorator else None
                if not is_decorator:
                    self.statements.append(statement)
                    self._of_line.update(dict.fromkeys(range(statement.first, line + 1), statement))
                first = 0
            if kind in (tokenize.NEWLINE, tokenize.NL):
                if start and start < line:
                    self.joined.update(dict.fromkeys(range(start, line + 1), range(start, line + 1)))
                start = 0


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
