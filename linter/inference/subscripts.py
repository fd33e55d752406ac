"""`value[index]`."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import elements, named_tuples, number_ranges, operators, own_dicts, sample_steps
from stridelint.linter.inference.attributes import as_tensor, find_method
from stridelint.linter.inference.dispatch import call_function, call_value, evaluate
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.torch_api import data_sets
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.module_members import entries_of, sliced
from stridelint.linter.inference.torch_api.numpy_arrays import array_item, backwards
from stridelint.linter.inference.torch_api.python_objects import missing_entry
from stridelint.linter.inference.torch_api.queries import size_at
from stridelint.linter.inference.torch_api.view_ops import geometry_of, view_of
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Copied,
    Mapping,
    Number,
    Sequence,
    ShapeOf,
    Slice,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_int,
    is_none,
)
from stridelint.rules.contract import shapes, sizes, views
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.views import Geometry


def item(path: Path, owner: Value, index: Value, node: cst.Subscript) -> Value:
    """The value of a subscript expression."""
    if isinstance(owner, TensorValue):
        path.reads(owner)
        return tensor_item(path, owner, index, node)
    if isinstance(owner, Sequence):
        return _sequence_item(path, owner, index)
    if isinstance(owner, Mapping):
        key = operators.hashable(index)
        if owner.has(key):
            return owner.entries[key]
        if key is not None and owner.factory is not None:
            return missing_entry(path, owner, key, node) or Unknown("item")
        made = None
        if key is None:
            made = elements.of_mapping(path, owner, *_made_for_any(path, owner, node))
        elif owner.open:
            made = owner.element
        return Unknown("item") if made is None else made()
    if isinstance(owner, ShapeOf):
        return _shape_item(path, owner, index)
    if isinstance(owner, Instance):
        parts = named_tuples.as_sequence(owner)
        return _instance_item(path, owner, index, node) if parts is None else _sequence_item(path, parts, index)
    if isinstance(owner, ArrayValue):
        return array_item(path, owner, index, node)
    if isinstance(owner, Constant) and isinstance(owner.value, str):
        position = as_int(index)
        if position is not None and -len(owner.value) <= position < len(owner.value):
            return Constant(owner.value[position])
    if isinstance(owner, Unknown):
        return _unknown_item(path, owner, index, node)
    return Unknown("item")


def _unknown_item(path: Path, owner: Unknown, index: Value, node: cst.Subscript) -> Value:
    """The same item of the same unknown container is the same value, as long as nothing is stored into it."""
    key = operators.hashable(index)
    if isinstance(index, Sequence) and index.items is not None and any(_walks_back(part) for part in index.items):
        return backwards(ArrayValue(), node, TensorFacts())  # neither a list nor a tensor takes such an index
    if key is None or isinstance(index, Sequence):
        picked = Unknown("item")
        if isinstance(index, TensorValue) and _surely_picks(path, index):
            as_tensor(path, picked).copied = Copied(as_tensor(path, owner), node, Confidence.CERTAIN)
        return picked
    return owner.attributes.setdefault(f"[{key!r}]", Unknown("item"))


def _made_for_any(path: Path, owner: Mapping, node: cst.Subscript) -> list[Value]:
    """What a dict with defaults makes for a key that it does not hold."""
    if owner.factory is None or owner.open:
        return []
    return [call_value(path, node, owner.factory, Arguments())]  # type: ignore[arg-type]  # a site, as good as a call's


def _sequence_item(path: Path, owner: Sequence, index: Value) -> Value:
    if isinstance(index, Slice):
        if owner.items is None:
            return Sequence(None, owner.kind, owner.element)
        bounds = [None if is_none(each) else as_int(each) for each in (index.start, index.stop, index.step)]
        given = [not is_none(each) for each in (index.start, index.stop, index.step)]
        if any(known is None and there for known, there in zip(bounds, given)) or bounds[2] == 0:
            return Sequence(None, owner.kind, owner.element)
        return Sequence(owner.items[slice(*bounds)], owner.kind)
    position = as_int(index)
    if owner.items is None:
        return owner.fresh_element()
    if position is None:
        return elements.one_of(path, owner.items)
    if position is not None and -len(owner.items) <= position < len(owner.items):
        return owner.items[position]
    return Unknown("item")


def _shape_item(path: Path, owner: ShapeOf, index: Value) -> Value:
    shape = path.facts(owner.tensor).shape
    if isinstance(index, Slice):
        start = None if is_none(index.start) else as_int(index.start)
        if shape is None and start is not None and start < 0 and is_none(index.stop) and is_none(index.step):
            return Sequence([size_at(owner.tensor, None, axis) for axis in range(start, 0)])
        stop = as_int(index.stop)
        if (
            shape is None
            and stop is not None
            and stop > 0
            and (is_none(index.start) or start == 0)
            and is_none(index.step)
        ):
            return Sequence([size_at(owner.tensor, None, axis) for axis in range(stop)])
        return Unknown("shape")
    return size_at(owner.tensor, shape, as_int(index))


def _instance_item(path: Path, owner: Instance, index: Value, node: cst.Subscript) -> Value:
    entries = entries_of(owner)
    if entries is not None and isinstance(index, Slice):
        return sliced(owner, index)
    if entries is not None:
        key = operators.hashable(index)
        if isinstance(key, int) and key < 0:
            key += len(entries)
        return entries.get(key, Unknown("item"))
    if data_sets.is_one(owner):
        return data_sets.item(path, owner, index)
    method = find_method(owner, "__getitem__")
    if method is not None:
        return call_function(path, None, method, Arguments([owner, index]))
    kept = own_dicts.entries(owner)
    if kept is None:
        return Unknown("item")
    return own_dicts.missing(path, owner, kept, index) or item(path, kept, index, node)


def select(path: Path, tensor: TensorValue, axis: int, index: int) -> TensorValue:
    """`tensor.select(axis, index)`."""
    base = geometry_of(path, tensor)
    return view_of(path, tensor, None if base is None else views.select(base, axis, index), None)


def tensor_item(path: Path, tensor: TensorValue, index: Value, node: cst.CSTNode | None) -> Value:
    """`tensor[index]`: a view for basic indexing, a copy where a tensor or list takes part."""
    parts = index_parts(index)
    if any(is_advanced(part) for part in parts):
        return _advanced(path, tensor, parts, node)
    if not all(_is_basic(part) for part in parts):
        return _copy_or_view(path, tensor)
    sample_steps.sliced(path, tensor, parts)
    base = geometry_of(path, tensor)
    geometry = None if base is None else basic_geometry(base, parts)
    step = "is sliced here" if any(isinstance(part, Slice) and not _is_whole(part) for part in parts) else ""
    return view_of(path, tensor, geometry, node, step)


def index_parts(index: Value) -> list[Value]:
    """What each axis is indexed with. A list is one index if it holds numbers; torch takes one that holds slices, None or
    tensors for a tuple, and says that this is going to change, so nothing is known of it."""
    if not isinstance(index, Sequence):
        return [index]
    if index.kind == "tuple":
        return [index] if index.items is None else list(index.items)
    return [index] if all(map(_is_number, elements.any_of(index))) else [Unknown()]


def _is_number(part: Value) -> bool:
    return isinstance(part, Number) or as_dim(part) is not None or operators.number_kind(part) is not None


def _copy_or_view(path: Path, tensor: TensorValue) -> Value:
    facts = tensor.facts.but(shape=None, strides=None, storage=None, storage_offset=None, is_leaf=None)
    return TensorValue(facts, tensor.story, tensor.proven)


def is_advanced(part: Value) -> bool:
    """An index that picks elements: a tensor, an array, a list, a truth value."""
    return (
        isinstance(part, (TensorValue, ArrayValue))
        or (isinstance(part, Sequence) and part.kind == "list")
        or (isinstance(part, Constant) and isinstance(part.value, bool))
    )


def _is_basic(part: Value) -> bool:
    return (
        isinstance(part, Slice)
        or is_none(part)
        or as_dim(part) is not None
        or (isinstance(part, Constant) and part.value is ...)
    )


def _walks_back(part: Value) -> bool:
    return isinstance(part, Slice) and (as_int(part.step) or 1) < 0


def _is_whole(part: Slice) -> bool:
    return is_none(part.start) and is_none(part.stop) and is_none(part.step)


def basic_geometry(base: Geometry, parts: list[Value]) -> Geometry | None:
    """The view that integers, slices, None and `...` select."""
    consumed = sum(1 for part in parts if not is_none(part) and not (isinstance(part, Constant) and part.value is ...))
    missing = len(base.shape) - consumed
    if missing < 0:
        return None
    geometry: Geometry | None = base
    axis = 0
    for part in parts:
        if geometry is None:
            return None
        if isinstance(part, Constant) and part.value is ...:
            axis += missing
        elif is_none(part):
            geometry = views.unsqueeze(geometry, axis)
            axis += 1
        elif isinstance(part, Slice):
            geometry = _sliced(geometry, axis, part)
            axis += 1
        else:
            geometry = views.select(geometry, axis, as_dim(part))
    return geometry


def _sliced(base: Geometry, axis: int, part: Slice) -> Geometry | None:
    step = 1 if is_none(part.step) else as_int(part.step)
    if step is None:
        fresh = list(base.shape)
        fresh[axis] = sizes.Size.fresh("length")
        return Geometry(tuple(fresh), None, None)
    start = None if is_none(part.start) else as_dim(part.start)
    stop = None if is_none(part.stop) else as_dim(part.stop)
    unclear = (start is None and not is_none(part.start)) or (stop is None and not is_none(part.stop))
    if unclear:
        strides = (
            None
            if base.strides is None
            else (*base.strides[:axis], sizes.multiply(base.strides[axis], step), *base.strides[axis + 1 :])
        )
        return Geometry((*base.shape[:axis], sizes.Size.fresh("length"), *base.shape[axis + 1 :]), strides, None)
    return views.slice_axis(base, axis, start, stop, step)


def _advanced(path: Path, tensor: TensorValue, parts: list[Value], node: cst.CSTNode | None) -> Value:
    facts = path.facts(tensor)
    grad = facts.requires_grad if path.grad_mode else (False if path.grad_mode is False else None)
    shape = _advanced_shape(path, facts.shape, parts)
    strides: Dims | None = None
    if shape is not None and facts.strides is not None and len(parts) == 1 and facts.shape is not None:
        if facts.strides == strides_in_order(facts.shape, range(len(facts.shape))):
            strides = strides_in_order(shape, range(len(shape)))
    if shape is not None and len(shape) == 1:
        strides = (1,)
    channels = len(parts) == 2 and isinstance(parts[0], Slice) and _is_whole(parts[0])
    if channels and shape is not None and len(shape) == 4 and facts.rank == 4 and _is_channels_last(facts):
        strides = strides_in_order(shape, range(4))  # measured: picked channels come first, and end up row-major
    result = TensorFacts(shape, strides, 0, facts.dtype, facts.kind, facts.device, grad, None)
    made = path.tensor(result, node, "", story=tensor.story)
    if channels and strides is not None and isinstance(node, cst.Subscript):
        from stridelint.rules.events import Form

        source = operand(path, tensor, node.value)
        emit(path, "getitem", Form.OPERATOR, node, {"input": source}, (source,), None, result)
    made.proven = tensor.proven
    made.whole = tensor.whole
    if path.numbers and not any(isinstance(part, TensorValue) and part.facts.kind != "integer" for part in parts):
        numbers = number_ranges.of(path, facts)
        number_ranges.record(path, made, None if numbers is None else numbers.part())
    if node is not None and any(_surely_picks(path, part) for part in parts):
        made.copied = Copied(tensor, node, Confidence.CERTAIN)
    return made


def _is_channels_last(facts: TensorFacts) -> bool:
    from stridelint.rules.contract import questions
    from stridelint.rules.contract.answers import Answer

    return questions.is_contiguous(facts, "channels_last").answer is Answer.YES


def _surely_picks(path: Path, part: Value) -> bool:
    """An index that makes a copy; a tensor of one integer is taken as that integer."""
    if isinstance(part, (TensorValue, ArrayValue)):
        facts = path.facts(part) if isinstance(part, TensorValue) else part.facts
        return facts.kind == "bool" or (facts.kind == "integer" and bool(facts.rank))
    return isinstance(part, Sequence) and part.kind == "list"


def _advanced_shape(path: Path, shape: Dims | None, parts: list[Value]) -> Dims | None:
    if shape is None:
        return None
    if len(parts) == 1 and isinstance(parts[0], TensorValue) and parts[0].facts.kind == "bool":
        mask = path.facts(parts[0]).rank
        return None if not mask or mask > len(shape) else (sizes.Size.fresh("count"), *shape[mask:])
    indices: list[Dims | None] = []
    kept: list[Dim] = list(shape)
    for axis, part in enumerate(parts):
        if isinstance(part, TensorValue):
            facts = path.facts(part)
            if facts.kind in ("bool", None) or facts.dtype == "uint8" or facts.shape is None:
                return None
            indices.append(facts.shape)
        elif (
            isinstance(part, Sequence)
            and part.items is not None
            and all(as_dim(each) is not None for each in part.items)
        ):
            indices.append((len(part.items),))
        elif isinstance(part, Slice) and axis < len(kept):
            geometry = _sliced(Geometry(tuple(kept), None, None), axis, part)
            if geometry is None:
                return None
            kept = list(geometry.shape)
            indices.append(None)
        else:
            return None
    return shapes.advanced_index(tuple(kept), indices)


def evaluate_index(path: Path, scope: Scope, node: cst.Subscript) -> Value:
    """What stands between the brackets: one value, or a tuple of them."""
    parts: list[Value] = []
    for element in node.slice:
        part = element.slice
        if type(part) is cst.Slice:
            bounds = [
                None if each is None else evaluate(path, scope, each) for each in (part.lower, part.upper, part.step)
            ]
            parts.append(Slice(*bounds))
        elif isinstance(part, cst.Index) and part.star is None:
            parts.append(evaluate(path, scope, part.value))
        elif isinstance(part, cst.Index):
            inner, exhaustive = items_of(path, evaluate(path, scope, part.value))
            parts += inner if exhaustive else [Unknown()]
    return parts[0] if len(parts) == 1 and not _has_comma(node) else Sequence(parts, "tuple")


def _has_comma(node: cst.Subscript) -> bool:
    return type(node.slice[-1].comma) is cst.Comma
