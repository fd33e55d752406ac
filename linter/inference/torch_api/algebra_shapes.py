"""Shapes of the results of linear algebra, transforms, picks and losses, by operator: bound to `rules.contract.algebra`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stridelint.linter.inference.torch_api.bound_shapes import (
    Bound,
    Compute,
    along,
    binary,
    known,
    list_of_shapes,
    reduction,
    shape,
)
from stridelint.rules.contract import algebra, elementwise, sizes, spatial
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.events import Operand


def _same(base: Dims) -> Dims:
    return base


def _vector(*_: object) -> Dims:
    return (sizes.Size.fresh("count"),)


def _tensordot(bound: Bound) -> Dims | None:
    left, right, count = shape(bound, "a"), shape(bound, "b"), bound.get("dims", 2)
    if left is None or right is None or not isinstance(count, int):
        return None
    return algebra.tensordot(left, right, count)


def _listed(compute: Callable[[list[Dims]], Dims | None]) -> Compute:
    def run(bound: Bound) -> Dims | None:
        found = list_of_shapes(bound)
        return compute(found) if found else None

    return run


def _reduced_loss(rank_of_classes: bool) -> Compute:
    """Losses: a number, or with reduction="none" one per element (of classes: per target)."""

    def run(bound: Bound) -> Dims | None:
        old = (bound.get("size_average"), bound.get("reduce"))
        reduction = bound.get("reduction", "mean")
        if old != (None, None) or not isinstance(reduction, str):
            return None
        if reduction != "none":
            return ()
        left, right = shape(bound), shape(bound, "target")
        if left is None or right is None:
            return None
        if not rank_of_classes:
            return elementwise.broadcast_shapes(left, right)
        return right if len(right) == len(left) - 1 else algebra.without(left, 1)

    return run


def _similarity(bound: Bound) -> Dims | None:
    left, right, axis = shape(bound, "x1"), shape(bound, "x2"), bound.get("dim", 1)
    both = None if left is None or right is None else elementwise.broadcast_shapes(left, right)
    return algebra.without(both, axis) if both is not None and isinstance(axis, int) else None


def _distance(bound: Bound) -> Dims | None:
    left, right, keepdim = shape(bound, "x1"), shape(bound, "x2"), bound.get("keepdim", False)
    both = None if left is None or right is None else elementwise.broadcast_shapes(left, right)
    return algebra.without(both, -1, keepdim) if both is not None and isinstance(keepdim, bool) else None


def _grid_sample(bound: Bound) -> Dims | None:
    base, grid = shape(bound), shape(bound, "grid")
    return None if base is None or grid is None else (*base[:2], *grid[1:-1])


def _affine_grid(bound: Bound) -> Dims | None:
    size: Any = bound.get("size")
    return (size[0], *size[2:], len(size) - 2) if known(size) else None


def _unfold(bound: Bound) -> Dims | None:
    base: Any = shape(bound)
    kernel: Any = bound.get("kernel_size")
    dilation: Any = bound.get("dilation", 1)
    padding: Any = bound.get("padding", 0)
    stride: Any = bound.get("stride", 1)
    if not known(base, kernel, dilation, padding, stride) or len(base) != 4:
        return None
    counts = spatial.conv(base, (1, base[1], *(spatial.per_axis(kernel, 2) or ())), stride, padding, dilation)
    area = sizes.product(spatial.per_axis(kernel, 2) or ())
    return None if counts is None else (base[0], sizes.multiply(base[1], area), sizes.product(counts[2:]))


def _fold(bound: Bound) -> Dims | None:
    base: Any = shape(bound)
    output: Any = bound.get("output_size")
    kernel: Any = bound.get("kernel_size")
    if not known(base, output, kernel) or len(base) != 3:
        return None
    space, window = spatial.per_axis(output, 2), spatial.per_axis(kernel, 2)
    channels = None if window is None else sizes.floor_divide(base[1], sizes.product(window))
    return None if channels is None or space is None else (base[0], channels, *space)


def _histogram(bound: Bound) -> Dims | None:
    bins = bound.get("bins", 100)
    return (bins,) if isinstance(bins, int) else None


def _multinomial(base: Dims, count: Dim) -> Dims:
    return (*base[:-1], count)


def _taken_along(base: Dims, index: Dims, axis: int | None = None) -> Dims | None:
    """Without an axis the result is flat; else the other axes broadcast."""
    if axis is None:
        return (sizes.product(index),)
    if not base or len(base) != len(index):
        return None
    found = [elementwise.broadcast_shapes((left,), (right,)) for left, right in zip(base, index)]
    found[axis] = (index[axis],)
    return None if None in found else tuple(each[0] for each in found if each is not None)


def _covariance(base: Dims) -> Dims | None:
    """A number for one variable."""
    if len(base) < 2 or base[0] == 1:
        return ()
    return (base[0], base[0]) if len(base) == 2 and isinstance(base[0], int) else None


def _bilinear(bound: Bound) -> Dims | None:
    left, weight = shape(bound, "input1"), shape(bound, "weight")
    return None if left is None or weight is None else (*left[:-1], weight[0])


def _spectra(compute: Callable[[Dims], Dims | None]) -> Compute:
    """fft2 and fftn over the last axes as they are: of rfft2 and irfft2 only the last one changes."""

    def run(bound: Bound) -> Dims | None:
        base = shape(bound)
        plain = bound.get("s") is None and bound.get("dim", (-2, -1)) in (None, (-2, -1))
        return compute(base) if base is not None and plain else None

    return run


_MATRIX = ("A", "input")


def _of_matrix(compute: Callable[..., Any], *names: str, defaults: dict[str, Any] | None = None) -> Compute:
    def run(bound: Bound) -> Any:
        source = next((name for name in _MATRIX if name in bound), "A")
        return along(compute, *names, defaults=defaults, source=source)(bound)

    return run


def _pinv(bound: Bound) -> Dims | None:
    """Tolerances may be tensors, with which the batch broadcasts."""
    if any(isinstance(bound.get(name), Operand) for name in ("atol", "rtol", "rcond")):
        return None
    found: Dims | None = _of_matrix(algebra.pinv)(bound)
    return found


def _qr(base: Dims, mode: str) -> list[Dims] | None:
    return algebra.qr(base, mode == "complete") if mode in ("reduced", "complete") else None


SHAPES: dict[str, Compute] = {
    **dict.fromkeys(("linalg.det", "det", "logdet"), _of_matrix(algebra.determinant)),
    **dict.fromkeys(
        ("linalg.slogdet", "slogdet"),
        _of_matrix(lambda base: None if algebra.determinant(base) is None else [algebra.determinant(base)] * 2),
    ),
    **dict.fromkeys(("linalg.eigvalsh", "linalg.eigvals"), _of_matrix(algebra.eigenvalues)),
    **dict.fromkeys(("linalg.eigh", "linalg.eig"), _of_matrix(algebra.eigh)),
    "linalg.qr": _of_matrix(_qr, "mode", defaults={"mode": "reduced"}),
    "qr": _of_matrix(lambda base, some: algebra.qr(base, not some), "some", defaults={"some": True}),
    "linalg.svd": _of_matrix(algebra.svd, "full_matrices", defaults={"full_matrices": True}),
    "svd": _of_matrix(algebra.svd_by_columns, "some", defaults={"some": True}),
    "linalg.svdvals": _of_matrix(lambda base: None if (found := algebra.svd(base)) is None else found[1]),
    "linalg.solve": binary(algebra.solve, "A", "B"),
    **dict.fromkeys(("linalg.pinv", "pinverse"), _pinv),
    "linalg.matrix_norm": lambda bound: reduction({"dim": (-2, -1), **bound}),
    "linalg.multi_dot": _listed(algebra.chained),
    "kron": binary(algebra.kron, "input", "other"),
    "tensordot": _tensordot,
    "hstack": _listed(lambda found: algebra.stacked(found, 1, 1)),
    "vstack": _listed(lambda found: algebra.stacked(found, 2, 0)),
    "dstack": _listed(lambda found: algebra.stacked(found, 3, 2)),
    "column_stack": _listed(algebra.in_columns),
    "block_diag": _listed(algebra.block_diagonal),
    "diag_embed": lambda bound: (
        along(algebra.diagonals)(bound) if not {"offset", "dim1", "dim2"} & bound.keys() else None
    ),
    "kthvalue": along(algebra.without, "dim", "keepdim", defaults={"dim": -1, "keepdim": False}),
    "mode": along(algebra.without, "dim", "keepdim", defaults={"dim": -1, "keepdim": False}),
    "diff": lambda bound: (
        along(algebra.one_less, "dim", "n", defaults={"dim": -1, "n": 1})(bound)
        if not {"prepend", "append"} & bound.keys()
        else None
    ),
    "rot90": along(algebra.turned, "k", "dims", defaults={"k": 1, "dims": (0, 1)}),
    **dict.fromkeys(("fft.fft", "fft.ifft"), along(algebra.transformed, "n", "dim", defaults={"n": None, "dim": -1})),
    "fft.rfft": along(algebra.half_of_spectrum, "n", "dim", defaults={"n": None, "dim": -1}),
    "fft.irfft": along(algebra.whole_spectrum, "n", "dim", defaults={"n": None, "dim": -1}),
    **dict.fromkeys(("fft.fft2", "fft.ifft2", "fft.fftn", "fft.ifftn"), _spectra(_same)),
    "fft.rfft2": _spectra(algebra.half_of_spectrum),
    "fft.irfft2": _spectra(algebra.whole_spectrum),
    **dict.fromkeys(("unique", "unique_consecutive"), lambda bound: _vector() if bound.get("dim") is None else None),
    "bincount": lambda bound: _vector(),
    "histc": _histogram,
    "multinomial": along(_multinomial, "num_samples"),
    "searchsorted": along(_same),
    "take": along(_same, source="index"),
    "take_along_dim": along(_taken_along, "indices", "dim"),
    **dict.fromkeys(("cov", "corrcoef"), along(_covariance)),
    "nn.functional.bilinear": _bilinear,
    "nn.functional.grid_sample": _grid_sample,
    "nn.functional.affine_grid": _affine_grid,
    "nn.functional.unfold": _unfold,
    "nn.functional.fold": _fold,
    **dict.fromkeys(("cosine_similarity", "nn.functional.cosine_similarity"), _similarity),
    "nn.functional.pairwise_distance": _distance,
    **dict.fromkeys(("nn.functional.cross_entropy", "nn.functional.nll_loss"), _reduced_loss(True)),
    **dict.fromkeys(
        (
            "nn.functional.mse_loss",
            "nn.functional.l1_loss",
            "nn.functional.smooth_l1_loss",
            "nn.functional.huber_loss",
            "nn.functional.binary_cross_entropy",
            "nn.functional.binary_cross_entropy_with_logits",
            "nn.functional.kl_div",
        ),
        _reduced_loss(False),
    ),
}
