"""Executing statements along one path."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from stridelint.linter.inference import (
    asserting,
    contexts,
    definitions,
    demands,
    loops,
    matching,
    outs,
    testing,
    trials,
)
from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.bindings import imported_names, target_names
from stridelint.linter.inference.calls import decorated, wrapped
from stridelint.linter.inference.dispatch import STATEMENTS, evaluate, evaluate_discarded, execute, execute_small
from stridelint.linter.inference.expressions import evaluate_call_statement
from stridelint.linter.inference.objects import Class, Function, Instance
from stridelint.linter.inference.operators import augmented
from stridelint.linter.inference.own_attributes import own_name
from stridelint.linter.inference.path import Broke, Continued, Path, Raised, Returned
from stridelint.linter.inference.scopes import Scope, make_class, make_function, resolve_external
from stridelint.linter.inference.stores import assign
from stridelint.linter.inference.values import NONE, Unknown, Value
from stridelint.rules.forms.walking import walk

_REGISTERING = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})


def _expr(path: Path, scope: Scope, node: cst.Expr) -> None:
    before = path.confidence
    evaluate_call_statement(path, scope, node.value)
    called = node.value.func if type(node.value) is cst.Call else None
    if called is not None and own_name(called) in _REGISTERING:
        path.confidence = before  # what rests on a default is marked


def _assign(path: Path, scope: Scope, node: cst.Assign) -> None:
    _bind(path, scope, node, [target.target for target in node.targets], node.value)
    outs.happens(path, node)


def _ann_assign(path: Path, scope: Scope, node: cst.AnnAssign) -> None:
    if node.value is not None:
        _bind(path, scope, node, [node.target], node.value)


def _bind(
    path: Path, scope: Scope, node: cst.CSTNode, targets: Sequence[cst.BaseExpression], written: cst.BaseExpression
) -> None:
    """Assign an expression. If that is the first on the path to rest on a parameter's default, only what it is bound to does."""
    before = path.confidence
    with asserting.bound(path, node):
        value = evaluate(path, scope, written)
    for target in targets:
        assign(path, scope, target, value, node)
    if path.confidence < before and not _changes_more(targets, written):
        for target in targets:
            for name in target_names(target):
                scope.rests_on_default(name)
        path.confidence = before


def _changes_more(targets: Sequence[cst.BaseExpression], written: cst.BaseExpression) -> bool:
    """Whether an assignment changes more than names and attributes: an item of something, or a tensor in place."""
    if (
        isinstance(written, cst.Call)
        and isinstance(written.func, cst.Attribute)
        and written.func.attr.value.endswith("_")
    ):
        return True
    parts = [
        each.value if isinstance(each, cst.StarredElement) else each
        for target in targets
        for each in (
            [part.value for part in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]
        )
    ]
    return not all(isinstance(each, cst.Name) or own_name(each) for each in parts)


def _aug_assign(path: Path, scope: Scope, node: cst.AugAssign) -> None:
    left = evaluate(path, scope, node.target)
    right = evaluate(path, scope, node.value)
    result = augmented(path, node, left, right)
    assign(path, scope, node.target, result, node, store=result is not left)


def _return(path: Path, scope: Scope, node: cst.Return) -> None:
    if path.frames:
        path.frames[-1].returning = node
    if node.value is None:
        raise Returned(NONE)
    if path.frames and path.frames[-1].discarded_call is not None:
        raise Returned(evaluate_discarded(path, scope, node.value, path.frames[-1].discarded_call))
    with asserting.returned(path):
        value = evaluate(path, scope, node.value)
    raise Returned(value)


def _if(path: Path, scope: Scope, node: cst.If) -> None:
    with path.considering(node, leaning=not path.program.only_exits(node)), asserting.refused(path, node):
        outcome = path.truth(evaluate(path, scope, node.test))
    if outcome:
        execute(path, scope, node.body)
    elif type(node.orelse) is cst.If:
        execute_small(path, scope, node.orelse)
    elif node.orelse is not None:
        execute(path, scope, node.orelse.body)


def _with(path: Path, scope: Scope, node: cst.With) -> None:
    contexts.within(path, scope, node.items, lambda: execute(path, scope, node.body))


def _try(path: Path, scope: Scope, node: cst.Try | cst.TryStar) -> None:
    try:
        if node.handlers and path.decide(("raises", id(node)), False):
            loops.havoc(path, scope, node.body)
            choice = 0
            while choice < len(node.handlers) - 1 and not path.decide(("handler", id(node), choice), True):
                choice += 1
            _handle(path, scope, node.handlers[choice])
        else:
            try:
                _attempt(path, scope, node)
            except Raised:
                if not node.handlers:
                    raise
                _handle(path, scope, node.handlers[0])
            else:
                if node.orelse is not None:
                    execute(path, scope, node.orelse.body)
    finally:
        if node.finalbody is not None:
            execute(path, scope, node.finalbody.body)


def _attempt(path: Path, scope: Scope, node: cst.Try | cst.TryStar) -> None:
    def parts(node: cst.Try | cst.TryStar) -> trials.Parted:
        return trials.parted(path.frames[-1].function.node if path.frames else path.program.module, node)

    part = path.program.once(node, parts, node)
    frame = path.frames[-1] if path.frames else None
    around = frame is not None and frame.falls_back
    if frame is not None:
        frame.falls_back = around or path.program.once(node, trials.falls_back, node)
    try:
        execute(path, scope, part.body)
        for each in part.tried:
            path.step()
            evaluate(path, scope, each.value)
    finally:
        if frame is not None:
            frame.falls_back = around


def _handle(path: Path, scope: Scope, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> None:
    if handler.name is not None:
        assign(path, scope, handler.name.name, Unknown("exception"), handler)
    execute(path, scope, handler.body)


def _raise(path: Path, scope: Scope, node: cst.Raise) -> None:
    guard = (
        path.program.once(path.program.module, _guards, path.program.module).get(node)
        if path.denied is not None
        else None
    )
    if guard is not None:
        demands.refused(path, node, guard)
    raise Raised


def _guards(module: cst.Module) -> dict[cst.CSTNode, cst.BaseExpression]:
    """Conditions on which something is raised at once."""
    return {
        small: each.test
        for each in walk(module, cst.If)
        if isinstance(each, cst.If)
        for line in each.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
        if isinstance(small, cst.Raise)
    }


def _assert(path: Path, scope: Scope, node: cst.Assert) -> None:
    with testing.asserting(path, node):
        test = evaluate(path, scope, node.test)
    known = path.known_truth(test)
    if known is False:
        demands.refused(path, node, node.test)
        raise Raised
    testing.assume(path, test)


def _function(path: Path, scope: Scope, node: cst.FunctionDef) -> None:
    path.program.scopes.append(scope)
    value: Value = make_function(path, scope, node)
    given = definitions.of_function(path, scope, node)
    if isinstance(value, Function):
        value.defaults = given
    if node.decorators and isinstance(value, Function) and any(_keeps(path, scope, each) for each in node.decorators):
        changed = decorated(path, value)
        value = value if isinstance(changed, Unknown) else changed
    scope.bind(node.name.value, value)


def _keeps(path: Path, scope: Scope, node: cst.Decorator) -> bool:
    """A decorator of the file may keep what it is given somewhere, so it must run where the `def` or `class` does."""
    called = node.decorator.func if isinstance(node.decorator, cst.Call) else node.decorator
    if isinstance(called, cst.Attribute) and isinstance(called.value, cst.Name):
        owner = scope.lookup(path, called.value.value)
        return isinstance(owner, Instance) and find_method(owner, called.attr.value) is not None
    return isinstance(called, cst.Name) and isinstance(scope.lookup(path, called.value), Function)


def _class(path: Path, scope: Scope, node: cst.ClassDef) -> None:
    made: Value = make_class(path, scope, node)
    scope.bind(node.name.value, made)
    if isinstance(made, Class):
        definitions.of_class(path, scope, made)
    for decorator in reversed(node.decorators):
        if _keeps(path, scope, decorator):
            with path.mute():
                changed = wrapped(path, evaluate(path, scope, decorator.decorator), made)
            if isinstance(changed, Class):
                made = changed
                scope.bind(node.name.value, made)


def _import(path: Path, scope: Scope, node: cst.Import | cst.ImportFrom) -> None:
    for name, dotted in imported_names(node):
        scope.bind(name, resolve_external(path, dotted, scope.module.index))


def _global(path: Path, scope: Scope, node: cst.Global | cst.Nonlocal) -> None:
    for item in node.names:
        name = item.name.value
        target: Scope = scope.module
        if isinstance(node, cst.Nonlocal):
            outer = scope.parent
            while outer is not None and name not in outer.values and outer.parent is not None:
                outer = outer.parent
            target = outer or target
        scope.outer_names[name] = target
        scope.values.pop(name, None)


def _match(path: Path, scope: Scope, node: cst.Match) -> None:
    case = matching.chosen_case(path, scope, node)
    if case is not None:
        execute(path, scope, case.body)


def _break(path: Path, scope: Scope, node: cst.Break) -> None:
    raise Broke


def _continue(path: Path, scope: Scope, node: cst.Continue) -> None:
    raise Continued


def _delete(path: Path, scope: Scope, node: cst.Del) -> None:
    for name in target_names(node.target):
        scope.values.pop(name, None)


HANDLERS = STATEMENTS
HANDLERS |= {
    cst.Expr: _expr,
    cst.Assign: _assign,
    cst.AnnAssign: _ann_assign,
    cst.AugAssign: _aug_assign,
    cst.Return: _return,
    cst.If: _if,
    cst.For: loops.for_,
    cst.While: loops.while_,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.Import: _import,
    cst.ImportFrom: _import,
    cst.Global: _global,
    cst.Nonlocal: _global,
    cst.Match: _match,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Del: _delete,
}

__all__ = ["HANDLERS", "execute"]
