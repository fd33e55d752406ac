"""What `.to(...)` asks for, of tensors and of modules: a dtype, a device, a memory format, or it is unclear."""

from __future__ import annotations

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.constants import device_name, dtype_name
from stridelint.linter.inference.torch_api.registry import Call
from stridelint.linter.inference.values import (
    Constant,
    Device,
    Dtype,
    External,
    MemoryFormat,
    TensorValue,
    Value,
    is_none,
)


class Request:
    """What `.to(...)` and its like ask for. `unclear`: some argument may be a dtype, a device or a tensor."""

    def __init__(self) -> None:
        self.dtype: str | None = None
        self.device: str | None = None
        self.memory_format: str | None = None
        self.dtype_given = self.device_given = self.unclear = False


def request_of(path: Path, call: Call) -> Request:
    """Read the arguments of `.to(...)`."""
    wanted = Request()
    wanted.unclear = call.args.unknown_star
    for value in call.args.positional:
        _read(path, wanted, value)
    for name, value in call.args.keywords.items():
        if name == "dtype" and not is_none(value):
            wanted.dtype_given, wanted.dtype = True, dtype_name(value)
        elif name == "device" and not is_none(value):
            wanted.device_given, wanted.device = True, device_name(value)
        elif name == "memory_format" and not is_none(value):
            wanted.memory_format = value.name if isinstance(value, MemoryFormat) else "unknown"
        elif name in ("tensor", "other"):
            _read(path, wanted, value)
    return wanted


def _read(path: Path, wanted: Request, value: Value) -> None:
    if isinstance(value, Dtype) or (isinstance(value, External) and dtype_name(value) is not None):
        wanted.dtype_given, wanted.dtype = True, dtype_name(value)
    elif isinstance(value, Device) or (isinstance(value, Constant) and isinstance(value.value, str)):
        wanted.device_given, wanted.device = True, device_name(value)
    elif isinstance(value, TensorValue):
        facts = path.facts(value)
        wanted.dtype_given = wanted.device_given = True
        wanted.dtype, wanted.device = facts.dtype, facts.device
    elif isinstance(value, MemoryFormat):
        wanted.memory_format = value.name
    elif isinstance(value, Constant) and isinstance(value.value, (bool, int)):
        pass
    elif value.identity in path.dtype_of:
        wanted.dtype_given = True
        wanted.dtype = path.facts(path.dtype_of[value.identity]).dtype
    elif not is_none(value):
        wanted.unclear = True
