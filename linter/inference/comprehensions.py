"""Comprehensions: an expression for each item of what they run over, in a scope of their own."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference import elements
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.operators import hashable
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Comprehension, Scope
from stridelint.linter.inference.stores import assign
from stridelint.linter.inference.values import Mapping, Sequence, Value

MAX_ELEMENTS = 64


def listed(path: Path, scope: Scope, node: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> Value:
    """The items of a list, set or generator, as a list."""
    items: list[Value] = []
    exhaustive = _run(
        path, Comprehension(scope), node.for_in, lambda inner: items.append(evaluate(path, inner, node.elt))
    )
    if exhaustive:
        return Sequence(items, "list")
    same = isinstance(node.elt, (cst.Integer, cst.Float)) and len(items) == 1
    return Sequence(None, "list", elements.repeated(path, items) if same else elements.like(path, items))


def mapped(path: Path, scope: Scope, node: cst.DictComp) -> Value:
    """A dict."""
    result = Mapping()

    def add(inner: Scope) -> None:
        key = hashable(evaluate(path, inner, node.key))
        value = evaluate(path, inner, node.value)
        if key is None:
            elements.stored(path, result, value)
        else:
            result.entries[key] = value

    if not _run(path, Comprehension(scope), node.for_in, add) and not result.open:
        result.element = elements.of_mapping(path, result)
        result.open = True
    return result


def _run(path: Path, scope: Scope, clause: cst.CompFor, body: Callable[[Scope], None]) -> bool:
    """Run a comprehension's body for each choice; False where the choices are not all known."""
    items, exhaustive = items_of(path, evaluate(path, scope, clause.iter))
    before = dict(path.numbers)
    if len(items) > MAX_ELEMENTS:
        items, exhaustive = items[:1], False
    for each in items if exhaustive else items[:1]:
        path.step()
        assign(path, scope, clause.target, each, clause)
        tests = [evaluate(path, scope, condition.test) for condition in clause.ifs]
        if any(path.known_truth(test) is None for test in tests):
            exhaustive = False
        elif not all(path.truth(test) for test in tests):
            continue
        if clause.inner_for_in is not None:
            exhaustive &= _run(path, scope, clause.inner_for_in, body)
        else:
            body(scope)
    if not exhaustive:
        path.forget_since(before)
    return exhaustive
