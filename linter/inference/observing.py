"""Looking at values while code is read: what expressions evaluate to, and what names stand for once they are bound.

Nothing here costs a run in which nobody looks: the handlers of expressions and statements are wrapped for as long as it
lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import libcst as cst

from stridelint.linter.inference import expressions, statements
from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.values import Unknown, Value

See: TypeAlias = Callable[[Path, cst.CSTNode, Value], None]


@dataclass(frozen=True)
class Looks:
    """At which nodes to look, by identity.

    values: expressions, when they are evaluated.
    before: statements and expressions at whose start targets (names, attributes of names) are looked up.
    after: the same at their end.
    """

    values: frozenset[int] = frozenset()
    before: Mapping[int, tuple[cst.CSTNode, ...]] = field(default_factory=dict)
    after: Mapping[int, tuple[cst.CSTNode, ...]] = field(default_factory=dict)

    def __add__(self, other: Looks) -> Looks:
        """All of both."""
        return Looks(self.values | other.values, _both(self.before, other.before), _both(self.after, other.after))


_Targets: TypeAlias = Mapping[int, tuple[cst.CSTNode, ...]]


def _both(one: _Targets, other: _Targets) -> _Targets:
    return {key: (*one.get(key, ()), *other.get(key, ())) for key in (*one, *other)}


@contextmanager
def observed(looks: Looks, see: See) -> Iterator[None]:
    """Tell `see` of each node that `looks` asks for what it is, on every path. The handlers are one for the process: not for threads."""
    tables: tuple[dict[type[cst.CSTNode], Any], ...] = (expressions.HANDLERS, statements.HANDLERS)
    originals = [dict(table) for table in tables]
    try:
        for table in tables:
            table.update({kind: _watched(handler, looks, see) for kind, handler in table.items()})
        yield
    finally:
        for table, original in zip(tables, originals):
            table.update(original)


def _watched(handler: Callable[..., Any], looks: Looks, see: See) -> Callable[..., Any]:
    values, before, after = looks.values, looks.before, looks.after

    def run(path: Path, scope: Scope, node: cst.CSTNode, *more: Any) -> Any:
        key = id(node)
        for target in before.get(key, ()):
            _look_up(path, scope, target, see)
        value = handler(path, scope, node, *more)
        if key in values:
            see(path, node, value)
        for target in after.get(key, ()):
            _look_up(path, scope, target, see)
        return value

    return run


def _look_up(path: Path, scope: Scope, target: cst.CSTNode, see: See) -> None:
    """What an assignment target stands for, as far as that can be told without evaluating anything."""
    value: Value | None = None
    if isinstance(target, cst.Name):
        value = scope.outer_names.get(target.value, scope).values.get(target.value)
    elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
        owner = scope.values.get(target.value.value)
        value = owner.attributes.get(target.attr.value) if isinstance(owner, (Instance, Unknown)) else None
    if value is not None:
        see(path, target, value)
