"""Findings, hovers and edits as the protocol's own types."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lsprotocol import types
from pygls import uris

from stridelint.linter import source
from stridelint.linter.findings import Remark, Reported
from stridelint.linter.server import documents
from stridelint.linter.server.answers import Told

SOURCE = "stridelint"
FIX_ALL = "source.fixAll.stridelint"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


def diagnostic(finding: Reported, uri: str, lines: Sequence[str], encoding: str, related: bool) -> types.Diagnostic:
    """A finding in the document `uri`; `related`: the client shows the steps of its story."""
    sure = " (possible)" if finding.confidence == "possible" else ""
    return types.Diagnostic(
        range=range_of(lines, finding, encoding),
        message=f"{finding.message}{sure}",
        severity=_SEVERITIES.get(finding.severity, types.DiagnosticSeverity.Warning),
        code=finding.code,
        source=SOURCE,
        related_information=[_related(note, finding, uri, lines, encoding) for note in finding.notes]
        if related
        else None,
    )


def _related(
    note: Remark, finding: Reported, uri: str, lines: Sequence[str], encoding: str
) -> types.DiagnosticRelatedInformation:
    here = note.path == finding.path
    text = lines[note.line - 1] if here and 0 < note.line <= len(lines) else ""
    indent = len(text) - len(text.lstrip())
    where = _range(lines, note.line, indent, note.line, len(text.rstrip()), encoding) if text else _line(note.line)
    target = uri if here else uris.from_fs_path(os.path.abspath(note.path)) or uri
    return types.DiagnosticRelatedInformation(location=types.Location(uri=target, range=where), message=note.message)


def range_of(lines: Sequence[str], finding: Reported, encoding: str) -> types.Range:
    """Where a finding stands."""
    return _range(lines, finding.line, finding.column - 1, finding.end_line, finding.end_column - 1, encoding)


def _range(lines: Sequence[str], line: int, column: int, end_line: int, end_column: int, encoding: str) -> types.Range:
    start = documents.position(lines, line, column, encoding)
    end = documents.position(lines, end_line, end_column, encoding)
    return _between(start, end)


def _between(start: tuple[int, int], end: tuple[int, int]) -> types.Range:
    (line, character), (end_line, end_character) = start, end
    return types.Range(
        start=types.Position(line=line, character=character), end=types.Position(line=end_line, character=end_character)
    )


def _line(line: int) -> types.Range:
    return _between((line - 1, 0), (line, 0))


def hover(
    told: Told | None, findings: Sequence[Reported], pages: Sequence[str], lines: Sequence[str], encoding: str
) -> types.Hover | None:
    """The hover on a place with these findings, whose rules have these pages, and what is told of the tensor there."""
    from stridelint.linter.server.markdown import code, prose

    parts = [
        f"**{finding.code}** {code(finding.name)}: {prose(finding.message)}\n\n{page}"
        for finding, page in zip(findings, pages)
    ]
    if told is not None:
        parts.append(told.text)
    if not parts:
        return None
    where = None if told is None else _range(lines, *told[1:], encoding)
    if findings:
        where = range_of(lines, findings[0], encoding)
    return types.Hover(
        contents=types.MarkupContent(kind=types.MarkupKind.Markdown, value="\n\n---\n\n".join(parts)), range=where
    )


def touching(findings: Iterable[Reported], first: tuple[int, int], last: tuple[int, int]) -> list[Reported]:
    """Findings that touch a range of lines (from 1) and columns (from 0), the smallest first."""
    found = [
        each
        for each in findings
        if (each.line, each.column - 1) <= last and first <= (each.end_line, each.end_column - 1)
    ]
    return sorted(found, key=lambda each: (each.end_line - each.line, each.end_column - each.column))


def workspace_edit(
    uri: str, version: int | None, old: str, new: str, encoding: str, versioned: bool
) -> types.WorkspaceEdit:
    """The edit that makes one text of a document the other; `versioned`: the client takes edits of one version only."""
    edits = [
        types.TextEdit(range=_between(change.start, change.end), new_text=change.text)
        for change in documents.edits(old, new, encoding)
        if change.start is not None and change.end is not None
    ]
    if versioned:
        document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=edits)])
    return types.WorkspaceEdit(changes={uri: edits})


def changes(events: Iterable[types.TextDocumentContentChangeEvent]) -> list[documents.Change]:
    """What the client says has changed in a document."""
    found = []
    for each in events:
        if isinstance(each, types.TextDocumentContentChangePartial):
            start, end = each.range.start, each.range.end
            place = documents.Position(start.line, start.character), documents.Position(end.line, end.character)
            found.append(documents.Change(each.text, *place))
        else:
            found.append(documents.Change(each.text))
    return found


def line_and_column(text: str, where: types.Position, encoding: str) -> tuple[int, int]:
    """A position as a line (from 1) and a column in characters (from 0)."""
    lines = source.lines(text)
    if not 0 <= where.line < len(lines):
        return len(lines), len(lines[-1])
    return where.line + 1, documents.characters(lines[where.line], where.character, encoding)
