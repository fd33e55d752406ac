"""Puts `# noqa: TLC101` where findings are: at the end of the reported line, where flake8 sees it as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stridelint.linter import edited, screen
from stridelint.linter.findings import Replacement, Reported
from stridelint.linter.source import Source
from stridelint.linter.suppress import Suppressions
from stridelint.linter.suppress_comments import NOQA, Directive


class Added(NamedTuple):
    """The file with comments.

    data: its bytes. hidden: the findings that are hidden now. left_out: why others are not; the reason holds for the file
    if `hidden` is empty.
    """

    data: bytes
    hidden: tuple[Reported, ...]
    left_out: str = ""


def added(file: Source, findings: Iterable[Reported]) -> Added:
    """The file with a comment for each finding, joined to a `noqa` that is there; its code stays what it is."""
    findings = tuple(findings)
    if file.is_notebook:
        return Added(file.data, (), "notebooks are only read")
    if not edited.is_written_back(file.data):
        return Added(file.data, (), edited.NOT_WRITTEN_BACK)
    text = file.text
    codes: dict[int, set[str]] = {}
    suppressions = Suppressions(text)
    for finding in findings:
        codes.setdefault(suppressions.lines.place_behind(finding.line), set()).add(finding.code)
    if text.startswith("#!"):
        codes.pop(1, None)  # what stands there is for the system
    edits = [_edit(suppressions, line, sorted(wanted)) for line, wanted in codes.items()]
    new = edited.apply(text, edits)
    try:
        data = edited.encoder(file.data)(new)
    except UnicodeError as error:
        return Added(file.data, (), f"the file's encoding cannot write the comments: {error}")
    if not _is_same_code(text, new):
        return Added(file.data, (), "no place for the comments: the code would be another one")
    now = Suppressions(new)
    hidden = tuple(each for each in findings if now.hides(each.line, each.code, each.name))
    lines = now.lines.text
    reason = "" if len(hidden) == len(findings) else "the line cannot hold a comment"
    return Added(data, tuple(each._replace(excerpt=lines[each.line - 1]) for each in hidden), reason)


def _edit(suppressions: Suppressions, line: int, codes: list[str]) -> Replacement:
    text = suppressions.lines.text[line - 1]
    noqa = next((each for each in suppressions.directives if each.verb == NOQA and each.comment.line == line), None)
    if noqa is not None and noqa.parts:
        last = noqa.parts[-1]
        column = last.column + len(last.text) + 1
        return Replacement(line, column, line, column, "".join(_separator(text, noqa) + code for code in codes))
    end = len(text.rstrip())
    return Replacement(line, end + 1, line, len(text) + 1, f"  # noqa: {', '.join(codes)}")


def _separator(line: str, noqa: Directive) -> str:
    """What stands between the codes of a list."""
    *_, before, last = (None, *(noqa.parts or ()))
    return ", " if before is None or last is None else line[before.column + len(before.text) : last.column]


def _is_same_code(before: str, after: str) -> bool:
    import ast

    try:
        return ast.dump(screen.parse(before)) == ast.dump(screen.parse(after))
    except (screen.Unparsable, RecursionError):
        return False


def grouped(findings: Iterable[Reported]) -> Iterator[tuple[str, list[Reported]]]:
    """The findings of each file."""
    groups: dict[str, list[Reported]] = {}
    for finding in findings:
        groups.setdefault(finding.path, []).append(finding)
    return iter(groups.items())
