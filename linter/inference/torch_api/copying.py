"""`copy.deepcopy`: tensors keep their strides."""

from __future__ import annotations

from stridelint.linter.inference.elements import renewed
from stridelint.linter.inference.objects import BoundMethod, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import Mapping, Sequence, TensorValue, Unknown, Value


@function("copy.copy", "copy.deepcopy")
def copied(call: Call) -> Value:
    """`copy.deepcopy(x)`: tensors keep their strides."""
    value = call.get(0)
    return Unknown("copy") if value is None else duplicate(call.path, value, {})


def duplicate(path: Path, value: Value, seen: dict[int, Value]) -> Value:
    """A deep copy; what is one object in the original is one in the copy (`seen`), tensors lie in memory of their own."""
    if value.identity in seen:
        return seen[value.identity]
    copy = _shallow(path, value)
    if copy is value:
        return value
    seen[value.identity] = copy
    if isinstance(value, Sequence) and isinstance(copy, Sequence):
        copy.items = None if value.items is None else [duplicate(path, each, seen) for each in value.items]
    elif isinstance(value, Mapping) and isinstance(copy, Mapping):
        copy.entries = {key: duplicate(path, each, seen) for key, each in value.entries.items()}
    elif isinstance(value, (Instance, Unknown)) and isinstance(copy, (Instance, Unknown)):
        copy.attributes = {name: duplicate(path, each, seen) for name, each in value.attributes.items()}
    elif isinstance(value, BoundMethod) and isinstance(copy, BoundMethod):
        copy.receiver = duplicate(path, value.receiver, seen)
    return copy


def _shallow(path: Path, value: Value) -> Value:
    """A copy without the parts; the value itself where it never changes."""
    if isinstance(value, TensorValue):
        copy = renewed(path, value)
        assert isinstance(copy, TensorValue)
        copy.is_parameter, copy.is_buffer, copy.name = value.is_parameter, value.is_buffer, value.name
        copy.is_persistent = value.is_persistent
        return copy
    if isinstance(value, Sequence):
        sequence = Sequence(None, value.kind, value.element)
        sequence.fields, sequence.limit = value.fields, value.limit
        return sequence
    if isinstance(value, Mapping):
        mapping = Mapping({}, value.open)
        mapping.factory, mapping.element = value.factory, value.element
        return mapping
    if isinstance(value, Instance):
        instance = Instance(value.cls, value.external)
        instance.config, instance.complete, instance.hazy = dict(value.config), value.complete, set(value.hazy)
        instance.defaulted = set(value.defaulted)
        return instance
    if isinstance(value, Unknown):
        return Unknown(value.why)
    if isinstance(value, BoundMethod):
        method = BoundMethod(value.receiver, value.name, value.function, value.cls)
        method.beyond = value.beyond
        return method
    return value
