"""Tensors made to measure: these strides, this offset, this memory shared, filled with distinct numbers that are legal for the dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_GOLDEN = 0.6180339887498949
# What holds positions rather than numbers: small enough to be a position in any axis.
POSITIONS = frozenset({"index", "indices", "repeats"})


def tensors(
    documents: Sequence[Mapping[str, Any]],
    device: str,
    seed: int = 0,
    positions: frozenset[int] = frozenset(),
    fake: bool = False,
) -> list[Any]:
    """The tensors of a call, by their documents (see `rules.documents`).

    Args:
        documents: facts of each, all known; equal storages are shared.
        device: where all tensors live that are not on meta; "any": each on its own device.
        seed: of the values.
        positions: which of them hold positions along an axis.
        fake: they hold no numbers, for fake tensors cannot be copied to a device that is missing.
    """
    memory: dict[tuple[int, str, str], Any] = {}
    extents: dict[tuple[int, str, str], int] = {}
    for document in documents:
        key = _key(document, device)
        extents[key] = max(extents.get(key, 0), _extent(document))
    made = []
    for index, document in enumerate(documents):
        key = _key(document, device)
        if key not in memory:
            # A few elements more: what lies behind a view, in case torch writes over it.
            count = extents[key] + 8
            memory[key] = (
                _blank(count, document["dtype"], key[2])
                if fake
                else values(count, document["dtype"], key[2], seed + len(memory), index in positions)
            )
        made.append(_tensor(document, memory[key]))
    return made


def _key(document: Mapping[str, Any], device: str) -> tuple[int, str, str]:
    own = str(document.get("device", "cpu"))
    return document["storage"], document["dtype"], own if own == "meta" or device == "any" else device


def _extent(document: Mapping[str, Any]) -> int:
    shape, strides = document["shape"], document["strides"]
    reach = 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return int(document.get("storage_offset", 0)) + reach


def values(count: int, dtype: str, device: str, seed: int, positions: bool = False) -> Any:
    """A row of numbers of any dtype: fractions in (0, 1) without a pattern, positive integers, alternating truths."""
    import torch

    kind = getattr(torch, dtype)
    steps = torch.arange(1 + seed * 7, count + 1 + seed * 7, dtype=torch.float64)
    fractions = (steps * _GOLDEN).frac() * 0.9 + 0.05
    if kind == torch.bool:
        made = fractions > 0.5
    elif kind.is_complex:
        made = torch.complex(fractions, (steps * _GOLDEN * 2).frac()).to(kind)
    elif kind.is_floating_point:
        made = fractions.to(kind)
    else:
        made = ((fractions * 2) if positions else (fractions * 90 + 1)).to(kind)
    return made.to(device)


def _blank(count: int, dtype: str, device: str) -> Any:
    import torch

    return torch.empty(count, dtype=getattr(torch, dtype), device=device)


def _tensor(document: Mapping[str, Any], memory: Any) -> Any:
    import torch

    shape, strides, offset = document["shape"], document["strides"], document.get("storage_offset", 0)
    with torch.no_grad():
        tensor = at(memory, shape, strides, offset)
    if document.get("requires_grad"):
        return tensor.requires_grad_() if document.get("is_leaf", True) else _recorded(tensor)
    return tensor


def at(memory: Any, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
    """A tensor over the memory of another that is no view of it, as autograd sees it."""
    import torch

    if memory.device.type == "meta" or type(memory) is not torch.Tensor:
        return memory.as_strided(shape, strides, offset)
    empty = torch.empty(0, dtype=memory.dtype, device=memory.device)
    return empty.set_(memory.untyped_storage(), offset, tuple(shape), tuple(strides))


def _recorded(tensor: Any) -> Any:
    """A tensor that requires grad and is the result of an operator, with the strides and the memory of `tensor`."""
    import torch

    class Made(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        """Hands the tensor on as something computed."""

        @staticmethod
        def forward(context: Any, source: Any) -> Any:
            return at(tensor, tensor.shape, tensor.stride(), tensor.storage_offset())

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient.sum()

    with torch.enable_grad():
        return Made.apply(torch.zeros((), dtype=tensor.dtype, device=tensor.device, requires_grad=True))
