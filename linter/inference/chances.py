"""Decisions that are left to chance: `if random.random() < self.p`. A program that goes on takes both ways some time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from stridelint.linter.inference.objects import Function
from stridelint.rules.forms.walking import names_in, walk

if TYPE_CHECKING:
    from stridelint.linter.inference.program import Program

_DRAWS = frozenset(
    """random rand randn randint randrange uniform choice choices bernoulli getrandbits random_sample integers binomial
    normalvariate gauss""".split()
)


def is_left_to_chance(program: Program, function: Function, deciding: cst.CSTNode | None) -> bool:
    """Whether a test (an `if`, or an operand of one) draws a random number, itself or by a name or function of the file."""
    test = deciding.test if isinstance(deciding, (cst.If, cst.IfExp)) else deciding
    while isinstance(test, cst.BooleanOperation):
        test = test.right  # the left one was decided before
    if test is None or isinstance(test, cst.BaseCompoundStatement):
        return False
    if program.once(test, _draws, test):
        return True
    drawn = program.once(function.node, _drawn_names, function.node)
    return (bool(drawn) and not drawn.isdisjoint(names_in(test))) or _by_helper(program, function, test)


def _by_helper(program: Program, function: Function, test: cst.CSTNode) -> bool:
    """`if self.coin():`, `if coin(p):`."""
    helpers = [_definition(function, call.func) for call in _calls(test)]
    return any(program.once(helper, _returns_draw, helper) for helper in helpers if helper is not None)


def _definition(function: Function, callee: cst.BaseExpression) -> cst.FunctionDef | None:
    """The function of the file, or the method of the same object, that is called."""
    if isinstance(callee, cst.Name):
        bound = function.scope.module.index.bindings.get(callee.value, ())
        return next((each.node for each in bound if isinstance(each.node, cst.FunctionDef)), None)
    if function.owner is None or not isinstance(callee, cst.Attribute) or not isinstance(callee.value, cst.Name):
        return None
    if callee.value.value not in ("self", "cls", function.owner.name):
        return None
    members = (each for owner in function.owner.linearized() for each in owner.node.body.body)
    methods = (each for each in members if isinstance(each, cst.FunctionDef))
    return next((each for each in methods if each.name.value == callee.attr.value), None)


def _returns_draw(function: cst.FunctionDef) -> bool:
    drawn = _drawn_names(function)
    returned = [each.value for each in walk(function.body, cst.Return) if isinstance(each, cst.Return) and each.value]
    return any(_draws(each) or not drawn.isdisjoint(names_in(each)) for each in returned)


def _drawn_names(function: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """Names that are assigned something with a random number in it."""
    assigned = [
        (target.target, each.value)
        for each in walk(function.body, cst.Assign)
        if isinstance(each, cst.Assign)
        for target in each.targets
    ]
    return frozenset(name.value for name, value in assigned if isinstance(name, cst.Name) and _draws(value))


def _calls(node: cst.CSTNode) -> list[cst.Call]:
    return [each for each in walk(node, cst.Call) if isinstance(each, cst.Call)]


def _draws(node: cst.CSTNode) -> bool:
    names = (call.func.attr if isinstance(call.func, cst.Attribute) else call.func for call in _calls(node))
    return any(isinstance(name, cst.Name) and name.value in _DRAWS for name in names)
