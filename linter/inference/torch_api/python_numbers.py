"""Python's functions that give numbers: `int` and its like, `len`, `min`, `max`, `sum`, and those of `math`, `random` and `time`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stridelint.linter.inference import elements, own_dicts
from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.dispatch import call_function
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.torch_api.apply import apply_call
from stridelint.linter.inference.torch_api.module_members import entries_of
from stridelint.linter.inference.torch_api.queries import size_at
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.torch_api.tensor_attributes import rank_value
from stridelint.linter.inference.values import (
    FALSE,
    TRUE,
    ArrayValue,
    Constant,
    Mapping,
    Number,
    Sequence,
    ShapeOf,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    number,
)
from stridelint.rules.contract import sizes
from stridelint.rules.events import Form

_NUMERIC: dict[str, Callable[[Any], Any]] = {
    "builtins.int": int,
    "builtins.float": float,
    "builtins.bool": bool,
    "builtins.abs": abs,
    "builtins.round": round,
}


@function("builtins.int", "builtins.float", "builtins.bool", "builtins.complex", "builtins.round", "builtins.abs")
def converted(call: Call) -> Value:
    """`int(x)` and its like."""
    value = call.get(0)
    kind = {
        "builtins.int": "integer",
        "builtins.round": "integer",
        "builtins.float": "float",
        "builtins.bool": "bool",
        "builtins.complex": "complex",
    }.get(call.name)
    if isinstance(value, Constant) and isinstance(value.value, (int, float, str)):
        python = _NUMERIC.get(call.name)
        try:
            return (
                Constant(python(value.value))
                if python is not None and len(call.args.positional) == 1
                else Number(kind or "float")
            )
        except (ValueError, TypeError, OverflowError):
            return Unknown()
    if isinstance(value, SizeValue) and call.name in ("builtins.int", "builtins.abs"):
        return value
    if call.name == "builtins.abs":
        if isinstance(value, TensorValue):
            return apply_call(call.path, "abs", call.args, call.node, call.form)
        return Unknown() if value is None else Number(value.kind) if isinstance(value, Number) else Unknown()
    if call.name == "builtins.bool" and value is not None:
        known = call.path.known_truth(value)
        return Number("bool") if known is None else TRUE if known else FALSE
    if call.name == "builtins.int":
        made = SizeValue(sizes.Size.fresh("int"))
        return value.attributes.setdefault("int()", made) if isinstance(value, Unknown) else made
    return Number(kind or "float")


@function("builtins.len")
def length(call: Call) -> Value:
    """`len(x)`."""
    value = call.get(0)
    if isinstance(value, Sequence) and value.items is not None:
        return Constant(len(value.items))
    if isinstance(value, Mapping) and not value.open:
        return Constant(len(value.entries))
    if isinstance(value, TensorValue):
        return size_at(value, call.path.facts(value).shape, 0)
    if isinstance(value, ArrayValue) and value.facts.shape:
        return number(value.facts.shape[0], (value, 0))
    if isinstance(value, ShapeOf):
        return rank_value(call.path, value.tensor)
    if isinstance(value, Constant) and isinstance(value.value, (str, bytes)):
        return Constant(len(value.value))
    if isinstance(value, Instance):
        entries = entries_of(value)
        if entries is not None:
            return Constant(len(entries))
        method = find_method(value, "__len__")
        if method is not None:
            counted = call_function(call.path, None, method, Arguments([value]))
            return SizeValue(sizes.Size.fresh("length")) if as_dim(counted) is None else counted
        kept = own_dicts.entries(value)
        if kept is not None and not kept.open:
            return Constant(len(kept.entries))
    if isinstance(value, Unknown):
        return value.attributes.setdefault("len()", SizeValue(sizes.Size.fresh("length")))
    return SizeValue(sizes.Size.fresh("length"))


@function("builtins.min", "builtins.max", "builtins.sum")
def extreme(call: Call) -> Value:
    """`min(...)`, `max(...)`, `sum(...)`."""
    values = call.args.positional
    if len(values) == 1 or call.name == "builtins.sum":
        items, exhaustive = items_of(call.path, values[0]) if values else ([], False)
        if not exhaustive or "key" in call.args.keywords:
            dims = [as_dim(each) for each in items]
            if items and None not in dims:
                return SizeValue(sizes.Size.fresh("number"))
            is_one = call.args.keywords.keys() == {"key"}
            return elements.one_of(call.path, items) if is_one and call.name != "builtins.sum" else Unknown()
        values = items + (values[1:] if call.name == "builtins.sum" else [])
    if call.name == "builtins.sum":
        return _sum(call, values)
    known = [each.value for each in values if isinstance(each, Constant) and isinstance(each.value, (int, float))]
    if known and len(known) == len(values):
        return Constant(min(known) if call.name == "builtins.min" else max(known))
    dims = [as_dim(each) for each in values]
    return SizeValue(sizes.Size.fresh("number")) if None not in dims else Unknown()


def _sum(call: Call, values: list[Value]) -> Value:
    total: Value = Constant(0)
    for each in values:
        left, right = as_dim(total), as_dim(each)
        if left is not None and right is not None:
            total = number(sizes.add(left, right))
        elif isinstance(total, Constant) and isinstance(each, Constant) and isinstance(each.value, (int, float)):
            total = Constant(total.value + each.value)
        elif isinstance(each, TensorValue) or isinstance(total, TensorValue):
            pair = [total, each] if isinstance(total, TensorValue) else [each, total]  # 0 + x is x + 0 for torch
            total = apply_call(call.path, "add", Arguments(pair), call.node, Form.OPERATOR)
        else:
            return Unknown()
    return total


@function("math.prod")
def prod(call: Call) -> Value:
    """`math.prod(sizes)`."""
    value = call.get(0)
    if isinstance(value, Sequence) and value.items is not None:
        dims = [as_dim(each) for each in value.items]
        if None not in dims:
            return number(sizes.product(tuple(dim for dim in dims if dim is not None)))
    return SizeValue(sizes.Size.fresh("product"))


@function(
    "math.sqrt",
    "math.exp",
    "math.log",
    "math.sin",
    "math.cos",
    "math.log2",
    "math.pow",
    "math.tan",
    "math.atan",
    "time.time",
    "random.random",
    "random.uniform",
)
def float_(call: Call) -> Value:
    """A float."""
    return Number("float", call.name != "math.pow")


@function("math.ceil", "math.floor", "random.randint", "random.randrange", "math.gcd", "math.factorial")
def int_(call: Call) -> Value:
    """An integer."""
    return SizeValue(sizes.Size.fresh("int"))
