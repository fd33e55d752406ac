"""What hypothesis gives a test: `@given(channels=st.sampled_from([1, 3]))`, as choices of its parameters."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import ModuleScope
from stridelint.linter.inference.values import FALSE, TRUE, Value, as_int


def drawn(call: cst.Call, names: tuple[str, ...]) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The parameters that a `@given(...)` fills, and how their strategies are written; those by position are the last ones."""
    placed = [arg.value for arg in call.args if arg.keyword is None]
    yield from zip(names[len(names) - len(placed) :], placed)
    yield from ((arg.keyword.value, arg.value) for arg in call.args if arg.keyword is not None)


def listed(path: Path, scope: ModuleScope, written: cst.BaseExpression) -> cst.BaseExpression | list[Value] | None:
    """The list that a strategy picks from, or its values; the ends where it picks from a range of numbers."""
    if isinstance(written, cst.Name):
        binding = scope.index.find(written.value)
        assigned = binding.node if binding is not None else None
        written = assigned.value if isinstance(assigned, cst.Assign) else written
    if not isinstance(written, cst.Call):
        return None
    name = dotted_name(written.func).rpartition(".")[2]
    given = {
        arg.keyword.value if arg.keyword is not None else index: arg.value for index, arg in enumerate(written.args)
    }
    if name == "sampled_from":
        return given.get(0, given.get("elements"))
    if name == "booleans":
        return [FALSE, TRUE]
    if name == "just" and 0 in given:
        with path.mute():
            return [evaluate(path, scope, given[0])]
    ends = [given.get(0, given.get("min_value")), given.get(1, given.get("max_value"))]
    if name != "integers" or None in ends:
        return None
    with path.mute():
        values = [evaluate(path, scope, each) for each in ends if each is not None]
    numbers = [as_int(each) for each in values]
    return None if None in numbers else values[:1] if numbers[0] == numbers[1] else values
