"""An abstract interpreter over LibCST that turns code into tensor events.

    analysis = analyse(libcst.parse_module(code), rules)
    analysis.findings       # their sites hold nodes of the module

`roots` starts reading at the module's body and at each function, `statements` and `expressions` follow the code along one
`path` at a time, `torch_api` knows what torch's functions return, `program` hands events to the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from stridelint.rules.rule import Finding, Rule

BUDGET = 300_000


@dataclass(frozen=True)
class Analysis:
    """The findings of a file; `exhausted` tells why reading stopped early, if it did."""

    findings: list[Finding]
    exhausted: str | None = None


def analyse(module: cst.Module, rules: Sequence[type[Rule]], *, budget: int = BUDGET) -> Analysis:
    """Read a module and let the rules judge what happens in it. `budget` bounds the work, in steps."""
    from stridelint.linter.inference import roots, tests
    from stridelint.linter.inference.path import BudgetExhausted
    from stridelint.linter.inference.program import Program
    from stridelint.linter.inference.relevance import Relevance

    program = Program(module, rules, budget)
    relevance = Relevance(module, [word for rule in rules for word in rule.words or ("",)])
    try:
        if relevance.body:
            roots.read_module(program)
        for node, owner in roots.functions_of(program):
            if not relevance.reads(node):
                continue
            if tests.is_test(node, owner):
                tests.read_test(program, node, owner)
            else:
                roots.read_function(program, node, owner)
    except BudgetExhausted:
        return Analysis(program.reported(), f"the step budget of {budget:,} ran out; findings may be missing")
    return Analysis(program.reported())
