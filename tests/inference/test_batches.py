"""What a loader gives is what torch gives: through collate functions of the file's own, samplers and torch's data sets."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import libcst
import pytest

from stridelint.linter.inference import roots
from stridelint.linter.inference.named_tuples import as_sequence
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.statements import execute
from stridelint.linter.inference.values import Constant, Mapping, Sequence, TensorValue, Value

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

HEAD = """
import functools
from typing import NamedTuple
import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data
from torch.utils.data import DataLoader, Dataset, default_collate

class Words(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.tensor([index, 1, 2]), float(index)

def gather(samples, pad=0):
    ids, scores = zip(*samples)
    return {"ids": pad_sequence(ids, batch_first=True, padding_value=pad), "scores": torch.tensor(scores)}

class Gather:
    def __call__(self, samples):
        return default_collate(samples)[0].unsqueeze(1)

class Stream(data.IterableDataset):
    def __iter__(self):
        for index in range(20):
            yield np.full((2, 3), index), index, True

class Pair(NamedTuple):
    left: torch.Tensor
    right: float

class Images(Dataset):
    def __init__(self, *shape):
        self.image = torch.rand(shape)

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return self.image.movedim(-1, 0)
"""

LOADERS = [
    "DataLoader(Words(9), batch_size=4, collate_fn=gather)",
    "DataLoader(Words(9), batch_size=1, collate_fn=gather)",
    "DataLoader(Words(1), batch_size=4, collate_fn=gather)",
    "DataLoader(Words(9), batch_size=4, drop_last=True, collate_fn=functools.partial(gather, pad=1))",
    "DataLoader(Words(9), 3, collate_fn=Gather())",
    "DataLoader(Words(9), 3, collate_fn=lambda samples: torch.stack([ids for ids, _ in samples], 1))",
    "DataLoader(Words(9), 3, collate_fn=lambda samples: tuple(zip(*samples))[0])",
    "DataLoader(Words(9), 3, sampler=data.SequentialSampler(Words(9)))",
    "DataLoader(Words(9), batch_size=None)",
    "DataLoader(Stream(), 3)",
    "DataLoader(Stream(), None)",
    "DataLoader(data.TensorDataset(torch.rand(5, 2, 2), torch.arange(5)), 2, shuffle=True)",
    "DataLoader(data.random_split(Words(9), [6, 3])[1], 3)",
    "DataLoader(data.Subset(Words(9), [1, 4]), 2)",
    "DataLoader(data.ConcatDataset([Words(2), Words(3)]), 5)",
    "DataLoader([Pair(torch.rand(2), 0.5), Pair(torch.rand(2), 1.5)], 2)",
    "DataLoader([{'a': 'text', 'b': [1, torch.rand(2)]}] * 3, 3)",
    "DataLoader(torch.arange(12).view(4, 3), 2)",
    "DataLoader(Images(8, 8, 3), 2)",
]


def predicted(loader: str, module: str = HEAD) -> Any:
    """What the first batch is, as the reader sees it."""
    program = Program(libcst.parse_module(f"{module}\nbatch = next(iter({loader}))\n"), [], 100_000)
    path = Path(program)
    scope = roots.module_scope(program, True)
    path.module_scope = scope
    execute(path, scope, program.module.body)
    return described(path, scope.values["batch"])


def described(path: Path, value: Value) -> Any:
    sequence = as_sequence(value) or value
    if isinstance(value, TensorValue):
        facts = path.facts(value)
        return facts.concrete_shape, facts.concrete_strides, facts.dtype
    if isinstance(sequence, Sequence) and sequence.items is not None:
        return [described(path, each) for each in sequence.items]
    if isinstance(value, Mapping):
        return {key: described(path, each) for key, each in value.entries.items()}
    return value.value if isinstance(value, Constant) else "unknown"


def measured(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), str(value.dtype).removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [measured(each) for each in value]
    if isinstance(value, dict):
        return {key: measured(each) for key, each in value.items()}
    return value


@needs_torch
@pytest.mark.parametrize("loader", LOADERS)
def test_the_first_batch_is_what_torch_makes(loader: str) -> None:
    names: dict[str, Any] = {}
    exec(HEAD, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batch = eval(f"next(iter({loader}))", names)
    ours, real = predicted(loader), measured(batch)
    if "Stream(), None" in loader or "batch_size=None" in loader:
        ours[1:] = real[1:]  # numbers stay numbers, and are others each time
    assert ours == real


@pytest.mark.parametrize(
    "loader",
    [
        "DataLoader(Words(9), 4, collate_fn=elsewhere)",
        "DataLoader(elsewhere, 4)",
        "DataLoader(Words(9), **elsewhere)",
        "DataLoader([1, 0.5, 2, 2.5], 4)",  # torch looks at the first one only to make them float32
        "DataLoader([torch.rand(2), 'text'], 1, shuffle=True)",
        "DataLoader([np.zeros((2, 3))[::-1]], 1)",  # refused
        "DataLoader(data.Subset([1, 'text'], elsewhere), 1)",
        "DataLoader(data.ConcatDataset([Words(2), elsewhere]), 5)",
    ],
)
def test_others_are_not_known(loader: str) -> None:
    assert predicted(loader) == "unknown"


def test_samples_that_differ_have_in_common_what_is_alike() -> None:
    module = f"{HEAD}\nmixed = [torch.zeros(2), torch.zeros(2).long()]\n"
    assert predicted("DataLoader(mixed, 1, shuffle=True)", module) == ((1, 2), (2, 1), None)
    assert predicted("DataLoader([torch.zeros(2), torch.zeros(3)], 1)") == (None, None, "float32")


def test_the_number_of_samples_may_be_unknown() -> None:
    loader = "DataLoader(Words(9), elsewhere, collate_fn=lambda samples: torch.stack([ids for ids, _ in samples]))"
    assert predicted(loader) == (None, (3, 1), "int64")
    assert predicted("DataLoader(Words(9), elsewhere)")[0] == (None, (3, 1), "int64")


@needs_torch
def test_a_worker_may_stack_what_the_main_process_stacks_otherwise() -> None:
    """Stacked tensors that are channels_last keep the order of their axes, but in a worker memory is made for them first."""
    import torch

    images = torch.rand(2, 8, 8, 3).movedim(-1, 1)
    assert not torch.utils.data.default_collate([images, images]).is_contiguous()
    assert predicted("DataLoader([torch.rand(2, 8, 8, 3).movedim(-1, 1)] * 4, 2)") == ((2, 2, 3, 8, 8), None, "float32")
