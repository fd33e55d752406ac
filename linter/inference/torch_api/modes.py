"""Functions that change how the code after them runs: grad mode, default dtype and device."""

from __future__ import annotations

from stridelint.linter.inference import contexts
from stridelint.linter.inference.objects import Class, Function, GradMode, Instance
from stridelint.linter.inference.torch_api.constants import device_name, dtype_name
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import NONE, Constant, Device, Dtype, TensorValue, Unknown, Value
from stridelint.rules.contract.facts import TensorFacts


@function(*contexts.GRAD_OFF)
def no_grad(call: Call) -> Value:
    """`torch.no_grad()`; `inference_mode(False)` leaves the mode as it is."""
    value = call.get(0, "mode")
    if isinstance(value, (Function, Class)):
        return _decorated(value, GradMode(False))
    if value is not None and call.name.endswith("inference_mode"):
        known = call.path.known_truth(value)
        return GradMode(False if known else call.path.grad_mode if known is False else None)
    return GradMode(False)


@function(*contexts.GRAD_ON)
def enable_grad(call: Call) -> Value:
    """`torch.enable_grad()`."""
    value = call.get(0)
    return _decorated(value, GradMode(True)) if isinstance(value, (Function, Class)) else GradMode(True)


def _decorated(value: Function | Class, mode: GradMode) -> Value:
    if isinstance(value, Class):
        return value
    wrapped = value.copy()
    wrapped.grad_mode = mode
    return wrapped


@function("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
def set_grad_enabled(call: Call) -> Value:
    """`torch.set_grad_enabled(x)`: takes effect at once, as a context until its end."""
    value = call.get(0, "mode")
    known = None if value is None else call.path.known_truth(value)
    call.path.grad_mode = known
    return GradMode(known)


@function(contexts.STACK, "contextlib.AsyncExitStack")
def stack(call: Call) -> Value:
    """`contextlib.ExitStack()`."""
    return Instance(None, contexts.STACK)


@function(*contexts.AUTOCAST)
def autocast(call: Call) -> Value:
    """`torch.autocast(...)`."""
    enabled = call.args.keywords.get("enabled")
    if enabled is not None and call.path.known_truth(enabled) is False:
        return Unknown("context")
    made = Instance(None, "torch.autocast")
    if isinstance(call.get(0, "device_type"), Constant):
        made.attributes["device"] = Device(str(call.get(0, "device_type").value))  # type: ignore[union-attr]
    device, dtype = call.get(0, "device_type"), call.get(1, "dtype")
    if isinstance(dtype, Dtype):
        made.attributes["dtype"] = dtype
    elif dtype is None and call.name in ("torch.autocast", "torch.amp.autocast") and isinstance(device, Constant):
        found = {"cpu": "bfloat16", "cuda": "float16"}.get(str(device.value))
        made.attributes["dtype"] = Unknown("dtype") if found is None else Dtype(found)
    return made


@function("torch.device")
def device(call: Call) -> Value:
    """`torch.device("cuda", 0)`."""
    value = call.get(0, "type", "device")
    if isinstance(value, Device):
        return value
    name = device_name(value)
    index = call.get(1, "index")
    if name is None:
        return Unknown("device")
    if isinstance(index, Constant):
        return Device(f"{name}:{index.value}")
    return Device(name) if index is None else Unknown("device")


@function("torch.set_default_dtype")
def set_default_dtype(call: Call) -> Value:
    """`torch.set_default_dtype(dtype)`."""
    call.path.default_dtype = dtype_name(call.get(0))
    return NONE


@function("torch.set_default_device", "torch.set_default_tensor_type")
def set_default_device(call: Call) -> Value:
    """`torch.set_default_device(device)`; a tensor type sets dtype and device."""
    call.path.default_device = device_name(call.get(0)) if call.name.endswith("device") else None
    if call.name.endswith("type"):
        call.path.default_dtype = None
    return NONE


@function("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer")
def parameter(call: Call) -> Value:
    """`nn.Parameter(data)`: the data's memory, requiring grad."""
    data = call.get(0, "data")
    wanted = call.get(1, "requires_grad")
    enabled = True if wanted is None else call.path.known_truth(wanted)
    is_buffer = call.name.endswith("Buffer")
    facts = call.path.facts(data) if isinstance(data, TensorValue) else TensorFacts()
    story = data.story if isinstance(data, TensorValue) else ()
    value = TensorValue(facts.but(requires_grad=False if is_buffer else enabled, is_leaf=True), story)
    value.is_parameter, value.is_buffer = not is_buffer, is_buffer
    value.base = data if isinstance(data, TensorValue) else None
    return value
