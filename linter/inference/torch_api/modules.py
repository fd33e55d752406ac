"""torch.nn.Module: layers, containers, the methods every module has, and calls."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference.attributes import as_tensor, find_method, hold
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import hooks, layers, recurrent
from stridelint.linter.inference.torch_api.apply import apply_call
from stridelint.linter.inference.torch_api.conversion_requests import request_of
from stridelint.linter.inference.torch_api.conversions import convert_module
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.registry import Call, methods
from stridelint.linter.inference.values import (
    Arguments,
    BoundMethod,
    Constant,
    Device,
    Dtype,
    Function,
    Instance,
    Mapping,
    Sequence,
    Slice,
    TensorValue,
    Unknown,
    Value,
    as_int,
    is_none,
)
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form, Unknown as UnknownArgument

ITEMS = "[items]"
CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}
WRAPPERS = frozenset({"DataParallel", "DistributedDataParallel", "FullyShardedDataParallel"})


def make_layer(path: Path, node: cst.CSTNode | None, name: str, args: Arguments) -> Instance:
    """`torch.nn.<name>(...)`."""
    instance = Instance(None, f"torch.nn.{name}")
    instance.made_by = node
    if name in layers.LAYERS:
        layers.build(path, instance, name, args)
    else:
        instance.complete = False
    if name in ("Sequential", "ModuleList", "ModuleDict"):
        _fill_container(path, instance, name, args)
    elif name in WRAPPERS:
        instance.attributes["module"] = args.get(0, "module") or Unknown("module")
    return instance


def _fill_container(path: Path, instance: Instance, name: str, args: Arguments) -> None:
    from stridelint.linter.inference.iteration import items_of

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


def entries_of(instance: Instance) -> dict[object, Value] | None:
    """The members of a container by key."""
    found = instance.attributes.get(ITEMS)
    return found.entries if isinstance(found, Mapping) else None


def sliced(instance: Instance, index: Slice) -> Value:
    """`layers[:-1]` of a ModuleList or Sequential: another one with some of its members."""
    entries = entries_of(instance)
    bounds = [None if is_none(each) else as_int(each) for each in (index.start, index.stop, index.step)]
    given = [not is_none(each) for each in (index.start, index.stop, index.step)]
    if (
        entries is None
        or instance.cls is not None
        or bounds[2] == 0
        or any(known is None and there for known, there in zip(bounds, given, strict=True))
    ):
        return Unknown("item")
    made = Instance(None, instance.external)
    made.complete = instance.complete
    made.attributes[ITEMS] = Mapping(dict(enumerate(list(entries.values())[slice(*bounds)])))
    return made


def child_modules(instance: Instance) -> list[Value] | None:
    """The items that iterating over a container gives."""
    entries = entries_of(instance)
    if entries is None:
        return None
    return [Constant(key) for key in entries] if instance.external.endswith("Dict") else list(entries.values())


def submodules(instance: Instance) -> list[tuple[str, Instance]]:
    """Direct children with their names."""
    found = [
        (name, value) for name, value in instance.attributes.items() if isinstance(value, Instance) and value.is_module
    ]
    return found + [
        (str(name), value)
        for name, value in (entries_of(instance) or {}).items()
        if isinstance(value, Instance) and value.is_module
    ]


def named_tensors(instance: Instance, prefix: str = "", seen: set[int] | None = None) -> list[tuple[str, TensorValue]]:
    """Parameters and buffers of a module and its children."""
    seen = set() if seen is None else seen
    if instance.identity in seen:
        return []
    seen.add(instance.identity)
    found = [
        (prefix + name, value)
        for name, value in instance.attributes.items()
        if isinstance(value, TensorValue) and (value.is_parameter or value.is_buffer)
    ]
    for name, child in submodules(instance):
        found += named_tensors(child, f"{prefix}{name}.", seen)
    return found


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
    call = Call(path, node, name, args)
    tensors = [tensor for _, tensor in named_tensors(instance)]
    wanted = request_of(path, call)
    if wanted.memory_format is not None:
        arguments: dict[str, object] = {
            "memory_format": wanted.memory_format if wanted.memory_format != "unknown" else UnknownArgument.UNKNOWN,
            "parameters": tuple(operand(path, tensor) for tensor in tensors),
        }
        if instance.external.endswith("DistributedDataParallel"):
            arguments["wrapped"] = True
        sites = {key: each for key, each in args.nodes.items() if isinstance(key, str)}
        emit(path, "Module.to", Form.METHOD, node, arguments, (), sites=sites)
    convert_module(path, call, instance, tensors)
    return instance


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
    from stridelint.linter.inference.calls import call

    function = args.get(0, "fn")
    for _, each in [*reversed(_descendants(instance)), ("", instance)]:
        if function is not None and isinstance(node, cst.Call):
            call(path, node, function, Arguments([each]))
    return instance


def _submodule(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    """`module.get_submodule("layers.0")`."""
    target = args.get(0, "target")
    if not isinstance(target, Constant) or not isinstance(target.value, str):
        return Unknown(name)
    return dict([("", instance), *_descendants(instance)]).get(target.value) or Unknown(name)


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
        found = [("", instance), *_descendants(instance)]
    return Sequence(
        [Sequence([Constant(key), child]) if name.startswith("named") else child for key, child in found], "list"
    )


def _descendants(instance: Instance, prefix: str = "", depth: int = 0) -> list[tuple[str, Instance]]:
    found: list[tuple[str, Instance]] = []
    for name, child in submodules(instance) if depth < 8 else []:
        found.append((prefix + name, child))
        found += _descendants(child, f"{prefix}{name}.", depth + 1)
    return found


def _state_dict(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    entries: dict[object, Value] = {}
    for key, tensor in named_tensors(instance):
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
            value.name = f"self.{key.value}"
        entries = entries_of(instance) if name in ("add_module", "register_module") else None
        if entries is not None:
            entries[key.value] = value
        else:
            hold(path, instance, key.value, value)
    return Constant(None)


def _append(path: Path, node: cst.CSTNode, instance: Instance, name: str, args: Arguments) -> Value:
    from stridelint.linter.inference.iteration import items_of

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
    **dict.fromkeys(
        ("eval", "train", "requires_grad_", "load_state_dict", "to_empty", "share_memory", "compile"), _same
    ),
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


def call_module(path: Path, node: cst.Call, instance: Instance, args: Arguments) -> Value:
    """`module(...)`: its forward, and the hooks around it."""
    if hooks.BEFORE in instance.attributes:
        args = hooks.before(path, node, instance, args)
    result = _forward(path, node, instance, args)
    return hooks.after(path, node, instance, args, result) if hooks.AFTER in instance.attributes else result


def _forward(path: Path, node: cst.Call, instance: Instance, args: Arguments) -> Value:
    from stridelint.linter.inference.calls import call_function

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
    from stridelint.linter.inference.calls import call

    for child in (entries_of(instance) or {}).values():
        if value is None or not isinstance(node, cst.Call):
            return Unknown("sequential")
        value = call(path, node, child, Arguments([value]))
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
