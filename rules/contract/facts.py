"""What is known about one tensor."""

from __future__ import annotations

from typing import TypeAlias

from stridelint.rules.contract.records import record
from stridelint.rules.contract.sizes import Size

Dim: TypeAlias = int | Size
Dims: TypeAlias = tuple[Dim, ...]


@record(frozen=True, slots=True)
class TensorFacts:
    """Facts about a tensor; `None` means that the fact is unknown.

    shape: sizes in elements; a size that is unknown or symbolic is a `Size`.
    strides: in elements, one per axis.
    storage_offset: in elements.
    dtype: torch's name without the prefix ("float32").
    kind: of the dtype ("bool", "integer", "float", "complex"), known more often than the dtype itself.
    device: "cpu", "cuda", "cuda:1", "meta" ...
    storage: identity of the memory: equal for two tensors that share it.
    """

    shape: Dims | None = None
    strides: Dims | None = None
    storage_offset: Dim | None = None
    dtype: str | None = None
    kind: str | None = None
    device: str | None = None
    requires_grad: bool | None = None
    is_leaf: bool | None = None
    storage: int | None = None

    @property
    def rank(self) -> int | None:
        """Number of axes."""
        if self.shape is not None:
            return len(self.shape)
        return None if self.strides is None else len(self.strides)

    @property
    def concrete_shape(self) -> tuple[int, ...] | None:
        """The shape where every size is a number."""
        return concrete(self.shape)

    @property
    def concrete_strides(self) -> tuple[int, ...] | None:
        """The strides where every one is a number."""
        return concrete(self.strides)

    def but(self, **changes: object) -> TensorFacts:
        """These facts with some replaced. (`dataclasses.replace` takes several times as long.)"""
        made = TensorFacts(
            self.shape,
            self.strides,
            self.storage_offset,
            self.dtype,
            self.kind,
            self.device,
            self.requires_grad,
            self.is_leaf,
            self.storage,
        )
        for name, value in changes.items():
            setattr(made, name, value)
        return made


def concrete(dims: Dims | None) -> tuple[int, ...] | None:
    """`dims` if all of them are numbers."""
    if dims is None:
        return None
    numbers = tuple([dim for dim in dims if isinstance(dim, int)])
    return numbers if len(numbers) == len(dims) else None
