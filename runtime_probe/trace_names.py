"""What a function that a torch function mode sees is called in an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stridelint.rules.contract import operators
from stridelint.rules.events import Form


@dataclass(frozen=True, slots=True)
class Called:
    """An operator as it was called.

    op: its name in events. form: how, unless the code is written with Python's syntax (see `trace_events`).
    swapped: `1 - x` comes as x.__rsub__(1); its operands are to be read in the other order.
    spread: names of parameters that the operator table does not have.
    """

    op: str
    form: Form
    swapped: bool = False
    spread: tuple[str, ...] | None = None


# Neither the results of these nor their operands' layout is of interest.
_UNSEEN = frozenset(
    """__get__ __set__ __delete__ size dim ndimension numel nelement element_size item tolist __len__ __bool__ __int__ __float__
    __index__ __hash__ __repr__ __format__ __iter__ __contains__ __reduce_ex__ __deepcopy__ __dir__ __array__ __array_wrap__
    is_floating_point is_complex is_signed is_same_size is_set_to is_shared is_pinned is_inference is_nonzero is_neg is_conj
    storage_offset data_ptr untyped_storage storage storage_type get_device has_names names register_hook retain_grad backward
    register_post_accumulate_grad_hook grad_fn _is_view _version _backward_hooks __setstate__ __dlpack__ __dlpack_device__
    numpy _typed_storage _set_grad_enabled set_grad_enabled manual_seed get_default_dtype result_type can_cast is_tensor
    is_storage stride requires_grad_ _has_compatible_shallow_copy_type _is_zerotensor dense_dim sparse_dim""".split()
)
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt",
    "ge": "ge", "neg": "neg", "invert": "bitwise_not", "abs": "abs",
}  # fmt: skip
# The tensor computes with a number that stands before it, except where the order matters to more than the numbers.
_KEEPS_ORDER = frozenset({"pow", "matmul"})
_NAMESPACES = {
    "torch._C._nn": "nn.functional.",
    "torch.nn.functional": "nn.functional.",
    "torch.nn.init": "nn.init.",
}
_PREFIXES = {"linalg_": "linalg.", "fft_": "fft.", "special_": "special."}
# Methods that are no operators of the table, with their parameters after the tensor; "*" takes sizes given one by one.
_METHODS: dict[str, tuple[str, ...]] = {
    "view": ("*shape",), "reshape": ("*shape",), "view_as": ("other",), "reshape_as": ("other",), "view_as_complex": (),
    "flatten": ("start_dim", "end_dim"), "ravel": (), "copy_": ("src", "non_blocking"), "fill_": ("value",),
    "resize_": ("*size",), "resize_as_": ("the_template",), "is_contiguous": ("memory_format",),
    "contiguous": ("memory_format",), "clone": ("memory_format",), "to": (), "type": ("dtype", "non_blocking"),
    "cuda": ("device",), "cpu": (), "detach": (), "zero_": (), "__getitem__": (), "__setitem__": ("value",),
    "new_zeros": ("*size",), "new_ones": ("*size",), "new_empty": ("*size",), "new_full": ("size", "fill_value"),
    "permute": ("*dims",), "transpose": ("dim0", "dim1"), "t": (), "movedim": (), "moveaxis": (), "swapaxes": (),
    "squeeze": (), "unsqueeze": ("dim",), "expand": ("*size",), "expand_as": ("other",), "as_strided": ("size", "stride"),
    **dict.fromkeys(("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"), ()),
    **dict.fromkeys(("random_", "uniform_", "exponential_", "cauchy_", "log_normal_", "geometric_", "normal_", "bernoulli_"), ()),
    **dict.fromkeys(("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"), ()),
}  # fmt: skip
_ALIASES = {"fill_": "fill", "__getitem__": "getitem", "__setitem__": "setitem"}
_CHANGING = frozenset({"copy_", "fill_", "zero_", "resize_", "resize_as_", "__setitem__"})


def called(function: Callable[..., Any]) -> Called | None:
    """What a function is; None for those that are of no interest."""
    name = getattr(function, "__name__", "")
    if not name or name in _UNSEEN or name.startswith("__array"):
        return None
    module = getattr(function, "__module__", None) or ""
    is_method = hasattr(function, "__objclass__") or module == "torch._tensor"
    if is_method and name.startswith("__") and name not in _METHODS:
        return _dunder(name.strip("_"))
    if module == "torch._ops" or "pybind11" in getattr(function, "__qualname__", ""):
        return Called(f"ops.{name}", Form.FUNCTION)
    full = _full_name(name, module)
    form = Form.METHOD if is_method else Form.FUNCTION
    if full in _METHODS:
        inplace = full in _CHANGING or (full.endswith("_") and not full.endswith("__"))
        return Called(_ALIASES.get(full, full), Form.INPLACE if inplace else form, spread=_METHODS[full])
    key = operators.canonical(full)
    if key is None:
        return Called(full, Form.INPLACE if name.endswith("_") and not name.endswith("__") else form)
    return Called(key, form if key == full or not full.endswith("_") else Form.INPLACE)


def _full_name(name: str, module: str) -> str:
    for prefix, namespace in _PREFIXES.items():
        if name.startswith(prefix) and module.startswith("torch._C."):
            return namespace + name.removeprefix(prefix)
    return _NAMESPACES.get(module, "") + name


def _dunder(name: str) -> Called | None:
    if name in _OPERATORS:
        return Called(_OPERATORS[name], Form.OPERATOR)
    bare = _OPERATORS.get(name[1:])
    if bare is None or name[0] not in "ir":
        return None
    if name[0] == "i":
        return Called(bare, Form.INPLACE)
    return Called(bare, Form.OPERATOR, swapped=bare in _KEEPS_ORDER)
