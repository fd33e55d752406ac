"""What is known of numpy's arithmetic is what numpy does: dtypes of pairs, and how results lie in memory."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from stridelint.linter.inference.torch_api import numpy_dtypes
from stridelint.linter.inference.torch_api.numpy_elementwise import laid_out, together
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order

numpy: Any = pytest.importorskip("numpy")
DTYPES = sorted(set(numpy_dtypes.DTYPES.values()))
NUMBERS = {"bool": True, "integer": 1, "float": 1.0, "complex": 1j}


def facts_of(array: Any) -> TensorFacts:
    return TensorFacts(array.shape, tuple(stride // array.itemsize for stride in array.strides))


def arrays(count: int, seed: int) -> list[Any]:
    """Views of arrays: permuted, sliced, turned, expanded."""
    chosen = random.Random(seed)
    found = []
    for _ in range(count):
        shape = [chosen.choice((1, 2, 3, 4)) for _ in range(chosen.randint(1, 4))]
        array = numpy.zeros(shape, dtype=numpy.float32, order=chosen.choice("CF"))
        array = array.transpose(chosen.sample(range(array.ndim), array.ndim))
        for axis in range(array.ndim):
            step = chosen.choice((None, None, None, 2, -1))
            array = array[(slice(None),) * axis + (slice(None, None, step),)]
        found.append(numpy.broadcast_to(array, (3, *array.shape)) if chosen.random() < 0.1 else array)
    return found


def test_dtypes_of_pairs() -> None:
    for one, other in itertools.product(DTYPES, DTYPES):
        assert numpy_dtypes.promoted(one, other) == str(numpy.result_type(one, other)), (one, other)


@pytest.mark.parametrize("kind", NUMBERS)
def test_dtypes_with_numbers(kind: str) -> None:
    for dtype in DTYPES:
        real = (numpy.ones(2, dtype) * NUMBERS[kind]).dtype
        assert numpy_dtypes.with_number(dtype, kind) == str(real), dtype


def test_dtypes_of_exponentials() -> None:
    for dtype in DTYPES:
        assert numpy_dtypes.as_computed(dtype) == str(numpy.exp(numpy.zeros(2, dtype)).dtype)


COMPUTED = {
    "exp": numpy.exp,
    "converted": lambda array: array.astype(int),
    "times": lambda array: array * 2,
    "sums": lambda array: array.cumsum(axis=0),
    "copied": numpy.copy,
    "array": numpy.array,
    "like": numpy.zeros_like,
}


@pytest.mark.parametrize("compute", COMPUTED.values(), ids=COMPUTED)
def test_layout_of_what_is_computed(compute: Any) -> None:
    known = 0
    for array in arrays(400, 1):
        found = laid_out(facts_of(array))
        assert found in (None, facts_of(compute(array)).strides), (array.shape, array.strides)
        known += found is not None
    assert known > 150


def test_layout_of_two_together() -> None:
    known = 0
    for one, other in zip(arrays(4000, 2), arrays(4000, 3)):
        try:
            made = facts_of(one + other)
        except ValueError:
            continue
        shape, strides = together(facts_of(one), facts_of(other))
        assert shape in (None, made.shape)
        assert strides in (None, made.strides), (one.shape, one.strides, other.shape, other.strides)
        known += strides is not None
    assert known > 150


def test_layout_of_what_is_chosen() -> None:
    """`np.where` lays its result out as arithmetic on all three would."""
    known = 0
    for condition, one, other in zip(arrays(4000, 4), arrays(4000, 5), arrays(4000, 6)):
        try:
            made = facts_of(numpy.where(condition > 0, one, other))
        except ValueError:
            continue
        pair = TensorFacts(*together(facts_of(condition > 0), facts_of(one)))
        shape, strides = together(pair, facts_of(other))
        assert shape in (None, made.shape)
        assert strides in (None, made.strides), (condition.strides, one.strides, other.strides)
        known += strides is not None
    assert known > 20


def test_layout_of_unknown_sizes() -> None:
    rows, columns = sizes.Size.fresh("rows"), sizes.Size.fresh("columns")
    turned = strides_in_order((rows, columns), (1, 0))
    assert laid_out(TensorFacts((rows, columns), turned)) == turned
    assert laid_out(TensorFacts((rows, columns), (columns, 2))) is None
    assert laid_out(TensorFacts((rows, columns), None)) is None
