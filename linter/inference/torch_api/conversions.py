"""Tensor methods and functions that convert or copy: dtype, device, memory format, gradient."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import whole_numbers
from stridelint.linter.inference.torch_api.constants import TENSOR_TYPES, dtype_name
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.registry import Call, function, method
from stridelint.linter.inference.values import (
    Constant,
    Copied,
    Device,
    Dtype,
    External,
    Instance,
    MemoryFormat,
    TensorValue,
    Unknown,
    Value,
    is_none,
)
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import is_concrete
from stridelint.rules.events import Unknown as UnknownArgument
from stridelint.rules.findings import NO_OP

CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}


def device_name(value: Value | None) -> str | None:
    """The device that an argument names; None if it does not tell."""
    if isinstance(value, Device):
        return value.name
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, Constant) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return f"cuda:{value.value}"
    return None


class Request:
    """What `.to(...)` and its like ask for. `unclear`: some argument may be a dtype, a device or a tensor."""

    def __init__(self) -> None:
        self.dtype: str | None = None
        self.kind: str | None = None
        self.device: str | None = None
        self.memory_format: str | None = None
        self.dtype_given = self.device_given = self.unclear = False
        self.memory_format_node: cst.CSTNode | None = None


def request_of(path: Path, call: Call) -> Request:
    """Read the arguments of `.to(...)`."""
    wanted = Request()
    wanted.unclear = call.args.unknown_star
    for value in call.args.positional:
        _read(path, wanted, value)
    for name, value in call.args.keywords.items():
        if name == "dtype" and not is_none(value):
            wanted.dtype_given, wanted.dtype = True, dtype_name(value)
        elif name == "device" and not is_none(value):
            wanted.device_given, wanted.device = True, device_name(value)
        elif name == "memory_format" and not is_none(value):
            wanted.memory_format = value.name if isinstance(value, MemoryFormat) else "unknown"
        elif name in ("tensor", "other"):
            _read(path, wanted, value)
    if wanted.dtype is not None:
        wanted.kind = kind_of(wanted.dtype)
    return wanted


def _read(path: Path, wanted: Request, value: Value) -> None:
    if isinstance(value, Dtype) or (isinstance(value, External) and dtype_name(value) is not None):
        wanted.dtype_given, wanted.dtype = True, dtype_name(value)
    elif isinstance(value, Device) or (isinstance(value, Constant) and isinstance(value.value, str)):
        wanted.device_given, wanted.device = True, device_name(value)
    elif isinstance(value, TensorValue):
        facts = path.facts(value)
        wanted.dtype_given = wanted.device_given = True
        wanted.dtype, wanted.device = facts.dtype, facts.device
    elif isinstance(value, MemoryFormat):
        wanted.memory_format = value.name
    elif isinstance(value, Constant) and isinstance(value.value, (bool, int)):
        pass
    elif value.identity in path.dtype_of:
        wanted.dtype_given = True
        wanted.dtype = path.facts(path.dtype_of[value.identity]).dtype
    elif not is_none(value):
        wanted.unclear = True


@method("to")
def to(call: Call) -> Value:
    """`x.to(...)`: returns x itself where nothing changes."""
    path, tensor = call.path, call.tensor
    wanted = request_of(path, call)
    if wanted.memory_format in ("channels_last", "channels_last_3d"):
        facts = path.facts(tensor)
        if facts.shape is None:
            tensor.refine_rank(4 if wanted.memory_format == "channels_last" else 5)
    facts = path.facts(tensor)
    known = (
        facts.but(dtype=None, kind=None) if (wanted.unclear or (wanted.dtype_given and wanted.dtype is None)) else facts
    )
    memory_format = None if wanted.memory_format == "unknown" else wanted.memory_format
    result, alias = questions.converted(known, dtype=wanted.dtype, memory_format=memory_format)
    if wanted.memory_format == "unknown":
        result, alias = result.but(strides=None), Answer.UNKNOWN
    if memory_format in ("channels_last", "channels_last_3d") and result.strides is None and result.shape is not None:
        # Only a channel slice of a channels_last tensor is returned as it is, with gaps; nobody converts one of those.
        result = result.but(strides=questions.like(result, memory_format, None).strides)
    device = facts.device
    if wanted.device_given or wanted.unclear:
        device = wanted.device
        alias = alias & Answer.of(None if device is None or facts.device is None else device == facts.device)
    result = result.but(device=device)
    if wanted.unclear or (wanted.dtype_given and wanted.dtype is None):
        alias = alias & Answer.UNKNOWN
    step = (
        f"becomes {memory_format} here"
        if memory_format not in (None, "preserve_format")
        else "is converted here"
        if wanted.dtype_given
        else ""
    )
    value = _converted(call, result, alias, step)
    arguments: dict[str, object] = {}
    if wanted.memory_format is not None:
        arguments["memory_format"] = memory_format or UnknownArgument.UNKNOWN
    if wanted.dtype_given:
        arguments["dtype"] = wanted.dtype or UnknownArgument.UNKNOWN
    if wanted.device_given:
        arguments["device"] = wanted.device or UnknownArgument.UNKNOWN
    _emit(call, value, facts, arguments)
    if (
        memory_format == "contiguous_format"
        and value is tensor
        and questions.is_contiguous(facts, memory_format).answer is Answer.NO
    ):
        tensor.story = (*tensor.story[-3:], (NO_OP, call.node))
    return value


def _converted(call: Call, facts: TensorFacts, alias: Answer, step: str) -> TensorValue:
    """The receiver itself, or a copy with these facts. Where it is open which, the copy may share memory."""
    tensor, path = call.tensor, call.path
    if alias is Answer.YES:
        return tensor
    grad = _copied_grad(path, tensor, facts)
    storage = path.new_storage() if alias is Answer.NO else None
    story = (*tensor.story[-3:], (step, call.node)) if step else tensor.story
    value = TensorValue(
        facts.but(storage=storage, storage_offset=0 if alias is Answer.NO else None, requires_grad=grad, is_leaf=None),
        story,
        tensor.proven,
    )
    value.base = tensor
    value.batched = tensor.batched
    value.whole = tensor.whole or tensor.facts.kind in ("bool", "integer")
    if alias is Answer.NO and call.name != "clone":
        before = path.facts(tensor)
        certain = is_concrete(before) or (facts.dtype, facts.device) != (before.dtype, before.device)
        value.copied = Copied(tensor, call.node, Confidence.CERTAIN if certain else Confidence.LIKELY)
    return value


def _copied_grad(path: Path, tensor: TensorValue, facts: TensorFacts) -> bool | None:
    wanted = tensor.facts.requires_grad
    if path.grad_mode is False or facts.kind in ("bool", "integer"):
        return False
    return wanted if path.grad_mode or wanted is False else None


def _emit(call: Call, result: TensorValue, before: TensorFacts, arguments: dict[str, object]) -> None:
    receiver = operand(call.path, call.tensor, call.args.nodes.get("receiver"))
    sites = {name: each for name, each in call.args.nodes.items() if isinstance(name, str)}
    emit(
        call.path,
        call.name,
        call.form,
        call.node,
        {"input": receiver, **arguments},
        (receiver,),
        None,
        result.facts,
        sites,
        call.tensor,
    )


def _format_argument(call: Call, index: int, default: str) -> str | None:
    """The memory format asked for; None if it is not known."""
    value = call.get(index, "memory_format")
    if value is None:
        return default
    return value.name if isinstance(value, MemoryFormat) else None


@method("contiguous")
def contiguous(call: Call) -> Value:
    """`x.contiguous(memory_format=...)`."""
    path, tensor = call.path, call.tensor
    memory_format = _format_argument(call, 0, "contiguous_format")
    if memory_format in ("channels_last", "channels_last_3d") and path.facts(tensor).shape is None:
        tensor.refine_rank(4 if memory_format == "channels_last" else 5)
    facts = path.facts(tensor)
    if memory_format is None:
        result, alias = facts.but(strides=None), Answer.UNKNOWN
    else:
        result, alias = questions.made_contiguous(facts, memory_format)
    name = "row-major" if memory_format == "contiguous_format" else memory_format
    value = _converted(call, result, alias, f"becomes {name} here" if name else "")
    _emit(call, value, facts, {"memory_format": memory_format or UnknownArgument.UNKNOWN})
    return value


@method("clone")
def clone(call: Call) -> Value:
    """`x.clone(memory_format=...)`."""
    facts = call.path.facts(call.tensor)
    memory_format = _format_argument(call, 0, "preserve_format")
    result = facts.but(strides=None) if memory_format is None else questions.cloned(facts, memory_format)
    step = "" if memory_format == "preserve_format" else f"becomes {memory_format} here"
    value = _converted(call, result, Answer.NO, step)
    _emit(call, value, facts, {"memory_format": memory_format or UnknownArgument.UNKNOWN})
    return value


@method(*CASTS)
def cast(call: Call) -> Value:
    """`x.float()` and its like."""
    facts = call.path.facts(call.tensor)
    memory_format = _format_argument(call, 0, "preserve_format")
    result, alias = questions.converted(facts, dtype=CASTS[call.name], memory_format=memory_format)
    value = _converted(call, result, alias, "is converted here")
    _emit(call, value, facts, {"dtype": CASTS[call.name]})
    return value


@method("type")
def type_(call: Call) -> Value:
    """`x.type(dtype)`; without arguments the type's name."""
    wanted = call.get(0, "dtype")
    if wanted is None:
        return Unknown("string")
    dtype = dtype_name(wanted)
    if isinstance(wanted, External) and wanted.dotted.startswith("torch."):
        dtype = TENSOR_TYPES.get(wanted.dotted.removeprefix("torch."), dtype)
    if isinstance(wanted, Constant) and isinstance(wanted.value, str):
        dtype = TENSOR_TYPES.get(wanted.value.removeprefix("torch."))
    return _cast_to(call, dtype)


@method("type_as")
def type_as(call: Call) -> Value:
    """`x.type_as(other)`: its dtype and device."""
    other = call.get(0, "other")
    facts = call.path.facts(other) if isinstance(other, TensorValue) else TensorFacts()
    value = _cast_to(call, facts.dtype)
    if value is not call.tensor:
        value.facts = value.facts.but(device=facts.device)
    return value


def _cast_to(call: Call, dtype: str | None) -> TensorValue:
    facts = call.path.facts(call.tensor)
    if dtype is None:
        result, _ = questions.converted(facts.but(dtype=None, kind=None))
        alias = Answer.UNKNOWN
    else:
        result, alias = questions.converted(facts, dtype=dtype)
    value = _converted(call, result, alias, "is converted here")
    _emit(call, value, facts, {"dtype": dtype or UnknownArgument.UNKNOWN})
    return value


@method("cuda", "cpu", "xpu", "npu", "mps")
def to_device(call: Call) -> Value:
    """`x.cuda()`, `x.cpu()`."""
    facts = call.path.facts(call.tensor)
    device = call.name
    given = call.get(0, "device") if call.name == "cuda" else None
    if given is not None:
        device = device_name(given) or "cuda"
    known = facts.device is not None and (facts.device == device or device.split(":")[0] != facts.device.split(":")[0])
    alias = Answer.of(facts.device == device) if known else Answer.UNKNOWN
    result, _ = questions.converted(facts, copy=True)
    value = _converted(call, result.but(device=device), alias, "")
    _emit(call, value, facts, {"device": device})
    return value


@method("detach")
def detach(call: Call) -> Value:
    """`x.detach()`: the same memory, no gradient."""
    value = TensorValue(call.tensor.facts.but(requires_grad=False, is_leaf=True), call.tensor.story, call.tensor.proven)
    value.base = call.tensor
    _emit(call, value, call.path.facts(call.tensor), {})
    return value


@method("detach_", "requires_grad_")
def set_grad(call: Call) -> Value:
    """`x.requires_grad_()`, `x.detach_()`."""
    wanted = call.get(0, "requires_grad")
    enabled: bool | None = (
        False if call.name == "detach_" else True if wanted is None else call.path.known_truth(wanted)
    )
    call.tensor.facts = call.tensor.facts.but(
        requires_grad=enabled, is_leaf=True if enabled is False else call.tensor.facts.is_leaf
    )
    if enabled:
        call.tensor.story = (*call.tensor.story[-3:], ("requires grad from here", call.node))
    return call.tensor


@method("share_memory_", "pin_memory", "refine_names", "rename", "retain_grad", "align_to", "record_stream")
def same(call: Call) -> Value:
    """Methods that change nothing the rules look at."""
    return call.tensor


LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")


@function(*(f"torch.{name}" for name in LIKE))
def like(call: Call) -> Value:
    """`torch.empty_like(x)`: keeps the strides of a dense tensor."""
    source = call.get(0, "input")
    if isinstance(source, Unknown) and source.tensor is not None:
        source = source.tensor
    if not isinstance(source, TensorValue):
        return call.path.tensor(TensorFacts(requires_grad=_asked_grad(call)), call.node)
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
    made = result.but(
        dtype=dtype,
        kind=kind,
        device=facts.device if device is None or is_none(device) else device_name(device),
        requires_grad=_asked_grad(call),
        is_leaf=True,
        storage=None,
        storage_offset=0,
    )
    fill = call.get(1, "fill_value")
    if call.name.endswith("full_like") and fill is not None:
        receiver = operand(path, source, call.args.nodes.get(0))
        filled = plain(path, fill, call.args.nodes.get(1, call.args.nodes.get("fill_value")))
        emit(
            path, "full_like", call.form, call.node, {"input": receiver, "fill_value": filled}, (receiver,), None, made
        )
    new = path.tensor(made, call.node, "is made here, with the strides of its argument")
    listed = call.name.endswith("full_like") and whole_numbers.listed(fill)
    new.whole = listed or call.name in ("torch.zeros_like", "torch.ones_like", "torch.randint_like")
    return new


def _asked_grad(call: Call) -> bool | None:
    value = call.args.keywords.get("requires_grad")
    return False if value is None else call.path.known_truth(value)


def convert_module(path: Path, call: Call, module: Instance, tensors: list[TensorValue]) -> None:
    """`module.to(...)`: changes its parameters and buffers in place."""
    wanted = request_of(path, call)
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
                tensor.story = (*tensor.story[-3:], (f"becomes {wanted.memory_format} here", call.node))
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
