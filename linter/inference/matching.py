"""Which case of a `match` statement runs, and what its pattern binds."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.attributes import attribute, class_attribute
from stridelint.linter.inference.bindings import CAPTURES, bound_names
from stridelint.linter.inference.calls import dataclass_fields
from stridelint.linter.inference.comparisons import equal, identical
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.objects import Arguments, Class, Instance
from stridelint.linter.inference.operators import hashable
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.torch_api.registry import Call
from stridelint.linter.inference.torch_api.types import isinstance_
from stridelint.linter.inference.values import External, Mapping, Sequence, TensorValue, Unknown, Value
from stridelint.rules.forms.walking import walk


def chosen_case(path: Path, scope: Scope, node: cst.Match) -> cst.MatchCase | None:
    """The first case that a subject meets, whose names are bound; None where it meets none.

    Values are compared, which decides as an `if` does where one is not known. What is asked of
    the items of a subject is known for tuples, lists and dicts only.
    """
    subject = evaluate(path, scope, node.subject)
    for case in node.cases:
        with path.considering(node):
            met = matches(path, scope, case.pattern, subject)
            if met and case.guard is not None:
                met = path.truth(evaluate(path, scope, case.guard))
        if met:
            return case
    return None


def matches(path: Path, scope: Scope, pattern: cst.MatchPattern, subject: Value) -> bool:
    """Whether a pattern fits, decided for this path where it is not known."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None and not matches(path, scope, pattern.pattern, subject):
            return False
        if pattern.name is not None:
            scope.bind(pattern.name.value, subject)
        return True
    if isinstance(pattern, cst.MatchOr):
        return any(matches(path, scope, each.pattern, subject) for each in pattern.patterns)
    if isinstance(pattern, (cst.MatchValue, cst.MatchSingleton)):
        same = equal if isinstance(pattern, cst.MatchValue) and not isinstance(subject, TensorValue) else identical
        return path.truth(same(path, subject, evaluate(path, scope, pattern.value)))
    if isinstance(pattern, cst.MatchSequence) and isinstance(subject, Sequence) and subject.items is not None:
        return _sequence(path, scope, pattern, subject.items)
    if isinstance(pattern, cst.MatchMapping) and isinstance(subject, Mapping) and not subject.open:
        keys = [hashable(evaluate(path, scope, each.key)) for each in pattern.elements]
        if None not in keys:
            return _mapping(path, scope, pattern, subject, keys)
    if isinstance(pattern, cst.MatchClass):
        return _class(path, scope, pattern, subject)
    return _undecided(path, scope, pattern, subject)


def _undecided(path: Path, scope: Scope, pattern: cst.MatchPattern, subject: Value) -> bool:
    for name in captured_names(pattern):
        scope.bind(name, Unknown(name))
    return path.decide(("case", id(pattern), subject.identity), True)


# Types of which one pattern by position stands for the whole subject.
_WHOLE = frozenset(
    f"builtins.{name}" for name in "bool bytearray bytes dict float frozenset int list set str tuple".split()
)


def _class(path: Path, scope: Scope, pattern: cst.MatchClass, subject: Value) -> bool:
    """Whether a subject is of a class and has attributes that fit; by position those of a dataclass, in their order."""
    cls = evaluate(path, scope, pattern.cls)
    asked = Call(path, pattern.cls, "builtins.isinstance", Arguments([subject, cls]))
    if not path.truth(isinstance_(asked)):
        return False
    parts = [each.value for each in pattern.patterns if isinstance(each, cst.MatchSequenceElement)]
    if isinstance(cls, External) and cls.dotted in _WHOLE and len(parts) == 1 and not pattern.kwds:
        return matches(path, scope, parts[0], subject)
    fields = dataclass_fields(path, cls) if parts and isinstance(cls, Class) else None
    known = isinstance(subject, (Instance, TensorValue))
    if not known or len(fields or ()) < len(parts) or (isinstance(cls, Class) and parts and _names_its_own(path, cls)):
        return not (parts or pattern.kwds) or _undecided(path, scope, pattern, subject)
    wanted = [(name, part) for (name, *_), part in zip(fields or (), parts)]
    wanted += [(each.key.value, each.pattern) for each in pattern.kwds]
    return all(matches(path, scope, part, attribute(path, subject, name)) for name, part in wanted)


def _names_its_own(path: Path, cls: Class) -> bool:
    return class_attribute(path, cls, "__match_args__") is not None


def _sequence(path: Path, scope: Scope, pattern: cst.MatchSequence, items: list[Value]) -> bool:
    """Whether the items of a tuple or list fit, and what is left of them for a star."""
    parts = pattern.patterns
    star = next((index for index, each in enumerate(parts) if isinstance(each, cst.MatchStar)), None)
    if len(items) != len(parts) if star is None else len(items) < len(parts) - 1:
        return False
    tail = 0 if star is None else len(parts) - star - 1
    ends = [*parts[:star], *parts[len(parts) - tail :]] if star is not None else parts
    kept = items if star is None else [*items[:star], *items[len(items) - tail :]]
    for part, item in zip(ends, kept):
        if isinstance(part, cst.MatchSequenceElement) and not matches(path, scope, part.value, item):
            return False
    if star is not None:
        for name in bound_names(parts[star]):
            scope.bind(name, Sequence(items[star : len(items) - tail], "list"))
    return True


def _mapping(path: Path, scope: Scope, pattern: cst.MatchMapping, subject: Mapping, keys: list[object]) -> bool:
    """Whether a dict has the keys that are asked for, with values that fit."""
    rest = dict(subject.entries)
    for element, key in zip(pattern.elements, keys):
        if key not in rest or not matches(path, scope, element.pattern, rest.pop(key)):
            return False
    for name in bound_names(pattern):
        scope.bind(name, Mapping(rest))
    return True


def captured_names(pattern: cst.CSTNode) -> list[str]:
    """The names that a pattern, or what is in it, binds."""
    return [name for each in walk(pattern, *CAPTURES) for name in bound_names(each)]
