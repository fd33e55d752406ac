"""torch.distributed: which tensors must be contiguous, as measured with gloo, which exchanges tensors of the CPU.

A backend of another device may take them; so do the other collectives of gloo.
"""

from __future__ import annotations

from typing import NamedTuple

from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import TensorValue, Unknown, Value
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer


class Demand(NamedTuple):
    """An argument, by position and name; in_any_format: channels_last will do as well."""

    position: int
    name: str
    in_any_format: bool = False


DEMANDS = {
    **dict.fromkeys(("send", "isend", "recv", "irecv"), Demand(0, "tensor")),
    **dict.fromkeys(("all_to_all_single", "nn.functional.all_to_all_single"), Demand(1, "input", True)),
}


@function(*(f"torch.distributed.{name}" for name in DEMANDS))
def exchanged(call: Call) -> Value:
    """`dist.all_to_all_single(output, input)`: the event "exchanged" is about the tensor that must be contiguous."""
    name = call.name.removeprefix("torch.distributed.")
    demand = DEMANDS[name]
    tensor = call.get(demand.position, demand.name)
    if not isinstance(tensor, TensorValue):
        return Unknown(name)
    tensor.prove()
    written = call.args.nodes.get(demand.position, call.args.nodes.get(demand.name))
    source = operand(call.path, tensor, written)
    formats = ("channels_last", "channels_last_3d") if demand.in_any_format else ()
    fits = any(questions.is_contiguous(source.facts, each).answer is not Answer.NO for each in formats)
    if source.facts.device == "cpu" and not fits:
        emit(call.path, "exchanged", call.form, call.node, {"input": source}, (source,))
    return Unknown(name)
