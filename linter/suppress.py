"""`noqa` comments, with flake8's own meaning, and on either end of a statement as well as on the reported line.

Comments are found with tokenize, so that a string that holds `# noqa` hides nothing.
"""

from __future__ import annotations

import io
import re
import tokenize

# flake8's own expression (flake8.defaults): people know what it matches, odd as some of it is.
_INLINE = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
# With codes flake8 7 still skips the whole file; whoever names E501 there means E501, so here codes count.
_FILE = re.compile(r"\s*# flake8[:=]\s*noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,\s]")
_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}


class Suppressions:
    """The noqa comments of one file."""

    def __init__(self, text: str) -> None:
        """Find the comments and the statements' lines."""
        self._comments: dict[int, str] = {}
        self._statement: dict[int, tuple[int, int]] = {}  # line -> first and last line of its statement
        self._joined: dict[int, range] = {}  # line -> lines that a string or a backslash joins to it
        self._file: list[re.Match[str]] = []
        try:
            self._scan(text)
        except (tokenize.TokenError, SyntaxError):
            pass  # Python parsed it, so this is tokenize's own limit: what was read so far holds

    def _scan(self, text: str) -> None:
        first = start = 0
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT:
                self._comments[token.start[0]] = token.string
                if match := _FILE.match(token.line):
                    self._file.append(match)
            elif token.type not in _LAYOUT:
                first = first or token.start[0]
                start = start or token.start[0]
            if token.type == tokenize.NEWLINE:
                for line in range(first, token.start[0] + 1):
                    self._statement[line] = (first, token.start[0])
                first = 0
            if token.type in (tokenize.NEWLINE, tokenize.NL):
                if start and start < token.start[0]:
                    joined = range(start, token.start[0] + 1)
                    self._joined.update(dict.fromkeys(joined, joined))
                start = 0

    def hides(self, line: int, code: str) -> bool:
        """Whether a comment hides a finding of this code on this line."""
        if any(_covers(match, code) for match in self._file) or self.hides_physically(line, code):
            return True
        return any(self._comment_hides(end, code) for end in self._statement.get(line, ()))

    def hides_physically(self, line: int, code: str) -> bool:
        """Whether flake8 hides it too: by a comment on the reported line or one joined to it."""
        return any(self._comment_hides(joined, code) for joined in self._joined.get(line, (line,)))

    def _comment_hides(self, line: int, code: str) -> bool:
        match = _INLINE.search(self._comments.get(line, ""))
        return match is not None and _covers(match, code)


def _covers(match: re.Match[str], code: str) -> bool:
    codes = match.group("codes")
    if codes is None:
        return True
    return any(part and code.startswith(part.upper()) for part in _SEPARATOR.split(codes))
