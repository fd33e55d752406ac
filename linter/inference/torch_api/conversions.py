"""Tensor methods and functions that convert or copy: dtype, device, memory format, gradient."""

from __future__ import annotations

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.constants import TENSOR_TYPES, device_name, dtype_name
from stridelint.linter.inference.torch_api.conversion_requests import request_of
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.values import (
    Constant,
    Copied,
    External,
    MemoryFormat,
    TensorValue,
    Unknown,
    Value,
)
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import is_concrete
from stridelint.rules.events import Form, Unknown as UnknownArgument
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
        stays = Answer.of(None if device is None or facts.device is None else device == facts.device)
        if stays is not Answer.YES and memory_format in (None, "preserve_format"):
            # What goes to another device is a copy, and dense.
            moved, _ = questions.converted(known, dtype=wanted.dtype, copy=True)
            same = moved.strides == result.strides
            result = moved if stays is Answer.NO or same else result.but(strides=None)
        alias = alias & stays
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
    if alias is Answer.NO and path.numbers:
        number_ranges.record(path, value, number_ranges.of(path, path.facts(tensor)))
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
    if not call.path.hears(call.name, call.form is Form.INPLACE, False):
        call.path.reads(call.tensor)
        return
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
    facts = call.tensor.facts
    is_leaf = True if enabled is False or facts.requires_grad is False else facts.is_leaf
    call.tensor.facts = facts.but(requires_grad=enabled, is_leaf=is_leaf)
    if enabled:
        call.tensor.story = (*call.tensor.story[-3:], ("requires grad from here", call.node))
    return call.tensor


@method("share_memory_", "pin_memory", "refine_names", "rename", "retain_grad", "align_to", "record_stream")
def same(call: Call) -> Value:
    """Methods that change nothing the rules look at."""
    return call.tensor
