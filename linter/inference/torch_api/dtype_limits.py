"""`torch.iinfo` and `torch.finfo`: the limits of a dtype."""

from __future__ import annotations

from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.torch_api.constants import dtype_name
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import Constant, Number, Unknown, Value
from stridelint.rules.contract.dtypes import itemsize, kind_of
from stridelint.rules.contract.narrowing import limits


@function("torch.iinfo", "numpy.iinfo")
def iinfo(call: Call) -> Value:
    """`torch.iinfo(dtype)`: `min`, `max` and `bits` of an integer dtype."""
    return _limits(call, "integer")


@function("torch.finfo", "numpy.finfo")
def finfo(call: Call) -> Value:
    """`torch.finfo(dtype)`: the same of a floating-point dtype; its other numbers are small, and not told."""
    return _limits(call, "float")


def _limits(call: Call, kind: str) -> Value:
    dtype = dtype_name(call.get(0, "type"))
    found = limits(dtype) if dtype is not None else None
    if dtype is None or found is None or kind_of(dtype) != kind:
        return Unknown(call.name)
    info = Instance(None, call.name)
    info.complete = False
    info.attributes.update(min=Constant(found[0]), max=Constant(found[1]), bits=Constant(8 * (itemsize(dtype) or 0)))
    if kind == "float":
        info.attributes.update({name: Number("float", True) for name in ("eps", "tiny", "resolution")})
    return info
