"""Assignment to names, attributes, subscripts and patterns."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import elements, number_ranges, own_dicts
from stridelint.linter.inference.attributes import find_method, set_attribute
from stridelint.linter.inference.dispatch import call_function, evaluate
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.subscripts import evaluate_index, select
from stridelint.linter.inference.torch_api.queries import size_at
from stridelint.linter.inference.torch_api.stores import tensor_store
from stridelint.linter.inference.values import (
    ArrayValue,
    Mapping,
    Sequence,
    ShapeOf,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    as_int,
    shape_value,
)


def assign(path: Path, scope: Scope, target: cst.CSTNode, value: Value, node: cst.CSTNode, store: bool = True) -> None:
    """Bind an assignment target. `store` False: the object was changed in place, only names are bound again."""
    if type(target) is cst.Name:
        if isinstance(value, TensorValue) and value.name is None:
            value.name = target.value
        scope.bind(target.value, value)
    elif type(target) is cst.Attribute:
        _set_attribute(path, scope, target, value)
    elif type(target) is cst.Tuple or type(target) is cst.List:
        _unpack(path, scope, target, value, node)
    elif type(target) is cst.StarredElement:
        assign(path, scope, target.value, value, node)
    elif type(target) is cst.Subscript and store:
        _set_item(path, scope, target, value, node)


def _unpack(path: Path, scope: Scope, target: cst.Tuple | cst.List, value: Value, node: cst.CSTNode) -> None:
    elements = target.elements
    star = next((index for index, each in enumerate(elements) if type(each) is cst.StarredElement), None)
    values = unpacked(path, value, len(elements), star)
    for element, each in zip(elements, values):
        inner = element.value
        if isinstance(inner, cst.Name) and isinstance(each, SizeValue):
            each = _named_size(each, inner.value)
        assign(path, scope, inner, each, node)


def _named_size(value: SizeValue, name: str) -> SizeValue:
    atom = value.size.symbol
    if atom is not None and atom.name.startswith("size"):
        atom.name = name
    return value


def unpacked(path: Path, value: Value, count: int, star: int | None) -> list[Value]:
    """`count` values out of one; the starred one (if any) gets a list."""
    items: list[Value] | None = None
    if isinstance(value, Sequence):
        items = value.items if value.items is not None else None
    elif isinstance(value, ShapeOf) and star is None:
        value.tensor.refine_rank(count)
        shape = path.facts(value.tensor).shape
        items = shape_value(shape).items if shape is not None else None
    elif isinstance(value, ShapeOf):
        return _sizes_around(path, value, count, star or 0)
    elif isinstance(value, TensorValue):
        items = _tensor_rows(path, value, count) if star is None else None
    elif isinstance(value, (ArrayValue, Instance, Mapping)):
        found, exhaustive = items_of(path, value)
        items = found if exhaustive else None
    if items is not None and star is None and len(items) == count:
        return items
    if items is not None and star is not None and len(items) >= count - 1:
        tail = len(items) - (count - star - 1)
        return [*items[:star], Sequence(items[star:tail], "list"), *items[tail:]]
    if isinstance(value, Sequence) and value.items is None:
        return [
            Sequence(None, "list", value.element) if index == star else value.fresh_element() for index in range(count)
        ]
    return [Sequence(None, "list") if index == star else Unknown("unpacked") for index in range(count)]


def _sizes_around(path: Path, shape: ShapeOf, count: int, star: int) -> list[Value]:
    """`batch, channels, *grid = x.shape` of a tensor of unknown rank."""
    axes = [*range(star), *range(star - count + 1, 0)]
    values = [size_at(shape.tensor, path.facts(shape.tensor).shape, axis) for axis in axes]
    return [*values[:star], Sequence(None, "list"), *values[star:]]


def _tensor_rows(path: Path, tensor: TensorValue, count: int) -> list[Value]:
    return [select(path, tensor, 0, row) for row in range(count)]


def _set_attribute(path: Path, scope: Scope, target: cst.Attribute, value: Value) -> None:

    owner = evaluate(path, scope, target.value)
    name = target.attr.value
    if isinstance(owner, Instance):
        set_attribute(path, owner, name, value)
    elif isinstance(owner, Unknown):
        owner.attributes[name] = value
    elif isinstance(owner, TensorValue):
        _set_tensor_attribute(path, owner, name, value)


def _set_tensor_attribute(path: Path, tensor: TensorValue, name: str, value: Value) -> None:
    if name == "requires_grad":
        known = path.known_truth(value)
        is_leaf = True if known is False or tensor.facts.requires_grad is False else tensor.facts.is_leaf
        tensor.facts = tensor.facts.but(requires_grad=known, is_leaf=is_leaf)
    elif name == "data":
        new = path.facts(value) if isinstance(value, TensorValue) else None
        for facts in (tensor.facts, new):
            if facts is not None:
                number_ranges.exposed(path, facts)
        facts = tensor.facts
        if new is None:
            tensor.facts = facts.but(
                shape=None, strides=None, dtype=None, kind=None, device=None, storage=None, storage_offset=None
            )
        else:
            tensor.facts = new.but(requires_grad=facts.requires_grad, is_leaf=facts.is_leaf)
    elif name == "grad" and isinstance(value, TensorValue):
        tensor.gradient = value


def _set_item(path: Path, scope: Scope, target: cst.Subscript, value: Value, node: cst.CSTNode) -> None:

    owner = evaluate(path, scope, target.value)
    index = evaluate_index(path, scope, target)
    method = find_method(owner, "__setitem__") if isinstance(owner, Instance) else None
    if method is not None:
        call_function(path, None, method, Arguments([owner, index, value]))
        return
    owner = own_dicts.entries(owner) or owner
    value = elements.put(owner, value)
    if isinstance(owner, Mapping):
        own_dicts.put(path, owner, index, value)
    elif isinstance(owner, Sequence):
        position = as_int(index)
        if owner.items is not None and position is not None and -len(owner.items) <= position < len(owner.items):
            owner.items[position] = value
        elif owner.items is not None:
            owner.items, owner.element = None, None
        else:
            elements.added(path, owner, [value])
    elif isinstance(owner, TensorValue):
        tensor_store(path, owner, index, value, target, node)
    elif isinstance(owner, Unknown):
        if owner.tensor is not None and owner.tensor.proven:
            tensor_store(path, owner.tensor, index, value, target, node)
        owner.attributes = {name: each for name, each in owner.attributes.items() if not name.startswith("[")}
