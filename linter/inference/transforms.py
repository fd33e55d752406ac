"""Functions that run under vmap or torch.compile."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.attributes import as_tensor, decorator_names
from stridelint.linter.inference.objects import (
    Arguments,
    BoundMethod,
    Function,
    Instance,
    Partial,
    Transform,
    Transformer,
)
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.subscripts import select
from stridelint.linter.inference.torch_api.registry import Call, functions
from stridelint.linter.inference.values import (
    Constant,
    External,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_int,
    is_none,
)
from stridelint.rules.contract.facts import TensorFacts

DECORATORS = frozenset({"compile", "vmap", "partial"})


def transformed(target: Value | None, transform: Transform | None) -> Value:
    """What `torch.compile(target)` or `vmap(target)` returns."""
    if transform is None:
        return target or Unknown("transformed")
    if isinstance(target, Function):
        made = target.copy()
        made.transforms = (*target.transforms, transform)
        return made
    if isinstance(target, BoundMethod) and target.function is not None:
        inner = transformed(target.function, transform)
        if isinstance(inner, Function):
            return BoundMethod(target.receiver, target.name, inner, target.cls)
    if isinstance(target, Instance) and transform.kind == "compile":
        target.transforms = (transform,)
    return target if target is not None and transform.kind == "compile" else Unknown("transformed")


def decorated(path: Path, node: cst.CSTNode, wrapper: Value, function: Value) -> Value | None:
    """A function under a decorator that transforms it; None for other decorators."""
    from stridelint.linter.inference.torch_api.transformed import TRANSFORMS

    if isinstance(wrapper, Transformer):
        return transformed(function, wrapper.transform)
    keywords: dict[str, Value] = {}
    if isinstance(wrapper, Partial) and not wrapper.args:
        keywords = wrapper.kwargs
        wrapper = wrapper.target
    if isinstance(wrapper, External) and wrapper.dotted in TRANSFORMS:
        return functions[wrapper.dotted](Call(path, node, wrapper.dotted, Arguments([function], dict(keywords))))
    return None


def mapped(path: Path, function: Function, args: Arguments) -> Arguments:
    """The arguments that a function under vmap sees: slices of those it is called with."""
    for transform in function.transforms:
        if transform.kind == "vmap":
            first = 1 if _has_receiver(function) else 0
            values = [
                value if index < first else _slice(path, value, _axis(transform.in_dims, index - first))
                for index, value in enumerate(args.positional)
            ]
            keywords = {name: _slice(path, value, 0) for name, value in args.keywords.items()}
            args = Arguments(values, keywords, args.nodes, args.unknown_star, args.defaulted)
    return args


def _has_receiver(function: Function) -> bool:
    node = function.node
    return function.owner is not None and not (
        isinstance(node, cst.FunctionDef) and "staticmethod" in decorator_names(node)
    )


def _axis(in_dims: Value | None, index: int) -> int | None:
    """The axis of an argument that is mapped over; None if it is not, or that is not known."""
    if in_dims is None:
        return 0
    if isinstance(in_dims, Sequence):
        item = in_dims.items[index] if in_dims.items is not None and index < len(in_dims.items) else None
        return None if is_none(item) else as_int(item)
    return as_int(in_dims) if isinstance(in_dims, Constant) else None


def _slice(path: Path, value: Value, axis: int | None) -> Value:
    if axis is None:
        return value
    if isinstance(value, Unknown):
        value = as_tensor(path, value)
    if not isinstance(value, TensorValue):
        return value
    value.prove()
    part = select(path, value, axis, 0)
    part.batched, part.name = True, value.name
    return part


def gathered(path: Path, result: Value) -> Value:
    """What a function under vmap returns: the results for all slices together."""
    if not isinstance(result, TensorValue):
        return Unknown("vmap")
    facts = result.facts
    return path.tensor(
        TensorFacts(dtype=facts.dtype, kind=facts.kind, device=facts.device, requires_grad=facts.requires_grad)
    )
