"""Calls of a torch.nn.Module: its forward between its hooks, and what torch's own layers compute."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.attributes import as_tensor, find_method
from stridelint.linter.inference.dispatch import call_function, call_value
from stridelint.linter.inference.objects import Arguments, Function, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import hooks, layers, recurrent
from stridelint.linter.inference.torch_api.apply import apply_call
from stridelint.linter.inference.torch_api.module_members import WRAPPERS, entries_of, named_tensors
from stridelint.linter.inference.torch_api.registry import Call, methods
from stridelint.linter.inference.values import Constant, TensorValue, Unknown, Value, is_none
from stridelint.rules.events import Form


def call_module(path: Path, node: cst.Call, instance: Instance, args: Arguments) -> Value:
    """`module(...)`: its forward, and the hooks around it."""
    if hooks.BEFORE in instance.attributes:
        args = hooks.before(path, node, instance, args)
    result = _forward(path, node, instance, args)
    return hooks.after(path, node, instance, args, result) if hooks.AFTER in instance.attributes else result


def _forward(path: Path, node: cst.Call, instance: Instance, args: Arguments) -> Value:
    forward = find_method(instance, "forward")
    if forward is not None:
        forward.transforms = instance.transforms
        return call_function(path, node, forward, args.with_first(instance))
    if instance.external:
        return layer_forward(path, node, instance, args)
    dynamic = instance.attributes.get("forward")
    if isinstance(dynamic, Function):
        return call_function(path, node, dynamic, args)
    return Unknown("module")


def layer_forward(path: Path, node: cst.CSTNode, instance: Instance, args: Arguments) -> Value:
    """A call of one of torch.nn's own modules."""
    name = instance.external.rpartition(".")[2]
    if name in WRAPPERS:
        inner = instance.attributes.get("module")
        if isinstance(inner, Instance) and isinstance(node, cst.Call):
            outer = path.distributed
            if name == "DistributedDataParallel":
                path.distributed = instance.made_by
            try:
                return call_module(path, node, inner, args)
            finally:
                path.distributed = outer
        return Unknown("module")
    value = args.get(0, "input", "x")
    if isinstance(value, Unknown) and name not in ("ModuleList", "ModuleDict", "Sequential"):
        value = as_tensor(path, value)
    if name == "Sequential":
        return _sequential(path, node, instance, value)
    if not isinstance(value, TensorValue):
        return Unknown("layer")
    value.prove()
    return _layer_result(path, node, instance, name, value, args)


def _sequential(path: Path, node: cst.CSTNode, instance: Instance, value: Value | None) -> Value:
    for child in (entries_of(instance) or {}).values():
        if value is None or not isinstance(node, cst.Call):
            return Unknown("sequential")
        value = call_value(path, node, child, Arguments([value]))
    return value if value is not None and instance.complete else Unknown("sequential")


def _layer_result(
    path: Path, node: cst.CSTNode, instance: Instance, name: str, value: TensorValue, args: Arguments
) -> Value:
    if name == "Identity":
        return value
    if name in ("Flatten", "Unflatten"):
        start = instance.config.get("start_dim", Constant(1))
        inner = Arguments([start, instance.config.get("end_dim", Constant(-1))])
        if name == "Unflatten":
            inner = Arguments(
                [instance.config.get("dim", Unknown()), instance.config.get("unflattened_size", Unknown())]
            )
        return methods[name.lower()](Call(path, node, name.lower(), inner, value, Form.FUNCTION))
    if name in recurrent.FORWARD:
        return recurrent.FORWARD[name](path, instance, value, args)
    layer = layers.LAYERS.get(name)
    if layer is None or not layer.function:
        return Unknown("layer")
    if layers.is_inplace(path, instance):
        return value
    keywords = {
        key: instance.config[key]
        for key in layer.passed
        if key in instance.config and not is_none(instance.config[key])
    }
    keywords.update({key: instance.attributes[key] for key in layer.named if key in instance.attributes})
    keywords.update({key: Constant(given) for key, given in layer.fixed})
    if layer.function == "nn.functional.pad":
        keywords["pad"] = layers.padding_of(name, instance.config.get("padding"))
    others = [args.get(index, "target", "x2", "input2") or Unknown("target") for index in range(1, layer.inputs)]
    tensors: list[Value] = [*others, *(instance.attributes.get(key, Unknown(key)) for key in layer.parameters)]
    written: dict[int | str, cst.CSTNode] = {0: node.args[0].value} if isinstance(node, cst.Call) and node.args else {}
    result = apply_call(path, layer.function, Arguments([value, *tensors], keywords, written), node, Form.FUNCTION)
    if isinstance(result, TensorValue) and result.facts.requires_grad is False and path.grad_mode is not False:
        owned = [tensor.facts.requires_grad for _, tensor in named_tensors(instance)]
        if any(each is not False for each in owned):
            result.facts = result.facts.but(requires_grad=True if True in owned and path.grad_mode else None)
    return result
