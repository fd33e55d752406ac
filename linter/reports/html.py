"""The audit: one page that needs nothing else, to be passed round, read on a phone and printed.

It works as a plain list without JavaScript; the script only searches and filters. A content security policy keeps the
browser from loading anything and from running any other script.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby

from stridelint.linter.findings import Report, Reported
from stridelint.linter.reports import rule_help
from stridelint.linter.reports.context import SEVERITIES, Context
from stridelint.linter.reports.drawing import Drawings
from stridelint.linter.reports.escaping import line, markup
from stridelint.linter.reports.html_finding import card, folder_of
from stridelint.linter.reports.rule_help import RuleHelp

# More findings than this are folded at first.
_MOST_OPEN = 25
_MOST_ROWS = 12
_VERDICTS = ("confirmed", "refuted", "inconclusive")
_CONFIDENCES = ("certain", "likely", "possible")

Count = tuple[str, str, int]  # what a filter takes, what it is called, how many


def render(report: Report, context: Context) -> str:
    """The page."""
    marked = [(finding, "") for finding in report.findings]
    if context.show_suppressed:
        marked += [(finding, "known") for finding in report.known]
        marked += [(finding, "hidden") for finding in report.hidden]
    marked.sort()
    drawings = Drawings()
    cards = list(_cards(marked, context, drawings))
    script = _asset("audit.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"stridelint audit of {_paths(context)}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_inline(title)}</title>",
        f"<style>\n{_asset('audit.css')}</style></head><body>",
        *_header(report, context),
        "<main>",
        *_tiles(report),
        *_overview([finding for finding, _ in marked], context),
        *_filters([finding for finding, _ in marked], context),
        '<section id="findings"><h2>Findings</h2>',
        *(cards or ['<p class="none">No findings.</p>']),
        '<p class="none" id="nothing" hidden>No finding matches.</p></section>',
        *_skipped(report, context),
        *_rules([finding for finding, _ in marked]),
        "</main>",
        *_footer(),
        drawings.symbols(),
        f"<script>{script}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def _inline(text: str) -> str:
    return markup(line(text))


def _breakable(path: str) -> str:
    """A path that may be broken after each folder."""
    return _inline(path).replace("/", "/<wbr>")


def _paths(context: Context) -> str:
    root = os.path.basename(context.root) or context.root
    return ", ".join(root if path == "." else path for path in context.paths) or root


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _header(report: Report, context: Context) -> Iterator[str]:
    from stridelint import __version__

    files = len({finding.path for finding in report.findings})
    facts = [context.day, f"{_plural(report.checked, 'file')} checked", f"{_plural(files, 'file')} with findings"]
    for number, text in (
        (len({each.path for each in report.skipped}), "not analysed"),
        (report.excluded, "excluded"),
        (report.suppressed, "hidden by comments"),
        (len(report.known), "in the baseline"),
    ):
        facts += [f"{number:,} {text}"] if number else []
    yield '<header><p class="brand">stridelint</p>'
    yield f"<h1>Memory layout and <code>out=</code> audit<br><span>{_inline(_paths(context))}</span></h1>"
    yield f'<p class="facts">{_inline(" · ".join(fact for fact in facts if fact))} · stridelint {_inline(__version__)}</p></header>'


def _tiles(report: Report) -> Iterator[str]:
    """The numbers that a reader asks for first."""
    severities = Counter(finding.severity for finding in report.findings)
    verdicts = Counter(finding.probe.verdict for finding in report.findings if finding.probe is not None)
    told = {
        "error": "torch raises or computes wrong numbers",
        "warning": "silently another layout, or a test that cannot fail",
        "note": "advice",
    }
    yield '<section class="tiles" aria-label="Summary">'
    for name in SEVERITIES:
        yield (
            f'<a class="tile {name}" href="#findings" data-filter="severity" data-value="{name}">'
            f"<b>{severities[name]:,}</b> {name}{'' if severities[name] == 1 else 's'}<small>{told[name]}</small></a>"
        )
    if verdicts:
        rest = ", ".join(f"{verdicts[name]:,} {name}" for name in _VERDICTS[1:] if verdicts[name])
        yield (
            '<a class="tile verdict-confirmed" href="#findings" data-filter="verdict" data-value="confirmed">'
            f"<b>{verdicts['confirmed']:,}</b> confirmed<small>on real tensors{'; ' if rest else ''}{rest}</small></a>"
        )
    yield "</section>"


def _counts(findings: list[Reported], key: Callable[[Reported], str], name: Callable[[str], str] = str) -> list[Count]:
    """How many findings there are of each kind, the most frequent first."""
    counts = Counter(map(key, findings))
    return [
        (each, name(each), count)
        for each, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if each
    ]


def _by(findings: list[Reported], context: Context) -> dict[str, list[Count]]:
    """The ways to look at the findings; each is a filter, too."""
    names = {finding.code: finding.name for finding in findings}

    def ordered(known: tuple[str, ...], key: Callable[[Reported], str]) -> list[Count]:
        return sorted(_counts(findings, key), key=lambda count: known.index(count[0]))

    return {
        "rule": _counts(findings, lambda finding: finding.code, lambda code: f"{code} {names[code]}"),
        "folder": _counts(findings, lambda finding: folder_of(context.place(finding.path))),
        "verdict": ordered(_VERDICTS, lambda finding: finding.probe.verdict if finding.probe is not None else ""),
        "severity": ordered(SEVERITIES, lambda finding: finding.severity),
        "confidence": ordered(_CONFIDENCES, lambda finding: finding.confidence),
    }


def _overview(findings: list[Reported], context: Context) -> Iterator[str]:
    if not findings:
        return
    ways = _by(findings, context)
    common = os.path.commonpath([value for value, _, _ in ways["folder"]])
    folders = [
        (value, value.removeprefix(f"{common}/") if value != common else value, count)
        for value, _, count in ways["folder"]
    ]
    yield '<section class="overview" aria-label="Overview">'
    yield _panel("rule", "By rule", ways["rule"])
    if len(folders) > 1:
        yield _panel("folder", f"By folder in {common}" if common else "By folder", folders)
    yield '<div class="stack">'
    yield _panel("verdict", "By verdict", ways["verdict"])
    yield _panel("confidence", "By confidence", ways["confidence"])
    yield "</div></section>"


def _panel(name: str, title: str, counts: list[Count]) -> str:
    """A list of what there is most of, each entry a filter."""
    if not counts:
        return ""
    most = max(count for _, _, count in counts)
    rows = [_row(name, each, most) for each in counts]
    more = ""
    if len(rows) > _MOST_ROWS:
        more = (
            f"<details><summary>{len(rows) - _MOST_ROWS} more</summary><ul>{''.join(rows[_MOST_ROWS:])}</ul></details>"
        )
    return f'<div class="panel"><h2>{_breakable(title)}</h2><ul>{"".join(rows[:_MOST_ROWS])}</ul>{more}</div>'


def _row(name: str, count: Count, most: int) -> str:
    value, shown, number = count
    return (
        f'<li><a href="#findings" data-filter="{name}" data-value="{_inline(value)}">'
        f'<span class="name">{_breakable(shown)}</span><span class="count">{number:,}</span>'
        f'<meter min="0" max="{most}" value="{number}" aria-hidden="true"></meter></a></li>'
    )


def _filters(findings: list[Reported], context: Context) -> Iterator[str]:
    """The form that the script reads; without the script it is not shown."""
    yield '<form class="filters" id="filters" hidden><input type="search" name="search" placeholder="Search code, messages, paths" '
    yield 'aria-label="Search">'
    for name, counts in _by(findings, context).items():
        if len(counts) > 1:
            options = "".join(
                f'<option value="{_inline(value)}">{_inline(shown)} ({number:,})</option>'
                for value, shown, number in counts
            )
            yield f'<select name="{name}" aria-label="{name}"><option value="">any {name}</option>{options}</select>'
    yield '<button type="button" id="unfold">Unfold all</button><button type="reset">Reset</button>'
    yield '<output id="shown" aria-live="polite"></output></form>'


def _cards(marked: list[tuple[Reported, str]], context: Context, drawings: Drawings) -> Iterator[str]:
    """The findings of each file under its name."""
    is_open = len(marked) <= _MOST_OPEN
    numbered = context.sources.numbered(finding for finding, _ in marked)
    seen: Counter[str] = Counter()
    for path, group in groupby(zip(marked, numbered), key=lambda each: each[0][0].path):
        inside = list(group)
        yield f'<section class="file"><h3>{_breakable(context.place(path))} <span class="quiet">{len(inside)}</span></h3>'
        for (finding, mark), (_, fingerprint) in inside:
            seen[fingerprint] += 1  # equal code in several files
            identity = fingerprint if seen[fingerprint] == 1 else f"{fingerprint}:{seen[fingerprint]}"
            yield card(finding, identity, mark, is_open, context, drawings)
        yield "</section>"


def _skipped(report: Report, context: Context) -> Iterator[str]:
    if report.skipped and context.show_skipped:
        yield f'<section class="skipped"><h2>Not analysed</h2><p>{_plural(len(report.skipped), "remark")} about files.</p><ul>'
        for skipped in report.skipped:
            yield f"<li><code>{_inline(context.place(skipped.path))}</code> {_inline(skipped.reason)}</li>"
        yield "</ul></section>"


def _rules(findings: list[Reported]) -> Iterator[str]:
    """What the rules with findings say."""
    helps = {finding.code: rule_help.of(finding.code, finding.name, finding.severity) for finding in findings}
    if helps:
        yield '<section class="rules"><h2>The rules</h2>'
        yield from (_rule(helps[code]) for code in sorted(helps))
        yield "</section>"


def _rule(rule: RuleHelp) -> str:
    parts = [f'<article id="rule-{_inline(rule.code)}"><h3>{_inline(rule.code)} {_inline(rule.name)}</h3>']
    for title, text, is_code in rule.parts:
        body = (
            f"<pre>{markup(text)}</pre>"
            if is_code
            else "".join(f"<p>{_marked(each)}</p>" for each in text.split("\n\n"))
        )
        parts.append(f"<h4>{_inline(title)}</h4>{body}")
    return "".join((*parts, "</article>"))


def _marked(text: str) -> str:
    """A paragraph with its `code` marked."""
    pieces = " ".join(text.split()).split("`")
    return "".join(f"<code>{_inline(each)}</code>" if index % 2 else _inline(each) for index, each in enumerate(pieces))


def _footer() -> Iterator[str]:
    yield (
        "<footer><p>The drawings show the call that a finding is about. Sizes that the code leaves open are filled in with small "
        "numbers. Axes are ordered from the outermost to the innermost in memory, the innermost is marked; cells of one colour "
        "belong to one channel (in tensors of rank 2 and 3: to one index of the first axis).</p>"
        f'<p>Made by <a href="{rule_help.HOME}" rel="noreferrer">stridelint</a>.</p></footer>'
    )
