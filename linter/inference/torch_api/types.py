"""`isinstance`: what the code asks of a value, and what assuming an answer tells about it."""

from __future__ import annotations

from stridelint.linter.inference.attributes import as_tensor
from stridelint.linter.inference.objects import Class, Function, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    FALSE,
    TRUE,
    ArrayValue,
    Condition,
    Constant,
    External,
    Mapping,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
)


@function("builtins.isinstance")
def isinstance_(call: Call) -> Value:
    """`isinstance(x, types)`."""
    value, types = call.get(0), call.get(1)
    if value is None or types is None:
        return Unknown()
    parts = types.items if isinstance(types, Sequence) and types.items is not None else [types]
    classes = [part for part in parts if isinstance(part, Class)]
    if isinstance(value, Instance) and value.cls is not None and classes:
        if any(cls.node in [each.node for each in value.cls.linearized()] for cls in classes):
            return TRUE
    dotted = [part.dotted for part in parts if isinstance(part, External)]
    if len(dotted) + len(classes) != len(parts):
        return Condition(("isinstance", value.identity, tuple(part.identity for part in parts)))
    return is_instance(call.path, value, [*dotted, *(f"file.{cls.name}" for cls in classes)])


_TYPES: dict[type[Value], tuple[str, ...]] = {
    TensorValue: ("torch.Tensor", "torch.FloatTensor", "torch.cuda.FloatTensor"),
    Sequence: (
        "builtins.list",
        "builtins.tuple",
        "torch.Size",
        "collections.abc.Sequence",
        "collections.abc.Iterable",
        "typing.Sequence",
        "typing.Iterable",
    ),
    Mapping: ("builtins.dict", "collections.abc.Mapping", "collections.OrderedDict", "typing.Mapping"),
    ArrayValue: ("numpy.ndarray",),
    SizeValue: ("builtins.int", "numbers.Number", "numbers.Integral"),
    Function: ("types.FunctionType", "collections.abc.Callable", "typing.Callable"),
}


def is_instance(path: Path, value: Value, dotted: list[str]) -> Value:
    """Whether a value is of one of the types, by dotted name; assuming it of an unknown value makes it a tensor."""
    if isinstance(value, TensorValue) and not value.proven:
        return Condition(
            ("isinstance", value.identity, tuple(dotted)),
            lambda outcome: value.prove() if outcome and dotted == ["torch.Tensor"] else None,
        )
    if isinstance(value, TensorValue) and "torch.nn.Parameter" in dotted and len(dotted) == 1:
        return TRUE if value.is_parameter else FALSE
    if isinstance(value, Sequence):
        wanted = {"builtins.list": "list", "builtins.tuple": "tuple"}
        kinds = [wanted.get(name) for name in dotted]
        if None not in kinds:
            return TRUE if value.kind in kinds else FALSE
    if isinstance(value, Constant):
        names = [f"builtins.{kind.__name__}" for kind in type(value.value).__mro__ if kind is not object]
        if isinstance(value.value, (int, float)):
            names += ["numbers.Number", "numbers.Integral" if isinstance(value.value, int) else "numbers.Real"]
        return TRUE if any(name in dotted for name in names) else FALSE
    if isinstance(value, Instance):
        if value.external and value.external in dotted:
            return TRUE
        if value.is_module and "torch.nn.Module" in dotted:
            return TRUE
        if value.external:
            return FALSE if value.is_module else Condition(("isinstance", value.identity, tuple(dotted)))
        return (
            FALSE
            if value.complete and all(name.startswith(("builtins.", "file.", "torch.Tensor")) for name in dotted)
            else Condition(("isinstance", value.identity, tuple(dotted)))
        )
    for kind, known in _TYPES.items():
        if isinstance(value, kind):
            return TRUE if any(name in known for name in dotted) else FALSE
    if isinstance(value, Unknown):
        unknown = value

        def assume(outcome: bool) -> None:
            if outcome and dotted == ["torch.Tensor"]:
                as_tensor(path, unknown).prove()

        return Condition(("isinstance", value.identity, tuple(dotted)), assume)
    return Condition(("isinstance", value.identity, tuple(dotted)))
