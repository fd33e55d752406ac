"""Views that move, drop, add or cut axes, on sizes that may be symbols.

Every function takes and returns a `Geometry` and gives None where torch refuses the call or where the sizes do not decide
the result. Unknown strides or an unknown offset stay unknown, the shape is still followed. Models
aten/src/ATen/native/TensorShape.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims


class Geometry(NamedTuple):
    """Shape, strides and storage offset, in elements."""

    shape: Dims
    strides: Dims | None
    offset: Dim | None = None


def wrap(axis: int, rank: int) -> int | None:
    """An axis counted from the end made positive; None if out of range (a 0-dim tensor accepts 0 and -1)."""
    limit = max(rank, 1)
    if not -limit <= axis < limit:
        return None
    return axis + limit if axis < 0 else axis


def permute(base: Geometry, order: Sequence[int]) -> Geometry | None:
    """`x.permute(order)`."""
    axes = [wrap(axis, len(base.shape)) for axis in order]
    known = [axis for axis in axes if axis is not None]
    if sorted(known) != list(range(len(base.shape))) or len(known) != len(axes):
        return None
    strides = None if base.strides is None else tuple(base.strides[axis] for axis in known)
    return Geometry(tuple(base.shape[axis] for axis in known), strides, base.offset)


def transpose(base: Geometry, first: int, second: int) -> Geometry | None:
    """`x.transpose(first, second)`; a 0-dim tensor stays as it is."""
    rank = len(base.shape)
    one, two = wrap(first, rank), wrap(second, rank)
    if one is None or two is None:
        return None
    if rank == 0:
        return base
    order = list(range(rank))
    order[one], order[two] = order[two], order[one]
    return permute(base, order)


def movedim(base: Geometry, source: Sequence[int], destination: Sequence[int]) -> Geometry | None:
    """`x.movedim(source, destination)`: the other axes keep their order."""
    rank = len(base.shape)
    froms = [wrap(axis, rank) for axis in source]
    tos = [wrap(axis, rank) for axis in destination]
    if (
        len(froms) != len(tos)
        or None in froms
        or None in tos
        or len(set(froms)) < len(froms)
        or len(set(tos)) < len(tos)
    ):
        return None
    if rank == 0:
        return base
    rest = iter([axis for axis in range(rank) if axis not in froms])
    placed = dict(zip(tos, froms))
    order = [placed[axis] if axis in placed else next(rest) for axis in range(rank)]
    return permute(base, [axis for axis in order if axis is not None])


def transposed_matrix(base: Geometry) -> Geometry | None:
    """`x.t()`: at most two axes."""
    rank = len(base.shape)
    return None if rank > 2 else transpose(base, 0, 1) if rank == 2 else base


def reversed_axes(base: Geometry) -> Geometry | None:
    """`x.T`: all axes in reverse order."""
    return permute(base, tuple(reversed(range(len(base.shape)))))


def expand(base: Geometry, shape: Dims) -> Geometry | None:
    """`x.expand(shape)`: repeated axes get stride 0; -1 keeps a size (`inferExpandGeometry` in ExpandUtils.cpp)."""
    added = len(shape) - len(base.shape)
    if added < 0:
        return None
    old: list[tuple[Dim, Dim | None]] = list(zip(base.shape, base.strides or [None] * len(base.shape)))
    new: list[tuple[Dim, Dim | None]] = []  # From the last axis to the first.
    for axis in range(len(shape) - 1, -1, -1):
        if axis >= added:
            own, stride = old[axis - added]
        else:
            inner, step = new[-1] if new else (1, 0)
            own, stride = 1, None if step is None or not old else sizes.multiply(inner, step)
            if not old:
                stride = 0
            if shape[axis] == -1:
                return None
        axis_found = _expanded(own, stride, own if shape[axis] == -1 else shape[axis])
        if axis_found is None:
            return None
        new.append(axis_found)
    strides = [stride for _, stride in reversed(new) if stride is not None]
    known = base.strides is not None and len(strides) == len(shape)
    return Geometry(tuple(size for size, _ in reversed(new)), tuple(strides) if known else None, base.offset)


def _expanded(own: Dim, stride: Dim | None, wanted: Dim) -> tuple[Dim, Dim | None] | None:
    if own == wanted:
        return own, stride
    if isinstance(own, int):
        if own == 1:
            return None if isinstance(wanted, int) and wanted < 0 else (wanted, 0)
        return None if isinstance(wanted, int) else (own, stride)
    return (1, stride) if wanted == 1 else (wanted, None)  # An unknown size that is either 1 or already the one wanted.


def select(base: Geometry, axis: int, index: Dim | None) -> Geometry | None:
    """`x.select(axis, index)`, `x[index]`: the axis goes; `index` None where it is unknown."""
    rank = len(base.shape)
    at = wrap(axis, rank)
    if at is None or rank == 0:
        return None
    size = base.shape[at]
    if isinstance(index, int):
        if isinstance(size, int) and not -size <= index < size:
            return None
        if index < 0:
            index = sizes.add(size, index)
    offset = None if base.strides is None else _moved(base.offset, index, base.strides[at])
    return Geometry(_without(base.shape, at), None if base.strides is None else _without(base.strides, at), offset)


def _without(dims: Dims, axis: int) -> Dims:
    return dims[:axis] + dims[axis + 1 :]


def _moved(offset: Dim | None, steps: Dim | None, stride: Dim) -> Dim | None:
    if steps == 0 or offset is None:
        return offset
    return None if steps is None else sizes.add(offset, sizes.multiply(steps, stride))


def slice_axis(base: Geometry, axis: int, start: Dim | None, stop: Dim | None, step: int = 1) -> Geometry | None:
    """`x[start:stop:step]` along an axis, bounds clamped as torch clamps them; None bounds are the ends.

    A slice of an unknown size is taken to keep something.
    """
    at = wrap(axis, len(base.shape))
    if at is None or not base.shape or step <= 0:
        return None
    size = base.shape[at]
    first = _start(0 if start is None else start, size)
    last = size if stop is None else _stop(stop, size)
    if isinstance(first, int) and isinstance(last, int):
        last = max(first, last)
    length = sizes.floor_divide(sizes.add(sizes.subtract(last, first), step - 1), step)
    if length is None or (isinstance(length, int) and length < 0):
        return None
    shape = base.shape[:at] + (length,) + base.shape[at + 1 :]
    if base.strides is None:
        return Geometry(shape, None, base.offset if first == 0 else None)
    strides = base.strides[:at] + (sizes.multiply(base.strides[at], step),) + base.strides[at + 1 :]
    return Geometry(shape, strides, _moved(base.offset, first, base.strides[at]))


def _start(bound: Dim, size: Dim) -> Dim:
    if isinstance(bound, int) and isinstance(size, int):
        return min(max(bound + size if bound < 0 else bound, 0), size)
    if isinstance(bound, int) and bound < 0:
        return sizes.subtract(size, _kept(-bound, size))
    return bound


def _stop(bound: Dim, size: Dim) -> Dim:
    if isinstance(bound, int) and (isinstance(size, int) or bound < 0):
        return _start(bound, size)
    return bound if _no_larger(bound, size) else _kept(bound, size)


def _kept(count: Dim, size: Dim) -> Dim:
    """At most `size`; an unknown size is taken to be 2 or more."""
    return count if isinstance(count, int) and count <= 2 else sizes.minimum(count, size)


def _no_larger(part: Dim, whole: Dim) -> bool:
    """Whether a size is provably at most another: nothing, all, or a whole fraction of it (`c // 2` of `c`)."""
    if part in (0, whole):
        return True
    if isinstance(part, sizes.Size) and part.symbol is None and len(part.terms) == 1:
        ((atoms, factor),) = part.terms
        if factor == 1 and len(atoms) == 1 and atoms[0].operator == "//" and atoms[0].left == whole:
            return isinstance(atoms[0].right, int) and atoms[0].right >= 1
    return False


def narrow(base: Geometry, axis: int, start: Dim, length: Dim) -> Geometry | None:
    """`x.narrow(axis, start, length)`."""
    at = wrap(axis, len(base.shape))
    if at is None or not base.shape:
        return None
    size = base.shape[at]
    if isinstance(start, int) and start < 0:
        if isinstance(size, int) and start < -size:
            return None
        start = sizes.add(size, start)
    end = sizes.add(start, length)
    if isinstance(length, int) and length < 0 or isinstance(end, int) and isinstance(size, int) and end > size:
        return None
    shape = base.shape[:at] + (length,) + base.shape[at + 1 :]
    return Geometry(shape, base.strides, None if base.strides is None else _moved(base.offset, start, base.strides[at]))


def squeeze(base: Geometry, axes: Sequence[int] | None = None) -> Geometry | None:
    """`x.squeeze()` (None: all axes) or `x.squeeze(axes)`; an unknown size is taken for one that stays."""
    rank = len(base.shape)
    chosen = range(rank) if axes is None else [wrap(axis, rank) for axis in axes]
    if None in chosen or len(set(chosen)) < len(chosen):
        return None
    kept = [axis for axis in range(rank) if axis not in chosen or base.shape[axis] != 1]
    strides = None if base.strides is None else tuple(base.strides[axis] for axis in kept)
    return Geometry(tuple(base.shape[axis] for axis in kept), strides, base.offset)


def unsqueeze(base: Geometry, axis: int) -> Geometry | None:
    """`x.unsqueeze(axis)`, `x[None]`: the new stride is the span of the axis that follows, 1 at the end."""
    at = wrap(axis, len(base.shape) + 1)
    if at is None:
        return None
    shape = base.shape[:at] + (1,) + base.shape[at:]
    if base.strides is None:
        return Geometry(shape, None, base.offset)
    stride = 1 if at == len(base.shape) else sizes.multiply(base.shape[at], base.strides[at])
    return Geometry(shape, base.strides[:at] + (stride,) + base.strides[at:], base.offset)


def unfold(base: Geometry, axis: int, size: int, step: int) -> Geometry | None:
    """`x.unfold(axis, size, step)`: overlapping windows in a new last axis."""
    rank = len(base.shape)
    at = wrap(axis, rank)
    if at is None or step <= 0 or size < 0:
        return None
    whole: Dim = base.shape[at] if rank else 1
    if isinstance(whole, int) and size > whole:
        return None
    count = sizes.floor_divide(sizes.subtract(whole, size), step)
    if count is None:
        return None
    shape = (*base.shape[:at], sizes.add(count, 1), *base.shape[at + 1 :], size) if rank else (size,)
    if base.strides is None:
        return Geometry(shape, None, base.offset)
    if not rank:
        return Geometry(shape, (1,), base.offset)
    strides = (*base.strides[:at], sizes.multiply(base.strides[at], step), *base.strides[at + 1 :], base.strides[at])
    return Geometry(shape, strides, base.offset)


def diagonal(base: Geometry, offset: int = 0, first: int = 0, second: int = 1) -> Geometry | None:
    """`x.diagonal(offset, dim1, dim2)`: the two axes become one, at the end; sizes must decide which is shorter."""
    rank = len(base.shape)
    one, two = wrap(first, rank), wrap(second, rank)
    if one is None or two is None or one == two or rank < 2:
        return None
    rows, columns = base.shape[one], base.shape[two]
    if isinstance(rows, int) and isinstance(columns, int):
        rows, columns = (rows, columns - offset) if offset >= 0 else (rows + offset, columns)
        length: Dim = max(min(rows, columns), 0)
    elif rows == columns:
        length = sizes.subtract(rows, abs(offset))
    else:
        length = sizes.Size.fresh()
    rest = [axis for axis in range(rank) if axis not in (one, two)]
    shape = (*(base.shape[axis] for axis in rest), length)
    if base.strides is None:
        return Geometry(shape, None, base.offset if offset == 0 else None)
    strides = (*(base.strides[axis] for axis in rest), sizes.add(base.strides[one], base.strides[two]))
    moved = _moved(base.offset, abs(offset), base.strides[two if offset >= 0 else one])
    return Geometry(shape, strides, base.offset if length == 0 else moved)
