from __future__ import annotations

import itertools

import pytest

from stridelint.rules.contract import dtypes
from stridelint.rules.contract.dtypes import DTYPES, Operand, Scalar, can_cast, promote_types, result_kind, result_type
from stridelint.rules.contract.facts import TensorFacts

torch = pytest.importorskip("torch")
NAMES = [name for name in DTYPES if hasattr(torch, name)]


def tensor(dtype: str | None = None, rank: int | None = 1, kind: str | None = None) -> TensorFacts:
    return TensorFacts(shape=None if rank is None else (2,) * rank, dtype=dtype, kind=kind or dtypes.kind_of(dtype))


@pytest.mark.parametrize("left", NAMES)
def test_promotion_and_casts_of_every_pair_are_torch_s(left: str) -> None:
    for right in NAMES:
        one, two = getattr(torch, left), getattr(torch, right)
        assert can_cast(left, right) == torch.can_cast(one, two)
        try:
            expected = str(torch.promote_types(one, two))[6:]
        except RuntimeError:
            expected = None
        assert promote_types(left, right) == expected


@pytest.mark.parametrize("name", NAMES)
def test_table_is_torch_s(name: str) -> None:
    dtype = getattr(torch, name)
    kind = (
        "complex"
        if dtype.is_complex
        else "float"
        if dtype.is_floating_point
        else "bool"
        if name == "bool"
        else "integer"
    )
    assert (dtypes.kind_of(name), dtypes.itemsize(name)) == (kind, dtype.itemsize)


def test_names() -> None:
    assert dtypes.canonical("half") == "float16"
    assert dtypes.canonical("float32") == "float32"
    assert dtypes.canonical("randn") is None
    assert dtypes.kind_of(None) is None
    assert dtypes.complex_of("bfloat16") == "complex64"
    assert dtypes.real_of("complex128") == "float64"
    assert dtypes.real_of("int8") == "int8"


def test_numbers_rank_below_zero_dim_tensors_below_others() -> None:
    assert result_type([tensor("float16"), Scalar("float")]) == "float16"
    assert result_type([tensor("int64"), Scalar("float")]) == "float32"
    assert result_type([tensor("float16"), tensor("float64", rank=0)]) == "float16"
    assert result_type([tensor("int64"), tensor("float64", rank=0)]) == "float64"
    assert result_type([tensor("float64", rank=0), Scalar("complex")]) == "complex128"
    assert result_type([Scalar("integer"), Scalar("float")]) == "float32"
    assert result_type([tensor("int64"), Scalar("float")], default_dtype="float64") == "float64"
    assert result_type([tensor("float8_e5m2"), tensor("float32")]) is None


def test_what_is_known_is_used() -> None:
    assert result_type([tensor("complex128"), tensor()]) == "complex128"
    assert result_type([tensor("float32"), tensor(kind="integer")]) == "float32"
    assert result_type([tensor("float32"), tensor(rank=0, kind="float")]) == "float32"
    assert result_type([tensor("float32"), tensor(rank=None, kind="float")]) is None
    assert result_type([tensor("float32"), tensor()]) is None
    assert result_kind([tensor("float32"), tensor(kind="float")]) == "float"
    assert result_kind([tensor(kind="integer"), Scalar("float")]) == "float"
    assert result_kind([tensor("int64"), tensor(kind="bool")]) == "integer"
    assert result_kind([tensor("int64"), tensor()]) is None
    assert result_type([tensor("float16"), Scalar(None)]) is None
    assert result_kind([tensor(), tensor()]) is None


def test_unknown_dtypes_never_give_a_wrong_one() -> None:
    operands: list[Operand] = [
        tensor(name, rank) for name in ("bool", "int32", "float16", "complex64") for rank in (0, 1)
    ]
    operands += [Scalar(kind) for kind in dtypes.KINDS]
    for first, second in itertools.product(operands, repeat=2):
        expected, kind = result_type([first, second]), result_kind([first, second])
        if not isinstance(first, TensorFacts):
            continue
        for known in (first.but(dtype=None), first.but(dtype=None, kind=None), first.but(shape=None)):
            assert result_type([known, second]) in (None, expected)
            assert result_kind([known, second]) in (None, kind)
