"""The dtypes that numpy is told, in torch's words, and what numpy makes of two of them."""

from __future__ import annotations

from stridelint.linter.inference.values import Constant, External, Value
from stridelint.rules.contract.dtypes import DTYPES as TORCH_DTYPES, complex_of, kind_of, real_of

_OWN = (
    "uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)  # fmt: skip
DTYPES = {
    **{name: name for name in _OWN},
    "bool_": "bool",
    "bool": "bool",
    "float": "float64",
    "int": "int64",
    "double": "float64",
    "single": "float32",
    "half": "float16",
}
_BUILTIN = {
    "builtins.float": "float64",
    "builtins.int": "int64",
    "builtins.bool": "bool",
    "builtins.complex": "complex128",
}
# As texts, `"<i2"`: the kind and the number of bytes.
_LETTERS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
# Of Python's numbers; int64 on all systems since numpy 2, and everywhere but Windows before.
OF_KIND = {"bool": "bool", "integer": "int64", "float": "float64", "complex": "complex128"}


def numpy_dtype(value: Value | None) -> str | None:
    """The dtype an argument of numpy names, in torch's words."""
    if isinstance(value, External):
        if value.dotted in _BUILTIN:
            return _BUILTIN[value.dotted]
        module, _, name = value.dotted.rpartition(".")
        return DTYPES.get(name) if module == "numpy" else None
    if isinstance(value, Constant) and isinstance(value.value, str):
        return DTYPES.get(value.value) or _of_letters(value.value.lstrip("<=|"))
    return None


def _of_letters(text: str) -> str | None:
    kind, size = _LETTERS.get(text[:1]), text[1:]
    return DTYPES.get(f"{kind}{8 * int(size)}") if kind is not None and size in ("1", "2", "4", "8", "16") else None


def named(dtype: str) -> External:
    """A dtype as numpy's attribute."""
    return External("numpy.bool_" if dtype == "bool" else f"numpy.{dtype}")


def promoted(one: str | None, other: str | None) -> str | None:
    """The dtype of arrays of two dtypes together (`numpy.result_type`); None if one is not known."""
    if one == other or one is None or other is None:
        return one if one == other else None
    kinds = {kind_of(one), kind_of(other)}
    if "bool" in kinds:
        return other if one == "bool" else one
    if "complex" in kinds:
        parts = promoted(real_of(one), real_of(other))
        found = None if parts is None else complex_of(parts)
        return "complex64" if found == "complex32" else found
    if kinds == {"integer"}:
        return _of_integers(one, other)
    return max(_as_float(one), _as_float(other), key=_bits)


def with_number(dtype: str | None, kind: str) -> str | None:
    """The dtype of an array together with a Python number of a kind."""
    own = kind_of(dtype)
    if dtype is None or own is None:
        return None
    order = ("bool", "integer", "float", "complex")
    if order.index(kind) <= order.index(own):
        return dtype
    return promoted(dtype, "complex64") if kind == "complex" and own == "float" else OF_KIND[kind]


def as_computed(dtype: str | None) -> str | None:
    """The dtype of `np.exp` and its like: of whole numbers the smallest float that holds them."""
    return None if dtype is None else _as_float(dtype)


def _bits(dtype: str) -> int:
    return TORCH_DTYPES[dtype].bits


def _of_integers(one: str, other: str) -> str:
    small, large = sorted((one, other), key=_bits)
    if small[0] == large[0]:
        return large
    if large[0] == "i" and _bits(large) > _bits(small):
        return large
    return "float64" if _bits(large) == 64 else f"int{2 * _bits(large)}"


def _as_float(dtype: str) -> str:
    if kind_of(dtype) in ("float", "complex"):
        return dtype
    return {8: "float16", 16: "float32"}.get(_bits(dtype), "float64")
