"""Tensor methods that change a tensor in place and are not in the operator table."""

from __future__ import annotations

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.path import Path, Resized
from stridelint.linter.inference.torch_api import whole_numbers
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.torch_api.view_ops import dim_arguments
from stridelint.linter.inference.values import TensorValue, Value
from stridelint.rules.contract import ranges
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.events import Form


@method("copy_")
def copy(call: Call) -> Value:
    """`x.copy_(src)`."""
    call.path.overwrites(call.tensor)
    value = call.get(0, "src", "other")
    source = plain(call.path, value, call.args.nodes.get(0, call.args.nodes.get("src")))
    _emit(call, "copy_", src=source)
    numbers = number_ranges.of_data(call.path, value)
    whole_numbers.written(call.path, call.tensor, isinstance(value, TensorValue) and whole_numbers.of(value), numbers)
    if isinstance(value, TensorValue):
        stored(call.path, call.tensor, value)
    return call.tensor


@method("fill_")
def fill(call: Call) -> Value:
    """`x.fill_(value)`: with a number or a 0-dim tensor."""
    call.path.overwrites(call.tensor)
    value = call.get(0, "value")
    _emit(call, "fill", value=plain(call.path, value, call.args.nodes.get(0, call.args.nodes.get("value"))))
    numbers = number_ranges.of_data(call.path, value)
    whole_numbers.written(call.path, call.tensor, whole_numbers.listed(value), numbers)
    if isinstance(value, TensorValue):
        stored(call.path, call.tensor, value)
    return call.tensor


@method("zero_", "random_", "uniform_", "exponential_", "cauchy_", "log_normal_", "geometric_", "normal_", "bernoulli_")
def filled(call: Call) -> Value:
    """`x.zero_()`, `x.uniform_(0, 1)` and their like."""
    call.path.overwrites(call.tensor)
    _emit(call, call.name)
    whole = call.name in ("zero_", "random_", "geometric_", "bernoulli_")
    numbers = ranges.one(0) if call.name == "zero_" else None
    whole_numbers.written(call.path, call.tensor, whole, numbers)
    return call.tensor


@method("resize_", "resize_as_")
def resized(call: Call) -> Value:
    """`x.resize_(size)`: the same memory, row-major, with more of it if need be."""
    tensor = call.tensor
    if call.name == "resize_as_":
        other = call.get(0, "the_template", "other")
        dims = call.path.facts(other).shape if isinstance(other, TensorValue) else None
    else:
        dims = dim_arguments(call)
    row_major = call.get(-1, "memory_format") is None
    strides = strides_in_order(dims, range(len(dims))) if dims is not None and row_major else None
    result = tensor.facts.but(shape=dims, strides=strides)
    _emit(call, call.name, result, size=dims)
    before = operand(call.path, tensor, call.args.nodes.get("receiver"))
    number_ranges.exposed(call.path, tensor.facts)
    sizes_before_and_after = enumerate(zip(before.facts.shape or (), dims or ()))
    changed = tuple(axis for axis, pair in sizes_before_and_after if call.path.differ(*pair))
    arguments: dict[str, object] = {"input": before, "size": dims, "other_sizes": changed}
    tensor.facts = result

    def tell() -> None:
        emit(call.path, "resized", Form.INPLACE, call.node, arguments, (before,), None, result, None, tensor)

    call.path.resized[tensor.identity] = Resized(tell, before.facts.shape)
    return tensor


def stored(path: Path, tensor: TensorValue, value: TensorValue) -> None:
    """A tensor takes part in the graph of what is stored into it."""
    if path.grad_mode is not False and value.facts.requires_grad is not False:
        known = True if value.facts.requires_grad and path.grad_mode else None
        tensor.facts = tensor.facts.but(requires_grad=tensor.facts.requires_grad or known, is_leaf=False)


def _emit(call: Call, op: str, result: TensorFacts = TensorFacts(), **arguments: object) -> None:
    receiver = operand(call.path, call.tensor, call.args.nodes.get("receiver"))
    emit(
        call.path,
        op,
        Form.INPLACE,
        call.node,
        {"input": receiver, **arguments},
        (receiver,),
        None,
        result,
        None,
        call.tensor,
    )
