"""Operands that torch takes in one kind of dtype only: it refuses all others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.operand_kinds import DEMANDS

torch = pytest.importorskip("torch")

MORE: dict[str, Callable[[], tuple[object, ...]]] = {
    "masked_scatter": lambda: (torch.rand(4, 4),),
    "masked_fill": lambda: (0.0,),
    "scatter": lambda: (0.5,),
    "scatter_add": lambda: (torch.rand(4, 4),),
    "scatter_reduce": lambda: (torch.rand(4, 4), "sum"),
    "index_add": lambda: (torch.rand(4, 4),),
    "index_copy": lambda: (torch.rand(4, 4),),
    "index_fill": lambda: (0.0,),
}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", sorted(DEMANDS))
def test_no_other_kind_is_taken(name: str, dtype: str) -> None:
    demand = DEMANDS[name]
    size = (4,) if name.startswith("index_") else (4, 4)
    operand = torch.ones(size).to(getattr(torch, dtype))
    arguments = [*([0] if demand.position == 2 else []), operand, *MORE.get(name, tuple)()]
    if kind_of(dtype) == demand.kind and dtype in ("bool", "int64"):
        getattr(torch.rand(4, 4), name)(*arguments)
    elif kind_of(dtype) != demand.kind:
        with pytest.raises((RuntimeError, IndexError)):
            getattr(torch.rand(4, 4), name)(*arguments)
