"""torch.nn.Module: layers and containers as they are made, and the methods every module has."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference.attributes import hold
from stridelint.linter.inference.dispatch import call_value
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, BoundMethod, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import hooks, layers
from stridelint.linter.inference.torch_api.conversion_requests import Request, request_of
from stridelint.linter.inference.torch_api.conversions import CASTS
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.module_members import (
    ITEMS,
    WRAPPERS,
    descendants,
    entries_of,
    named_tensors,
    submodules,
)
from stridelint.linter.inference.torch_api.registry import Call
from stridelint.linter.inference.values import (
    Constant,
    Device,
    Dtype,
    Mapping,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_int,
)
from stridelint.rules.contract import questions
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form, Unknown as UnknownArgument


def make_layer(path: Path, node: cst.CSTNode | None, name: str, args: Arguments) -> Instance:
    """`torch.nn.<name>(...)`."""
    instance = Instance(None, f"torch.nn.{name}")
    instance.made_by = node
    if name in layers.LAYERS:
        layers.build(path, instance, name, args)
    else:
        instance.complete = False
    if name in ("Sequential", "ModuleList", "ModuleDict"):
        fill_container(path, instance, name, args)
    elif name in WRAPPERS:
        instance.attributes["module"] = args.get(0, "module") or Unknown("module")
    return instance


def fill_container(path: Path, instance: Instance, name: str, args: Arguments) -> None:
    """Put the modules that a container's constructor gets into it."""
    entries: dict[object, Value] = {}
    first = args.get(0, "modules")
    if isinstance(first, Mapping):
        entries = dict(first.entries)
        instance.complete &= not first.open
    elif name == "Sequential":
        entries = dict(enumerate(args.positional))
        instance.complete &= not args.unknown_star
    elif first is not None:
        items, exhaustive = items_of(path, first)
        entries = dict(enumerate(items))
        instance.complete &= exhaustive
    instance.attributes[ITEMS] = Mapping(entries)


def module_attribute(path: Path, instance: Instance, name: str) -> Value | None:
    """What torch.nn.Module gives every module; None for other names."""
    if name in MODULE_METHODS:
        return BoundMethod(instance, name)
    if name == "training":
        return instance.attributes.setdefault(name, Unknown("training"))
    entries = entries_of(instance)
    if entries is not None and name in entries:
        return entries[name]
    return None


def module_method(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    """A method that torch.nn.Module provides."""
    handler = MODULE_METHODS.get(name)
    return handler(path, node, instance, name, args) if handler is not None else Unknown(name)


def _converted(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    if name in CASTS:
        args = Arguments([Dtype(CASTS[name])])
    elif name in ("cuda", "cpu"):
        args = Arguments([Device(name)])
    tensors = [tensor for _, tensor in named_tensors(instance)]
    wanted = request_of(path, Call(path, node, name, args))
    if wanted.memory_format is not None:
        arguments: dict[str, object] = {
            "memory_format": wanted.memory_format if wanted.memory_format != "unknown" else UnknownArgument.UNKNOWN,
            "parameters": tuple(operand(path, tensor) for tensor in tensors),
        }
        if instance.external.endswith("DistributedDataParallel"):
            arguments["wrapped"] = True
        sites = {key: each for key, each in args.nodes.items() if isinstance(key, str)}
        emit(path, "Module.to", Form.METHOD, node, arguments, (), sites=sites)
    _convert(path, node, wanted, tensors)
    return instance


def _filled(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    """All parameters get other numbers."""
    for _, tensor in named_tensors(instance):
        path.overwrites(tensor)
    return instance


def _convert(path: Path, node: cst.CSTNode, wanted: Request, tensors: list[TensorValue]) -> None:
    """Change the parameters and buffers of a module in place."""
    for tensor in tensors:
        facts = path.facts(tensor)
        floating = facts.kind in ("float", "complex")
        dtype = wanted.dtype if wanted.dtype_given and floating else facts.dtype
        if (wanted.dtype_given or wanted.unclear) and wanted.dtype is None and facts.kind not in ("bool", "integer"):
            dtype = None
        result = facts
        if wanted.memory_format in ("channels_last", "channels_last_3d"):
            rank = 4 if wanted.memory_format == "channels_last" else 5
            if facts.rank == rank:
                result, _ = questions.converted(facts, memory_format=wanted.memory_format)
                tensor.story = (*tensor.story[-3:], (f"becomes {wanted.memory_format} here", node))
            elif facts.rank is None:
                result = facts.but(strides=None)
        elif wanted.memory_format is not None:
            result = facts.but(strides=None)
        device = wanted.device if wanted.device_given or wanted.unclear else facts.device
        tensor.facts = result.but(
            dtype=dtype,
            kind=facts.kind,
            device=device,
            storage=facts.storage,
            requires_grad=facts.requires_grad,
            is_leaf=facts.is_leaf,
        )


def _same(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    if name == "requires_grad_":
        wanted = args.get(0, "requires_grad")
        enabled = True if wanted is None else path.known_truth(wanted)
        for _, tensor in named_tensors(instance):
            if tensor.is_parameter:
                tensor.facts = tensor.facts.but(requires_grad=enabled)
    return instance


def _apply(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    """`module.apply(function)`: of the modules in it, then of itself."""
    function = args.get(0, "fn")
    for _, each in [*reversed(descendants(instance)), ("", instance)]:
        if function is not None and isinstance(node, cst.Call):
            call_value(path, node, function, Arguments([each]))
    return instance


def _submodule(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    """`module.get_submodule("layers.0")`."""
    target = args.get(0, "target")
    if not isinstance(target, Constant) or not isinstance(target.value, str):
        return Unknown(name)
    return dict([("", instance), *descendants(instance)]).get(target.value) or Unknown(name)


def _tensors(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    wants_buffers = "buffers" in name
    chosen = [(key, tensor) for key, tensor in named_tensors(instance) if tensor.is_buffer == wants_buffers]
    items: list[Value] = [
        Sequence([Constant(key), tensor]) if name.startswith("named") else tensor for key, tensor in chosen
    ]
    if instance.complete and not _has_unknown(instance):
        return Sequence(items, "list")

    def element() -> Value:
        unknown = path.tensor(TensorFacts(requires_grad=None))
        unknown.is_parameter = not wants_buffers
        return Sequence([Unknown("name"), unknown]) if name.startswith("named") else unknown

    return Sequence(None, "list", element) if not items else Sequence(items, "list")


def _has_unknown(instance: Instance) -> bool:
    return instance.cls is not None and instance.cls.has_unknown_base()


def _modules(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    found = submodules(instance)
    if name.endswith("modules"):
        found = [("", instance), *descendants(instance)]
    return Sequence(
        [Sequence([Constant(key), child]) if name.startswith("named") else child for key, child in found], "list"
    )


def _state_dict(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    entries: dict[object, Value] = {}
    for key, tensor in named_tensors(instance):
        if not tensor.is_persistent:
            continue
        detached = TensorValue(tensor.facts.but(requires_grad=False), tensor.story)
        detached.base, detached.name = tensor, key
        entries[key] = detached
    return Mapping(entries, open=not instance.complete)


def _register(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    key, value = args.get(0, "name"), args.get(1, "tensor", "param", "module")
    if isinstance(key, Constant) and isinstance(key.value, str) and value is not None:
        if isinstance(value, TensorValue):
            value.is_buffer = name == "register_buffer"
            value.is_parameter = name == "register_parameter"
            kept = args.get(2, "persistent")
            value.is_persistent = kept is None or path.known_truth(kept) is True
            value.name = f"self.{key.value}"
        entries = entries_of(instance) if name in ("add_module", "register_module") else None
        if entries is not None:
            entries[key.value] = value
        else:
            hold(path, instance, key.value, value)
    return Constant(None)


def _append(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    entries = entries_of(instance)
    if entries is None:
        return Unknown(name)
    value = args.get(0)
    if name == "append" and value is not None:
        entries[len(entries)] = value
    elif name == "insert":
        position, members = as_int(value), list(entries.values())
        inserted = args.get(1, "module")
        if position is None or inserted is None:
            instance.complete = False
        else:
            members.insert(position, inserted)
            entries.clear()
            entries.update(enumerate(members))
    elif name == "extend" and value is not None:
        items, exhaustive = items_of(path, value)
        instance.complete &= exhaustive
        for each in items:
            entries[len(entries)] = each
    return instance


def _container_items(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    entries = entries_of(instance)
    if entries is None:
        return Unknown(name)
    if name == "values":
        return Sequence(list(entries.values()), "list")
    if name == "keys":
        return Sequence([Constant(key) for key in entries], "list")
    return Sequence([Sequence([Constant(key), value]) for key, value in entries.items()], "list")


_Handler = Callable[[Path, cst.CSTNode, Instance, str, Arguments], Value]
MODULE_METHODS: dict[str, _Handler] = {
    **dict.fromkeys(("to", "half", "float", "double", "bfloat16", "cuda", "cpu"), _converted),
    **dict.fromkeys(("eval", "train", "requires_grad_", "to_empty", "share_memory", "compile"), _same),
    **dict.fromkeys(("reset_parameters", "load_state_dict"), _filled),
    "apply": _apply,
    "get_submodule": _submodule,
    **dict.fromkeys(hooks.REGISTERING, hooks.register),
    **dict.fromkeys(("parameters", "named_parameters", "buffers", "named_buffers"), _tensors),
    **dict.fromkeys(("modules", "named_modules", "children", "named_children"), _modules),
    "state_dict": _state_dict,
    **dict.fromkeys(("register_buffer", "register_parameter", "register_module", "add_module"), _register),
    **dict.fromkeys(("append", "extend", "insert"), _append),
    **dict.fromkeys(("items", "values", "keys"), _container_items),
}
