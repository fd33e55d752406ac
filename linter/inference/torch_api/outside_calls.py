"""Calls of what the file does not define: functions by their dotted name, methods of torch's and Python's objects, modules."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import contexts, named_tuples, number_ranges, own_dicts, testing
from stridelint.linter.inference.attributes import as_tensor
from stridelint.linter.inference.objects import Arguments, BoundMethod, Class, Context, GradMode, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import (  # noqa: F401
    broadcasting,
    collating,
    comparisons,
    composed,
    constants,
    containers,
    conversions,
    copying,
    data,
    data_sets,
    distributed,
    dtype_limits,
    factories,
    hooks,
    initializers,
    layers,
    made_like,
    modes,
    module_calls,
    modules,
    numpy_arrays,
    numpy_choosing,
    numpy_elementwise,
    numpy_factories,
    numpy_functions,
    numpy_random,
    numpy_readers,
    numpy_reductions,
    optimizers,
    part_ops,
    python_api,
    python_numbers,
    python_objects,
    queries,
    raw_memory,
    reshape_ops,
    transformed,
    truths,
    types,
    view_ops,
    whole_numbers,
    writes,
)
from stridelint.linter.inference.torch_api.apply import apply_call
from stridelint.linter.inference.torch_api.registry import Call, functions, methods
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Mapping,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
)
from stridelint.rules.contract import operators
from stridelint.rules.events import Form

# Methods that hardly anything but a tensor has: calling one shows that the receiver is a tensor.
PROVING = frozenset(
    """dim unsqueeze permute softmax log_softmax sigmoid matmul bmm mm stride data_ptr numel detach_ masked_fill masked_fill_
    masked_select masked_scatter masked_scatter_ index_select scatter scatter_ gather unfold narrow repeat_interleave view_as
    expand_as chunk argmax argmin clamp clamp_ backward""".split()
)
# Of those, what own classes do in place as well: called as a statement with who knows what, it shows nothing.
_OWN_IN_PLACE = frozenset(("permute", "clamp", "clamp_", "scatter", "scatter_"))
# Methods that own classes have too, to apply them to the tensors they hold.
CONTAINER_METHODS = frozenset(
    "to contiguous clone cpu cuda detach half float double bfloat16 type share_memory_ pin_memory is_contiguous".split()
)


def call_external(path: Path, node: cst.Call, dotted: str, args: Arguments) -> Value:
    """A call of something imported, by dotted name."""
    if path.resized and dotted == "builtins.print":
        for value in args.positional:
            if isinstance(value, TensorValue):
                path.reads(value)
    model = functions.get(dotted)
    if model is not None:
        return model(Call(path, node, dotted, args))
    if dotted.startswith("torch."):
        return _torch(path, node, dotted.removeprefix("torch."), args)
    return Unknown(dotted)


def _torch(path: Path, node: cst.Call, name: str, args: Arguments) -> Value:
    if name.startswith("Tensor."):
        receiver = args.get(0)
        if isinstance(receiver, TensorValue):
            return tensor_method(path, node, name.removeprefix("Tensor."), receiver, args.rest(1))
        return Unknown(name)
    if "." not in name and name in methods and args.positional and "out" not in args.keywords:
        receiver = args.positional[0]
        if isinstance(receiver, Unknown):
            receiver = as_tensor(path, receiver)
        if isinstance(receiver, TensorValue):
            receiver.prove()
            rest = args.rest(1)
            if 0 in args.nodes:
                rest.nodes["receiver"] = args.nodes[0]
            return methods[name](Call(path, node, name, rest, receiver, Form.FUNCTION))
        return Unknown(name)
    operator = operators.lookup(name)
    if operator is not None and operator.is_function:
        form = Form.INPLACE if name.endswith("_") else Form.FUNCTION
        return apply_call(path, name, args, node, form)
    last = name.rpartition(".")[2]
    if name.startswith("nn.") and last[:1].isupper():
        return modules.make_layer(path, node, last, args)
    if (
        name
        in (
            "compile",
            "jit.script",
            "jit.trace",
            "nn.utils.weight_norm",
            "nn.utils.spectral_norm",
            "nn.utils.parametrizations.weight_norm",
            "nn.utils.convert_conv2d_weight_memory_format",
        )
        and args.positional
    ):
        return args.positional[0]
    return Unknown(name)


def call_method(path: Path, node: cst.Call, callee: BoundMethod, args: Arguments) -> Value:
    """A call of a method that the file does not define."""
    receiver = callee.receiver
    if callee.beyond:
        return _beyond(path, node, callee, args)
    if testing.is_unittest_check(node):
        comparisons.unittest_compared(path, node, args)
        return Constant(None)
    if isinstance(receiver, TensorValue):
        _remember_receiver(node, args)
        return tensor_method(path, node, callee.name, receiver, args)
    if isinstance(receiver, Instance):
        if receiver.is_module:
            return modules.module_method(path, node, receiver, callee.name, args)
        if receiver.external.startswith(optimizers.PREFIX):
            return optimizers.method(path, receiver, callee.name, args)
        if receiver.external == hooks.HANDLE:
            return hooks.removed(receiver) if callee.name == "remove" else Unknown(callee.name)
        if receiver.external == contexts.STACK:
            return contexts.method_of(path, receiver, callee.name, args.get(0))
        if receiver.external in (raw_memory.POINTER, raw_memory.STORAGE):
            return raw_memory.storage_method(path, node, receiver, callee.name)
        if receiver.external == numpy_random.GENERATOR:
            return numpy_random.generator_method(path, node, callee.name, args)
        if receiver.external == python_objects.PARSER:
            return python_objects.parser_method(path, receiver, callee.name, args)
        return (
            named_tuples.method(path, node, receiver, callee.name, args)
            if callee.name in named_tuples.METHODS
            else Unknown(callee.name)
        )
    if isinstance(receiver, (GradMode, Context)):
        return contexts.method_of(path, receiver, callee.name, args.get(0))
    if isinstance(receiver, ArrayValue):
        return numpy_arrays.array_method(path, node, callee, args)
    if isinstance(receiver, Sequence) and receiver.fields and callee.name in named_tuples.METHODS:
        return named_tuples.method(path, node, receiver, callee.name, args)
    if isinstance(receiver, (Sequence, Mapping, Constant, SizeValue)):
        return containers.container_method(path, callee, args)
    if isinstance(receiver, Class):
        if callee.name == "apply":
            return python_objects.apply_function(path, node, receiver, args)
        return (
            named_tuples.method(path, node, receiver, callee.name, args)
            if callee.name == "_make"
            else Unknown(callee.name)
        )
    if isinstance(receiver, Unknown):
        return _unknown_method(path, node, receiver, callee.name, args)
    return Unknown(callee.name)


def _remember_receiver(node: cst.Call, args: Arguments) -> None:
    if isinstance(node.func, cst.Attribute):
        args.nodes["receiver"] = node.func.value


def _unknown_method(path: Path, node: cst.Call, receiver: Unknown, name: str, args: Arguments) -> Value:
    if not name.isidentifier():
        return Unknown(name)
    operator = operators.lookup(name) if name not in methods else None
    if name in methods or (operator is not None and operator.is_method):
        tensor = as_tensor(path, receiver)
        if name in PROVING and (node is not path.discarded or name not in _OWN_IN_PLACE or _is_of_numbers(args)):
            tensor.prove()
        _remember_receiver(node, args)
        return tensor_method(path, node, name, tensor, args)
    return Unknown(name)


def _is_of_numbers(args: Arguments) -> bool:
    """`(0, 2, 1)`, `((0, 2, 1),)`, `(min=0)`: the numbers that a tensor's method takes are written out."""
    given = [*args.positional, *args.keywords.values()]
    first = given[0] if given else None
    numbers = first.items if isinstance(first, Sequence) else given
    return bool(numbers) and all(
        isinstance(each, Constant) and isinstance(each.value, (int, float)) for each in numbers or ()
    )


def tensor_method(path: Path, node: cst.CSTNode, name: str, receiver: TensorValue, args: Arguments) -> Value:
    """`tensor.name(...)`."""
    if (
        not receiver.proven
        and name not in CONTAINER_METHODS
        and any("channels_last" in step for step, _ in receiver.story)
    ):
        receiver.prove()  # converted to a memory format, and now used as only a tensor is
    model = methods.get(name)
    if model is not None:
        return model(Call(path, node, name, args, receiver, Form.METHOD))
    operator = operators.lookup(name)
    if operator is None or not operator.is_method:
        return _unlisted(path, node, name, receiver, args)
    form = Form.INPLACE if name.endswith("_") and not name.endswith("__") else Form.METHOD
    result = apply_call(path, name, args.with_first(receiver, args.nodes.get("receiver")), node, form)
    if not receiver.proven and result is not receiver:
        for each in result.items or [] if isinstance(result, Sequence) else [result]:
            if isinstance(each, TensorValue):
                each.proven = False
    return result


def _unlisted(path: Path, node: cst.CSTNode, name: str, receiver: TensorValue, args: Arguments) -> Value:
    number_ranges.exposed(path, receiver.facts)  # what is not known may share its memory
    if name == "numpy":
        return ArrayValue(path.facts(receiver).but(device="cpu"), receiver.story, receiver)
    if name in ("set_", "swap_"):
        receiver.facts = receiver.facts.but(shape=None, strides=None, storage_offset=None)
        return receiver
    if name.endswith("_") and not name.startswith("_"):
        whole_numbers.written(path, receiver, False)
        return receiver
    return Unknown(name)


def _beyond(path: Path, node: cst.Call, callee: BoundMethod, args: Arguments) -> Value:
    receiver = callee.receiver
    if callee.name == "__init__" and isinstance(receiver, Instance):
        initialize_base(path, node, receiver, callee.beyond, args)
        return Constant(None)
    kept = own_dicts.entries(receiver)
    if kept is not None and callee.name == "__getitem__" and len(args.positional) == 1:
        return own_dicts.look_up(path, kept, args.positional[0])
    if kept is not None and callee.name == "__setitem__" and len(args.positional) == 2:
        own_dicts.put(path, kept, *args.positional)
        return Constant(None)
    if isinstance(receiver, Instance) and receiver.external and callee.name == "forward":
        return module_calls.layer_forward(path, node, receiver, args)
    if isinstance(receiver, Instance) and receiver.is_module:
        return modules.module_method(path, node, receiver, callee.name, args)
    return Unknown(callee.name)


def initialize_base(path: Path, node: cst.CSTNode | None, instance: Instance, base: str, args: Arguments) -> None:
    """`super().__init__(...)` of a class that derives from one of torch's."""
    name = base.rpartition(".")[2]
    if base.startswith("torch.nn.") and name in layers.LAYERS:
        layers.build(path, instance, name, args)
        instance.external = f"torch.nn.{name}"
        if name in ("Sequential", "ModuleList", "ModuleDict"):
            modules.fill_container(path, instance, name, args)
    elif base in own_dicts.DICTS and instance.cls is not None:
        made = functions[base](Call(path, node or instance.cls.node, base, args))
        if isinstance(made, Mapping):
            own_dicts.hold(instance, made)
    elif base.startswith(optimizers.PREFIX):
        optimizers.build(instance, args.get(0, "params"), args.get(1, "defaults"))


def call_module(path: Path, node: cst.Call, instance: Instance, args: Arguments) -> Value:
    """`module(...)`."""
    return module_calls.call_module(path, node, instance, args)
