"""Names of torch and Python modules that stand for constants (dtypes, memory formats, pi), and what arguments name by them."""

from __future__ import annotations

import math

from stridelint.linter.inference.values import Constant, Device, Dtype, External, MemoryFormat, Value
from stridelint.rules.contract.dtypes import ALIASES, DTYPES

MEMORY_FORMATS = frozenset({"channels_last", "channels_last_3d", "contiguous_format", "preserve_format"})
_NUMBERS = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "tau": math.tau,
    "Inf": math.inf,
    "newaxis": None,
}
TENSOR_TYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


def constant(dotted: str) -> Value | None:
    """The constant a dotted name stands for, if any."""
    module, _, name = dotted.rpartition(".")
    if module == "torch":
        name = ALIASES.get(name, name)
        if name in DTYPES:
            return Dtype(name)
        if name in MEMORY_FORMATS:
            return MemoryFormat(name)
    if module in ("torch", "math", "numpy") and name in _NUMBERS:
        return Constant(_NUMBERS[name])
    if dotted == "typing.TYPE_CHECKING":
        return Constant(False)
    return None


def dtype_name(value: Value | None) -> str | None:
    """The dtype that an argument names; None if it does not tell."""
    if isinstance(value, Dtype):
        return value.name
    if isinstance(value, External):
        return {
            "builtins.float": "float32",
            "builtins.int": "int64",
            "builtins.bool": "bool",
            "builtins.complex": "complex64",
        }.get(value.dotted)
    return None


def device_name(value: Value | None) -> str | None:
    """The device that an argument names; None if it does not tell."""
    if isinstance(value, Device):
        return value.name
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, Constant) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return f"cuda:{value.value}"
    return None
