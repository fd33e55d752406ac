"""Error texts as templates: what varies from call to call becomes a field."""

from __future__ import annotations

import re

import torch

from stridelint.rules.contract.messages import SCALAR_TYPES, TYPE_METAS

_UNSUPPORTED = "RuntimeError: unsupported operation:"
_NO_GRADIENT = (
    "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
)
_SINGLE = "a single memory location. Please clone() the tensor before performing the operation."

# Texts that many operators share, by the key used in the table.
COMMON = {
    "cast": "RuntimeError: result type {Result} can't be cast to the desired output type {Out}",
    "expected dtype": "RuntimeError: Expected out tensor to have dtype {result}, but got {out} instead",
    "found dtype": "RuntimeError: Found dtype {Out} but expected {Result}",
    "autograd": f"RuntimeError: {{op}}(): {_NO_GRADIENT}",
    "aten autograd": f"RuntimeError: aten::{{op}}(): {_NO_GRADIENT}",
    "leaf": "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
    "copy device": "RuntimeError: Attempting to copy from device {result_device} to device {out_device}, but cross-device copies are not allowed!",
    "expected device": "RuntimeError: Expected out tensor to have device {result_device}, but got {out_device} instead",
    "device type": "RuntimeError: device type {result_device} does not match device type of out parameter ({out_device})",
    "memory shared": f"{_UNSUPPORTED} some elements of the input tensor and the written-to tensor refer to {_SINGLE}",
    "self overlap": f"{_UNSUPPORTED} more than one element of the written-to tensor refers to {_SINGLE}",
    "invalid combination": "TypeError: {op}() received an invalid combination of arguments - got {types}, but expected one of:",
    "not a tuple": "TypeError: {op}(): argument 'out' must be Tensor, not tuple",
    "not a tensor": "TypeError: {op}(): argument 'out' must be tuple of Tensors, not Tensor",
    "tuple length": "TypeError: expected tuple of {outputs} elements but got {given}",
}
_DEVICE = r"(?:cpu|meta|cuda|mps|xpu)(?::\d+)?"
_KEYS = {text: key for key, text in COMMON.items()}


def template(error: str, *, op: str = "", result: torch.dtype | None = None, out: torch.dtype | None = None) -> str:
    """The error with dtypes, devices and the operator's own name replaced by fields; its key where it is a common one."""
    text = error.split(" (Triggered internally")[0].split(" You may have run into")[0]
    text = re.sub(r'at "[^"]*/([\w.]+)":\d+', r"at \1", text)
    if text.startswith("TypeError") and "received an invalid combination" in text:
        text = re.sub(r"got \(.*\), but expected.*$", "got {types}, but expected one of:", text)
    text = re.sub(
        r"expected tuple of \d+ elements but got \d+", "expected tuple of {outputs} elements but got {given}", text
    )
    last = op.rpartition(".")[2]
    if op:
        text = re.sub(
            rf": (aten::)?({re.escape(op)}|{re.escape(last)}|{re.escape(op.replace('.', '_'))})\(\)",
            r": \g<1>{op}()",
            text,
        )
    text = re.sub(
        rf"from device {_DEVICE} to device {_DEVICE}", "from device {result_device} to device {out_device}", text
    )
    text = re.sub(
        rf"to have device {_DEVICE}, but got {_DEVICE}", "to have device {result_device}, but got {out_device}", text
    )
    text = re.sub(
        rf"device type {_DEVICE} does not match device type of out parameter \({_DEVICE}\)",
        "device type {result_device} does not match device type of out parameter ({out_device})",
        text,
    )
    if out is not None:
        text = _dtype_fields(text, str(result).removeprefix("torch."), str(out).removeprefix("torch."))
    inner = re.match(r"^RuntimeError: (aten::)?(\w+)(\(\): functions with out=.*)$", text)
    if inner and f"RuntimeError: {{op}}{inner[3]}" == COMMON["autograd"]:
        return f"{'aten ' if inner[1] else ''}autograd|{inner[2]}"
    return _KEYS.get(text, text)


def _dtype_fields(text: str, result: str, out: str) -> str:
    for table, (first, second) in ((TYPE_METAS, ("{result}", "{out}")), (SCALAR_TYPES, ("{Result}", "{Out}"))):
        found = [(table[dtype], field) for dtype, field in ((result, first), (out, second)) if dtype in table]
        for name, field in sorted(found, key=lambda pair: -len(pair[0])):
            text = re.sub(rf"(?:(?<![\w<{{])|(?<=scalar type)|(?<=dtype)){re.escape(name)}(?![\w>}}])", field, text)
    return text
