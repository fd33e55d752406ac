"""What a call that torch accepts tells about the dtypes of its operands."""

from __future__ import annotations

from stridelint.linter.inference.attributes import as_tensor
from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import TensorValue, Unknown
from stridelint.rules.contract.operand_kinds import DEMANDS
from stridelint.rules.events import Form


def learn(path: Path, name: str, args: Arguments, form: Form) -> None:
    """A mask is bool, and an index is of integers, where a tensor is indexed with it; the tensor is the first argument."""
    demand = DEMANDS.get(name)
    if demand is None:
        return
    owner = args.get(0, "input")
    if form is not Form.FUNCTION and not (isinstance(owner, TensorValue) and owner.proven):
        return  # it may be an array of numpy
    value = args.get(demand.position, demand.name)
    operand = as_tensor(path, value) if isinstance(value, Unknown) else value
    if not isinstance(operand, TensorValue):
        return
    operand.prove()
    if operand.facts.dtype is None and operand.facts.kind is None:
        dtype = "bool" if demand.kind == "bool" else None
        operand.facts = operand.facts.but(dtype=dtype, kind=demand.kind)
