"""Python's operators on values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from stridelint.linter.inference import elements, number_ranges, sample_steps
from stridelint.linter.inference.attributes import as_tensor, find_method
from stridelint.linter.inference.dispatch import call_function
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Device,
    Dtype,
    External,
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
    if not (isinstance(left, Instance) or (isinstance(right, Instance) and "__r" in prefixes)):
        return None

    name = _SPECIAL.get(type(node.operator))
    if name is None:
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
    if isinstance(left, Unknown) and (left.tensor is not None or isinstance(right, TensorValue)):
        left = as_tensor(path, left)
    if isinstance(left, TensorValue):
        from stridelint.linter.inference.torch_api.apply import apply

        if name == "matmul":
            return _tensor_binary(path, name, node, left, right, Form.OPERATOR)
        nodes: dict[str, cst.CSTNode] = {"input": node.target, "other": node.value}
        if isinstance(node.target, cst.Subscript) and left.copied is not None:
            number_ranges.written(path, left.copied.source, None)
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
    if isinstance(left, ArrayValue) and not isinstance(right, Unknown):
        return left  # changed in place
    if isinstance(left, Sequence) and left.kind == "list" and name == "add":
        joined = python_binary(path, name, left, right)
        left.items, left.element = (joined.items, joined.element) if isinstance(joined, Sequence) else (None, None)
        left.items = None if left.items is None else [elements.put(left, each) for each in left.items]
        return left
    result = python_binary(path, name, left, right)
    if isinstance(left, Unknown) and isinstance(result, Unknown):
        result.tensor = as_tensor(path, left)  # if it is one, it is still the same
    return result


def python_binary(path: Path, name: str, left: Value, right: Value) -> Value:
    """An operator on anything but tensors."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        number = of_constants(name, left.value, right.value)
        if left.along or right.along or left.origin or right.origin:
            return sample_steps.computed(name, left, right, number)
        return number
    if name == "div" and isinstance(right, (SizeValue, Number)) and isinstance(left, Constant):
        if type(left.value) in (int, float) and left.value == 0:
            return Constant(0.0)  # or it raises
    left_dim, right_dim = as_dim(left), as_dim(right)
    if left_dim is not None and right_dim is not None and name in _SYMBOLIC:
        result = _SYMBOLIC[name](left_dim, right_dim)
        if result is not None:
            return Constant(result) if isinstance(result, int) else SizeValue(result)
        return Number("integer")
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return _sequences(path, name, left, right)
    if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        from stridelint.linter.inference.torch_api.numpy_elementwise import array_binary

        return array_binary(path, name, left, right)
    kinds = [number_kind(each) for each in (left, right)]
    if None not in kinds and name in ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow"):
        order = ("bool", "integer", "float", "complex")
        kind = max((each for each in kinds if each is not None), key=order.index)
        kind = "integer" if kind == "bool" else kind
        kind = "float" if name == "div" and kind == "integer" else kind
        # Sizes divided by sizes are mostly whole: `height / 2`.
        divided = name == "div" and any(isinstance(each, Number) for each in (left, right))
        divided = divided or (name in ("add", "sub", "mul", "div") and any(map(_is_fraction, (left, right))))
        return Number(kind, divided, (left, right))
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


def of_constants(name: str, left: Any, right: Any) -> Value:
    """An operator, by torch's name, on two known Python values."""
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
            return sample_steps.negated(value, Constant(-value.value))
        if isinstance(node.operator, cst.BitInvert):
            return Constant(~value.value) if isinstance(value.value, int) else Unknown()
        return value
    dim = as_dim(value)
    if dim is not None and isinstance(node.operator, cst.Minus):
        return _dim_value(sizes.multiply(dim, -1))
    if isinstance(value, ArrayValue):
        from stridelint.linter.inference.torch_api.numpy_elementwise import unary as array_unary

        return array_unary(path, value)
    return value if isinstance(value, Number) else Unknown()


def _dim_value(dim: Dim) -> Value:
    return Constant(dim) if isinstance(dim, int) else SizeValue(dim)
