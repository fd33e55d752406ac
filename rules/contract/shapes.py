"""Result shapes of reductions, products, indexing and rearranging operators, on sizes that may be symbols.

Every function gives None where the sizes do not fit or do not decide the shape; not every error of torch is noticed. Axes may be negative.
Images (convolution, pooling, interpolation, padding) are in `spatial`.
"""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.elementwise import broadcast_shapes
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.joins import cat_shape, stack_shape
from stridelint.rules.contract.views import wrap

__all__ = [
    "advanced_index", "bmm", "broadcast_shapes", "cat_shape", "chunk", "dot", "einsum", "embedding", "gather",
    "index_select", "linear", "matmul", "mm", "mv", "one_hot", "outer", "reduced", "repeat", "repeat_interleave",
    "sort", "split", "stack_shape", "tile", "topk", "unbind",
]  # fmt: skip


def _same(left: Dim, right: Dim) -> bool:
    """Not provably different: an unknown size fits any other in a legal call."""
    return left == right or not (isinstance(left, int) and isinstance(right, int))


def _known(left: Dim, right: Dim) -> Dim:
    return left if isinstance(left, int) else right


def reduced(shape: Dims, axes: int | Sequence[int] | None = None, keepdim: bool = False) -> Dims | None:
    """Shape of a reduction over axes (None or empty: over all)."""
    rank = len(shape)
    chosen = [wrap(axis, rank) for axis in ([axes] if isinstance(axes, int) else axes or range(rank))]
    if None in chosen or len(set(chosen)) < len(chosen):
        return None
    if keepdim:
        return tuple(1 if axis in chosen else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in chosen)


def dot(left: Dims, right: Dims) -> Dims | None:
    """Shape of `torch.dot` and `torch.inner` of vectors."""
    return () if len(left) == len(right) == 1 and _same(left[0], right[0]) else None


def mv(matrix: Dims, vector: Dims) -> Dims | None:
    """Shape of `torch.mv`."""
    fits = len(matrix) == 2 and len(vector) == 1 and _same(matrix[1], vector[0])
    return (matrix[0],) if fits else None


def mm(left: Dims, right: Dims) -> Dims | None:
    """Shape of `torch.mm`."""
    fits = len(left) == len(right) == 2 and _same(left[1], right[0])
    return (left[0], right[1]) if fits else None


def bmm(left: Dims, right: Dims) -> Dims | None:
    """Shape of `torch.bmm`; batches must agree."""
    fits = len(left) == len(right) == 3 and _same(left[2], right[1]) and _same(left[0], right[0])
    return (_known(left[0], right[0]), left[1], right[2]) if fits else None


def matmul(left: Dims, right: Dims) -> Dims | None:
    """Shape of `left @ right`: vectors get an axis that is dropped again, batches broadcast."""
    if not left or not right:
        return None
    rows = left if len(left) > 1 else (1, *left)
    columns = right if len(right) > 1 else (*right, 1)
    if not _same(rows[-1], columns[-2]):
        return None
    batch = broadcast_shapes(rows[:-2], columns[:-2])
    if batch is None:
        return None
    return batch + ((rows[-2],) if len(left) > 1 else ()) + ((columns[-1],) if len(right) > 1 else ())


def linear(shape: Dims, weight: Dims) -> Dims | None:
    """Shape of `F.linear(x, weight)`; a vector as weight drops the last axis."""
    if not shape or not 1 <= len(weight) <= 2 or not _same(shape[-1], weight[-1]):
        return None
    return shape[:-1] + weight[:-1]


def outer(left: Dims, right: Dims) -> Dims | None:
    """Shape of `torch.outer`."""
    return (left[0], right[0]) if len(left) == len(right) == 1 else None


def einsum(equation: str, operands: Sequence[Dims]) -> Dims | None:
    """Shape of `torch.einsum` for equations of letters only ("bij,bjk->bik"); without "->" the letters that occur once."""
    equation = equation.replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if "." in equation or len(terms) != len(operands):
        return None
    found: dict[str, Dim] = {}
    for term, shape in zip(terms, operands):
        if len(term) != len(shape) or not all(letter.isalpha() for letter in term):
            return None
        for letter, dim in zip(term, shape):
            known = found.get(letter, 1)
            if isinstance(known, int) and isinstance(dim, int) and known != dim and 1 not in (known, dim):
                return None
            found[letter] = dim if known == 1 else _known(known, dim) if dim != 1 else known
    if not arrow:
        output = "".join(sorted(letter for letter in found if inputs.count(letter) == 1))
    if any(letter not in found for letter in output) or len(set(output)) < len(output):
        return None
    return tuple(found[letter] for letter in output)


def embedding(indices: Dims, weight: Dims) -> Dims | None:
    """Shape of `F.embedding(indices, weight)`."""
    return (*indices, weight[1]) if len(weight) == 2 else None


def one_hot(indices: Dims, classes: Dim | None = None) -> Dims:
    """Shape of `F.one_hot`; without a number of classes (None or -1) the data decide it."""
    return (*indices, sizes.Size.fresh("classes") if classes in (None, -1) else classes)


def index_select(shape: Dims, axis: int, index: Dims) -> Dims | None:
    """Shape of `x.index_select(axis, index)`."""
    at = wrap(axis, len(shape))
    if at is None or len(index) > 1:
        return None
    return (*shape[:at], index[0] if index else 1, *shape[at + 1 :]) if shape else ()


def gather(shape: Dims, axis: int, index: Dims) -> Dims | None:
    """Shape of `x.gather(axis, index)`: that of the index, which fits within `shape` on all other axes."""
    at = wrap(axis, len(shape))
    if at is None or max(len(shape), 1) != max(len(index), 1):
        return None
    if index and shape and 0 not in index:
        for place, (size, picked) in enumerate(zip(shape, index)):
            if place != at and isinstance(size, int) and isinstance(picked, int) and picked > size:
                return None
    return index


def topk(shape: Dims, k: Dim, axis: int = -1) -> Dims | None:
    """Shape of both results of `x.topk(k, axis)`."""
    at = wrap(axis, len(shape))
    size = shape[at] if shape and at is not None else 1
    if at is None or isinstance(k, int) and (k < 0 or isinstance(size, int) and k > size):
        return None
    return (*shape[:at], k, *shape[at + 1 :]) if shape else ()


def sort(shape: Dims, axis: int = -1) -> Dims | None:
    """Shape of both results of `x.sort(axis)`, also of cumulative operators, softmax, flip and roll."""
    return None if wrap(axis, len(shape)) is None else shape


def advanced_index(shape: Dims, indices: Sequence[Dims | None]) -> Dims | None:
    """Shape of `x[i, j, :]` with integer tensors.

    Args:
        indices: per axis the shape of its index tensor, None for `:`; axes beyond are kept. The indexed axes are
            replaced together by the broadcast shape, in front if they are apart (`aten/src/ATen/native/IndexingUtils.h`).
            An index of shape () selects, as a number does, and no longer counts.
    """
    if len(indices) > len(shape):
        return None
    padded = (*indices, *[None] * (len(shape) - len(indices)))
    shape = tuple(dim for dim, index in zip(shape, padded) if index != ())
    indices = [index for index in padded if index != ()]
    used = [axis for axis, index in enumerate(indices) if index is not None]
    if not used:
        return shape
    joined = broadcast_shapes(*(index for index in indices if index is not None))
    if joined is None:
        return None
    rest = [dim for axis, dim in enumerate(shape) if axis not in used]
    at = used[0] if used[-1] - used[0] + 1 == len(used) else 0
    return (*rest[:at], *joined, *rest[at:])


def repeat(shape: Dims, times: Dims) -> Dims | None:
    """Shape of `x.repeat(*times)`; at least one number per axis."""
    added = len(times) - len(shape)
    if added < 0 or any(isinstance(dim, int) and dim < 0 for dim in times):
        return None
    whole: Dims = (1,) * added + shape
    return tuple(sizes.multiply(dim, count) for dim, count in zip(whole, times))


def tile(shape: Dims, times: Dims) -> Dims | None:
    """Shape of `x.tile(times)`: missing numbers in front are 1."""
    return repeat(shape, (1,) * (len(shape) - len(times)) + times)


def repeat_interleave(shape: Dims, times: Dim | Dims, axis: int | None = None) -> Dims | None:
    """Shape of `x.repeat_interleave(times, axis)` for a number; without an axis the tensor is flattened.

    Where `times` is the shape of a tensor, its numbers decide how often what is repeated.
    """
    if isinstance(times, tuple):
        return None
    if axis is None:
        return (sizes.multiply(sizes.product(shape), times),)
    at = wrap(axis, len(shape))
    if at is None or not shape:
        return None
    return (*shape[:at], sizes.multiply(shape[at], times), *shape[at + 1 :])


def unbind(shape: Dims, axis: int = 0) -> list[Dims] | None:
    """Shapes of `x.unbind(axis)`; the size must be a number."""
    at = wrap(axis, len(shape))
    if at is None or not shape:
        return None
    count = shape[at]
    return [shape[:at] + shape[at + 1 :]] * count if isinstance(count, int) else None


def split(shape: Dims, parts: int | Dims, axis: int = 0) -> list[Dims] | None:
    """Shapes of `x.split(parts, axis)`: a size of parts, of which the last may be smaller, or the sizes themselves."""
    at = wrap(axis, len(shape))
    if at is None or not shape:
        return None
    size = shape[at]
    if isinstance(parts, int):
        if not isinstance(size, int) or parts < 0 or (parts == 0 and size > 0):
            return None
        parts = tuple(min(parts, size - start) for start in range(0, size, parts)) if size else (0,)
    elif all(isinstance(part, int) for part in (*parts, size)) and sizes.add(0, _total(parts)) != size:
        return None
    return [(*shape[:at], part, *shape[at + 1 :]) for part in parts]


def _total(parts: Dims) -> Dim:
    total: Dim = 0
    for part in parts:
        total = sizes.add(total, part)
    return total


def chunk(shape: Dims, count: int, axis: int = 0) -> list[Dims] | None:
    """Shapes of `x.chunk(count, axis)`; an unknown size is taken for a multiple of `count`."""
    at = wrap(axis, len(shape))
    if at is None or not shape or count <= 0:
        return None
    size = shape[at]
    if not isinstance(size, int):
        part = sizes.floor_divide(size, count)
        return None if part is None else [(*shape[:at], part, *shape[at + 1 :])] * count
    length = -(-size // count)
    return split(shape, length, axis) if length else [shape] * count
