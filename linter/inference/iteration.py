"""What a loop runs over."""

from __future__ import annotations

from stridelint.linter.inference import named_tuples, own_dicts
from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.dispatch import call_function
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import data, data_sets
from stridelint.linter.inference.torch_api.module_members import child_modules
from stridelint.linter.inference.torch_api.numpy_arrays import rows_of
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Mapping,
    Sequence,
    ShapeOf,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dims

MAX_ROWS = 12


def items_of(path: Path, value: Value) -> tuple[list[Value], bool]:
    """The items of an iterable, and whether these are all. Two stand for an unknown number."""
    if isinstance(value, Sequence):
        if value.items is not None:
            return list(value.items), True
        return [value.fresh_element(), value.fresh_element()], False
    if isinstance(value, Mapping):
        keys: list[Value] = [key_value(key) for key in value.entries]
        return (keys, True) if not value.open else ([*keys, Unknown("key"), Unknown("key")], False)
    if isinstance(value, TensorValue):
        return _rows(path, value)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return [Constant(character) for character in value.value[:MAX_ROWS]], len(value.value) <= MAX_ROWS
    if isinstance(value, Instance):
        return _elements(path, value)
    if isinstance(value, ShapeOf):
        return [SizeValue(sizes.Size.fresh()), SizeValue(sizes.Size.fresh())], False
    if isinstance(value, ArrayValue):
        shape = value.facts.shape
        count, exhaustive = _number_of_rows(shape) if shape else (2, False)
        return rows_of(value, count), exhaustive
    return [Unknown("item"), Unknown("item")], False


def key_value(key: object) -> Value:
    """A dict's key as a value; of objects only the identity is kept."""
    return Unknown("key") if isinstance(key, tuple) and key[:1] == ("object",) else Constant(key)


def _rows(path: Path, tensor: TensorValue) -> tuple[list[Value], bool]:
    from stridelint.linter.inference.subscripts import select

    shape = path.facts(tensor).shape
    if not shape:
        return [TensorValue(proven=tensor.proven), TensorValue(proven=tensor.proven)], False
    total, exhaustive = _number_of_rows(shape)
    return [select(path, tensor, 0, row) for row in range(total)], exhaustive


def _number_of_rows(shape: Dims) -> tuple[int, bool]:
    """How many rows stand for all, and whether these are all."""
    count = shape[0]
    return (count, True) if isinstance(count, int) and count <= MAX_ROWS else (2, False)


def _elements(path: Path, instance: Instance) -> tuple[list[Value], bool]:
    if instance.external == data.LOADER:
        return data.batches(path, instance)
    if data_sets.is_one(instance):
        return data_sets.samples(path, instance, True), False
    parts = named_tuples.as_sequence(instance)
    if parts is not None:
        return parts.items or [], True
    children = child_modules(instance)
    if children is not None:
        return list(children), True
    method = find_method(instance, "__iter__")
    if method is not None:
        return items_of(path, call_function(path, None, method, Arguments([instance])))
    kept = own_dicts.entries(instance)
    if kept is not None:
        return items_of(path, kept)
    method = find_method(instance, "__getitem__")
    if method is not None:
        return [call_function(path, None, method, Arguments([instance, Constant(index)])) for index in range(2)], False
    return [Unknown("item"), Unknown("item")], False
