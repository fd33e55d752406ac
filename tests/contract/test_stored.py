"""What a tensor loses when it is stored into one of a lower kind is what torch makes of it."""

from __future__ import annotations

import pytest

from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.stored import FRACTION, RAISES, tensor_lost

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
