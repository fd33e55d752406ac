"""Which case of a `match` statement runs, and what its pattern binds."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.expressions import evaluate
from stridelint.linter.inference.operators import equal, identical
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.values import Sequence, TensorValue, Unknown, Value
from stridelint.rules.forms.walking import walk


def chosen_case(path: Path, scope: Scope, node: cst.Match) -> cst.MatchCase | None:
    """The first case that a subject meets, whose names are bound; None where it meets none.

    Values are compared, which decides as an `if` does where one is not known. What a class, mapping or sequence pattern
    asks of a subject is known for tuples and lists only.
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
        parts = [each.value for each in pattern.patterns if isinstance(each, cst.MatchSequenceElement)]
        if len(parts) == len(pattern.patterns):
            return len(parts) == len(subject.items) and all(
                matches(path, scope, part, item) for part, item in zip(parts, subject.items)
            )
    for name in captured_names(pattern):
        scope.bind(name, Unknown(name))
    return path.decide(("case", id(pattern), subject.identity), True)


def captured_names(pattern: cst.CSTNode) -> list[str]:
    """The names that a pattern, or what is in it, binds."""
    found = [each.name for each in walk(pattern, cst.MatchAs, cst.MatchStar) if isinstance(each, (cst.MatchAs, cst.MatchStar))]
    found += [each.rest for each in walk(pattern, cst.MatchMapping) if isinstance(each, cst.MatchMapping)]
    return [name.value for name in found if name is not None]
