"""From findings on nodes to findings at places: lines and columns, in which file, and how they are fixed there."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider

from stridelint.linter import source
from stridelint.linter.errors import internal_error
from stridelint.linter.findings import NO_PATCH, Patch, Remark, Replacement, Reported
from stridelint.linter.statistics import timed

# What Python takes for the beginning of a line.
_INDENTS = " \t\x0c"

if TYPE_CHECKING:
    from libcst._position import CodeRange

    from stridelint.rules.events import Site
    from stridelint.rules.rule import Finding


class Place(NamedTuple):
    """Lines and columns as in `Reported`."""

    line: int
    column: int
    end_line: int
    end_column: int


def moved(written: Sequence[str], lines: Sequence[str]) -> list[tuple[int, int]]:
    """For each line that LibCST writes: which of the file it is (from 1), and by how much its columns are less there.

    LibCST drops form feeds in front of a statement, and lines before one that hold just a backslash. Bodies of functions may
    be blanked out in what it writes.
    """
    found, number = [], 0
    for line in written:
        while (
            line.strip() and number < len(lines) - 1 and lines[number].strip(_INDENTS) == "\\" != line.strip(_INDENTS)
        ):
            number += 1
        its = lines[number] if number < len(lines) else ""
        is_same = its != line and its.lstrip(_INDENTS) == line.lstrip(_INDENTS)
        number += 1
        found.append((number, len(its) - len(line) if is_same else 0))
    if number > len(lines) or any(rest.strip(_INDENTS) not in ("", "\\") for rest in lines[number:]):
        raise ValueError(f"LibCST writes {len(written)} lines for {len(lines)}")
    return found


class _File:
    """A file of which findings know the nodes. Positions are costly, so they are computed only when one is asked for."""

    def __init__(self, path: str, text: str, module: libcst.Module) -> None:
        self.path = path
        self.module = module
        self.lines = source.lines(text)

    def place(self, node: object) -> Place | None:
        """Where a node stands; None if it is none of this file's."""
        where = self._ranges.get(node)  # type: ignore[call-overload]  # any object may be asked for
        if where is None:
            return None
        line, less = self._moved[where.start.line - 1]
        end_line, end_less = self._moved[where.end.line - 1]
        return Place(line, where.start.column + less + 1, end_line, where.end.column + end_less + 1)

    @functools.cached_property
    def _ranges(self) -> Mapping[libcst.CSTNode, CodeRange]:
        # The parser shares no nodes, so the copy is not needed; and the findings know the nodes of this very tree.
        return MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)

    @functools.cached_property
    def _moved(self) -> list[tuple[int, int]]:
        return moved(source.lines(self.module.code), self.lines)


@timed("resolve")
def resolved(
    path: str, text: str, module: libcst.Module, others: Mapping[str, libcst.Module], findings: Iterable[Finding]
) -> list[Reported]:
    """The findings of one run of the interpreter; `others`: trees of other files whose functions were followed, by path."""
    own = _File(path, text, module)
    files = [own, *(_File(name, each.code, each) for name, each in others.items())]
    patch = _patches(own)

    def place(site: Site) -> tuple[_File, Place]:
        for file in files if site.node is not None else ():
            where = file.place(site.node)
            if where is not None:
                return file, where
        line = site.line or 1
        return own, Place(line, 1, line, 1)

    reported = []
    for finding in findings:
        rule, (file, at) = finding.rule, place(finding.site)
        remarks = []
        for note in finding.notes:
            where, (line, *_) = place(note.site)
            remarks.append(Remark(note.site.path or where.path, line, note.message))
        reported.append(
            Reported(
                file.path,
                *at,
                rule.code,
                rule.name,
                finding.message,
                (finding.severity or rule.severity).value,
                finding.confidence.name.lower(),
                tuple(remarks),
                file.lines[at[0] - 1] if at[0] <= len(file.lines) else "",
                _witness(finding),
                patch=patch(finding) if file is own else NO_PATCH,
            )
        )
    return reported


def _patches(file: _File) -> Callable[[Finding], Patch]:
    """How findings are fixed: what their rules say, with places in the file."""
    from stridelint.rules.forms import edits
    from stridelint.rules.rule import Rule

    codes: list[edits.Code] = []

    def patch(finding: Finding) -> Patch:
        if finding.rule.fix is Rule.fix:
            return NO_PATCH
        if not codes:
            codes.append(edits.Code(file.module))
        fix = finding.rule().fix(finding, codes[0])
        if fix is None:
            return NO_PATCH
        replacements = []
        for edit in fix.edits:
            where = file.place(edit.node)
            if where is None:
                return NO_PATCH
            part = [*file.lines[where.line - 1 : where.end_line]]
            part[-1] = part[-1][: where.end_column - 1]
            part[0] = part[0][where.column - 1 :]
            # What was read may be blanked out in places, and only what it shares with the file can be edited.
            if part != source.lines(codes[0].text(edit.node)):
                return NO_PATCH
            replacements.append(Replacement(*where, edit.text))
        return Patch(fix.description, fix.safe, tuple(sorted(replacements)), fix.cause)

    def safely(finding: Finding) -> Patch:
        try:
            return patch(finding)
        except Exception:  # a mistake of ours must not cost the finding
            if os.environ.get("STRIDELINT_TRACEBACK"):
                raise
            return NO_PATCH

    return safely


def _witness(finding: Finding) -> str:
    """What a probe needs to replay a finding; the reason if there is nothing to replay, or if that cannot be told."""
    import json

    from stridelint.rules.witness import witness

    try:
        return json.dumps(witness(finding))
    except Exception as error:
        return json.dumps({"reason": internal_error(error)})
