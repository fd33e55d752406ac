"""The facts of real tensors: what the rules judge when a program runs."""

from __future__ import annotations

from typing import Any

from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts


def facts_of(tensor: Any) -> TensorFacts:
    """The complete facts of a real tensor."""
    dtype = str(tensor.dtype)[6:]
    return TensorFacts(
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        storage_offset=tensor.storage_offset(),
        dtype=dtype,
        kind=kind_of(dtype),
        device=str(tensor.device),
        requires_grad=tensor.requires_grad,
        is_leaf=tensor.is_leaf,
        storage=storage_of(tensor),
    )


def storage_of(tensor: Any) -> int:
    """The identity of a tensor's memory. Tensors without memory (meta, fake) have one for each storage object."""
    storage = tensor.untyped_storage()
    has_memory = tensor.device.type != "meta" and not hasattr(tensor, "fake_mode")
    return (int(storage.data_ptr()) if has_memory else 0) or -int(storage._cdata)
