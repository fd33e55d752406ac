"""Functions that run under vmap, grad or torch.compile."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.attributes import as_tensor, decorator_names, find_method
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
    Mapping,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_int,
    is_none,
)
from stridelint.rules.contract.facts import TensorFacts

DECORATORS = frozenset({"compile", "vmap", "partial", "grad", "grad_and_value", "jacrev", "hessian"})


def transformed(target: Value | None, transform: Transform | None) -> Value:
    """What `torch.compile(target)`, `vmap(target)` or `grad(target)` returns."""
    if transform is None:
        return target or Unknown("transformed")
    if isinstance(target, Function):
        return _function(target, transform)
    if isinstance(target, BoundMethod) and target.function is not None:
        return BoundMethod(target.receiver, target.name, _function(target.function, transform), target.cls)
    if isinstance(target, Instance) and transform.kind == "compile":
        target.transforms = (transform,)
    elif isinstance(target, Instance) and target.is_module:
        forward = find_method(target, "forward")
        if forward is not None:
            return BoundMethod(target, "forward", _function(forward, transform))
    return target if target is not None and transform.kind == "compile" else Unknown("transformed")


def _function(target: Function, transform: Transform) -> Function:
    made = target.copy()
    made.transforms = (*target.transforms, transform)
    return made


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


def arguments(path: Path, function: Function, args: Arguments) -> Arguments:
    """What a function sees that runs in another way: under vmap slices, under grad tensors that require grad."""
    first = 1 if _has_receiver(function) else 0
    for transform in reversed(function.transforms):
        if transform.kind == "vmap":
            values = [
                value if index < first else _slice(path, value, _dims(transform.argument, index - first))
                for index, value in enumerate(args.positional)
            ]
            keywords = {name: _slice(path, value, _ALL) for name, value in args.keywords.items()}
            args = Arguments(values, keywords, args.nodes, args.unknown_star, args.defaulted)
        elif transform.kind == "grad":
            wanted = _argnums(transform.argument)
            values = [
                _differentiated(path, value) if index - first in wanted else value
                for index, value in enumerate(args.positional)
            ]
            args = Arguments(values, args.keywords, args.nodes, args.unknown_star, args.defaulted)
    return args


def _has_receiver(function: Function) -> bool:
    node = function.node
    return function.owner is not None and not (
        isinstance(node, cst.FunctionDef) and "staticmethod" in decorator_names(node)
    )


_ALL = Constant(0)


def _dims(in_dims: Value | None, index: int) -> Value:
    """Over which axes vmap maps of an argument."""
    if isinstance(in_dims, Sequence):
        items = in_dims.items
        return items[index] if items is not None and index < len(items) else Unknown("axes")
    return _ALL if in_dims is None else in_dims


def _slice(path: Path, value: Value, dims: Value) -> Value:
    """A slice of an argument: of all tensors in it, unless its axes are given for each."""
    if is_none(dims):
        return value
    if isinstance(value, Mapping) and not value.open:
        each = dims.entries if isinstance(dims, Mapping) else dict.fromkeys(value.entries, dims)
        return Mapping({key: _slice(path, held, each.get(key, Unknown())) for key, held in value.entries.items()})
    if isinstance(value, Sequence) and value.items is not None:
        held = [_slice(path, item, _dims(dims, index)) for index, item in enumerate(value.items)]
        sliced = Sequence(held, value.kind)
        sliced.fields = value.fields
        return sliced
    axis = as_int(dims) if isinstance(dims, Constant) else None
    if axis is None or isinstance(value, (Mapping, Sequence)):
        return Unknown("slice")
    if isinstance(value, Unknown):
        value = as_tensor(path, value)
    if not isinstance(value, TensorValue):
        return value
    value.prove()
    part = select(path, value, axis, 0)
    part.batched, part.name = True, value.name
    return part


def _argnums(value: Value | None) -> tuple[int, ...]:
    """Which arguments are differentiated: the first, unless others are named."""
    if isinstance(value, Sequence):
        return tuple(number for each in value.items or () if (number := as_int(each)) is not None)
    number = 0 if value is None else as_int(value)
    return () if number is None else (number,)


def _differentiated(path: Path, value: Value) -> Value:
    """The tensors of an argument, as they are while gradients with respect to them are computed."""
    if isinstance(value, Mapping):
        held = {key: _differentiated(path, each) for key, each in value.entries.items()}
        return Mapping(held, value.open)
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence([_differentiated(path, each) for each in value.items], value.kind)
    if not isinstance(value, TensorValue) or value.facts.kind not in ("float", "complex"):
        return value
    value.prove()
    wrapped = TensorValue(path.facts(value).but(requires_grad=True, is_leaf=False), value.story)
    wrapped.base, wrapped.name, wrapped.batched = value, value.name, value.batched
    return wrapped


def result(path: Path, kinds: frozenset[str], inner: Value) -> Value:
    """What a transformed function returns: under vmap the results for all slices together, under grad gradients."""
    if "vmap" not in kinds and "grad" not in kinds:
        return inner
    if not isinstance(inner, TensorValue) or "grad" in kinds:
        return Unknown("transformed")
    facts = inner.facts
    return path.tensor(
        TensorFacts(dtype=facts.dtype, kind=facts.kind, device=facts.device, requires_grad=facts.requires_grad)
    )
