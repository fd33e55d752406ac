from __future__ import annotations

import functools
import itertools
import random

import pytest

from stridelint.rules.contract import dtypes
from stridelint.rules.contract.dtypes import (
    DTYPES,
    Operand,
    Scalar,
    can_cast,
    promote_types,
    result_type,
    result_type_and_kind,
)
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.narrowing import limits

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
    assert result_type_and_kind([tensor("float32"), tensor(kind="float")])[1] == "float"
    assert result_type_and_kind([tensor(kind="integer"), Scalar("float")])[1] == "float"
    assert result_type_and_kind([tensor("int64"), tensor(kind="bool")])[1] == "integer"
    assert result_type_and_kind([tensor("int64"), tensor()])[1] is None
    assert result_type([tensor("float16"), Scalar(None)]) is None
    assert result_type_and_kind([tensor(), tensor()])[1] is None


def test_unknown_dtypes_never_give_a_wrong_one() -> None:
    operands: list[Operand] = [
        tensor(name, rank) for name in ("bool", "int32", "float16", "complex64") for rank in (0, 1)
    ]
    operands += [Scalar(kind) for kind in dtypes.KINDS]
    for first, second in itertools.product(operands, repeat=2):
        expected, kind = result_type_and_kind([first, second])
        if not isinstance(first, TensorFacts):
            continue
        for known in (first.but(dtype=None), first.but(dtype=None, kind=None), first.but(shape=None)):
            assert result_type([known, second]) in (None, expected)
            assert result_type_and_kind([known, second])[1] in (None, kind)


def by_enumeration(choices: tuple[dtypes._Choice, ...]) -> frozenset[str]:
    """All ways to share out the operands among the categories, one by one."""
    found: set[str | None] = set()
    for categories in itertools.product(*(choice.categories for choice in choices)):
        parts = [
            functools.reduce(
                dtypes._all_merged,
                (choice.dtypes for choice, each in zip(choices, categories) if each == category),
                dtypes._NOTHING,
            )
            for category in range(3)
        ]
        found |= dtypes._all_combined(parts[0], dtypes._all_combined(parts[1], parts[2]))
    return frozenset(each for each in found if each is not None)


def test_nothing_is_lost_where_ways_to_share_out_operands_come_to_the_same() -> None:
    draw = random.Random(3)
    for _ in range(500):
        operands: list[Operand] = []
        for _ in range(draw.randint(1, 5)):
            kind = draw.choice(("bool", "integer", "float", "complex", None))
            named = draw.choice((None, *NAMES))
            rank = draw.choice((None, 0, 2))
            operands.append(
                Scalar(kind) if draw.random() < 0.3 else tensor(named, rank, None if named is not None else kind)
            )
        choices = tuple(dtypes._choice(operand, "float32") for operand in operands)
        assert dtypes.possible_types(operands, "float32") == by_enumeration(choices), operands


def test_many_operands_take_no_longer_than_they_are_many() -> None:
    """As `torch.stack` of a list of 100 tensors of which nothing is known."""
    unknown = [tensor(None, None)] * 100
    assert dtypes.possible_types(unknown, "float32") == frozenset(DTYPES)
    mixed = [tensor(name, None) for name in NAMES if DTYPES[name].promotes == "fully"] * 10
    assert dtypes.possible_types(mixed, "float32") >= {"complex128"}


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
)
def test_limits(dtype: str) -> None:
    info = torch.finfo(getattr(torch, dtype)) if "float" in dtype else torch.iinfo(getattr(torch, dtype))
    assert limits(dtype) == (info.min, info.max)
