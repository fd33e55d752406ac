"""Result shapes of linear algebra, transforms and losses, on sizes that may be symbols.

As in `shapes`: None where the sizes do not fit or do not decide the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.elementwise import broadcast_shapes
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.joins import cat_shape
from stridelint.rules.contract.shapes import matmul
from stridelint.rules.contract.views import wrap


def _smaller(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return left if left == right else sizes.Size.fresh("rank")


def determinant(matrix: Dims) -> Dims | None:
    """Shape of `torch.linalg.det` and both results of `slogdet`."""
    return matrix[:-2] if len(matrix) >= 2 else None


def eigenvalues(matrix: Dims) -> Dims | None:
    """Shape of `torch.linalg.eigvalsh`."""
    return matrix[:-1] if len(matrix) >= 2 else None


def eigh(matrix: Dims) -> list[Dims] | None:
    """Shapes of `torch.linalg.eigh`: values, vectors."""
    return [matrix[:-1], matrix] if len(matrix) >= 2 else None


def qr(matrix: Dims, complete: bool = False) -> list[Dims] | None:
    """Shapes of `torch.linalg.qr`: Q, R."""
    if len(matrix) < 2:
        return None
    *batch, rows, columns = matrix
    inner = rows if complete else _smaller(rows, columns)
    return [(*batch, rows, inner), (*batch, inner, columns)]


def svd(matrix: Dims, full: bool = True) -> list[Dims] | None:
    """Shapes of `torch.linalg.svd`: U, S, Vh."""
    if len(matrix) < 2:
        return None
    *batch, rows, columns = matrix
    inner = _smaller(rows, columns)
    return [(*batch, rows, rows if full else inner), (*batch, inner), (*batch, columns if full else inner, columns)]


def svd_by_columns(matrix: Dims, some: bool = True) -> list[Dims] | None:
    """Shapes of the older `torch.svd`: U, S, V."""
    found = svd(matrix, not some)
    return None if found is None else [found[0], found[1], (*found[2][:-2], found[2][-1], found[2][-2])]


def solve(matrix: Dims, right: Dims) -> Dims | None:
    """Shape of `torch.linalg.solve` for right sides that are matrices, or one vector."""
    if len(matrix) == 2 and len(right) == 1:
        return right
    if len(matrix) < 2 or len(right) < 2 or len(right) == len(matrix) - 1:
        return None
    batch = broadcast_shapes(matrix[:-2], right[:-2])
    return None if batch is None else (*batch, *right[-2:])


def pinv(matrix: Dims) -> Dims | None:
    """Shape of `torch.linalg.pinv`."""
    return (*matrix[:-2], matrix[-1], matrix[-2]) if len(matrix) >= 2 else None


def kron(left: Dims, right: Dims) -> Dims:
    """Shape of `torch.kron`."""
    rank = max(len(left), len(right))
    ones: Dims = (1,) * rank
    padded = (ones[len(left) :] + left, ones[len(right) :] + right)
    return tuple(sizes.multiply(a, b) for a, b in zip(*padded))


def tensordot(left: Dims, right: Dims, count: int) -> Dims | None:
    """Shape of `torch.tensordot(a, b, dims=count)`."""
    return left[: len(left) - count] + right[count:] if 0 <= count <= min(len(left), len(right)) else None


def chained(matrices: Sequence[Dims]) -> Dims | None:
    """Shape of `torch.linalg.multi_dot`."""
    result: Dims | None = matrices[0] if matrices else None
    for each in matrices[1:]:
        result = None if result is None else matmul(result, each)
    return result


def stacked(shapes: Sequence[Dims], rank: int, axis: int) -> Dims | None:
    """Shape of `hstack`, `vstack`, `dstack`: tensors get at least `rank` axes and are joined along one of them."""
    grown = [_at_least(shape, rank) for shape in shapes]
    if rank == 1 and all(len(shape) == 1 for shape in grown):
        axis = 0
    return cat_shape(grown, axis)


def _at_least(shape: Dims, rank: int) -> Dims:
    if len(shape) >= rank:
        return shape
    if rank == 3:
        return (1, *shape, 1) if len(shape) == 1 else (*shape, 1) if len(shape) == 2 else (1, 1, 1)
    return (1,) * (rank - len(shape)) + shape


def in_columns(shapes: Sequence[Dims]) -> Dims | None:
    """Shape of `column_stack`."""
    return cat_shape([(shape[0], 1) if len(shape) == 1 else shape or (1, 1) for shape in shapes], 1)


def block_diagonal(shapes: Sequence[Dims]) -> Dims | None:
    """Shape of `block_diag` of matrices."""
    if any(len(shape) != 2 for shape in shapes):
        return None
    rows: Dim = 0
    columns: Dim = 0
    for height, width in shapes:
        rows, columns = sizes.add(rows, height), sizes.add(columns, width)
    return (rows, columns)


def diagonals(shape: Dims) -> Dims | None:
    """Shape of `diag_embed(x)` with its default axes."""
    return (*shape, shape[-1]) if shape else None


def without(shape: Dims, axis: int, keepdim: bool = False) -> Dims | None:
    """A shape without an axis."""
    at = wrap(axis, len(shape))
    return None if at is None else shape[:at] + ((1,) if keepdim else ()) + shape[at + 1 :]


def one_less(shape: Dims, axis: int = -1, count: int = 1) -> Dims | None:
    """Shape of `torch.diff`."""
    at = wrap(axis, len(shape))
    if at is None or not shape:
        return None
    fewer = sizes.subtract(shape[at], count)
    return (*shape[:at], 0 if isinstance(fewer, int) and fewer < 0 else fewer, *shape[at + 1 :])


def turned(shape: Dims, quarters: int, axes: Sequence[int]) -> Dims | None:
    """Shape of `torch.rot90(x, quarters, axes)`."""
    found = [wrap(axis, len(shape)) for axis in axes]
    first, second = found if len(found) == 2 else (None, None)
    if first is None or second is None:
        return None
    result = list(shape)
    if quarters % 2:
        result[first], result[second] = shape[second], shape[first]
    return tuple(result)


def transformed(shape: Dims, length: Dim | None = None, axis: int = -1) -> Dims | None:
    """Shape of `torch.fft.fft(x, length, axis)`."""
    at = wrap(axis, len(shape))
    return None if at is None else shape if length is None else (*shape[:at], length, *shape[at + 1 :])


def half_of_spectrum(shape: Dims, length: Dim | None = None, axis: int = -1) -> Dims | None:
    """Shape of `torch.fft.rfft(x, length, axis)`."""
    at = wrap(axis, len(shape))
    if at is None or not shape:
        return None
    half = sizes.floor_divide(shape[at] if length is None else length, 2)
    return (*shape[:at], sizes.Size.fresh("bins") if half is None else sizes.add(half, 1), *shape[at + 1 :])


def whole_spectrum(shape: Dims, length: Dim | None = None, axis: int = -1) -> Dims | None:
    """Shape of `torch.fft.irfft(x, length, axis)`."""
    at = wrap(axis, len(shape))
    if at is None or not shape:
        return None
    full = sizes.multiply(2, sizes.subtract(shape[at], 1)) if length is None else length
    return (*shape[:at], full, *shape[at + 1 :])
