"""`copy.deepcopy`: tensors keep their strides."""

from __future__ import annotations

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    Instance,
    Mapping,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)


@function("copy.copy", "copy.deepcopy")
def copied(call: Call) -> Value:
    """`copy.deepcopy(x)`: tensors keep their strides."""
    from stridelint.linter.inference.expressions import renewed

    value = call.get(0)
    if isinstance(value, (TensorValue, Sequence, Mapping)):
        result = renewed(call.path, value)
        if isinstance(result, TensorValue) and isinstance(value, TensorValue):
            result.is_parameter = value.is_parameter
        return result
    if isinstance(value, Instance):
        return copy_instance(call.path, value, {})
    return Unknown("copy") if value is None else value


def copy_instance(path: Path, instance: Instance, seen: dict[int, Instance]) -> Instance:
    """A deep copy of an object."""
    from stridelint.linter.inference.expressions import renewed

    if instance.identity in seen:
        return seen[instance.identity]
    result = Instance(instance.cls, instance.external)
    seen[instance.identity] = result
    result.config, result.complete, result.hazy = dict(instance.config), instance.complete, set(instance.hazy)
    for name, value in instance.attributes.items():
        if isinstance(value, Instance):
            result.attributes[name] = copy_instance(path, value, seen)
        elif isinstance(value, Mapping):
            entries = {
                key: copy_instance(path, each, seen) if isinstance(each, Instance) else each
                for key, each in value.entries.items()
            }
            result.attributes[name] = Mapping(entries, value.open)
        elif isinstance(value, TensorValue):
            copy = renewed(path, value)
            assert isinstance(copy, TensorValue)
            copy.is_parameter, copy.is_buffer, copy.name = value.is_parameter, value.is_buffer, value.name
            result.attributes[name] = copy
        else:
            result.attributes[name] = value
    return result
