"""torch.utils.data: what becomes of samples in a batch."""

from __future__ import annotations

from collections.abc import Callable

from stridelint.linter.inference import named_tuples
from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.operators import number_kind
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import ArrayValue, Constant, Mapping, Sequence, TensorValue, Unknown, Value
from stridelint.rules.contract import questions, sizes
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dim, TensorFacts
from stridelint.rules.contract.generic import strides_in_order

_DTYPES = {"bool": "bool", "integer": "int64", "float": "float64"}


@function(
    "torch.utils.data.default_collate",
    "torch.utils.data.dataloader.default_collate",
    "torch.utils.data._utils.collate.default_collate",
)
def default_collate(call: Call) -> Value:
    """`default_collate(samples)`."""
    given = call.get(0, "batch")
    if not isinstance(given, Sequence):
        return Unknown("batch")
    if given.items is None:
        return Unknown("batch") if given.element is None else collated(call.path, given.element(), _any())
    return collated(call.path, given.items[0], len(given.items)) if given.items else Unknown("batch")


@function(
    "torch.utils.data.default_convert",
    "torch.utils.data.dataloader.default_convert",
    "torch.utils.data._utils.collate.default_convert",
)
def default_convert(call: Call) -> Value:
    """`default_convert(sample)`."""
    given = call.get(0, "data")
    return Unknown("sample") if given is None else converted(call.path, given)


def _any() -> Dim:
    return sizes.Size.fresh("batch")


def collated(path: Path, sample: Value, count: Dim) -> Value:
    """`default_collate`: tensors and arrays are stacked, numbers become tensors, containers are kept, and lists of texts made."""
    if isinstance(sample, TensorValue):
        return _stacked(path, sample, path.facts(sample), count)
    if isinstance(sample, ArrayValue):
        return Unknown("batch") if sample.backwards else _stacked(path, sample, sample.facts, count)
    if isinstance(sample, Constant) and isinstance(sample.value, (str, bytes)):
        return Sequence([sample] * count, "list") if isinstance(count, int) else Sequence(None, "list")
    dtype = _DTYPES.get(number_kind(sample) or "")
    if dtype is not None:
        return path.tensor(TensorFacts((count,), (1,), 0, dtype, kind_of(dtype), "cpu", False, True))
    return _by_part(sample, lambda part: collated(path, part, count)) or Unknown("batch")


def _stacked(path: Path, sample: TensorValue | ArrayValue, facts: TensorFacts, count: Dim) -> TensorValue:
    made = questions.stack([facts] if count == 1 else [facts, facts])
    shape = None if facts.shape is None else (count, *facts.shape)
    # A worker stacks into memory of its own, which is row-major.
    plain = None if made.shape is None else strides_in_order(made.shape, range(len(made.shape)))
    strides = plain if made.strides == plain else None
    stacked = facts.but(shape=shape, strides=strides, storage=None, storage_offset=0, is_leaf=None)
    return path.tensor(stacked, story=sample.story)


def converted(path: Path, sample: Value) -> Value:
    """`default_convert`: arrays become tensors, containers and all else stay."""
    if isinstance(sample, ArrayValue):
        return Unknown("sample") if sample.backwards else path.tensor(sample.facts, story=sample.story)
    return _by_part(sample, lambda part: converted(path, part)) or sample


def _by_part(sample: Value, change: Callable[[Value], Value]) -> Value | None:
    """A container of what its parts become, tuples as lists; None for what is none."""
    if isinstance(sample, Sequence) and sample.items is not None:
        made = Sequence([change(each) for each in sample.items], "tuple" if sample.fields else "list")
        made.fields = sample.fields
        return made
    if isinstance(sample, Mapping):
        return Mapping({key: change(each) for key, each in sample.entries.items()}, sample.open)
    parts = named_tuples.as_sequence(sample)
    if parts is not None and isinstance(sample, Instance):
        tupled = Instance(sample.cls)
        tupled.attributes.update((name, change(each)) for name, each in zip(parts.fields, parts.items or ()))
        return tupled
    return None
