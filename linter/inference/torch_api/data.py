"""torch.utils.data: what iterating over a DataLoader gives."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference import elements
from stridelint.linter.inference.dispatch import call_value
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import collating, data_sets
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    Constant,
    Mapping,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_size,
    is_none,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim

LOADER = "torch.utils.data.DataLoader"
MAX_BATCHES = 12
# What calls code of the file's own for each batch is followed for so many.
MAX_OWN_BATCHES = 2
MAX_LISTED = 256


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
    loader.made_by = call.node
    return loader


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
    dataset = given.get("dataset")
    if dataset is None or not loader.complete:
        return [Unknown("batch"), Unknown("batch")], False
    # A sampler may leave out any of them.
    sampled = any(not is_none(given.get(name)) for name in ("sampler", "batch_sampler"))
    seen = data_sets.samples(path, dataset, sampled)
    if "batch_size" in given and is_none(given["batch_size"]):
        return [_unbatched(path, loader, each) for each in seen or [Unknown("sample"), Unknown("sample")]], False
    counts, exhaustive = _counts(path, given, None if sampled else data_sets.length(path, dataset))
    if not is_none(given.get("collate_fn")):
        counts, exhaustive = counts[:MAX_OWN_BATCHES], exhaustive and len(counts) <= MAX_OWN_BATCHES
    return [_batch(path, loader, seen, count) for count in counts], exhaustive


def _counts(path: Path, given: dict[str, Value], length: Dim | None) -> tuple[list[Dim], bool]:
    """How many samples are in each batch, and whether these are all batches."""
    batch_size = as_size(given.get("batch_size") or Constant(1)) if is_none(given.get("batch_sampler")) else None
    drop = path.known_truth(given.get("drop_last", Constant(False)))
    if not isinstance(batch_size, int) or batch_size <= 0:
        fresh = sizes.Size.fresh("batch")
        return [batch_size or fresh, batch_size if drop and batch_size else fresh], False
    if not isinstance(length, int) or length > MAX_BATCHES * batch_size or drop is None:
        return [batch_size, batch_size], False
    counts: list[Dim] = [batch_size] * (length // batch_size)
    if length % batch_size and not drop:
        counts.append(length % batch_size)
    return counts, True


def _batch(path: Path, loader: Instance, seen: list[Value], count: Dim) -> Value:
    """A batch of samples, two of which are known, or none."""
    make = elements.like(path, seen)
    collate = loader.attributes.get("collate_fn")
    if collate is None or is_none(collate):
        return (
            Unknown("batch") if make is None else collating.collated(path, seen[0] if len(seen) == 1 else make(), count)
        )
    if isinstance(count, int) and count <= MAX_LISTED:
        known = seen[:count]
        samples = Sequence([*known, *(_another(make) for _ in range(count - len(known)))], "list")
    else:
        samples = Sequence(None, "list", make)
    return _called(path, loader, samples)


def _another(make: Callable[[], Value] | None) -> Value:
    return Unknown("sample") if make is None else make()


def _unbatched(path: Path, loader: Instance, sample: Value) -> Value:
    """What `batch_size=None` makes of a sample."""
    if is_none(loader.attributes.get("collate_fn")):
        return collating.converted(path, sample)
    return _called(path, loader, sample)


def _called(path: Path, loader: Instance, given: Value) -> Value:
    """What the `collate_fn` of a loader returns; a call by the line that makes the loader."""
    if not isinstance(loader.made_by, cst.Call):
        return Unknown("batch")
    return call_value(path, loader.made_by, loader.attributes["collate_fn"], Arguments([given]))
