"""One call of an operator as data: its tensors can be replaced, cast and rearranged, and the outcome is data too."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from stridelint.rules.contract import signatures
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.signatures import Signature

SEED = 20260101


@dataclass
class Call:
    """A legal call; `names` are the parameters of the positional arguments, `bound` all arguments by name."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    signature: Signature
    bound: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """Parameter names of the positional arguments."""
        positional = [p for p in self.signature if not p.keyword_only]
        names = [p.name for p in positional[: len(self.args)]]
        return names + [positional[-1].name] * (len(self.args) - len(names)) if positional else names

    def tensors(self) -> dict[str, Tensor]:
        """Tensors by parameter name; those of a sequence as "tensors[0]"."""
        found: dict[str, Tensor] = {}
        for name, value in [*zip(self.names, self.args, strict=False), *self.kwargs.items()]:
            if isinstance(value, Tensor):
                key = name if name not in found else f"{name}[{len(found)}]"
                found[key] = value
            elif isinstance(value, (list, tuple)):
                for index, item in enumerate(value):
                    if isinstance(item, Tensor):
                        found[f"{name}[{index}]"] = item
        return found

    def mapped(self, change: Callable[[str, Tensor], Tensor]) -> Call:
        """The call with each tensor replaced by `change(name, tensor)`."""
        seen: dict[str, int] = {}

        def of(name: str, value: Any) -> Any:
            if isinstance(value, Tensor):
                key = name if name not in seen else f"{name}[{len(seen)}]"
                seen[key] = 1
                return change(key, value)
            if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
                items = []
                for index, item in enumerate(value):
                    if isinstance(item, Tensor):
                        seen[f"{name}[{index}]"] = 1
                        item = change(f"{name}[{index}]", item)
                    items.append(item)
                return type(value)(items) if type(value) in (list, tuple) else tuple(items)
            return value

        args = tuple(of(name, value) for name, value in zip(self.names, self.args, strict=False))
        kwargs = {name: of(name, value) for name, value in self.kwargs.items()}
        return self._with(args, kwargs)

    def _with(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        bound = signatures.bind(self.signature, args, kwargs)
        return dataclasses.replace(self, args=args, kwargs=kwargs, bound=bound or {})

    def replaced(self, tensors: Mapping[str, Tensor]) -> Call:
        """The call with the named tensors replaced, the others copied."""
        return self.mapped(lambda name, tensor: tensors[name] if name in tensors else copied(tensor))

    def but(self, **changes: Any) -> Call:
        """The call with other values of named arguments (added as keywords if absent)."""
        names = self.names
        args = tuple(changes.get(name, value) for name, value in zip(names, self.args, strict=False))
        extra = {name: value for name, value in changes.items() if name not in names}
        kwargs = {name: changes.get(name, value) for name, value in self.kwargs.items()}
        return self._with(args, {**kwargs, **extra})

    def fresh(self) -> Call:
        """The call on copies of its tensors."""
        return self.replaced({})


@dataclass
class Outcome:
    """What a call did: its value, or the error as "TypeName: first line"; and the warnings on the way."""

    value: Any = None
    error: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def results(self) -> list[Tensor]:
        """The tensors returned."""
        if isinstance(self.value, Tensor):
            return [self.value]
        return (
            [item for item in self.value if isinstance(item, Tensor)] if isinstance(self.value, (tuple, list)) else []
        )


def attempt(call: Call, *, grad: bool = False, **extra: Any) -> Outcome:
    """Make the call (on its own tensors) with torch's random state reset."""
    torch.default_generator.manual_seed(SEED)
    with warnings.catch_warnings(record=True) as caught, torch.set_grad_enabled(grad):
        warnings.simplefilter("always")
        try:
            value = call.function(*call.args, **call.kwargs, **extra)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            return Outcome(None, f"{type(error).__name__}: {lines[0].strip()}", ())
    return Outcome(value, "", tuple(str(item.message).splitlines()[0] for item in caught))


def copied(tensor: Tensor) -> Tensor:
    """A copy with the same strides where dense."""
    return tensor.detach().clone()


def bind(
    function: Callable[..., Any], options: Sequence[Signature], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Call | None:
    """The call under the first signature that fits; None if none does."""
    for signature in options:
        described = [_described(value) for value in args]
        bound = signatures.bind(signature, described, {name: _described(value) for name, value in kwargs.items()})
        if bound is not None and signatures.fits(signature, bound) is not Answer.NO:
            real = signatures.bind(signature, args, kwargs)
            assert real is not None
            return Call(function, args, dict(kwargs), signature, real)
    return None


def _described(value: Any) -> Any:
    if isinstance(value, (torch.dtype, torch.memory_format)):
        return str(value).removeprefix("torch.")
    return value


def numbers_of(tensor: Tensor) -> Tensor:
    """Small valid numbers for any dtype, made from a float tensor: for integers its magnitudes rounded up."""
    return torch.nan_to_num(tensor.detach().abs().double(), 1.0, 3.0, 1.0).ceil().clamp(1, 3)


def cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in another dtype, with values that are legal there."""
    if not (dtype.is_floating_point or dtype.is_complex) and (
        tensor.dtype.is_floating_point or tensor.dtype.is_complex
    ):
        return numbers_of(tensor).to(dtype)
    if tensor.dtype.is_complex and not dtype.is_complex:
        return tensor.detach().real.to(dtype).contiguous()
    return copied(tensor).to(dtype)


def same_values(left: Tensor, right: Tensor) -> bool:
    """Equal shapes and (almost) equal values, NaN equal to NaN."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if not (left.dtype.is_floating_point or left.dtype.is_complex):
        return bool(torch.equal(left, right))
    return bool(torch.allclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True))


def dtype_name(dtype: torch.dtype) -> str:
    """ "float32"."""
    return str(dtype).removeprefix("torch.")
