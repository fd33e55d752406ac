"""Python's operators on values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from stridelint.linter.inference import elements, testing
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import (
    FALSE,
    TRUE,
    Arguments,
    ArrayValue,
    Class,
    Condition,
    Constant,
    Device,
    Dtype,
    External,
    Function,
    Instance,
    Mapping,
    MemoryFormat,
    Number,
    Sequence,
    ShapeOf,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    is_none,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim
from stridelint.rules.events import Form

TORCH_NAMES: dict[type[cst.CSTNode], str] = {
    cst.Add: "add",
    cst.Subtract: "sub",
    cst.Multiply: "mul",
    cst.Divide: "div",
    cst.FloorDivide: "floor_divide",
    cst.Modulo: "remainder",
    cst.Power: "pow",
    cst.MatrixMultiply: "matmul",
    cst.BitAnd: "bitwise_and",
    cst.BitOr: "bitwise_or",
    cst.BitXor: "bitwise_xor",
    cst.LeftShift: "bitwise_left_shift",
    cst.RightShift: "bitwise_right_shift",
    cst.Equal: "eq",
    cst.NotEqual: "ne",
    cst.LessThan: "lt",
    cst.LessThanEqual: "le",
    cst.GreaterThan: "gt",
    cst.GreaterThanEqual: "ge",
    cst.AddAssign: "add",
    cst.SubtractAssign: "sub",
    cst.MultiplyAssign: "mul",
    cst.DivideAssign: "div",
    cst.FloorDivideAssign: "floor_divide",
    cst.ModuloAssign: "remainder",
    cst.PowerAssign: "pow",
    cst.MatrixMultiplyAssign: "matmul",
    cst.BitAndAssign: "bitwise_and",
    cst.BitOrAssign: "bitwise_or",
    cst.BitXorAssign: "bitwise_xor",
    cst.LeftShiftAssign: "bitwise_left_shift",
    cst.RightShiftAssign: "bitwise_right_shift",
}

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_SYMBOLIC: dict[str, Callable[[sizes.SizeLike, sizes.SizeLike], sizes.SizeLike | None]] = {
    "add": sizes.add,
    "sub": sizes.subtract,
    "mul": sizes.multiply,
    "floor_divide": sizes.floor_divide,
    "remainder": sizes.modulo,
}
_MAX_NUMBER = 2**62
_MAX_TEXT = 10_000


def hashable(value: Value) -> Any:
    """A dict key for a known value; None for others."""
    if isinstance(value, Constant) and value.value is not None:
        return value.value
    if isinstance(value, (Dtype, MemoryFormat, Device)):
        return (type(value).__name__, value.name)
    if isinstance(value, External):
        return ("External", value.dotted)
    if isinstance(value, (TensorValue, Instance)):
        return ("object", value.identity)
    if isinstance(value, Sequence) and value.items is not None:
        parts = tuple(hashable(each) for each in value.items)
        return None if None in parts else parts
    return None


_SPECIAL: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.FloorDivide: "floordiv",
    cst.Modulo: "mod", cst.Power: "pow", cst.MatrixMultiply: "matmul", cst.AddAssign: "add", cst.SubtractAssign: "sub",
    cst.MultiplyAssign: "mul", cst.DivideAssign: "truediv", cst.FloorDivideAssign: "floordiv", cst.ModuloAssign: "mod",
    cst.PowerAssign: "pow", cst.MatrixMultiplyAssign: "matmul", cst.BitAnd: "and", cst.BitOr: "or", cst.BitXor: "xor",
    cst.BitAndAssign: "and", cst.BitOrAssign: "or", cst.BitXorAssign: "xor",
}  # fmt: skip


def binary(path: Path, node: cst.BinaryOperation, left: Value, right: Value) -> Value:
    """`left op right`."""
    name = TORCH_NAMES.get(type(node.operator))
    if name is None:
        return Unknown()
    special = _special_method(path, node, left, right, "__", "__r")
    if special is not None:
        return special
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        return _tensor_binary(path, name, node, left, right, Form.OPERATOR)
    return python_binary(path, name, left, right)


def _special_method(
    path: Path, node: cst.BinaryOperation | cst.AugAssign, left: Value, right: Value, *prefixes: str
) -> Value | None:
    """What a class of the file computes for an operator: `a * b` by its `__mul__`, `a *= b` by its `__imul__`."""
    from stridelint.linter.inference.attributes import find_method
    from stridelint.linter.inference.calls import call_function

    name = _SPECIAL.get(type(node.operator))
    if name is None or not (isinstance(left, Instance) or (isinstance(right, Instance) and "__r" in prefixes)):
        return None
    for prefix in prefixes:
        owner, other = (right, left) if prefix == "__r" else (left, right)
        method = find_method(owner, f"{prefix}{name}__") if isinstance(owner, Instance) else None
        if method is not None and isinstance(owner, Instance):
            return call_function(path, None, method, Arguments([owner, other]))
    return None


def _tensor_binary(path: Path, name: str, node: cst.CSTNode, left: Value, right: Value, form: Form) -> Value:
    from stridelint.linter.inference.torch_api.apply import apply

    if any(isinstance(each, (Sequence, Mapping, Instance)) for each in (left, right)):
        return Unknown()
    testing.record_difference(path, name, [left, right])
    parts = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else ()
    if number_kind(left) is not None and name != "pow":  # the tensor computes it: `1 - x` is x.__rsub__(1)
        left, right, parts = right, left, parts[::-1]
    nodes: dict[str, cst.CSTNode] = dict(zip(("input", "other"), parts))
    return apply(path, name, {"input": left, "exponent" if name == "pow" else "other": right}, node, form, nodes=nodes)


def augmented(path: Path, node: cst.AugAssign, left: Value, right: Value) -> Value:
    """`left op= right`: changes a tensor or list in place (returns it), else computes a new value."""
    name = TORCH_NAMES.get(type(node.operator))
    if name is None:
        return Unknown()
    special = _special_method(path, node, left, right, "__i", "__", "__r")
    if special is not None:
        return special
    if isinstance(left, TensorValue):
        from stridelint.linter.inference.torch_api.apply import apply

        if name == "matmul":
            return _tensor_binary(path, name, node, left, right, Form.OPERATOR)
        nodes: dict[str, cst.CSTNode] = {"input": node.target, "other": node.value}
        if isinstance(node.target, cst.Subscript) and left.copied is not None:
            left.copied = left.copied.source.copied  # `x[mask] += 1` stores the copy back
        return apply(
            path,
            name,
            {"input": left, "exponent" if name == "pow" else "other": right},
            node,
            Form.INPLACE,
            nodes=nodes,
        )
    if isinstance(right, TensorValue):
        return _tensor_binary(path, name, node, left, right, Form.OPERATOR)
    if isinstance(left, Sequence) and left.kind == "list" and name == "add":
        joined = python_binary(path, name, left, right)
        left.items, left.element = (joined.items, joined.element) if isinstance(joined, Sequence) else (None, None)
        return left
    return python_binary(path, name, left, right)


def python_binary(path: Path, name: str, left: Value, right: Value) -> Value:
    """An operator on anything but tensors."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _constants(name, left.value, right.value)
    left_dim, right_dim = as_dim(left), as_dim(right)
    if left_dim is not None and right_dim is not None and name in _SYMBOLIC:
        result = _SYMBOLIC[name](left_dim, right_dim)
        if result is not None:
            return Constant(result) if isinstance(result, int) else SizeValue(result)
        return Number("integer")
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return _sequences(path, name, left, right)
    if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        from stridelint.linter.inference.torch_api.numpy_api import array_binary

        return array_binary(path, name, left, right)
    kinds = [number_kind(each) for each in (left, right)]
    if None not in kinds and name in ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow"):
        order = ("bool", "integer", "float", "complex")
        kind = max((each for each in kinds if each is not None), key=order.index)
        kind = "integer" if kind == "bool" else kind
        kind = "float" if name == "div" and kind == "integer" else kind
        # Sizes divided by sizes are mostly whole: `height / 2`.
        divided = name == "div" and any(isinstance(each, Number) for each in (left, right))
        return Number(kind, divided or (name in ("add", "sub", "mul", "div") and any(map(_is_fraction, (left, right)))))
    return Unknown()


def _is_fraction(value: Value) -> bool:
    if isinstance(value, Number):
        return value.fraction
    return isinstance(value, Constant) and isinstance(value.value, float) and not value.value.is_integer()


def number_kind(value: Value) -> str | None:
    """The kind of a Python number."""
    if isinstance(value, Number):
        return value.kind
    if isinstance(value, SizeValue):
        return "integer"
    if isinstance(value, Constant):
        kinds = {bool: "bool", int: "integer", float: "float", complex: "complex"}
        return kinds.get(type(value.value))
    return None


def _constants(name: str, left: Any, right: Any) -> Value:
    if name == "pow":
        small = (
            isinstance(left, (int, float, complex))
            and isinstance(right, (int, float))
            and abs(right) <= 64
            and abs(left) <= 2**16
        )
        function: Callable[[Any, Any], Any] | None = operator.pow if small else None
    elif name in ("bitwise_left_shift", "bitwise_right_shift"):
        small = isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64
        function = (operator.lshift if name == "bitwise_left_shift" else operator.rshift) if small else None
    else:
        function = _PYTHON.get(name)
    if function is None:
        return Unknown()
    if name == "mul" and any(isinstance(each, (str, bytes)) for each in (left, right)):
        count = right if isinstance(left, (str, bytes)) else left
        text = left if isinstance(left, (str, bytes)) else right
        if not isinstance(count, int) or count * len(text) > _MAX_TEXT:
            return Unknown()
    if name == "remainder" and isinstance(left, (str, bytes)):
        return Unknown("string")
    try:
        result = function(left, right)
    except Exception:
        return Unknown()
    return Number("integer") if isinstance(result, int) and abs(result) > _MAX_NUMBER else Constant(result)


def _sequences(path: Path, name: str, left: Value, right: Value) -> Value:
    if name == "add" and isinstance(left, ShapeOf) or isinstance(right, ShapeOf):
        return Unknown()
    if name == "add" and isinstance(left, Sequence) and isinstance(right, Sequence):
        if left.items is None or right.items is None:
            seen = [*elements.any_of(left), *elements.any_of(right)]
            unknown = any(isinstance(each, Unknown) for each in seen)
            return Sequence(None, left.kind, None if unknown else elements.like(path, seen))
        return Sequence([*left.items, *right.items], left.kind)
    if name == "mul":
        sequence, count = (left, right) if isinstance(left, Sequence) else (right, left)
        times = as_dim(count)
        if (
            isinstance(sequence, Sequence)
            and sequence.items is not None
            and isinstance(times, int)
            and 0 <= times * len(sequence.items) <= 256
        ):
            return Sequence(sequence.items * times, sequence.kind)
        if isinstance(sequence, Sequence):
            seen = elements.any_of(sequence)
            return Sequence(None, sequence.kind, elements.repeated(path, seen) if seen else None)
    return Unknown()


def unary(path: Path, node: cst.UnaryOperation, value: Value) -> Value:
    """`-value`, `~value`, `+value`."""
    if isinstance(value, TensorValue):
        from stridelint.linter.inference.torch_api.apply import apply

        if isinstance(node.operator, cst.Plus):
            return value
        name = "bitwise_not" if isinstance(node.operator, cst.BitInvert) else "neg"
        return apply(path, name, {"input": value}, node, Form.OPERATOR, nodes={"input": node.expression})
    if isinstance(value, Constant) and isinstance(value.value, (int, float, complex)):
        if isinstance(node.operator, cst.Minus):
            return Constant(-value.value)
        if isinstance(node.operator, cst.BitInvert):
            return Constant(~value.value) if isinstance(value.value, int) else Unknown()
        return value
    dim = as_dim(value)
    if dim is not None and isinstance(node.operator, cst.Minus):
        return _dim_value(sizes.multiply(dim, -1))
    if isinstance(value, (Number, ArrayValue)):
        return value
    return Unknown()


def _dim_value(dim: Dim) -> Value:
    return Constant(dim) if isinstance(dim, int) else SizeValue(dim)


def compare(path: Path, node: cst.Comparison, op: cst.BaseCompOp, left: Value, right: Value) -> Value:
    """`left op right` for one comparison operator."""
    if isinstance(op, (cst.Is, cst.IsNot)):
        return _flip(identical(path, left, right), isinstance(op, cst.IsNot))
    if isinstance(op, (cst.In, cst.NotIn)):
        return _flip(contained(path, left, right), isinstance(op, cst.NotIn))
    name = TORCH_NAMES.get(type(op))
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
    if name in ("eq", "ne"):
        return _flip(equal(path, left, right), name == "ne")
    return ordered(path, name, left, right)


def _flip(value: Value, negate: bool) -> Value:
    if not negate:
        return value
    if isinstance(value, Constant):
        return FALSE if value.value else TRUE
    if isinstance(value, Condition):
        assume = value.assume
        return Condition(value.key, None if assume is None else lambda outcome: assume(not outcome), not value.negated)
    return value


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
    return equal(path, left, right)


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
    return Condition(("eq", *sorted((first_key, second_key), key=repr)))


def _key(value: Value) -> object:
    known = hashable(value)
    return known if known is not None else ("value", value.identity)


def _dtype_condition(path: Path, tensor: TensorValue, name: str) -> Value:
    def assume(outcome: bool) -> None:
        if outcome:
            from stridelint.rules.contract.dtypes import kind_of

            tensor.facts = tensor.facts.but(dtype=name, kind=kind_of(name))

    return Condition(("dtype", tensor.identity, name), assume)


def _sizes_equal(path: Path, left: Dim, right: Dim) -> Value:
    learnt = path.learnt((left, right))
    if learnt is not None:
        left, right = learnt
    difference = sizes.subtract(left, right)
    if isinstance(difference, int):
        return FALSE if difference else TRUE

    def assume(outcome: bool) -> None:
        if outcome:
            learn_equal(path, left, right)

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
        return _constants(name, left.value, right.value)
    left_dim, right_dim = as_dim(left), as_dim(right)
    if left_dim is None or right_dim is None:
        return Condition((name, _key(left), _key(right)))
    learnt = path.learnt((left_dim, right_dim))
    if learnt is not None:
        left_dim, right_dim = learnt
    difference = sizes.subtract(left_dim, right_dim)
    if isinstance(difference, int):
        return Constant(_PYTHON[name](difference, 0))
    if name in ("gt", "ge"):  # one key for a < b and b > a
        return ordered(path, "lt" if name == "gt" else "le", right, left)

    def assume(outcome: bool) -> None:
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
