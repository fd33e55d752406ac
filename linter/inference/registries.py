"""Containers at the top of a module that other statements there fill: registries.

Where a function is read on its own, the module's names are evaluated when they are asked for. What fills a container is then
run too: items that are set one by one at once, what decorators register only when its name is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from stridelint.linter.inference.dispatch import evaluate, execute_small
from stridelint.linter.inference.objects import Class, Function, Instance
from stridelint.linter.inference.values import Mapping, Sequence, Value, forget_items
from stridelint.rules.forms.walking import beginning_of, walk

if TYPE_CHECKING:
    from stridelint.linter.inference.path import Path
    from stridelint.linter.inference.scopes import ModuleScope

MAX_STORES = 24
MAX_UNNAMED = 8
_FILLING = frozenset({"update", "setdefault", "append", "extend", "insert", "add"})


@dataclass
class Fillers:
    """What fills a container. stores: items set and methods called, in order; registering: decorated functions and classes,
    and other calls on the container."""

    stores: list[cst.CSTNode] = field(default_factory=list)
    registering: list[cst.CSTNode] = field(default_factory=list)


def fillers_of(statements: list[cst.CSTNode]) -> dict[str, Fillers]:
    """By name of the container, from the flat statements of a module."""
    found: dict[str, Fillers] = {}
    decorators = {
        beginning_of(each.decorator)
        for statement in statements
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef))
        for each in statement.decorators
    }
    inside = {
        each.name.value: {str(name.value) for name in walk(each.body, cst.Name) if isinstance(name, cst.Name)}
        for each in statements
        if isinstance(each, cst.FunctionDef) and each.name.value in decorators
    }
    for statement in statements:
        for name in _stored_to(statement):
            found.setdefault(name, Fillers()).stores.append(statement)
        for name in _registered_with(statement, inside):
            found.setdefault(name, Fillers()).registering.append(statement)
    return found


def _stored_to(statement: cst.CSTNode) -> Iterator[str]:
    if isinstance(statement, cst.Assign):
        yield from (beginning_of(each.target) for each in statement.targets if isinstance(each.target, cst.Subscript))
    elif isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        called = statement.value.func
        if isinstance(called, cst.Attribute) and called.attr.value in _FILLING:
            yield beginning_of(called)


def _registered_with(statement: cst.CSTNode, inside: dict[str, set[str]]) -> Iterator[str]:
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        for each in statement.decorators:
            root = beginning_of(each.decorator)
            yield root
            yield from inside.get(root, ())
    elif isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        called = statement.value.func
        if isinstance(called, cst.Attribute) and called.attr.value not in _FILLING:
            yield beginning_of(called)


def complete(path: Path, scope: ModuleScope, name: str, value: Value) -> None:
    """Fill a container that was evaluated out of order with what the module's other statements put into it."""
    if isinstance(value, Mapping) and not value.open and name in scope.index.filled_in_functions:
        forget_items(value)
    fillers = scope.index.fillers.get(name) if isinstance(value, (Mapping, Sequence, Instance)) else None
    if fillers is None:
        return
    if fillers.registering:
        _register_later(path, scope, value, fillers.registering)
    if isinstance(value, Instance):
        return
    from stridelint.linter.inference.path import Raised

    with path.mute(), path.grad(True):
        for statement in fillers.stores[:MAX_STORES]:
            try:
                execute_small(path, scope, statement)
            except Raised:
                break
    if len(fillers.stores) > MAX_STORES and isinstance(value, (Mapping, Sequence)):
        forget_items(value)


def _register_later(path: Path, scope: ModuleScope, value: Value, statements: list[cst.CSTNode]) -> None:
    parts = list(value.attributes.values()) if isinstance(value, Instance) and value.cls is not None else [value]
    waiting = [each for each in statements if not isinstance(value, Instance) or _is_own(value, each)]
    if not waiting:
        return

    def fill(key: object) -> None:
        chosen = [each for each in waiting if _mentions(each, key)]
        for each in chosen if isinstance(key, str) else chosen[:MAX_UNNAMED]:
            if each in waiting:  # what one registers may ask for the next
                waiting.remove(each)
                _register(path, scope, each)

    for part in parts:
        if isinstance(part, (Mapping, Sequence)):
            forget_items(part)
        if isinstance(part, Mapping):
            part.fill = fill


def _is_own(owner: Instance, statement: cst.CSTNode) -> bool:
    """Whether it is no call statement, or one of a method that the file defines."""
    from stridelint.linter.inference.attributes import find_method

    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return True
    return find_method(owner, call.func.attr.value) is not None


def _mentions(statement: cst.CSTNode, key: object) -> bool:
    """Whether a statement may register something under a name: its own, or a text among the arguments."""
    if not isinstance(key, str):
        return True
    written: list[cst.CSTNode] = [statement]
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        if statement.name.value.lower() == key.lower():
            return True
        written = [each.decorator for each in statement.decorators]
    return any(
        each.evaluated_value == key
        for part in written
        for each in walk(part, cst.SimpleString)
        if isinstance(each, cst.SimpleString)
    )


def _register(path: Path, scope: ModuleScope, statement: cst.CSTNode) -> None:
    """Run a statement for what it registers; a function or class stays what its name stands for."""
    from stridelint.linter.inference.calls import decorated, wrapped
    from stridelint.linter.inference.path import Raised

    try:
        with path.mute(), path.grad(True):
            if not isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                execute_small(path, scope, statement)
                return
            made = scope.get(path, statement.name.value)
            if isinstance(made, Function) and made.node is statement:
                decorated(path, made)
            elif isinstance(made, Class) and made.node is statement:
                for each in reversed(made.node.decorators):
                    wrapped(path, evaluate(path, scope, each.decorator), made)
    except Raised:
        pass
