"""view, reshape, flatten and unflatten on concrete sizes, and views as another dtype.

Models `computeStride` and `infer_size` (aten/src/ATen/TensorUtils.cpp, InferSize.h), and `view(dtype)`
(aten/src/ATen/native/TensorConversions.cpp).
"""

from __future__ import annotations

from typing import NamedTuple

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.layout import Ints, Raises, contiguous_strides, product
from stridelint.rules.contract.views import wrap

VIEW_ERROR = "view size is not compatible with input tensor's size and stride"


class Reshaped(NamedTuple):
    """Strides of a reshaped tensor, and whether its elements were copied."""

    strides: Ints
    copies: bool


def resolve_shape(shape: Dims, requested: Dims) -> Dims | None:
    """`requested` with its -1 filled in; None where torch refuses, or where unknown sizes do not decide."""
    unknown = [axis for axis, dim in enumerate(requested) if dim == -1]
    if len(unknown) > 1 or any(isinstance(dim, int) and dim < -1 for dim in requested):
        return None
    total = sizes.product(shape)
    rest = sizes.product(dim for dim in requested if dim != -1)
    if not unknown:
        mismatch = isinstance(total, int) and isinstance(rest, int) and total != rest
        return None if mismatch else requested
    if rest == 0 or (isinstance(rest, int) and isinstance(total, int) and total % rest):
        return None
    missing = _quotient(shape, requested, total, rest)
    return None if missing is None else tuple(missing if dim == -1 else dim for dim in requested)


def _quotient(shape: Dims, requested: Dims, total: Dim, rest: Dim) -> Dim | None:
    """What -1 stands for: sizes found on both sides cancel first."""
    left = list(shape)
    right: list[Dim] = []
    for dim in requested:
        if dim in left and dim != -1:
            left.remove(dim)
        elif dim != -1:
            right.append(dim)
    return sizes.floor_divide(sizes.product(left), sizes.product(right))


def view_strides(shape: Ints, strides: Ints, new_shape: Ints) -> Ints | None:
    """Strides of `x.view(new_shape)`, of equally many elements; None where no strides can express it.

    Axes that lie in memory as one run form a chunk; a new shape must not merge axes of different chunks.
    """
    if not shape:
        return (1,) * len(new_shape)
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    result: list[int] = []  # From the last axis to the first.
    base = strides[-1]
    elements = filled = 1
    place = len(new_shape) - 1
    for axis in range(len(shape) - 1, -1, -1):
        elements *= shape[axis]
        if axis > 0 and (shape[axis - 1] == 1 or strides[axis - 1] == elements * base):
            continue
        while place >= 0 and (filled < elements or new_shape[place] == 1):
            result.append(filled * base)
            filled *= new_shape[place]
            place -= 1
        if filled != elements:
            return None
        base = strides[axis - 1]
        elements = filled = 1
    return tuple(reversed(result)) if place < 0 else None


def view(shape: Ints, strides: Ints, new_shape: Ints) -> Ints | Raises:
    """Strides of `x.view(new_shape)`; `new_shape` may contain one -1."""
    resolved = resolve_shape(shape, new_shape)
    if resolved is None:
        return Raises("shape is invalid for input")
    found = view_strides(shape, strides, tuple(dim for dim in resolved if isinstance(dim, int)))
    return Raises(VIEW_ERROR) if found is None else found


def reshape(shape: Ints, strides: Ints, new_shape: Ints) -> Reshaped | Raises:
    """Strides of `x.reshape(new_shape)`: a view where possible, else a row-major copy."""
    found = view(shape, strides, new_shape)
    if isinstance(found, tuple):
        return Reshaped(found, False)
    if found.message != VIEW_ERROR:
        return found
    resolved = resolve_shape(shape, new_shape) or ()
    return Reshaped(contiguous_strides(tuple(dim for dim in resolved if isinstance(dim, int))), True)


def flattened_shape(shape: Dims, start: int = 0, end: int = -1) -> Dims | None:
    """Shape of `x.flatten(start, end)`; None for axes out of range or in the wrong order."""
    first, last = wrap(start, len(shape)), wrap(end, len(shape))
    if first is None or last is None or first > last:
        return None
    if not shape:
        return (1,)
    return (*shape[:first], sizes.product(shape[first : last + 1]), *shape[last + 1 :])


def unflattened_shape(shape: Dims, axis: int, parts: Dims) -> Dims | None:
    """Shape of `x.unflatten(axis, parts)`; `parts` may contain one -1."""
    at = wrap(axis, len(shape))
    if at is None or not shape or not parts:
        return None
    filled = resolve_shape((shape[at],), parts)
    return None if filled is None else (*shape[:at], *filled, *shape[at + 1 :])


def view_as_dtype(
    shape: Ints, strides: Ints, offset: int, old_bytes: int, new_bytes: int
) -> tuple[Ints, Ints, int] | Raises:
    """Shape, strides and offset of `x.view(dtype)` for element sizes in bytes.

    A wider dtype needs a last axis of stride 1 and a size, an offset and other strides that the ratio divides; a
    narrower one needs a last axis of stride 1.
    """
    if old_bytes == new_bytes:
        return shape, strides, offset
    if not shape:
        return Raises("self.dim() cannot be 0 to view")
    if strides[-1] != 1:
        return Raises("self.stride(-1) must be 1 to view")
    if old_bytes > new_bytes:
        ratio = old_bytes // new_bytes
        wide = tuple(stride * ratio for stride in strides[:-1])
        return (*shape[:-1], shape[-1] * ratio), (*wide, 1), offset * ratio
    ratio = new_bytes // old_bytes
    if shape[-1] % ratio:
        return Raises("self.size(-1) must be divisible by")
    if offset % ratio:
        return Raises("self.storage_offset() must be divisible by")
    if any(stride % ratio for stride in strides[:-1]):
        return Raises("self.stride must be divisible by")
    return (*shape[:-1], shape[-1] // ratio), (*(stride // ratio for stride in strides[:-1]), 1), offset // ratio


def view_as_complex(shape: Ints, strides: Ints, offset: int) -> tuple[Ints, Ints, int] | Raises:
    """Shape, strides and offset of `torch.view_as_complex(x)`: the last axis must hold adjacent pairs."""
    if not shape:
        return Raises("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        return Raises("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        return Raises("Tensor must have a last dimension with stride 1")
    if any(stride % 2 for stride, size in zip(strides[:-1], shape) if size != 1):
        return Raises("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        return Raises("Tensor must have a storage_offset divisible by 2")
    return shape[:-1], tuple(stride // 2 for stride in strides[:-1]), offset // 2


def view_as_real(shape: Ints, strides: Ints, offset: int) -> tuple[Ints, Ints, int]:
    """Shape, strides and offset of `torch.view_as_real(x)`, always a view."""
    return (*shape, 2), (*(stride * 2 for stride in strides), 1), offset * 2


def is_view_possible(shape: Ints, strides: Ints, new_shape: Ints) -> bool | None:
    """Whether `x.view(new_shape)` succeeds; None where the numbers of elements differ, which is another error."""
    if product(shape) != product(new_shape):
        return None
    return view_strides(shape, strides, new_shape) is not None
