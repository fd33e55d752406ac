"""Sizes that a test writes out and that can be others: where a tensor is made with them, and nothing else hangs on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import libcst as cst

from stridelint.rules.events import Operand, Site
from stridelint.rules.forms.edits import Code, Edit, below, method

_FACTORIES = frozenset("rand randn zeros ones empty".split())
# Calls and attributes that fix a size, or read one.
_BOUND = re.compile(
    r"conv|linear|norm$|norm[123]d|embedding|view|reshape|expand|repeat|numel|einsum|mm$|matmul|full|tensor|randint|arange|"
    r"unflatten|load|stack|cat$|pad$|shuffle|item|tolist|sum$|stride",
    re.IGNORECASE,
)
_READ = frozenset({"shape", "size", "ndim", "nbytes"})


def resized(
    code: Code, test: Site, operand: Operand, wanted: Mapping[int, int], allowed: Iterable[str] = ()
) -> tuple[Edit, ...]:
    """Edits that give a tensor other sizes on some axes where the test makes it; none if anything depends on those.

    test: its function. wanted: new sizes by axis; only a literal 1 is replaced. allowed: names of calls that may look at sizes all the same.
    """
    made = next((note for note in operand.story if note.message == "is made here"), None)
    call = None if made is None else code.call(made.site)
    function = None if call is None else code.function_of(call)
    if call is None or function is None or function is not test.node or _name(call) not in _FACTORIES:
        return ()
    for each in below(function):
        if isinstance(each, cst.Attribute) and each.attr.value in _READ:
            return ()
        if isinstance(each, cst.Call) and each is not call:
            if _name(each) in _FACTORIES or (_BOUND.search(_name(each)) and _name(each) not in allowed):
                return ()
    sizes = _sizes(call)
    edits = [
        Edit(sizes[axis], str(size)) for axis, size in wanted.items() if axis < len(sizes) and _is_one(sizes[axis])
    ]
    return tuple(edits) if len(edits) == len(wanted) else ()


def _name(call: cst.Call) -> str:
    return method(call) or (call.func.value if isinstance(call.func, cst.Name) else "")


def _sizes(call: cst.Call) -> list[cst.BaseExpression]:
    """The sizes as they are written: `rand(2, 3)` or `rand((2, 3))`."""
    values = [each.value for each in call.args if each.keyword is None and not each.star]
    if len(values) == 1 and isinstance(values[0], (cst.Tuple, cst.List)):
        return [each.value for each in values[0].elements]
    return values


def _is_one(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and node.value == "1"
