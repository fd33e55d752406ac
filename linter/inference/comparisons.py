"""Python's comparisons and `not`, and what is learnt of sizes, ranks and dtypes where a path decides one."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import own_dicts
from stridelint.linter.inference.objects import Class, Function, Instance
from stridelint.linter.inference.operators import TORCH_NAMES, hashable, number_kind, of_constants
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import (
    FALSE,
    TRUE,
    ArrayValue,
    Condition,
    Constant,
    Device,
    Dtype,
    External,
    Mapping,
    MemoryFormat,
    Number,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    is_none,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dim
from stridelint.rules.events import Form


def compare(path: Path, node: cst.Comparison, op: cst.BaseCompOp, left: Value, right: Value) -> Value:
    """`left op right` for one comparison operator."""
    kind = type(op)
    if kind is cst.Is or kind is cst.IsNot:
        return _flip(identical(path, left, right), kind is cst.IsNot)
    if kind is cst.In or kind is cst.NotIn:
        return _flip(contained(path, left, right), kind is cst.NotIn)
    name = TORCH_NAMES.get(kind)
    if name is None:
        return Unknown()
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        if (
            is_none(left)
            or is_none(right)
            or any(isinstance(each, Constant) and isinstance(each.value, str) for each in (left, right))
        ):
            return Unknown()
        from stridelint.linter.inference.torch_api.apply import apply

        nodes: dict[str, cst.CSTNode] = {"input": node.left, "other": node.comparisons[0].comparator}
        return apply(path, name, {"input": left, "other": right}, node, Form.OPERATOR, nodes=nodes)
    if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        compared = _of_arrays(path, name, left, right)
        if compared is not None:
            return compared
    if name in ("eq", "ne"):
        return _flip(equal(path, left, right), name == "ne")
    return ordered(path, name, left, right)


def _of_arrays(path: Path, name: str, left: Value, right: Value) -> Value | None:
    """Truth values, as arrays compare with arrays and numbers."""
    if all(isinstance(each, ArrayValue) or number_kind(each) is not None for each in (left, right)):
        from stridelint.linter.inference.torch_api.numpy_elementwise import array_binary

        return array_binary(path, name, left, right)
    return None


def _flip(value: Value, negate: bool) -> Value:
    if not negate:
        return value
    if isinstance(value, Constant):
        return FALSE if value.value else TRUE
    return _opposite(value) if isinstance(value, Condition) else value


def _opposite(value: Condition) -> Condition:
    assume = value.assume
    return Condition(value.key, None if assume is None else lambda outcome: assume(not outcome), not value.negated)


def negation(path: Path, value: Value) -> Value:
    """`not value`, undecided where the value is."""
    known = path.known_truth(value)
    if known is not None:
        return FALSE if known else TRUE
    return _opposite(value) if isinstance(value, Condition) else Condition(("truth", value.identity), None, True)


def identical(path: Path, left: Value, right: Value) -> Value:
    """`left is right`."""
    if is_none(right) or is_none(left):
        other = left if is_none(right) else right
        if is_none(other):
            return TRUE
        if isinstance(other, Unknown):
            if other.none is not None:
                return TRUE if other.none else FALSE
            unknown = other

            def assume(outcome: bool) -> None:
                unknown.none = outcome

            return Condition(("none", other.identity), assume)
        return FALSE
    if left is not right and all(isinstance(each, (TensorValue, Unknown)) for each in (left, right)):
        return _one_tensor(path, left, right)
    return equal(path, left, right)


def _one_tensor(path: Path, left: Value, right: Value) -> Value:
    """Whether two values that came by different ways are one tensor."""
    storages = {path.facts(each).storage if isinstance(each, TensorValue) else None for each in (left, right)}
    if len(storages) == 2 and None not in storages:
        return FALSE
    frame = path.frames[-1] if path.frames else None

    def assume(outcome: bool) -> None:
        if outcome and frame is not None and frame.given_out in (left, right):
            frame.out_twins += (left, right)

    return Condition(("one", frozenset((left.identity, right.identity))), assume)


def equal(path: Path, left: Value, right: Value) -> Value:
    """`left == right` for anything but tensors."""
    if left is right:
        return TRUE
    if isinstance(left, Constant) and isinstance(right, Constant):
        return TRUE if left.value == right.value else FALSE
    named = (Dtype, MemoryFormat, Device)
    if isinstance(left, named) and isinstance(right, named):
        return TRUE if type(left) is type(right) and left.name == right.name else FALSE
    for first, second in ((left, right), (right, left)):
        tensor = path.dtype_of.get(first.identity)
        if tensor is not None and isinstance(second, Dtype):
            return _dtype_condition(path, tensor, second.name)
    left_dim, right_dim = as_dim(left), as_dim(right)
    if left_dim is not None and right_dim is not None:
        return _sizes_equal(path, left_dim, right_dim)
    if (
        isinstance(left, Sequence)
        and isinstance(right, Sequence)
        and left.items is not None
        and right.items is not None
    ):
        return _sequences_equal(path, left.items, right.items)
    if isinstance(left, (Function, Class, Instance, External)) and isinstance(right, Constant):
        return FALSE
    if isinstance(left, External) and isinstance(right, External):
        return TRUE if left.dotted == right.dotted else FALSE
    first_key, second_key = _key(left), _key(right)
    numbers = [each for each in (left, right) if isinstance(each, Number)]

    def assume(outcome: bool) -> None:
        for number in numbers if outcome else ():
            number.told = True

    return Condition(("eq", *sorted((first_key, second_key), key=repr)), assume if numbers else None)


def _key(value: Value) -> object:
    known = hashable(value)
    return known if known is not None else ("value", value.identity)


def _dtype_condition(path: Path, tensor: TensorValue, name: str) -> Value:
    def assume(outcome: bool) -> None:
        if outcome:
            tensor.facts = tensor.facts.but(dtype=name, kind=kind_of(name))

    return Condition(("dtype", tensor.identity, name), assume)


def _sizes_equal(path: Path, left: Dim, right: Dim) -> Value:
    learnt = path.learnt((left, right))
    if learnt is not None:
        left, right = learnt
    difference = sizes.subtract(left, right)
    if isinstance(difference, int):
        return FALSE if difference else TRUE
    if path.differ(left, right):
        return FALSE

    def assume(outcome: bool) -> None:
        if outcome:
            learn_equal(path, left, right)
        else:
            path.unequal.add(difference)

    return Condition(("sizes", frozenset((left, right))), assume)


def learn_equal(path: Path, left: Dim, right: Dim) -> None:
    """Two sizes turn out equal: a rank becomes known, or a symbol gets the other's value."""
    for symbol_side, other in ((left, right), (right, left)):
        atom = symbol_side.symbol if isinstance(symbol_side, sizes.Size) else None
        if atom is None:
            continue
        tensor = path.rank_of.get(atom)
        if tensor is not None and isinstance(other, int) and other >= 0:
            tensor.refine_rank(other)
        if not (isinstance(other, sizes.Size) and atom in sizes.leaves(other)):
            path.bound_sizes = {
                each: sizes.substitute(size, {atom: other}) or size for each, size in path.bound_sizes.items()
            }
            path.bound_sizes[atom] = other
        return


def _sequences_equal(path: Path, left: list[Value], right: list[Value]) -> Value:
    if len(left) != len(right):
        return FALSE
    unknown: list[Value] = []
    for first, second in zip(left, right):
        result = equal(path, first, second)
        known = path.known_truth(result)
        if known is False:
            return FALSE
        if known is None:
            unknown.append(result)
    if not unknown:
        return TRUE

    def assume(outcome: bool) -> None:
        if outcome:
            for each in unknown:
                if isinstance(each, Condition) and each.assume is not None and not each.negated:
                    each.assume(True)

    return Condition(
        ("sequences", *(each.key if isinstance(each, Condition) else each.identity for each in unknown)), assume
    )


def ordered(path: Path, name: str, left: Value, right: Value) -> Value:
    """`<`, `<=`, `>`, `>=` for anything but tensors."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return of_constants(name, left.value, right.value)
    left_dim, right_dim = as_dim(left), as_dim(right)
    if left_dim is None or right_dim is None:
        if name in ("gt", "le"):
            left, right = right, left
        return Condition(("lt", _key(left), _key(right)), None, name in ("ge", "le"))  # a >= b is not (a < b)
    learnt = path.learnt((left_dim, right_dim))
    if learnt is not None:
        left_dim, right_dim = learnt
    difference = sizes.subtract(left_dim, right_dim)
    if isinstance(difference, int):
        return of_constants(name, difference, 0)
    if name in ("gt", "ge"):  # one key for a < b and b > a
        return ordered(path, "lt" if name == "gt" else "le", right, left)

    def assume(outcome: bool) -> None:
        if outcome == (name == "lt"):
            path.unequal.add(difference)
        # `size < 2` or `size <= 1` means 1: sizes of 0 are not followed.
        limit = right_dim if name == "lt" else sizes.add(right_dim, 1)
        if outcome and limit == 2 and isinstance(left_dim, sizes.Size):
            learn_equal(path, left_dim, 1)
        # not (1 < size) or not (2 <= size): likewise
        lower = left_dim if name == "le" else sizes.add(left_dim, 1)
        if not outcome and lower == 2 and isinstance(right_dim, sizes.Size) and right_dim.symbol not in path.rank_of:
            learn_equal(path, right_dim, 1)

    return Condition((name, left_dim, right_dim), assume)


def contained(path: Path, left: Value, right: Value) -> Value:
    """`left in right`."""
    right = own_dicts.entries(right) or right
    if isinstance(right, Mapping):
        key = hashable(left)
        if right.has(key):
            return TRUE
        return FALSE if key is not None and not right.open else Condition(("in", _key(left), right.identity))
    if isinstance(right, Sequence) and right.items is not None:
        results = [equal(path, left, each) for each in right.items if not isinstance(each, TensorValue)]
        known = [path.known_truth(each) for each in results]
        if True in known:
            return TRUE
        if all(each is False for each in known) and len(known) == len(right.items):
            return FALSE
    if (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and isinstance(right.value, str)
        and isinstance(left.value, str)
    ):
        return TRUE if left.value in right.value else FALSE
    return Condition(("in", _key(left), _key(right)))
