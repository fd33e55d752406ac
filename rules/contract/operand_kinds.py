"""Which operands torch takes in one kind of dtype only: whoever passes one tells what it is."""

from __future__ import annotations

from typing import NamedTuple


class Demand(NamedTuple):
    """An operand, by its position (the tensor that the operator is a method of has 0) and name, and the kind it must have."""

    position: int
    name: str
    kind: str


DEMANDS = {
    **dict.fromkeys(("masked_fill", "masked_select", "masked_scatter"), Demand(1, "mask", "bool")),
    "take": Demand(1, "index", "integer"),
    "take_along_dim": Demand(1, "indices", "integer"),
    **dict.fromkeys(
        "gather scatter scatter_add scatter_reduce index_select index_add index_copy index_fill".split(),
        Demand(2, "index", "integer"),
    ),
}
