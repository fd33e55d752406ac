"""torch.nn.init: functions that fill a tensor without recording gradients."""

from __future__ import annotations

from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.torch_api.registry import Call, function, methods
from stridelint.linter.inference.values import Constant, TensorValue, Unknown, Value
from stridelint.rules.events import Form

# The method by which each changes its tensor, measured.
_METHODS = {
    "uniform_": "uniform_",
    "xavier_uniform_": "uniform_",
    "kaiming_uniform_": "uniform_",
    "normal_": "normal_",
    "trunc_normal_": "normal_",
    "xavier_normal_": "normal_",
    "kaiming_normal_": "normal_",
    "sparse_": "normal_",
    "orthogonal_": "normal_",
    "constant_": "fill_",
    "ones_": "fill_",
    "zeros_": "zero_",
    "eye_": "zero_",
    "dirac_": "zero_",
}


@function(*(f"torch.nn.init.{name}" for name in _METHODS))
def initialized(call: Call) -> Value:
    """`nn.init.uniform_(tensor, a, b)`: what the method does, with gradients off."""
    tensor = call.get(0, "tensor")
    if not isinstance(tensor, TensorValue):
        return tensor or Unknown(call.name)
    tensor.prove()
    name = call.name.rpartition(".")[2]
    method = _METHODS[name]
    given = Arguments([], {}, {})
    written = call.args.nodes.get(0, call.args.nodes.get("tensor"))
    if written is not None:
        given.nodes["receiver"] = written
    if method == "fill_":
        value = Constant(1.0) if name == "ones_" else call.get(1, "val")
        given.positional.append(value or Unknown("val"))
    with call.path.grad(False):
        return methods[method](Call(call.path, call.node, method, given, tensor, Form.INPLACE))
