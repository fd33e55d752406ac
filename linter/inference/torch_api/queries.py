"""Tensor methods that ask: sizes, strides, layout."""

from __future__ import annotations

from stridelint.linter.inference import testing
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.registry import Call, function, method
from stridelint.linter.inference.torch_api.tensor_attributes import rank_value
from stridelint.linter.inference.torch_api.types import is_instance
from stridelint.linter.inference.values import (
    FALSE,
    TRUE,
    Condition,
    Constant,
    MemoryFormat,
    Number,
    Sequence,
    ShapeOf,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    as_int,
    number,
    shape_value,
)
from stridelint.rules.contract import questions, sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.events import Unknown as UnknownArgument


@method("size")
def size(call: Call) -> Value:
    """`x.size()`, `x.size(dim)`."""
    axis_value = call.get(0, "dim")
    shape = call.path.facts(call.tensor).shape
    call.tensor.prove()
    if axis_value is None:
        return ShapeOf(call.tensor) if shape is None else shape_value(shape, call.tensor)
    return size_at(call.tensor, shape, as_int(axis_value))


def size_at(tensor: TensorValue, shape: tuple[sizes.SizeLike, ...] | None, axis: int | None) -> Value:
    """One size; of a tensor of unknown rank a symbol that is kept for when the rank is known."""
    if axis is None:
        return SizeValue(sizes.Size.fresh("size"))
    if shape is None:
        return SizeValue(tensor.known_sizes.setdefault(axis, sizes.Size.fresh(f"size{axis}")))
    return number(shape[axis], (tensor, axis)) if -len(shape) <= axis < len(shape) else Unknown("size")


@method("dim", "ndimension")
def dim(call: Call) -> Value:
    """`x.dim()`."""
    call.tensor.prove()
    return rank_value(call.path, call.tensor)


@method("numel", "nelement")
def numel(call: Call) -> Value:
    """`x.numel()`."""
    shape = call.path.facts(call.tensor).shape
    call.tensor.prove()
    return Number("integer") if shape is None else number(sizes.product(shape))


@method("__len__")
def length(call: Call) -> Value:
    """`len(x)`."""
    return size_at(call.tensor, call.path.facts(call.tensor).shape, 0)


@method("stride")
def stride(call: Call) -> Value:
    """`x.stride()`, `x.stride(dim)`."""
    path, tensor = call.path, call.tensor
    tensor.prove()
    axis = call.get(0, "dim")
    arguments: dict[str, object] = {} if axis is None else {"dim": as_int(axis)}
    if path.claim is not None:
        testing.record(path, "stride", [tensor], arguments, query=call.node, written=call.args.nodes.get("receiver"))
    strides = path.facts(tensor).strides
    receiver = operand(path, tensor, call.args.nodes.get("receiver"))
    emit(path, "stride", call.form, call.node, {"input": receiver, **arguments}, (receiver,))
    if strides is None:
        return Unknown("stride")
    if axis is None:
        return shape_value(strides)
    at = as_int(axis)
    return number(strides[at]) if at is not None and -len(strides) <= at < len(strides) else Unknown("stride")


@method("is_contiguous")
def is_contiguous(call: Call) -> Value:
    """`x.is_contiguous(memory_format=...)`: an unknown answer, once assumed to be yes, makes x row-major."""
    path, tensor = call.path, call.tensor
    value = call.get(0, "memory_format")
    memory_format = "contiguous_format" if value is None else value.name if isinstance(value, MemoryFormat) else None
    asked = memory_format or UnknownArgument.UNKNOWN
    if path.claim is not None:
        testing.record(
            path, "is_contiguous", [tensor], {"memory_format": asked}, written=call.args.nodes.get("receiver")
        )
    receiver = operand(path, tensor, call.args.nodes.get("receiver"))
    sites = {name: each for name, each in call.args.nodes.items() if isinstance(name, str)}
    emit(
        path,
        "is_contiguous",
        call.form,
        call.node,
        {"input": receiver, "memory_format": asked},
        (receiver,),
        sites=sites,
        waits_for=tensor,
    )
    if memory_format is None:
        return Condition(("is_contiguous", tensor.identity, None if value is None else value.identity))
    judgement = questions.is_contiguous(path.facts(tensor), memory_format)
    if judgement.answer is Answer.NO:
        path.denied = (tensor, call.node, call.args.nodes.get("receiver"))
    if judgement.answer is not Answer.UNKNOWN:
        return TRUE if judgement.answer is Answer.YES else FALSE

    def assume(outcome: bool) -> None:
        facts = tensor.facts
        if outcome and memory_format == "contiguous_format" and facts.shape is not None and facts.strides is None:
            tensor.facts = facts.but(strides=strides_in_order(facts.shape, range(len(facts.shape))))

    return Condition(("is_contiguous", tensor.identity, memory_format), assume)


@method("dim_order")
def dim_order(call: Call) -> Value:
    """`x.dim_order()`."""
    if call.path.claim is not None:
        testing.record(call.path, "dim_order", [call.tensor], {})
    return Unknown("dim_order")


@method("item")
def item(call: Call) -> Value:
    """`x.item()`: a Python number of x's kind."""
    kind = call.path.facts(call.tensor).kind
    call.tensor.prove()
    fraction = kind in ("float", "complex") and not call.tensor.whole
    return Unknown("item") if kind is None else Number(kind, fraction)


@method("tolist")
def tolist(call: Call) -> Value:
    """`x.tolist()`: Python numbers of x's kind, in lists for each axis."""
    facts = call.path.facts(call.tensor)
    call.tensor.prove()
    return nested(facts, call.tensor.whole) if facts.shape is not None else Unknown("tolist")


def nested(facts: TensorFacts, whole: bool) -> Value:
    """The numbers of a tensor or array in lists; of short ones as many as there are. whole: they may be whole."""

    def part(shape: Dims) -> Value:
        if not shape:
            return _number(facts.kind, whole)
        count, inner = shape[0], shape[1:]
        if isinstance(count, int) and sizes.product(shape) in range(_MAX_LISTED + 1):
            return Sequence([part(inner) for _ in range(count)], "list")
        return Sequence(None, "list", lambda: part(inner))

    return part(facts.shape) if facts.shape is not None else Unknown("list")


_MAX_LISTED = 16


def _number(kind: str | None, whole: bool) -> Value:
    if kind == "integer":
        return SizeValue(sizes.Size.fresh("item"))
    return Unknown("item") if kind is None else Number(kind, kind in ("float", "complex") and not whole)


@method(
    "storage_offset",
    "element_size",
    "get_device",
    "is_complex",
    "is_floating_point",
    "is_shared",
    "is_pinned",
    "backward",
    "register_hook",
)
def other(call: Call) -> Value:
    """Answers that no rule follows."""
    call.tensor.prove()
    kind = call.path.facts(call.tensor).kind
    if call.name in ("is_floating_point", "is_complex") and kind is not None:
        return TRUE if kind == ("float" if call.name == "is_floating_point" else "complex") else FALSE
    return Unknown(call.name)


@function("torch.is_tensor")
def is_tensor(call: Call) -> Value:
    """`torch.is_tensor(x)`."""
    value = call.get(0, "obj")
    return Unknown() if value is None else is_instance(call.path, value, ["torch.Tensor"])


@function("torch.numel")
def torch_numel(call: Call) -> Value:
    """`torch.numel(x)`."""
    value = call.get(0, "input")
    shape = call.path.facts(value).shape if isinstance(value, TensorValue) else None
    return Number("integer") if shape is None else number(sizes.product(shape))


@function("torch.is_grad_enabled")
def is_grad_enabled(call: Call) -> Value:
    """The grad mode."""
    return Unknown() if call.path.grad_mode is None else Constant(call.path.grad_mode)
