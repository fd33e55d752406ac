"""What stands for the elements of a list of unknown length: what is known of all that were seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence as Items
from functools import reduce

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Mapping,
    Number,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.sizes import Size

_NUMBERS = {bool: "bool", int: "integer", float: "float", complex: "complex"}
_COMPARED = ("dtype", "kind", "device", "requires_grad", "is_leaf")


def like(path: Path, seen: Items[Value]) -> Callable[[], Value] | None:
    """What makes another element; None if none was seen."""
    if not seen:
        return None
    common = reduce(_common, seen)
    return lambda: renewed(path, common)


def repeated(path: Path, seen: Items[Value]) -> Callable[[], Value] | None:
    """The same where a list is repeated: one element stands for all, also a number."""
    return (lambda: seen[0]) if len(seen) == 1 else like(path, seen)


def added(path: Path, sequence: Sequence, values: Items[Value]) -> None:
    """A list of unknown length gets these too."""
    known = sequence.fresh_element()
    sequence.element = None if isinstance(known, Unknown) else like(path, [known, *values])


def of_mapping(path: Path, mapping: Mapping, *more: Value) -> Callable[[], Value] | None:
    """What stands for the value of a key that is not known, which may also be one of `more`; None if nothing is known of it."""
    seen = [*mapping.entries.values(), *more]
    if mapping.open:
        if mapping.element is None:
            return None
        seen.append(mapping.element())
    if len(seen) < 2:
        return repeated(path, seen) if seen else None
    return like(path, seen) if all(isinstance(each, TensorValue) for each in seen) else None


def of_other_keys(path: Path, mapping: Mapping, *more: Value) -> Callable[[], Value] | None:
    """The same for keys of which no value is known."""
    return None if mapping.element is None else like(path, [mapping.element(), *more])


def stored(path: Path, mapping: Mapping, value: Value) -> None:
    """A dict gets a value under a key that is not known."""
    if mapping.element is not None:
        mapping.element = like(path, [mapping.element(), value])
    elif not mapping.open:
        mapping.element = like(path, [value])
    mapping.open = True


def put(container: Value, value: Value) -> Value:
    """What a container holds when it gets a value: what would lead back to itself is not followed."""
    waiting: list[Sequence | Mapping] = [value] if isinstance(value, (Sequence, Mapping)) else []
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is container:
            return Unknown("itself")
        if id(each) not in seen:
            seen.add(id(each))
            parts = each.items or () if isinstance(each, Sequence) else each.entries.values()
            waiting += [part for part in parts if isinstance(part, (Sequence, Mapping))]
    return value


def any_of(sequence: Sequence) -> list[Value]:
    """Elements that stand for all of them."""
    return list(sequence.items) if sequence.items is not None else [sequence.fresh_element()]


def one_of(path: Path, items: Items[Value]) -> Value:
    """An item that is picked in a way that is not known: of tensors, arrays and tuples of them what all have in common, but not
    which memory it is."""
    if len(items) == 1:
        return items[0]
    if not items or not all(isinstance(each, (TensorValue, ArrayValue, Sequence)) for each in items):
        return Unknown("item")
    for each in items:
        if isinstance(each, TensorValue):
            number_ranges.exposed(path, each.facts)  # what is written to it may be written there
    picked = _anywhere(reduce(_common, items))
    if isinstance(picked, TensorValue):
        picked.whole = any(isinstance(each, TensorValue) and each.whole for each in items)
        picked.batched = any(isinstance(each, TensorValue) and each.batched for each in items)
    return picked


def _anywhere(value: Value) -> Value:
    """The same in memory that is not known."""
    if isinstance(value, TensorValue):
        return TensorValue(value.facts.but(storage=None), value.story, value.proven)
    if isinstance(value, ArrayValue):
        return _array(value, value.facts.but(storage=None), value.backwards)
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence([_anywhere(each) for each in value.items], value.kind)
    return Unknown("item")


def renewed(path: Path, value: Value) -> Value:
    """Another value about which the same is known: a tensor in memory of its own, a size that may differ."""
    if isinstance(value, TensorValue):
        copy = path.tensor(value.facts.but(storage=None), story=value.story)
        copy.proven = value.proven
        return copy
    if isinstance(value, ArrayValue):
        return _array(value, value.facts.but(storage=path.new_storage()), value.backwards)
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence([renewed(path, each) for each in value.items], value.kind)
    if isinstance(value, Mapping):
        copied = Mapping({key: renewed(path, each) for key, each in value.entries.items()}, value.open)
        copied.element = value.element
        return copied
    if isinstance(value, Constant) and not isinstance(value.value, (str, type(None))):
        kind = _NUMBERS.get(type(value.value))
        return Unknown() if kind is None else Number(kind)
    return value


def _common(one: Value, other: Value) -> Value:
    """What is known of either value; Unknown if they are of different kinds."""
    if isinstance(one, TensorValue) and isinstance(other, TensorValue):
        facts = _common_facts(one.facts, other.facts)
        return one if facts is one.facts else TensorValue(facts, one.story, one.proven and other.proven)
    if isinstance(one, ArrayValue) and isinstance(other, ArrayValue):
        return _array(one, _common_facts(one.facts, other.facts), one.backwards and other.backwards)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and one.items and other.items:
        if len(one.items) == len(other.items):
            return Sequence([_common(*pair) for pair in zip(one.items, other.items)], one.kind)
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and one.entries.keys() == other.entries.keys():
        return Mapping(
            {key: _common(one.entries[key], other.entries[key]) for key in one.entries}, one.open or other.open
        )
    elif isinstance(one, Instance) and isinstance(other, Instance):
        same = one.external == other.external and getattr(one.cls, "node", None) is getattr(other.cls, "node", None)
        return one if same else Unknown("element")
    elif isinstance(one, Constant) and isinstance(other, Constant):
        alike = type(one.value) is type(other.value)
        renewable = not isinstance(one.value, (str, type(None)))
        return one if alike and (renewable or one.value == other.value) else Unknown("element")
    elif isinstance(one, Number) and isinstance(other, Number):
        return one if one.kind == other.kind else Unknown("element")
    elif isinstance(one, (Number, Constant)) and isinstance(other, (Number, Constant)):
        number, constant = (one, other) if isinstance(one, Number) else (other, one)
        if isinstance(number, Number) and isinstance(constant, Constant):
            return Number(number.kind) if number.kind == _NUMBERS.get(type(constant.value)) else Unknown("element")
    return one if type(one) is type(other) else Unknown("element")


def _array(value: ArrayValue, facts: TensorFacts, backwards: bool) -> ArrayValue:
    made = ArrayValue(facts, value.story)
    made.backwards, made.turned = backwards, None if backwards else frozenset()
    return made


def _common_facts(one: TensorFacts, other: TensorFacts) -> TensorFacts:
    if one == other:
        return one
    changes: dict[str, object] = {name: None for name in _COMPARED if getattr(one, name) != getattr(other, name)}
    shape, second = one.shape, other.shape
    if shape is None or second is None or len(shape) != len(second):
        changes.update(shape=None, strides=None)
    elif shape != second and one.concrete_shape is not None and other.concrete_shape is not None:
        dims = tuple(mine if mine == its else Size.fresh("size") for mine, its in zip(shape, second))
        changes.update(shape=dims, strides=None)
    elif None in (one.strides, other.strides) or (
        one.strides != other.strides and None not in (one.concrete_strides, other.concrete_strides)
    ):
        changes.update(strides=None)
    return one.but(**changes) if changes else one
