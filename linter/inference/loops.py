"""Loops, and what is not known any more after code that runs some number of times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import libcst as cst

from stridelint.linter.inference import elements
from stridelint.linter.inference.bindings import bound_names
from stridelint.linter.inference.dispatch import evaluate, execute
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.path import Broke, Continued, Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.stores import assign
from stridelint.linter.inference.values import (
    Constant,
    Number,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    as_dim,
)
from stridelint.rules.contract.sizes import Size
from stridelint.rules.forms.walking import children

if TYPE_CHECKING:
    from stridelint.linter.inference.number_ranges import Known

MAX_UNROLLED = 12
UNKNOWN_ITERATIONS = 2
# How many items stand for those of a long list at the most.
_MAX_SORTS = 8
_MAX_PARTS = 4


def for_(path: Path, scope: Scope, node: cst.For) -> None:
    """A `for` loop: over the items that are known, or over some that stand for all."""
    items, exhaustive = items_of(path, evaluate(path, scope, node.iter))
    if len(items) > MAX_UNROLLED:
        items, exhaustive = _standing_for(items), False
    with unknown_repetition(path, scope, node.body, not exhaustive) as before:
        for item in items:
            path.step()
            if not exhaustive:
                path.forget_since(before)
            assign(path, scope, node.target, item, node)
            with path.about_one(_differ(item, items[0])):
                goes_on = _goes_on(path, scope, node.body)
            if not goes_on:
                return
    if node.orelse is not None:
        execute(path, scope, node.orelse.body)


def _standing_for(items: list[Value]) -> list[Value]:
    """The first item of each sort that a long list holds; at least two."""
    firsts: dict[object, Value] = {}
    for item in items:
        firsts.setdefault(_sort(item), item)
    found = list(firsts.values())[:_MAX_SORTS]
    return found if len(found) >= UNKNOWN_ITERATIONS else items[:UNKNOWN_ITERATIONS]


def _sort(item: Value) -> object:
    """What items have in common that stand for each other: the kind of tensors, the last part of dotted names."""
    if isinstance(item, TensorValue):
        return item.facts.kind
    if isinstance(item, Constant) and isinstance(item.value, str):
        _, dot, last = item.value.rpartition(".")
        return last if dot else ""
    if isinstance(item, Sequence) and item.items is not None and len(item.items) <= _MAX_PARTS:
        return tuple(_sort(each) for each in item.items)
    return None


def _differ(item: Value, first: Value) -> bool:
    """Whether a condition that is not known may well tell an item of a list from the first one."""
    if isinstance(item, TensorValue) and isinstance(first, TensorValue):
        return item.facts.kind != first.facts.kind
    if isinstance(item, Constant) and isinstance(item.value, str):
        return not isinstance(first, Constant) or item.value != first.value
    if isinstance(item, Sequence) and isinstance(first, Sequence):
        return any(
            _differ(*pair) for pair in zip(item.items or (), first.items or ()) if isinstance(pair[0], TensorValue)
        )
    return False


def _goes_on(path: Path, scope: Scope, body: cst.BaseSuite) -> bool:
    """Run a loop's body once; False where it breaks."""
    try:
        execute(path, scope, body)
    except Continued:
        return True
    except Broke:
        return False
    return True


def while_(path: Path, scope: Scope, node: cst.While) -> None:
    """A `while` loop."""
    unknown = 0
    with unknown_repetition(path, scope, node.body, True):
        for round_ in range(MAX_UNROLLED):
            test = evaluate(path, scope, node.test)
            known = path.known_truth(test)
            if known is None:
                unknown += 1
                if unknown > UNKNOWN_ITERATIONS:
                    return
            elif (
                known and isinstance(node.test, cst.Name) and node.test.value == "True" and round_ >= UNKNOWN_ITERATIONS
            ):
                return
            with path.considering(node):
                if not path.truth(test):
                    break
            if not _goes_on(path, scope, node.body):
                return
    if node.orelse is not None:
        execute(path, scope, node.orelse.body)


@contextmanager
def unknown_repetition(path: Path, scope: Scope, body: cst.CSTNode, unknown: bool) -> Iterator[dict[int, Known]]:
    """A block that runs some number of times; afterwards, what depends on how often is not known. Gives what numbers are known
    before."""
    numbers = dict(path.numbers)
    if not unknown:
        yield numbers
        return
    if path.frames:
        path.frames[-1].repeats = True
    names = path.program.once(body, assigned_names, body)
    before = {name: (scope.values.get(name), snapshot(scope.values.get(name))) for name in names}
    outer, path.grown = path.grown, []
    try:
        yield numbers
    finally:
        path.forget_since(numbers)
        for sequence in path.grown:
            sequence.element = elements.like(path, sequence.items or ()) or sequence.element
            sequence.items = None
        path.grown = outer
        for name, (value, known) in before.items():
            if name in scope.values and value is not None:
                scope.values[name] = settled(scope.values[name], known)


def snapshot(value: Value | None) -> object:
    """What a name stood for before a loop, to see whether it changes."""
    if isinstance(value, TensorValue):
        return value.facts.shape
    dim = as_dim(value)
    return dim if dim is not None else getattr(value, "value", None)


def settled(value: Value, before: object) -> Value:
    """A value after a loop that may have run any number of times: numbers and sizes that changed are not known."""
    if snapshot(value) == before:
        return value
    if as_dim(value) is not None:
        return SizeValue(Size.fresh("count"))
    if isinstance(value, Constant) and isinstance(value.value, (float, complex)):
        return Number("float" if isinstance(value.value, float) else "complex")
    shape = value.facts.shape if isinstance(value, TensorValue) else None
    if isinstance(value, TensorValue) and shape is not None and isinstance(before, tuple):
        if len(before) != len(shape):
            value.facts = value.facts.but(shape=None, strides=None)
        else:
            sizes = tuple(new if new == old else Size.fresh() for new, old in zip(shape, before))
            value.facts = value.facts.but(shape=sizes, strides=None)
    return value


def havoc(path: Path, scope: Scope, body: cst.CSTNode) -> None:
    """Forget every name assigned in a block that ran some number of times."""
    for name in path.program.once(body, assigned_names, body):
        scope.bind(name, Unknown(name))


_SCOPES = frozenset({cst.FunctionDef, cst.ClassDef, cst.Lambda})


def assigned_names(node: cst.CSTNode) -> set[str]:
    """Plain names bound anywhere in a block (not in nested functions)."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        found.update(bound_names(each))
        if type(each) not in _SCOPES:
            waiting += children(each)
    return found
