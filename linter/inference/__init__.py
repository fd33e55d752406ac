"""An abstract interpreter over LibCST that turns code into tensor events.

    analysis = analyse(libcst.parse_module(code), rules)
    analysis.findings       # their sites hold nodes of the module

`roots` starts reading at the module's body and at each function, `statements` and `expressions` follow the code along one
`path` at a time (`dispatch` finds what handles a node), `values` and `objects` are what it evaluates to, `torch_api` knows
what torch's functions return, `program` hands events to the rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import libcst as cst

from stridelint.linter.errors import rule_failed
from stridelint.linter.inference.imports import Imports
from stridelint.linter.statistics import timed
from stridelint.rules.forms.walking import source_code
from stridelint.rules.rule import Finding, Rule

BUDGET = 300_000


@dataclass(frozen=True)
class Analysis:
    """The findings of a file; `exhausted` tells why reading stopped early, if it did, `failures` which rules failed."""

    findings: list[Finding]
    exhausted: str | None = None
    failures: tuple[str, ...] = ()


@timed("interpret")
def analyse(
    module: cst.Module,
    rules: Sequence[type[Rule]],
    *,
    wanted: Mapping[int, bool] | None = None,
    firing: Mapping[int, frozenset[type[Rule]]] | None = None,
    body: bool = True,
    telling: frozenset[str] | None = None,
    budget: int = BUDGET,
    until: Callable[[Finding], bool] | None = None,
    source: Callable[[cst.CSTNode], str] = source_code,
    written: Callable[[cst.CSTNode], str] = source_code,
    imports: Imports | None = None,
    following: frozenset[int | None] = frozenset(),
    place: tuple[str, str] = ("", ""),
    assume: tuple[str, ...] = (),
) -> Analysis:
    """Read a module and let the rules judge what happens in it.

    Args:
        module: the file.
        rules: those that passed the screen.
        wanted: numbers of the functions to read on their own, and whether thoroughly (see `relevance`); None for all.
        firing: for some of them, the only rules that may fire in what they reach.
        body: run the module's own statements too.
        telling: names that matter to the rules: conditions whose branches hold none are not turned. None: all matter.
        budget: how much work to do at the most, in steps.
        until: only asks whether there is a finding for which this holds; nothing that fails on the way is passed over.
        source: how a node is written; written: with its comments.
        imports: where other modules of the project are found; None to read this file alone; following: numbers of the
            functions (None: the module's own statements) that are followed into them.
        assume: facts of the inputs of models, "channels_last" or "channels_last:PATTERN" (see `assumptions`).
        place: the path of the file, and the package against which its imports are resolved.

    Raises:
        FoundOne: there is one.
    """
    from stridelint.linter.inference import promises, roots, tests
    from stridelint.linter.inference.path import BudgetExhausted
    from stridelint.linter.inference.program import Program

    program = Program(module, rules, budget, telling, until, source, place, assume, written)
    readers: list[tuple[str, int | None, Callable[[], None]]] = [("the code", -1, program.judge_module)]
    if body:
        readers.append(("the module", None, partial(roots.read_module, program)))
    for number, (node, owner) in enumerate(roots.functions_of(program)):
        if wanted is None or number in wanted:
            thorough = wanted is None or wanted[number]
            read = tests.read_test if tests.is_test(node, owner) else partial(roots.read_function, thorough=thorough)
            for part in (roots.read_definition, read):
                readers.append((f"'{node.name.value}'", number, partial(part, program, node, owner)))
    readers.append(("custom operators", None, partial(promises.read_promises, program)))
    stopped: str | None = None
    try:
        for what, root, read_root in readers:
            program.imports = imports if root in following else None
            program.listen(None if root is None or firing is None else firing.get(root))
            try:
                read_root()
            except BudgetExhausted:
                stopped = f"the step budget of {budget:,} ran out; findings may be missing"
                break
            except Exception as error:  # our own mistake: it costs this function, not the file
                if until is not None or os.environ.get("STRIDELINT_TRACEBACK"):
                    raise
                stopped = f"internal error while reading {what}, please report it: {type(error).__name__}: {error}"
    finally:
        program.close()
    failures = tuple(rule_failed(rule, error) for rule, error in program.failures.items())
    return Analysis(program.reported(), stopped, failures)
