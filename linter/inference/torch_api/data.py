"""torch.utils.data: what iterating over a DataLoader gives."""

from __future__ import annotations

from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.dispatch import call_function
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    Constant,
    Mapping,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_int,
    is_none,
)
from stridelint.rules.contract.facts import Dim
from stridelint.rules.contract.generic import strides_in_order

LOADER = "torch.utils.data.DataLoader"
MAX_BATCHES = 12


@function(LOADER, "torch.utils.data.dataloader.DataLoader")
def data_loader(call: Call) -> Value:
    """`DataLoader(dataset, batch_size, shuffle, ...)`."""
    loader = Instance(None, LOADER)
    names = (
        "dataset",
        "batch_size",
        "shuffle",
        "sampler",
        "batch_sampler",
        "num_workers",
        "collate_fn",
        "pin_memory",
        "drop_last",
    )
    loader.attributes = {**dict(zip(names, call.args.positional)), **call.args.keywords}
    loader.complete = not call.args.unknown_star
    return loader


@function("torch.utils.data.TensorDataset")
def tensor_dataset(call: Call) -> Value:
    """`TensorDataset(*tensors)`."""
    dataset = Instance(None, "torch.utils.data.TensorDataset")
    dataset.attributes["tensors"] = Sequence(list(call.args.positional))
    return dataset


@function("safetensors.torch.save_file", "safetensors.torch.save")
def save_file(call: Call) -> Value:
    """`save_file(tensors, path)`: the event names the tensors it holds."""
    given = call.get(0, "tensors")
    tensors = list(given.entries.values()) if isinstance(given, Mapping) else []
    held = tuple(operand(call.path, each) for each in tensors if isinstance(each, TensorValue))
    emit(call.path, "safetensors.save", call.form, call.node, {}, held)
    return Unknown("save")


def batches(path: Path, loader: Instance) -> tuple[list[Value], bool]:
    """The batches of a loader, all of them where the data set's length is known and small."""
    given = loader.attributes
    unknown: tuple[list[Value], bool] = ([Unknown("batch"), Unknown("batch")], False)
    dataset = given.get("dataset")
    custom = any(not is_none(given.get(name)) for name in ("sampler", "batch_sampler", "collate_fn"))
    if dataset is None or custom or not loader.complete:
        return unknown
    sample, length = _sample(path, dataset)
    batch_size = 1 if "batch_size" not in given else as_int(given["batch_size"])
    if sample is None or not batch_size or batch_size <= 0:
        return unknown
    drop = path.known_truth(given.get("drop_last", Constant(False)))
    if not isinstance(length, int) or length > MAX_BATCHES * batch_size or drop is None:
        return [collated(path, sample, batch_size), collated(path, sample, batch_size)], False
    counts = [batch_size] * (length // batch_size)
    if length % batch_size and not drop:
        counts.append(length % batch_size)
    return [collated(path, sample, count) for count in counts], True


def _sample(path: Path, dataset: Value) -> tuple[Value | None, Dim | None]:
    """The first sample of a data set, and its length."""
    from stridelint.linter.inference.subscripts import select

    if isinstance(dataset, TensorValue):
        shape = path.facts(dataset).shape
        return select(path, dataset, 0, 0), shape[0] if shape else None
    if isinstance(dataset, Sequence) and dataset.items:
        return dataset.items[0], len(dataset.items)
    if not isinstance(dataset, Instance):
        return None, None
    if dataset.external == "torch.utils.data.TensorDataset":
        tensors = dataset.attributes["tensors"]
        parts = [_sample(path, each) for each in tensors.items or []] if isinstance(tensors, Sequence) else []
        items = [each for each, _ in parts if each is not None]
        return (Sequence(items), parts[0][1]) if parts and len(items) == len(parts) else (None, None)
    getter, counter = find_method(dataset, "__getitem__"), find_method(dataset, "__len__")
    if getter is None:
        return None, None
    sample = call_function(path, None, getter, Arguments([dataset, Constant(0)]))
    length = as_dim(call_function(path, None, counter, Arguments([dataset]))) if counter is not None else None
    return sample, length


def collated(path: Path, sample: Value, count: int) -> Value:
    """`default_collate`: tensors are stacked (row-major), numbers become tensors, containers are kept."""
    if isinstance(sample, TensorValue):
        facts = path.facts(sample)
        shape = None if facts.shape is None else (count, *facts.shape)
        strides = None if shape is None else strides_in_order(shape, range(len(shape)))
        return path.tensor(
            facts.but(shape=shape, strides=strides, storage=None, storage_offset=0, is_leaf=None), story=sample.story
        )
    if isinstance(sample, Sequence) and sample.items is not None:
        return Sequence([collated(path, each, count) for each in sample.items], "list")
    if isinstance(sample, Mapping):
        return Mapping({key: collated(path, each, count) for key, each in sample.entries.items()}, sample.open)
    return Unknown("batch")
