"""How torch's error messages spell dtypes, and its templates filled in."""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract.facts import Dims

# c10::ScalarType's names, as in "result type Float can't be cast".
SCALAR_TYPES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip

# caffe2::TypeMeta's names, as in "Expected out tensor to have dtype float, but got long int instead".
TYPE_METAS = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip

RESIZED = (
    "An output with one or more elements was resized since it had shape {out_shape}, which does not match the required "
    "output shape {result_shape}. This behavior is deprecated, and in a future PyTorch release outputs will not be "
    "resized unless they have zero elements."
)


def split(text: str) -> tuple[str, str]:
    """("RuntimeError", message) of a text of the table."""
    exception, _, message = text.partition(": ")
    return exception, message


def filled(text: str, **fields: str | None) -> str:
    """A template with what is known put in; a field that is not known reads "..."."""
    for name in ("result", "out"):
        dtype = fields.pop(name, None)
        fields[name] = TYPE_METAS.get(dtype or "")
        fields[name.capitalize()] = SCALAR_TYPES.get(dtype or "")
    for name, value in fields.items():
        text = text.replace("{" + name + "}", "..." if value is None else value)
    return text


def shape_text(shape: Dims | Sequence[int] | None) -> str | None:
    """ "[2, 3]", with unknown sizes by name."""
    return None if shape is None else "[" + ", ".join(str(dim) for dim in shape) + "]"
