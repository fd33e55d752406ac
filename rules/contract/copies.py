"""Strides of copies: clone, empty_like, `.to`, `.contiguous`, dtype casts; and whether a tensor is made at all.

Functions take concrete shapes and strides in elements, and return an error of torch as a `Raises` value.
"""

from __future__ import annotations

from typing import NamedTuple

from stridelint.rules.contract.layout import (
    CONTIGUOUS,
    PRESERVE,
    Ints,
    Raises,
    format_strides,
    is_contiguous,
    is_non_overlapping_and_dense,
    suggest_memory_format,
)
from stridelint.rules.contract.ordering import inner_to_outer


class Copy(NamedTuple):
    """Strides of what the call returns, and whether that is the input itself."""

    strides: Ints
    aliases: bool


def preserved_strides(shape: Ints, strides: Ints) -> Ints:
    """Strides of a copy with torch.preserve_format: those of a dense tensor, else dense ones in the same order of axes.

    Models `empty_like` (aten/src/ATen/native/TensorFactories.cpp) and `infer_dense_strides` (ExpandUtils.cpp).
    """
    if is_non_overlapping_and_dense(shape, strides):
        return strides
    dense = [0] * len(shape)
    running = 1
    for axis in inner_to_outer(shape, (strides,)):
        dense[axis] = running
        running *= max(shape[axis], 1)
    return tuple(dense)


def copied_strides(shape: Ints, strides: Ints, memory_format: str = PRESERVE) -> Ints | Raises:
    """Strides of `x.clone(memory_format=...)` and `torch.empty_like(x, memory_format=...)`."""
    if memory_format == PRESERVE:
        return preserved_strides(shape, strides)
    return format_strides(shape, memory_format)


def to(shape: Ints, strides: Ints, memory_format: str | None = None, *, changes: bool = False) -> Copy | Raises:
    """`x.to(...)`: the input itself unless something changes (`to_will_alias` in native/TensorConversions.cpp).

    A memory format asked for is already there iff `suggest_memory_format` says so, hence contiguous_format does nothing
    to a transposed tensor.

    Args:
        memory_format: None where the call names none.
        changes: the call changes dtype or device, or says copy=True.
    """
    wanted = PRESERVE if memory_format is None else memory_format
    if not changes and wanted in (PRESERVE, suggest_memory_format(shape, strides)):
        return Copy(strides, True)
    made = copied_strides(shape, strides, wanted)
    return made if isinstance(made, Raises) else Copy(made, False)


def contiguous(shape: Ints, strides: Ints, memory_format: str = CONTIGUOUS) -> Copy | Raises:
    """`x.contiguous(memory_format=...)`: the input itself iff `is_contiguous` (native/TensorProperties.cpp)."""
    if memory_format == PRESERVE:
        return Raises("preserve memory format is unsupported by the contiguous operator")
    if is_contiguous(shape, strides, memory_format):
        return Copy(strides, True)
    made = format_strides(shape, memory_format)
    return made if isinstance(made, Raises) else Copy(made, False)
