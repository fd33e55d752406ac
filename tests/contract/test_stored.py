"""What a tensor loses when it is stored into one of a lower kind is what torch makes of it."""

from __future__ import annotations

import itertools
import re

import pytest

from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.sizes import Size
from stridelint.rules.contract.stored import FRACTION, INDEX_PUT, RAISES, SAME_DTYPE, clash, index_refused, tensor_lost

torch = pytest.importorskip("torch")

MASK = torch.tensor([True, False, True, True])
INDICES = torch.tensor([0, 2, 3])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,)], ids=str)
@pytest.mark.parametrize("index", [MASK, INDICES, ...], ids=["mask", "indices", "all"])
def test_fractions_in_integers(shape: tuple[int, ...], index: object) -> None:
    if index is ... and shape == (3,):
        index = slice(0, 3)
    facts = TensorFacts(shape=shape, dtype="float32", kind="float", device="cpu")
    indexed = isinstance(index, torch.Tensor)
    expected = tensor_lost(facts, "integer", indexed=indexed, masked=index is MASK)
    target = torch.zeros(1, 4, dtype=torch.int64)[0] if len(shape) < 2 or indexed else torch.zeros(1, 4).long()
    try:
        target[index] = torch.full(shape, 2.7)
        found = FRACTION if int(target.max()) == 2 else None
    except (RuntimeError, IndexError):
        found = RAISES
    assert expected == found or (expected is None and index is INDICES and shape == ())


def test_numbers_of_other_devices_are_not_told() -> None:
    """Only a number on the CPU fills through a mask."""
    facts = TensorFacts(shape=(), dtype="float32", kind="float", device="cuda")
    assert tensor_lost(facts, "integer", indexed=True, masked=True) is None
    assert tensor_lost(facts.but(device=None, shape=(1,)), "integer", indexed=True, masked=True) is None


DTYPES = ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64")
INDEXES = {"mask": (MASK, False), "indices": (INDICES, True), "list": ([0, 2, 3], True)}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("shape", [(), (1,), (3,)], ids=str)
def test_tensors_of_other_dtypes_through_indices(name: str, shape: tuple[int, ...]) -> None:
    """Torch refuses each pair of dtypes that is refused here, and takes all others; a lone number fills through a mask."""
    index, numbered = INDEXES[name]
    for target, value in itertools.product(DTYPES, repeat=2):
        stored = torch.ones(shape, dtype=getattr(torch, value))
        ours, theirs = TensorFacts(dtype=target), TensorFacts(shape=shape, dtype=value)
        refused = index_refused(theirs, ours, numbered=numbered, masked=not numbered)
        try:
            torch.zeros(4, dtype=getattr(torch, target))[index] = stored
            says = ""
        except RuntimeError as error:
            says = str(error)
        assert (refused is not None) == says.startswith(INDEX_PUT), (target, value)


def test_what_is_not_known_to_be_refused() -> None:
    """Kinds tell dtypes apart, as far as they are known; without data nothing is checked, and a count may be 1."""
    ours, theirs = TensorFacts(dtype="float32", kind="float"), TensorFacts(kind="integer")
    assert index_refused(theirs, ours, numbered=True, masked=False) is Confidence.CERTAIN
    assert index_refused(TensorFacts(kind="float"), ours, numbered=True, masked=False) is None
    assert index_refused(TensorFacts(), ours, numbered=True, masked=False) is None
    assert index_refused(theirs, ours.but(device="meta"), numbered=True, masked=False) is None
    assert index_refused(theirs, ours, numbered=False, masked=False) is None
    counted = theirs.but(shape=(Size.fresh("count"),))
    assert index_refused(counted, ours, numbered=False, masked=True) is Confidence.LIKELY
    assert not clash(theirs, ours.but(device="meta"))
    torch.zeros(4, device="meta")[INDICES] = torch.arange(3)
    torch.zeros(4, device="meta").index_add_(0, INDICES.to("meta"), torch.arange(3, device="meta"))


CALLS = {
    "index_put": lambda x, rows, value: x.index_put_((rows,), value),
    "index_copy": lambda x, rows, value: x.index_copy_(0, rows, value),
    "index_add": lambda x, rows, value: x.index_add_(0, rows, value),
    "index_reduce": lambda x, rows, value: x.index_reduce_(0, rows, value, "amax"),
    "put": lambda x, rows, value: x.put_(rows, value),
    "masked_scatter": lambda x, rows, value: x.masked_scatter_(torch.tensor([True, True, False]), value),
    "scatter": lambda x, rows, value: x.scatter_(0, rows, value),
    "scatter_add": lambda x, rows, value: x.scatter_add_(0, rows, value),
    "scatter_reduce": lambda x, rows, value: x.scatter_reduce_(0, rows, value, "amax"),
}


@pytest.mark.parametrize("op", SAME_DTYPE)
def test_operators_that_cast_nothing(op: str) -> None:
    """They take values of the tensor's own dtype, and refuse all others with these words."""
    for target, value in itertools.product(("int64", "float16", "float32", "float64"), repeat=2):
        x, rows = torch.ones(3, dtype=getattr(torch, target)), torch.tensor([0, 1])
        if target == value:
            CALLS[op](x, rows, torch.ones(2, dtype=getattr(torch, value)))
            continue
        with pytest.raises(RuntimeError, match=re.escape(SAME_DTYPE[op][1])):
            CALLS[op](x, rows, torch.ones(2, dtype=getattr(torch, value)))
