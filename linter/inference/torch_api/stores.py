"""`tensor[index] = value`."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.subscripts import tensor_item
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.values import TensorValue, Value
from stridelint.rules.events import Form, Operand


def tensor_store(
    path: Path, tensor: TensorValue, index: Value, value: Value, target: cst.Subscript, node: cst.CSTNode
) -> None:
    """A store through an index: the event is called "setitem"."""
    region = tensor_item(path, tensor, index, None)
    receiver = operand(path, tensor, target.value)
    stored = plain(path, value)
    arguments: dict[str, object] = {"input": receiver, "value": stored}
    if isinstance(region, TensorValue):
        arguments["region"] = operand(path, region, target)
    tensors = (receiver, stored) if isinstance(stored, Operand) else (receiver,)
    emit(path, "setitem", Form.INPLACE, node, arguments, tensors, waits_for=tensor)
    if isinstance(value, TensorValue) and path.grad_mode is not False and value.facts.requires_grad is not False:
        tensor.facts = tensor.facts.but(
            requires_grad=True if value.facts.requires_grad and path.grad_mode else None, is_leaf=False
        )
