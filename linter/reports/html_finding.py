"""One finding on the audit page: the code, its story, the layouts, torch's verdict, the fix."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from itertools import groupby

from stridelint.linter import edited, source
from stridelint.linter.findings import Reported
from stridelint.linter.reports import layouts
from stridelint.linter.reports.context import Context
from stridelint.linter.reports.cutting import part
from stridelint.linter.reports.drawing import Drawings
from stridelint.linter.reports.escaping import line, markup
from stridelint.linter.reports.layouts import Tensor
from stridelint.linter.reports.text import verdict

_AROUND = 2  # lines of code before and behind
_MOST_LINES = 14
_MOST_LAYOUTS = 4
_MOST_CHANGES = 12
MARKS = {"known": "in the baseline", "hidden": "suppressed", "": ""}


def card(finding: Reported, fingerprint: str, mark: str, is_open: bool, context: Context, drawings: Drawings) -> str:
    """A finding as an element that can be folded. mark: "known", "hidden" or ""."""
    told = finding.probe.verdict if finding.probe is not None else ""
    data = {
        "rule": finding.code,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "verdict": told,
        "folder": folder_of(context.place(finding.path)),
        "mark": mark,
    }
    attributes = "".join(f' data-{name}="{_inline(value)}"' for name, value in data.items() if value)
    badges = [(told, f"verdict-{told}"), (MARKS[mark], "mark")]
    badges += [("possible", "possible")] if finding.confidence == "possible" else []
    badges += [("fixable", "fixable")] if finding.patch.edits else []
    shown = "".join(f' <span class="badge {kind}">{_inline(text)}</span>' for text, kind in badges if text)
    parts = [
        f'<details class="finding {finding.severity}" id="f-{markup(fingerprint.replace(":", "-"))}"{attributes}'
        f"{' open' if is_open else ''}>",
        f'<summary><span class="severity">{finding.severity}</span> <span class="code">{_inline(finding.code)}</span> '
        f'<span class="place">{context.where(finding.path, finding.line)}</span>{shown}'
        f'<span class="message">{_inline(finding.message)}</span></summary>',
        '<div class="body">',
        excerpt(finding, context),
        *_story(finding, context),
        *_layouts(finding, drawings),
        *_verdict(finding),
        *_fix(finding, context),
        f'<p class="more"><a href="#rule-{_inline(finding.code)}">{_inline(finding.code)} {_inline(finding.name)}: '
        f"why this is bad, and what to do</a> · {_inline(finding.confidence)}</p>",
        "</div></details>",
    ]
    return "\n".join(parts)


def folder_of(path: str) -> str:
    """The folder that a finding is counted in."""
    return os.path.dirname(path) or "."


def _inline(text: str) -> str:
    return markup(line(text))


def excerpt(finding: Reported, context: Context) -> str:
    """The marked code with some lines around it."""
    whole = context.sources.lines(finding.path) if context.sources.is_unchanged(finding) else []
    if not whole:
        return _code([(finding.line, finding.excerpt, _span(finding, finding.line, finding.excerpt))], finding, context)
    around = context.sources.around(finding.path, finding.line)
    first = max(around[0], finding.line - _AROUND)
    last = min(around[-1], finding.end_line + _AROUND, first + _MOST_LINES)
    rows = [(number, whole[number - 1]) for number in range(first, last + 1)]
    while rows[-1][0] > finding.end_line and not rows[-1][1].strip():
        rows.pop()
    while rows[0][0] < finding.line and not rows[0][1].strip():
        rows.pop(0)
    return _code([(number, text, _span(finding, number, text)) for number, text in rows], finding, context)


def _span(finding: Reported, number: int, text: str) -> tuple[int, int] | None:
    """The marked part of a line, as a slice."""
    if not finding.line <= number <= finding.end_line:
        return None
    start = finding.column - 1 if number == finding.line else len(text) - len(text.lstrip())
    return start, finding.end_column - 1 if number == finding.end_line else len(text.rstrip())


def _code(rows: list[tuple[int, str, tuple[int, int] | None]], finding: Reported, context: Context) -> str:
    shared = _indentation(text for _, text, _ in rows)
    lines = []
    for number, text, span in rows:
        text, *cut = part(text, *(span or (0, 0)))
        span = (cut[0], cut[1]) if span is not None else None
        shown = markup_code(text[shared:])
        if span is not None:
            start, end = max(span[0], shared), max(span[1], shared)
            marked = markup_code(text[start:end])
            shown = f"{markup_code(text[shared:start])}<mark>{marked}</mark>{markup_code(text[end:])}"
        kind = "at" if span is not None else ""
        told = context.sources.cell(finding.path, number)[1]
        lines.append(f'<span class="row {kind}"><span class="number">{told}</span>{shown}</span>')
    return f'<pre class="excerpt">{"".join(lines)}</pre>'


def _indentation(lines: Iterable[str]) -> int:
    """How many blanks all lines begin with."""
    return min((len(text) - len(text.lstrip(" ")) for text in lines if text.strip()), default=0)


def markup_code(text: str) -> str:
    """A part of a line of code."""
    return markup(text.expandtabs(4).replace("\n", " "))


def _story(finding: Reported, context: Context) -> Iterator[str]:
    """What led there, step by step: each line of code with all that happens on it."""
    if not finding.notes:
        return
    yield '<h4>How it comes about</h4><ol class="story">'
    for (path, number), notes in groupby(finding.notes, key=lambda note: (note.path, note.line)):
        messages = "; ".join(dict.fromkeys(_inline(note.message) for note in notes))
        yield _step(path, number, part(context.sources.line(path, number).strip()).text, messages, finding, context)
    found = part(finding.excerpt, finding.column - 1).text
    yield _step(finding.path, finding.line, found, "<strong>what is found</strong>", finding, context)
    yield "</ol>"


def _step(path: str, number: int, code: str, message: str, finding: Reported, context: Context) -> str:
    elsewhere = _inline(context.place(path)) + context.at(path, number)
    where = context.where(path, number) if path == finding.path else elsewhere
    shown = f"<code>{_inline(code.strip())}</code>" if code.strip() else ""
    return f'<li><span class="where">{where}</span>{shown}<span class="what">{message}</span></li>'


def _layouts(finding: Reported, drawings: Drawings) -> Iterator[str]:
    tensors = layouts.tensors_of(finding)
    if not tensors:
        return
    yield f'<h4>The tensors in memory{", for example" * layouts.is_example(finding)}</h4><div class="layouts">'
    for tensor in tensors[:_MOST_LAYOUTS]:
        yield f"<figure>{_caption(tensor)}{drawings.draw(tensor)}</figure>"
    yield "</div>"
    if len(tensors) > _MOST_LAYOUTS:
        yield f'<p class="quiet">and {len(tensors) - _MOST_LAYOUTS} tensors more</p>'


def _caption(tensor: Tensor) -> str:
    name = f"<code>{_inline(tensor.text)}</code> " if tensor.text else ""
    role = f'<span class="role">{_inline(tensor.role)}</span> ' if tensor.role else ""
    inner = tensor.innermost
    told = f"innermost: {'axis ' if inner.name.isdecimal() else ''}{inner.name}" if inner is not None else ""
    offset = f", offset {tensor.offset}" if tensor.offset else ""
    numbers = f"shape {_tuple(tensor.shape)}, strides {_tuple(tensor.strides)}{offset}"
    details = " · ".join(each for each in (told, tensor.dtype, numbers) if each)
    return f"<figcaption>{role}{name}<strong>{_inline(tensor.kind)}</strong><br><small>{_inline(details)}</small></figcaption>"


def _tuple(numbers: tuple[int, ...]) -> str:
    return f"({numbers[0]},)" if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"


def _verdict(finding: Reported) -> Iterator[str]:
    if finding.probe is not None:
        yield f'<p class="verdict verdict-{finding.probe.verdict}">{_inline(verdict(finding.probe))}</p>'
        return
    reason = layouts.reason_of(finding)
    if reason:
        yield f'<p class="quiet">No call of torch shows it: {_inline(reason)}.</p>'


def _fix(finding: Reported, context: Context) -> Iterator[str]:
    patch = finding.patch
    if not patch.edits:
        return
    option = "--fix" if patch.safe else "--fix --unsafe-fixes"
    yield f'<h4>Fix</h4><p>{_inline(patch.description)} <span class="quiet">(<code>{option}</code>)</span></p>'
    text = context.sources.text(finding.path)
    if context.sources.is_unchanged(finding):
        before, after = source.lines(text), source.lines(edited.apply(text, patch.edits))
        changes = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        rows = [change for change in changes if not change.startswith("@@")][:_MOST_CHANGES]
        kinds = {"-": "gone", "+": "added"}
        shared = _indentation(row[1:] for row in rows)
        shown = "".join(
            f'<span class="row {kinds[row[0]]}">{row[0]} {markup_code(part(row[1 + shared :], finding.column - 1).text)}</span>'
            for row in rows
        )
        yield f'<pre class="excerpt diff">{shown}</pre>'
