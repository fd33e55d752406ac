"""Calls made again: from an event's operator, form and arguments to a call of torch, and what came of it."""

from __future__ import annotations

import operator as python
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stridelint.rules.contract import operators
from stridelint.rules.contract.signatures import Signature
from stridelint.rules.events import Form

_CONSTANTS = ("dtype", "memory_format", "layout", "out_dtype")
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": python.add, "sub": python.sub, "mul": python.mul, "div": python.truediv, "true_divide": python.truediv,
    "floor_divide": python.floordiv, "remainder": python.mod, "pow": python.pow, "matmul": python.matmul,
    "bitwise_and": python.and_, "bitwise_or": python.or_, "bitwise_xor": python.xor, "bitwise_left_shift": python.lshift,
    "bitwise_right_shift": python.rshift, "logical_and": python.and_, "logical_or": python.or_, "eq": python.eq,
    "ne": python.ne, "lt": python.lt, "le": python.le, "gt": python.gt, "ge": python.ge,
}  # fmt: skip
# Methods whose parameters are listed here by name, in order; a spread one last.
_PARAMETERS = {
    "view": ("shape", "dtype"), "reshape": ("shape",), "expand": ("size",), "permute": ("dims",), "repeat": ("repeats",),
    "as_strided": ("size", "stride", "storage_offset"), "flatten": ("start_dim", "end_dim"), "transpose": ("dim0", "dim1"),
    "new_zeros": ("size",), "new_ones": ("size",), "new_empty": ("size",), "stride": ("dim",), "ravel": (), "t": (),
    "view_as_complex": (), "resize_": ("size",), "copy_": ("src",), "fill": ("value",),
}  # fmt: skip
# Arguments that tell what others mean, but are none themselves.
_IMPLIED = {
    "flatten": ("shape",),
    "view_as": ("shape",),
    "reshape_as": ("shape",),
    "ravel": ("shape",),
    "unflatten": ("shape",),
}


class NoCall(Exception):
    """The call cannot be made; the text says why."""


@dataclass
class Outcome:
    """What a call did: its value, or what it raised; and the warnings on the way."""

    value: Any = None
    error: Exception | None = None
    warnings: tuple[str, ...] = ()

    def is_a(self, exception: str) -> bool:
        """It raised an exception of this name; "" for any."""
        names = [kind.__name__ for kind in type(self.error).__mro__] if self.error is not None else []
        return exception in names if exception else bool(names)

    @property
    def message(self) -> str:
        """What the exception says, on one line."""
        return " ".join(str(self.error).split())

    @property
    def results(self) -> list[Any]:
        """The tensors it returned."""
        import torch

        every = self.value if isinstance(self.value, (tuple, list)) else (self.value,)
        return [each for each in every if isinstance(each, torch.Tensor)]

    def text(self) -> str:
        """What it raised, in one line."""
        return f"{type(self.error).__name__}: {self.message[:300]}"


def attempt(call: Callable[[], Any], grad: bool) -> Outcome:
    """Make a call, with gradients recorded or not, and random numbers the same each time."""
    import torch

    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught, torch.set_grad_enabled(grad):
        warnings.simplefilter("always")
        try:
            value = call()
        except NoCall:
            raise
        except Exception as error:
            if _is_short_of_memory(error):
                raise NoCall("there is not enough memory for it") from None
            return Outcome(None, error)
    return Outcome(value, warnings=tuple(str(each.message) for each in caught))


def _is_short_of_memory(error: Exception) -> bool:
    """That a call failed for lack of memory tells nothing about it; torch says so of a CPU in a RuntimeError."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "can't allocate memory" in str(error)
    )


def run(op: str, form: Form, arguments: Mapping[str, Any], out: Any = None) -> Any:
    """Make the call; `arguments` and `out` hold real tensors in place of operands. Raises NoCall."""
    if op in ("view_as", "reshape_as") and "other" not in arguments:
        op = op.removesuffix("_as")  # an event tells the other tensor's shape
    op = op.removeprefix("numpy.")
    given = {name: _constant(name, value) for name, value in arguments.items() if name not in _IMPLIED.get(op, ())}
    given = {name: value for name, value in given.items() if not (name == "memory_format" and value is None)}
    known = _known(op)
    if known:
        given = {name: value for name, value in given.items() if name in known}
    extra = {} if out is None else {"out": out}
    if op == "Module.to":
        return _module(given.get("parameters", ()), given["memory_format"])
    if op == "setitem":
        return _store(given)
    if op == "getitem":
        return _picked_channels(given["input"])
    if op in ("equal", "allclose", "assert_close"):
        return _comparison(op, given)
    if form is Form.OPERATOR and op in _OPERATORS and len(given) == 2:
        return _OPERATORS[op](*given.values())
    function = _function(op)
    if op.startswith("new_") or form in (Form.METHOD, Form.INPLACE) or function is None:
        return _method(op, form, given, extra)
    return function(*_positional(op, given), **given, **extra)


def _known(op: str) -> frozenset[str]:
    """The parameters of an operator: an event may tell more than the call, for the rules to read."""
    entry = operators.lookup(op)
    if entry is None and op not in _PARAMETERS:
        return frozenset()
    signatures = () if entry is None else entry.variants
    named = {parameter.name for variant in signatures for parameter in variant.signature}
    return frozenset({"input", "memory_format", "dtype", "device", *named, *_PARAMETERS.get(op, ())})


def _constant(name: str, value: Any) -> Any:
    import torch

    if name in _CONSTANTS and isinstance(value, str):
        return getattr(torch, value)
    return value


def _function(op: str) -> Callable[..., Any] | None:
    import torch

    if operators.lookup(op) is None:
        return None  # a document of findings may come from anywhere: it names operators, and nothing else that torch leads to
    found: Any = torch
    for name in op.split("."):
        found = getattr(found, name, None)
    return found if callable(found) else None


def _positional(op: str, given: dict[str, Any]) -> list[Any]:
    """Takes the leading arguments out of `given`, in the order of the signature."""
    entry = operators.lookup(op)
    signatures = [] if entry is None else [variant.signature for variant in entry.variants]
    fitting: list[Signature] = [each for each in signatures if set(given) <= {parameter.name for parameter in each}]
    if not fitting:
        return [given.pop("input")] if "input" in given else []
    taken = []
    for parameter in fitting[0]:
        if parameter.keyword_only or parameter.name not in given:
            break
        taken.append(given.pop(parameter.name))
    return taken


def _method(op: str, form: Form, given: dict[str, Any], extra: dict[str, Any]) -> Any:
    receiver = given.pop("input", None)
    name = op + "_" if form is Form.INPLACE and not op.endswith("_") else op
    method = getattr(receiver, name, None) or getattr(receiver, op, None)
    if method is None or op.startswith("_"):
        raise NoCall(f"'{op}' is no operator that a probe can call on its own")
    names = _PARAMETERS.get(op)
    if names is not None:
        rest = [given.pop(each) for each in names if each in given]
        return method(*rest, **given, **extra)
    bound = {"input": receiver, **given}
    rest = _positional(op, bound)[1:]
    bound.pop("input", None)
    if op in ("to", "type", "cuda", "contiguous", "clone"):
        rest, bound = [], dict(given)
        if op == "type" and "dtype" in bound:
            rest = [bound.pop("dtype")]
    elif op in _CASTS:
        bound.pop("dtype", None)
    return method(*rest, **bound, **extra)


_CASTS = frozenset({"float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"})


def _module(parameters: Any, memory_format: Any) -> Any:
    import torch

    module = torch.nn.Module()
    for index, tensor in enumerate(parameters):
        module.register_buffer(f"tensor{index}", tensor.detach())
    return module.to(memory_format=memory_format)


def _picked_channels(tensor: Any) -> Any:
    """`input[:, index]`: an event of a pick by an index tensor tells that channels are picked, not which; here all, reversed."""
    import torch

    return tensor[:, torch.arange(tensor.shape[1], device=tensor.device).flip(0)]


def _store(given: Mapping[str, Any]) -> Any:
    """`input[index] = value`; `region` is the part that is written to, where that is a view."""
    if "value" not in given:
        raise NoCall("the value that is stored is not known")
    region = given.get("region")
    if region is not None and given.get("indexed"):
        return python.setitem(
            region, _picking(region, given["value"], numbered=given.get("numbered") is True), given["value"]
        )
    if region is not None:
        return python.setitem(region, ..., given["value"])
    if "index" not in given:
        raise NoCall("the index is not known")
    return python.setitem(given["input"], given["index"], given["value"])


def _picking(region: Any, value: Any, numbered: bool) -> Any:
    """An index under which a value fits into a tensor: one position for each element, or a mask for a lone number if it is not `numbered`."""
    import torch

    wanted = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
    if not region.dim() or not (wanted or numbered):
        return torch.ones(region.shape, dtype=torch.bool, device=region.device)
    axes = max(len(wanted), region.dim())
    theirs, ours = ((1,) * (axes - len(shape)) + tuple(shape) for shape in (wanted, region.shape))
    picked = [one if one != 1 else other for one, other in zip(theirs, ours)]
    positions = torch.meshgrid(*(torch.arange(size, device=region.device) for size in picked), indexing="ij")
    return tuple(each % max(size, 1) for each, size in zip(positions[-region.dim() :], region.shape))


def _comparison(op: str, given: dict[str, Any]) -> Any:
    import torch

    left, right = given.pop("input"), given.pop("other")
    if op == "equal":
        return torch.equal(left, right)
    if op == "allclose":
        return torch.allclose(left, right)
    torch.testing.assert_close(left, right, check_stride=given.get("check_stride") is True)
    return True
