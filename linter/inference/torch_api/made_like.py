"""Tensors made like another: `torch.empty_like(x)` has its strides, `x.new_empty(size)` only its dtype and device."""

from __future__ import annotations

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.torch_api import whole_numbers
from stridelint.linter.inference.torch_api.constants import device_name, dtype_name
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.factories import asked_grad, holding, made, nested, size_arguments
from stridelint.linter.inference.torch_api.registry import Call, function, method
from stridelint.linter.inference.values import (
    MemoryFormat,
    TensorValue,
    Unknown,
    Value,
    as_dims,
    is_none,
)
from stridelint.rules.contract import questions, ranges
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.ranges import Range
from stridelint.rules.events import Operand

LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")


@function(*(f"torch.{name}" for name in LIKE))
def like(call: Call) -> Value:
    """`torch.empty_like(x)`: keeps the strides of a dense tensor."""
    source = call.get(0, "input")
    if isinstance(source, Unknown) and source.tensor is not None:
        source = source.tensor
    if not isinstance(source, TensorValue):
        return call.path.tensor(TensorFacts(requires_grad=asked_grad(call)), call.node)
    source.prove()
    path = call.path
    facts = path.facts(source)
    given = call.args.keywords.get("dtype")
    dtype = facts.dtype if given is None or is_none(given) else dtype_name(given)
    value = call.args.keywords.get("memory_format")
    memory_format = "preserve_format" if value is None else value.name if isinstance(value, MemoryFormat) else None
    result = facts.but(strides=None) if memory_format is None else questions.like(facts, memory_format, dtype)
    if memory_format not in (None, "preserve_format"):
        receiver = operand(path, source, call.args.nodes.get(0))
        sites = {"memory_format": call.args.nodes["memory_format"]} if "memory_format" in call.args.nodes else {}
        name = call.name.removeprefix("torch.")
        emit(
            path,
            name,
            call.form,
            call.node,
            {"input": receiver, "memory_format": memory_format},
            (receiver,),
            sites=sites,
        )
    kind = facts.kind if given is None or is_none(given) else kind_of(dtype) if dtype else None
    device = call.args.keywords.get("device")
    result = result.but(
        dtype=dtype,
        kind=kind,
        device=facts.device if device is None or is_none(device) else device_name(device),
        requires_grad=asked_grad(call),
        is_leaf=True,
        storage=None,
        storage_offset=0,
    )
    fill = call.get(1, "fill_value")
    if call.name.endswith("full_like") and fill is not None:
        receiver = operand(path, source, call.args.nodes.get(0))
        filled = plain(path, fill, call.args.nodes.get(1, call.args.nodes.get("fill_value")))
        emit(
            path,
            "full_like",
            call.form,
            call.node,
            {"input": receiver, "fill_value": filled},
            (receiver,),
            None,
            result,
        )
    new = path.tensor(result, call.node, "is made here, with the strides of its argument")
    listed = call.name.endswith("full_like") and whole_numbers.listed(fill)
    new.whole = listed or call.name in ("torch.zeros_like", "torch.ones_like", "torch.randint_like")
    number_ranges.record(path, new, _filled_with(call, fill))
    return new


def _filled_with(call: Call, given: Value | None) -> Range | None:
    name = call.name.removeprefix("torch.").removesuffix("_like").removeprefix("new_")
    if name in ("full", "tensor"):
        return number_ranges.of_data(call.path, given)
    return ranges.one(int(name == "ones")) if name in ("zeros", "ones") else None


@method("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor")
def new(call: Call) -> Value:
    """`x.new_zeros(size)`: x's dtype and device, always row-major."""
    facts = call.path.facts(call.tensor)
    if call.name == "new_tensor":
        shape, dtype, kind = nested(call.path, call.get(0, "data"))[0], facts.dtype, facts.kind
    else:
        shape = as_dims(call.get(0, "size")) if call.name == "new_full" else size_arguments(call)
        dtype, kind = facts.dtype, facts.kind
    fill = call.get(1, "fill_value") if call.name == "new_full" else call.get(0, "data")
    value = made(call, shape, dtype, kind, numbers=_filled_with(call, fill))
    if isinstance(value, TensorValue) and call.args.keywords.get("device") is None:
        value.facts = value.facts.but(device=facts.device)
    receiver = plain(call.path, call.tensor, call.args.nodes.get("receiver"))
    if isinstance(value, TensorValue) and isinstance(receiver, Operand):
        emit(
            call.path,
            call.name,
            call.form,
            call.node,
            {"input": receiver, "size": shape, "fill_value": plain(call.path, call.get(1, "fill_value"))},
            (receiver,),
            None,
            value.facts,
            None,
            call.tensor,
        )
    listed = call.name in ("new_full", "new_tensor") and whole_numbers.listed(fill)
    return holding(value, listed or call.name in ("new_zeros", "new_ones"))
