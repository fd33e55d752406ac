"""torch.utils.data: the samples of a data set, of the file's own classes and of torch's."""

from __future__ import annotations

from stridelint.linter.inference import elements
from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.dispatch import call_function
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.numpy_arrays import rows_of
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_int,
    number,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim

_TENSORS, _PART, _CHAIN = (f"torch.utils.data.{name}" for name in ("TensorDataset", "Subset", "ConcatDataset"))


@function(_TENSORS, "torch.utils.data.dataset.TensorDataset")
def tensor_dataset(call: Call) -> Value:
    """`TensorDataset(*tensors)`."""
    dataset = Instance(None, _TENSORS)
    dataset.attributes["tensors"] = Sequence(None if call.args.unknown_star else list(call.args.positional))
    return dataset


@function(_PART, "torch.utils.data.dataset.Subset")
def subset(call: Call) -> Value:
    """`Subset(dataset, indices)`."""
    whole, indices = call.get(0, "dataset"), call.get(1, "indices")
    known = isinstance(indices, Sequence) and indices.items is not None
    return _part(whole, len(indices.items or ()) if known and isinstance(indices, Sequence) else None)


@function("torch.utils.data.random_split", "torch.utils.data.dataset.random_split")
def random_split(call: Call) -> Value:
    """`random_split(dataset, lengths)`: its parts, in a list; lengths may be fractions."""
    whole, lengths = call.get(0, "dataset"), call.get(1, "lengths")
    if not isinstance(lengths, Sequence) or lengths.items is None:
        return Unknown("parts")
    return Sequence([_part(whole, as_dim(each)) for each in lengths.items], "list")


def _part(whole: Value | None, length: Dim | None) -> Instance:
    part = Instance(None, _PART)
    part.attributes["dataset"] = whole or Unknown("dataset")
    if length is not None:
        part.config["length"] = number(length)
    return part


@function(_CHAIN, "torch.utils.data.dataset.ConcatDataset")
def chained(call: Call) -> Value:
    """`ConcatDataset([one, other])`."""
    chain = Instance(None, _CHAIN)
    chain.attributes["datasets"] = call.get(0, "datasets") or Unknown("datasets")
    return chain


def is_one(value: Value) -> bool:
    """An object of one of torch's own data sets."""
    return isinstance(value, Instance) and value.external in (_TENSORS, _PART, _CHAIN)


def item(path: Path, dataset: Instance, index: Value) -> Value:
    """`dataset[index]` of one of torch's own."""
    found = samples(path, dataset, True) if as_dim(index) is not None else []
    return found[0] if found else Unknown("sample")


def samples(path: Path, dataset: Value, anywhere: bool = False) -> list[Value]:
    """The first two samples of a data set, or two of which only what all have in common is known (`anywhere`); one if it has one,
    none if nothing is known of them."""
    from stridelint.linter.inference.subscripts import select

    if isinstance(dataset, TensorValue):
        shape = path.facts(dataset).shape
        return [select(path, dataset, 0, row) for row in range(_at_most_two(shape[0]))] if shape else []
    if isinstance(dataset, ArrayValue):
        return rows_of(dataset, _at_most_two(dataset.facts.shape[0] if dataset.facts.shape else None))
    if isinstance(dataset, Sequence):
        return _of_list(path, dataset, anywhere)
    if not isinstance(dataset, Instance):
        return []
    if dataset.external == _TENSORS:
        tensors = dataset.attributes["tensors"]
        rows = [samples(path, each) for each in _items(tensors)]
        return [Sequence(list(row)) for row in zip(*rows)]
    if dataset.external == _PART:
        return samples(path, dataset.attributes["dataset"], True)
    if dataset.external == _CHAIN:
        firsts = [samples(path, each, True)[:1] for each in _items(dataset.attributes["datasets"])]
        return _alike(path, [each for first in firsts for each in first]) if firsts and all(firsts) else []
    return _of_own_class(path, dataset, anywhere)


def _of_own_class(path: Path, dataset: Instance, anywhere: bool) -> list[Value]:
    getter, iterated = find_method(dataset, "__getitem__"), find_method(dataset, "__iter__")
    if getter is None:
        made = None if iterated is None else call_function(path, None, iterated, Arguments([dataset]))
        return _of_list(path, made, anywhere) if isinstance(made, Sequence) else []
    if anywhere:
        index = SizeValue(sizes.Size.fresh("index"))
        return _alike(path, [call_function(path, None, getter, Arguments([dataset, index]))])
    count = _at_most_two(length(path, dataset))
    return [call_function(path, None, getter, Arguments([dataset, Constant(place)])) for place in range(count)]


def _of_list(path: Path, held: Sequence, anywhere: bool) -> list[Value]:
    if held.items is None:
        return [] if held.element is None else [held.element(), held.element()]
    return _alike(path, held.items) if anywhere else held.items[:2]


def _alike(path: Path, seen: list[Value]) -> list[Value]:
    make = elements.like(path, seen)
    return [] if make is None else [make(), make()]


def _items(value: Value) -> list[Value]:
    return (value.items if isinstance(value, Sequence) else None) or []


def _at_most_two(count: Dim | None) -> int:
    return min(count, 2) if isinstance(count, int) else 2


def length(path: Path, dataset: Value) -> Dim | None:
    """How many samples a data set has; None where that is not known."""
    if isinstance(dataset, (TensorValue, ArrayValue)):
        shape = path.facts(dataset).shape if isinstance(dataset, TensorValue) else dataset.facts.shape
        return shape[0] if shape else None
    if isinstance(dataset, Sequence):
        return None if dataset.items is None else len(dataset.items)
    if not isinstance(dataset, Instance):
        return None
    if dataset.external == _PART:
        return as_dim(dataset.config.get("length"))
    if dataset.external == _TENSORS:
        return next((length(path, each) for each in _items(dataset.attributes["tensors"])), None)
    if dataset.external == _CHAIN:
        counts = [as_int(number(found)) if found else None for found in _lengths(path, dataset)]
        return sum(count for count in counts if count is not None) if counts and None not in counts else None
    counter = find_method(dataset, "__len__")
    return None if counter is None else as_dim(call_function(path, None, counter, Arguments([dataset])))


def _lengths(path: Path, chain: Instance) -> list[Dim | None]:
    return [length(path, each) for each in _items(chain.attributes["datasets"])]
