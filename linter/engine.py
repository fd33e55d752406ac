"""Checks one file: screen, parse, analyse, resolve positions, suppress. Whatever goes wrong costs this file only."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from stridelint.linter import screen, source
from stridelint.linter.findings import NO_PATCH, Outcome, Patch, Remark, Replacement, Reported, Skipped

if TYPE_CHECKING:
    import ast

    import libcst
    from libcst._position import CodeRange

    from stridelint.linter.inference import Analysis
    from stridelint.linter.relevance import Plan
    from stridelint.linter.selection import Selection
    from stridelint.rules.events import Site
    from stridelint.rules.rule import Finding, Rule

    Analyse = Callable[[libcst.Module, Sequence[type[Rule]]], Analysis]

# Deeper than any code that a person wrote; LibCST and the interpreter handle this much on the stack of `run_deep`.
MAX_DEPTH = 1000


def skipped(path: str, reason: str) -> Outcome:
    """The outcome of a file that is not analysed."""
    return Outcome(skipped=(Skipped(path, reason),))


def check(file: source.Source, selection: Selection, analyse: Analyse | None = None) -> Outcome:
    """All findings of one file. `analyse` replaces the interpreter, for tests."""
    try:
        text = file.text
        if not screen.mentions(file.data, selection.rules):
            if file.explicit:
                screen.parse(text)  # who names a broken file wants to hear that it is broken
            return Outcome()
        return check_decoded(file.path, text, file.data, screen.parse(text), selection, analyse)
    except (source.Unreadable, screen.Unparsable) as error:
        return skipped(file.path, str(error))
    except Exception as error:
        return skipped(file.path, internal_error(error))


def check_decoded(
    path: str, text: str, data: bytes, tree: ast.Module, selection: Selection, analyse: Analyse | None = None
) -> Outcome:
    """All findings of a file that is read and parsed by Python: screen it further, and analyse it if need be."""
    if not screen.mentions(data, selection.rules):
        return Outcome()
    code = screen.Code(tree)
    rules = code.rules(selection.rules)
    if not rules:
        return Outcome()
    if code.depth > MAX_DEPTH:
        return skipped(path, f"is nested too deeply: {code.depth} levels, the limit is {MAX_DEPTH}")
    return check_text(path, text, tree, rules, selection, analyse)


def check_text(
    path: str,
    text: str,
    tree: ast.Module,
    rules: Sequence[type[Rule]],
    selection: Selection,
    analyse: Analyse | None = None,
) -> Outcome:
    """All findings in a text that has passed the screen for these rules."""
    from stridelint.linter import relevance
    from stridelint.linter.deep import run_deep
    from stridelint.rules.screening import nodes_of

    try:
        plan = relevance.plan(text, tree, nodes_of(tree), rules)
        return run_deep(lambda: _analysed(path, text, tree, plan, rules, selection, analyse))
    except RecursionError:
        return skipped(path, "is nested too deeply to analyse")
    except MemoryError:
        return skipped(path, "needs too much memory to analyse")
    except Exception as error:
        return skipped(path, internal_error(error))


def _analysed(
    path: str,
    text: str,
    tree: ast.Module,
    plan: Plan,
    rules: Sequence[type[Rule]],
    selection: Selection,
    analyse: Analyse | None,
) -> Outcome:
    import libcst

    from stridelint.linter.suppress import Suppressions

    if analyse is None:
        from stridelint.linter import inference

        analyse = functools.partial(inference.analyse, wanted=plan.roots, body=plan.body, telling=plan.telling)
        nothing = _nothing_found(path, tree, plan, rules, selection)
        if nothing is not None:
            return nothing
    try:
        module = libcst.parse_module(plan.text)
    except libcst.ParserSyntaxError as error:
        return skipped(path, f"is valid Python that LibCST does not accept: {error.message} on line {error.raw_line}")
    except RecursionError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()
        return skipped(path, f"is valid Python that LibCST fails on: {type(error).__name__}: {(reason or [''])[-1]}")
    analysis = analyse(module, rules)
    shown = [finding for finding in analysis.findings if selection.shows(finding)]
    stopped = _stopped(path, analysis)
    if not shown:
        return Outcome(skipped=stopped)
    findings = sorted(set(_resolve(path, text, module, shown)))
    suppressions = Suppressions(text)
    hidden = {finding for finding in findings if suppressions.hides(finding.line, finding.code)}
    kept = tuple(finding for finding in findings if finding not in hidden)
    return Outcome(kept, stopped, tuple(finding for finding in findings if finding in hidden))


def _nothing_found(
    path: str, tree: ast.Module, plan: Plan, rules: Sequence[type[Rule]], selection: Selection
) -> Outcome | None:
    """The outcome if there is nothing to report, found out without LibCST's parser; None if that must be used."""
    from stridelint.linter import inference
    from stridelint.linter.inference.bare_tree import BareTree
    from stridelint.rules.rule import Rule

    if plan.needs_text or any(rule.check_module is not Rule.check_module for rule in rules):
        return None
    try:
        bare = BareTree(tree, plan.left_out)
        analysis = inference.analyse(
            bare.module,
            rules,
            wanted=plan.roots,
            body=plan.body,
            telling=plan.telling,
            until=selection.shows,
            source=bare.source,
        )
    except Exception:  # a finding, syntax that is left to LibCST, or a question that bare nodes cannot answer
        return None
    return Outcome(skipped=_stopped(path, analysis))


def _stopped(path: str, analysis: Analysis) -> tuple[Skipped, ...]:
    return (Skipped(path, f"analysis stopped early: {analysis.exhausted}"),) if analysis.exhausted else ()


def _resolve(path: str, text: str, module: libcst.Module, findings: Iterable[Finding]) -> list[Reported]:
    """Findings with their places. Positions are costly, so they are computed only now that there are findings."""
    from libcst.metadata import MetadataWrapper, PositionProvider

    # The parser shares no nodes, so the copy is not needed; and the findings know the nodes of this very tree.
    ranges: Mapping[libcst.CSTNode, CodeRange] = MetadataWrapper(module, unsafe_skip_copy=True).resolve(
        PositionProvider
    )
    lines = source.lines(text)
    patch = _patches(module, ranges, lines)

    def place(site: Site) -> tuple[int, int, int, int]:
        where = ranges.get(site.node)  # type: ignore[call-overload]  # any object may be asked for
        if where is None:
            line = site.line or 1
            return line, 1, line, 1
        return where.start.line, where.start.column + 1, where.end.line, where.end.column + 1

    reported = []
    for finding in findings:
        rule, at = finding.rule, place(finding.site)
        notes = tuple(Remark(note.site.path or path, place(note.site)[0], note.message) for note in finding.notes)
        reported.append(
            Reported(
                path,
                *at,
                rule.code,
                rule.name,
                finding.message,
                (finding.severity or rule.severity).value,
                finding.confidence.name.lower(),
                notes,
                lines[at[0] - 1] if at[0] <= len(lines) else "",
                _witness(finding),
                patch=patch(finding),
            )
        )
    return reported


def _patches(
    module: libcst.Module, ranges: Mapping[libcst.CSTNode, CodeRange], lines: Sequence[str]
) -> Callable[[Finding], Patch]:
    """How findings are fixed: what their rules say, with places in the file."""
    from stridelint.rules.forms import edits
    from stridelint.rules.rule import Rule

    codes: list[edits.Code] = []

    def patch(finding: Finding) -> Patch:
        if finding.rule.fix is Rule.fix:
            return NO_PATCH
        if not codes:
            codes.append(edits.Code(module))
        fix = finding.rule().fix(finding, codes[0])
        if fix is None:
            return NO_PATCH
        replacements = []
        for edit in fix.edits:
            where = ranges[edit.node]
            start, end = where.start, where.end
            part = [*lines[start.line - 1 : end.line]]
            part[-1] = part[-1][: end.column]
            part[0] = part[0][start.column :]
            # What was read may be blanked out in places, and only what it shares with the file can be edited.
            if part != source.lines(codes[0].text(edit.node)):
                return NO_PATCH
            replacements.append(Replacement(start.line, start.column + 1, end.line, end.column + 1, edit.text))
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


def internal_error(error: BaseException) -> str:
    """A reason that helps to find the mistake, which is ours."""
    import traceback

    if os.environ.get("STRIDELINT_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    detail = " ".join(str(error).split())[:200]
    return f"internal error, please report it: {type(error).__name__}: {detail}{where}"
