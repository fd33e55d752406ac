"""Checks one file: screen, parse, analyse, resolve positions, suppress. Whatever goes wrong costs this file only."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stridelint.linter import screen, source
from stridelint.linter.errors import internal_error, rule_failed
from stridelint.linter.findings import Outcome, Skipped
from stridelint.linter.statistics import phase

if TYPE_CHECKING:
    import ast

    import libcst

    from stridelint.linter.imported_modules import Modules
    from stridelint.linter.inference import Analysis
    from stridelint.linter.project import Project
    from stridelint.linter.relevance import Plan
    from stridelint.linter.selection import Selection
    from stridelint.rules.rule import Rule

    Analyse = Callable[[libcst.Module, Sequence[type[Rule]]], Analysis]


_REJECTED = "is valid Python that LibCST"


def skipped(path: str, reason: str) -> Outcome:
    """The outcome of a file that is not analysed."""
    return Outcome(skipped=(Skipped(path, reason),))


def check(
    file: source.Source, selection: Selection, analyse: Analyse | None = None, project: Project | None = None
) -> Outcome:
    """All findings of one file. `analyse` replaces the interpreter, for tests; `project` is where its imports are followed."""
    outcome = _checked(file, selection, analyse, project)
    commented = selection.shows_unused and screen.has_comments(file.data)
    return outcome._replace(commented=True) if commented else outcome


def _checked(file: source.Source, selection: Selection, analyse: Analyse | None, project: Project | None) -> Outcome:
    if file.is_notebook:
        return _of_notebook(file, selection, analyse, project)
    try:
        text = file.text
        if not _may_matter(file.path, file.data, selection, project) and not selection.assume:
            if file.explicit:
                screen.parse(text)  # who names a broken file wants to hear that it is broken
            return Outcome()
        return check_decoded(file.path, text, file.data, screen.parse(text), selection, analyse, project)
    except (source.Unreadable, screen.Unparsable) as error:
        return skipped(file.path, str(error))
    except Exception as error:
        return skipped(file.path, internal_error(error))


def _of_notebook(
    file: source.Source, selection: Selection, analyse: Analyse | None, project: Project | None
) -> Outcome:
    """What comes of a notebook; lines count through its program (see `notebook.program`), and nothing is to be fixed."""
    try:
        if not file.explicit and not screen.may_use_torch(file.data):
            return Outcome()
        from stridelint.linter.notebook import program as notebook

        program = notebook.read(file.data)
        data, outcome = program.text.encode("utf-8", "surrogatepass"), Outcome()
        if screen.mentions(data, selection.rules) or selection.assume:
            outcome = _of_program(file.path, program.text, selection, analyse, project)
            if any(each.reason.startswith(_REJECTED) for each in outcome.skipped):
                from stridelint.linter.deep import run_deep
                from stridelint.linter.notebook.leaving_out import without_rejected

                rest = run_deep(lambda: without_rejected(program, _rejected))
                if rest is not None:
                    program, outcome = rest, _of_program(file.path, rest.text, selection, analyse, project)
        told = tuple(Skipped(file.path, reason) for reason in program.broken)
        return program.as_written(file.path, outcome._replace(skipped=(*told, *outcome.skipped)))
    except (source.Unreadable, screen.Unparsable) as error:
        return skipped(file.path, str(error))
    except Exception as error:
        return skipped(file.path, internal_error(error))


def _of_program(
    path: str, text: str, selection: Selection, analyse: Analyse | None, project: Project | None
) -> Outcome:
    data = text.encode("utf-8", "surrogatepass")
    return check_decoded(path, text, data, screen.parse(text), selection, analyse, project)


def check_decoded(
    path: str,
    text: str,
    data: bytes,
    tree: ast.Module,
    selection: Selection,
    analyse: Analyse | None = None,
    project: Project | None = None,
) -> Outcome:
    """All findings of a file that is read and parsed by Python: screen it further, and analyse it if need be."""
    with screen.seldom_collected(), _limited(selection):
        return selection.settled(_screened(path, text, data, tree, selection, analyse, project))


def _may_matter(path: str, data: bytes, selection: Selection, project: Project | None) -> bool:
    """Whether a rule's word is in a file, or the file may get channels_last tensors from another one."""
    if screen.mentions(data, selection.rules):
        return True
    return project is not None and screen.may_use_torch(data) and may_get_converted(path, data, project)


def may_get_converted(path: str, data: bytes, project: Project) -> bool:
    """Whether a file may get channels_last tensors from another one of the project."""
    from stridelint.linter import makers

    return makers.may_get_converted(project, data, path)


def _limited(selection: Selection) -> contextlib.AbstractContextManager[None]:
    """Where local rules have a limit of time, for one file."""
    if selection.without_local().rules == selection.rules:
        return contextlib.nullcontext()
    from stridelint.linter.rule_limits import one_file

    return one_file()


def _screened(
    path: str,
    text: str,
    data: bytes,
    tree: ast.Module,
    selection: Selection,
    analyse: Analyse | None,
    project: Project | None,
) -> Outcome:
    from stridelint.rules.screening import nodes_of

    if not _may_matter(path, data, selection, project) and not (selection.assume and screen.may_use_torch(data)):
        return Outcome()
    code = screen.Code(tree)
    gets_converted = False
    if project is not None and code.uses_torch:
        from stridelint.linter.makers import imported_names

        names, nodes = imported_names(project, tree, path), nodes_of(tree)
        nodes.imported, nodes.makers, nodes.converting = names
        gets_converted = bool(names.converting)
    # What is assumed stands in no file, so that the screens cannot tell.
    rules = list(selection.rules) if selection.assume and code.uses_torch else code.rules(selection.rules)
    failed = {rule: error for rule, error in nodes_of(tree).failures.items() if rule in selection.rules}
    if failed:
        rest = selection._replace(rules=tuple(rule for rule in selection.rules if rule not in failed))
        outcome = _screened(path, text, data, tree, rest, analyse, project)
        told = tuple(Skipped(path, rule_failed(rule, error)) for rule, error in failed.items())
        return outcome._replace(skipped=(*told, *outcome.skipped))
    if not rules and not gets_converted:
        return Outcome()
    if code.depth > screen.MAX_DEPTH:
        return skipped(path, f"is nested too deeply: {code.depth} levels, the limit is {screen.MAX_DEPTH}")
    return _check_screened(_File(path, text, tree, rules, selection, project), analyse)


class _File(NamedTuple):
    """A file that has passed the screen for these rules."""

    path: str
    text: str
    tree: ast.Module
    rules: Sequence[type[Rule]]
    selection: Selection
    project: Project | None


def _check_screened(file: _File, analyse: Analyse | None) -> Outcome:
    from stridelint.linter import relevance
    from stridelint.linter.deep import run_deep
    from stridelint.rules.contract import operators
    from stridelint.rules.screening import nodes_of

    path = file.path
    operators.adjust(file.selection.operators, file.selection.target_torch)
    try:
        nodes = nodes_of(file.tree)
        whole = bool(file.selection.assume)
        plan = (
            relevance.everything(file.text, file.tree)
            if whole
            else relevance.plan(file.text, file.tree, nodes, file.rules)
        )
        if plan.following and not whole:
            file = file._replace(rules=[*file.rules, *_firing_elsewhere(file)])
        return run_deep(lambda: _analysed(file, plan, analyse))
    except RecursionError:
        return skipped(path, "is nested too deeply to analyse")
    except MemoryError:
        return skipped(path, "needs too much memory to analyse")
    except Exception as error:
        return skipped(path, internal_error(error))


def _firing_elsewhere(file: _File) -> list[type[Rule]]:
    """Rules that cannot fire in this file's code, but may in what it calls in other files."""
    from stridelint.rules.rule import Rule

    return [
        rule
        for rule in file.selection.rules
        if rule not in file.rules and rule.check is not Rule.check and rule.check_module is Rule.check_module
    ]


def _analysed(file: _File, plan: Plan, analyse: Analyse | None) -> Outcome:
    with phase("import"):
        from stridelint.linter.resolve import resolved
        from stridelint.linter.suppress import Suppressions

    path, selection = file.path, file.selection
    modules = _modules(file, exact=True)
    if analyse is None:
        nothing = _nothing_found(file, plan)
        if nothing is not None:
            return nothing
        analyse = _reader(file, plan, modules)
    parsed = _parsed(plan.text)
    if isinstance(parsed, str):
        return skipped(path, parsed)
    module = parsed
    analysis = analyse(module, file.rules)
    shown = [finding for finding in analysis.findings if selection.shows(finding)]
    # A comment may be there for what only an audit shows.
    rest = [each for each in analysis.findings if not selection.shows(each)] if selection.shows_unused else []
    stopped = _stopped(path, analysis)
    if not shown and not rest:
        return Outcome(skipped=stopped)
    others = {} if modules is None else {name: each.module for name, each in modules.loaded.items()}
    findings = sorted(set(resolved(path, file.text, module, others, shown)))
    unshown = resolved(path, file.text, module, others, rest) if rest else []
    suppressions = {path: Suppressions(file.text)}
    for name in {finding.path for finding in (*findings, *unshown)} - {path}:
        suppressions[name] = Suppressions(others[name].code)
    hidden = {each for each in findings if suppressions[each.path].hides(each.line, each.code, each.name)}
    used = {
        (each.path, *place)
        for each in (*findings, *unshown)
        for place in suppressions[each.path].uses(each.line, each.code, each.name)
    }
    return Outcome(
        tuple(finding for finding in findings if finding not in hidden),
        stopped,
        tuple(finding for finding in findings if finding in hidden),
        tuple(sorted(used)) if selection.shows_unused else (),
    )


def _parsed(text: str) -> libcst.Module | str:
    """The tree of some Python, or why LibCST makes none of it."""
    import libcst

    try:
        with phase("libcst"):
            return libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        return f"{_REJECTED} does not accept: {error.message} on line {error.raw_line}"
    except RecursionError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()
        return f"{_REJECTED} fails on: {type(error).__name__}: {(reason or [''])[-1]}"


def _rejected(text: str) -> str:
    """Why LibCST makes nothing of some Python; "" if it does."""
    parsed = _parsed(text)
    return parsed if isinstance(parsed, str) else ""


def _modules(file: _File, *, exact: bool) -> Modules | None:
    """The other files of the project, from where imports are followed."""
    if file.project is None:
        return None
    with phase("import"):
        from stridelint.linter.imported_modules import Modules

    return Modules(file.project, exact)


def _reader(file: _File, plan: Plan, modules: Modules | None, **options: Any) -> Analyse:
    with phase("import"):
        from stridelint.linter import inference

    place = (file.path, "" if file.project is None else file.project.package(file.path))
    return functools.partial(
        inference.analyse,
        wanted=plan.roots,
        firing=plan.rules,
        body=plan.body,
        telling=plan.telling,
        imports=modules,
        following=plan.following,
        place=place,
        assume=file.selection.assume,
        **options,
    )


def _nothing_found(file: _File, plan: Plan) -> Outcome | None:
    """The outcome if there is nothing to report, found out without LibCST's parser; None if that must be used."""
    from stridelint.linter.inference.bare_tree import BareTree

    try:
        with phase("nodes"):
            bare = BareTree(file.tree, plan.left_out, file.text)
        modules = _modules(file, exact=False)

        def source(node: libcst.CSTNode) -> str:
            return bare.source(node) if modules is None or bare.knows(node) else modules.source(node)

        analyse = _reader(file, plan, modules, until=file.selection.shows, source=source, written=bare.written)
        analysis = analyse(bare.module, file.rules)
        if analysis.findings and file.selection.shows_unused:
            return None  # none of them is shown, but comments may be there for them
    except Exception:  # a finding, syntax that is left to LibCST, or a question that bare nodes cannot answer
        return None
    return Outcome(skipped=_stopped(file.path, analysis))


def _stopped(path: str, analysis: Analysis) -> tuple[Skipped, ...]:
    stopped = [f"analysis stopped early: {analysis.exhausted}"] if analysis.exhausted else []
    return tuple(Skipped(path, reason) for reason in (*analysis.failures, *stopped))
