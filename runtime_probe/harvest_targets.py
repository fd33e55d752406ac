"""What `probe harvest` measures: public functions and methods of torch with their signatures."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stridelint.rules.contract.signatures import Parameter, Signature

_NAMESPACES = ("linalg", "fft", "special")

# Public names that are no operators on tensors: type functions, quantised and vendor kernels, sparse constructors.
_SKIPPED = re.compile(
    r"(nn\.functional\.)?(fbgemm|quantized|miopen|cudnn|mkldnn|q_|int_repr|sparse_|sym_|batch_norm_|is_|get_|set_|"
    r"from_|has_torch|handle_torch|assert_|boolean_dispatch|can_cast|promote_types|result_type|numel|init_|wait|fork|"
    r"scaled_|grouped_mm|fake_quant|fused_moving|choose_qparams|quantize|dequantize|hspmm|hsmm|dsmm|saddmm|smm|"
    r"sspaddmm|spmm|native_norm|Optional|multi_head|.*lstm|.*gru|rnn_|linear_cross|common_args|vector_dims|"
    r"register_|reinforce|symeig|eig$|solve$|lstsq$|storage|backward|module_load|resize|cuda|cpu$|pin_memory|"
    r"to_mkldnn|to_dense|to_padded|values$|indices$|row_indices|col_indices|ccol_|crow_|values_copy|indices_copy|lobpcg|"
    r"coalesce|record_stream|dim_order|upsample$|empty_quantized|slice_inverse|broadcast_shapes|"
    r"flex_|varlen|to_sparse|item$|nonzero_numpy|binomial|segment_reduce|ctc_loss|linalg\.Tensor|convolution$|conv_tbc$)"
)

_CASTS = frozenset(
    [
        "bfloat16",
        "bool",
        "byte",
        "cdouble",
        "cfloat",
        "chalf",
        "char",
        "double",
        "float",
        "half",
        "int",
        "long",
        "short",
    ]
)


@dataclass
class Target:
    """A public function or method. `signatures` are its overloads; `lists_results`: it returns a list of any length."""

    name: str
    function: Callable[..., Any]
    signatures: list[Signature] = field(default_factory=list)
    defaults: dict[str, object] = field(default_factory=dict)
    is_function: bool = True
    is_method: bool = False
    has_inplace: bool = False
    lists_results: bool = False


def targets() -> list[Target]:
    """All public functions and tensor methods that are measured, by name."""
    import torch
    from torch.nn import functional

    names = {name for name in dir(torch._C._VariableFunctions) if hasattr(torch, name)} | set(torch.functional.__all__)
    names |= {"meshgrid", "cartesian_prod", "lobpcg", "unravel_index"}
    found = [(name, getattr(torch, name), True) for name in names if hasattr(torch, name)]
    for space in _NAMESPACES:
        module = getattr(torch, space)
        found += [(f"{space}.{name}", getattr(module, name), True) for name in dir(module)]
    found += [(f"nn.functional.{name}", getattr(functional, name), True) for name in dir(functional)]
    found += [(name, getattr(torch.Tensor, name), False) for name in dir(torch.Tensor) if name not in names]
    result = []
    for name, function, is_function in found:
        last = name.rpartition(".")[2]
        if last.startswith("_") or last.endswith("_") or not callable(function) or inspect.isclass(function):
            continue
        if inspect.ismodule(function) or last[0].isupper() or _SKIPPED.match(name):
            continue
        target = Target(name, function, is_function=is_function)
        target.is_method = "." not in name and callable(getattr(torch.Tensor, name, None))
        owner = functional if name.startswith("nn.functional") else torch.Tensor
        target.has_inplace = callable(getattr(owner, last + "_", None)) and ("." not in name or owner is functional)
        _describe(target)
        target.lists_results = any(re.search(r"-> Tensor(\(.*\))?\[\]$", schema) for schema in _schemas(target))
        if target.signatures:
            result.append(target)
    return sorted(result, key=lambda target: target.name)


def order(signature: Signature) -> tuple[int, int, str]:
    """Sort key of an operator's signatures, in which a call is tried: short ones first, numbers before tensors."""
    return len(signature), sum(parameter.is_tensor for parameter in signature), str(signature)


def _describe(target: Target) -> None:
    """Fill in the signatures: from native schemas, or from Python for functions written in it."""
    if not target.is_function and target.name in _CASTS:
        target.signatures = [(Parameter("input", "T"), Parameter("memory_format", "o0", False, True))]
        return
    if inspect.isfunction(target.function):
        signature = _python_signature(target)
        if signature is not None:
            target.signatures = [signature]
            return
    merged: dict[tuple[str, ...], Signature] = {}
    for schema in _schemas(target):
        signature = _native_signature(target, schema)
        if signature is None:
            continue
        # Overloads that differ in taking a tensor or a number may behave differently: they are measured apart.
        key = tuple(parameter.name + "T" * parameter.is_tensor for parameter in signature)
        merged[key] = _merge(merged[key], signature) if key in merged else signature
    target.signatures = sorted(merged.values(), key=order)


def _schemas(target: Target) -> list[str]:
    """The native overloads."""
    import torch

    base = target.name.removeprefix("nn.functional.").replace(".", "_")
    return [str(schema) for schema in torch._C._jit_get_schemas_for_operator("aten::" + base)]


_PARAMETER = re.compile(r"^(?P<type>[^ ]+(?: [^ =]+)?) (?P<name>\w+)(?:=(?P<default>.*))?$")


def _native_signature(target: Target, schema: str) -> Signature | None:
    """The Python signature of one native overload; None for overloads that Python does not offer."""
    schema = schema.replace("(a -> *)", "").replace("(a|b)", "").replace("(a)", "")
    match = re.match(r"^aten::(\w+)(?:\.(\w+))?\((.*)\) -> (.*)$", schema)
    if match is None or "Tensor" not in match[4] or "Dimname" in schema or "(a!" in match[3]:
        return None
    if (
        (match[2] or "").startswith("prim_")
        or "t[]" in match[3].split(" ")[:1]
        or ("Generator? generator" in match[3] and match[2] in ("generator",))
    ):
        return None
    parameters = []
    keyword_only = False
    for text in _split(match[3]):
        if text == "*":
            keyword_only = True
            continue
        parts = _PARAMETER.match(text)
        if parts is None:
            return None
        name = "input" if parts["name"] == "self" else parts["name"]
        if parts["default"] is not None and name not in target.defaults:
            target.defaults[name] = _default(parts["default"])
        kinds = _kinds(parts["type"])
        parameters.append(Parameter(name, kinds, parts["default"] is None, keyword_only))
    parameters = _spread_sizes(target, parameters)
    if target.name in ("empty", "ones", "rand", "randn", "zeros"):
        parameters[0] = Parameter(parameters[0].name, parameters[0].kinds, True, False, True)
    return tuple(parameters)


def _spread_sizes(target: Target, parameters: list[Parameter]) -> list[Parameter]:
    """Methods whose only argument is a list of sizes take them as separate arguments too (`x.view(2, 3)`)."""
    positional = sum(not parameter.keyword_only for parameter in parameters)
    if target.is_method and positional == 2 and "i" in parameters[1].kinds and "L" not in parameters[1].kinds:
        last = parameters[1]
        parameters[1] = Parameter(
            last.name,
            last.kinds,
            last.required,
            False,
            last.name in ("size", "sizes", "dims", "repeats", "shape", "shifts"),
        )
    return parameters


def _split(text: str) -> list[str]:
    parts = re.split(r",\s*(?![^(\[]*[)\]])", text)
    return [part for part in parts if part]


def _default(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None  # A constant of C++, such as long.


def _kinds(kind: str) -> str:
    optional = "0" if "?" in kind else ""
    kind = re.sub(r"\(\w+[^)]*\)", "", kind).replace("?", "")
    if kind.startswith("Tensor["):
        return "L" + optional
    base = re.sub(r"\[\d*\]$", "", kind)
    letter = {
        "Tensor": "T",
        "Scalar": "n",
        "float": "n",
        "int": "i",
        "SymInt": "i",
        "bool": "b",
        "str": "s",
        "ScalarType": "d",
        "number": "n",
    }.get(base, "o")
    return letter + optional


def _merge(left: Signature, right: Signature) -> Signature:
    return tuple(
        Parameter(a.name, "".join(dict.fromkeys(a.kinds + b.kinds)), a.required and b.required, a.keyword_only)
        if not a.spread
        else a
        for a, b in zip(left, right, strict=False)
    )


def _python_signature(target: Target) -> Signature | None:
    from torch.overrides import get_testing_overrides

    try:
        signature = inspect.signature(target.function)
        if list(signature.parameters) in (["args", "kwargs"], ["args"]):
            # Dispatchers such as max_pool2d; torch lists stand-ins with their real parameters.
            signature = inspect.signature(get_testing_overrides()[target.function])
    except (TypeError, ValueError, KeyError):
        return None
    parameters = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD or name in ("out", "_stacklevel"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            parameters.append(Parameter(name, "LToi", True, False, True))
            continue
        required = parameter.default is parameter.empty
        if not required:
            target.defaults[name] = parameter.default
        keyword_only = parameter.kind is parameter.KEYWORD_ONLY
        parameters.append(Parameter("input" if name == "self" else name, _annotated(parameter), required, keyword_only))
    if not parameters and "args" not in str(signature):
        return None
    if len(parameters) == 1 and parameters[0].spread and parameters[0].name == "args":
        return None
    return tuple(parameters)


def _annotated(parameter: inspect.Parameter) -> str:
    """Kinds from an annotation; `o` (anything) where there is none."""
    note = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
    note = getattr(parameter.annotation, "__name__", note) if "class" in note else note
    if parameter.name == "return_indices":
        return "b"
    if not note and parameter.name in ("input", "self", "tensor", "A", "B", "a", "b", "x", "other", "weight", "bias"):
        return "T0" if parameter.default is None else "T"
    kinds = "T" if "Tensor" in note else ""
    if re.search(r"(list|tuple|Sequence|List)\[.*Tensor", note):
        kinds += "L"
    if "float" in note.lower() or "Number" in note:
        kinds += "n"
    if re.search(r"\bint\b|BroadcastingList|_size|SymInt", note):
        kinds += "i"
    kinds += "b" if "bool" in note else ""
    kinds += "s" if "str" in note else ""
    kinds += "d" if "dtype" in note else ""
    kinds += "0" if "None" in note or "Optional" in note or parameter.default is None else ""
    return kinds if kinds.strip("0") else "o"
