"""Strides of operators' results from their bound arguments.

Most follow from the layout class measured in the table; the rest are listed here by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from stridelint.rules import events
from stridelint.rules.contract import convolution, generic, questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.contract.out_contract import scalar_kind
from stridelint.rules.events import Operand

Bound: TypeAlias = Mapping[str, object]


def of(operator: Operator, variant: Variant, bound: Bound, shape: Dims | None, index: int = 0) -> Dims | None:
    """The strides of a result, whose shape is known; None where they are not."""
    if not shape:
        return shape
    if index in _BY_COLUMNS.get(operator.name, ()):
        return _column_major(shape)
    special = _BY_NAME.get(operator.name)
    if special is not None:
        return special(bound, shape)
    if variant.layout == "row_major" or (variant.layout in ("", "other") and operator.name in _FRESH):
        return _row_major(bound, shape)
    if variant.layout == "elementwise":
        return _elementwise(variant, bound, shape)
    source = bound.get("input")
    if variant.layout == "preserve" and isinstance(source, Operand) and source.facts.shape == shape:
        return questions.cloned(source.facts).strides
    if variant.layout == "channels_last" and isinstance(source, Operand):
        return questions.result_of("channels_last", [source.facts], shape).strides
    return None


def _elementwise(variant: Variant, bound: Bound, shape: Dims) -> Dims | None:
    facts: list[TensorFacts | Scalar] = []
    for name in variant.order or variant.tensor_parameters:
        value = bound.get(name)
        kind = scalar_kind(value)
        if isinstance(value, Operand):
            facts.append(value.facts)
        elif isinstance(value, Scalar):
            facts.append(value)
        elif kind is not None:
            facts.append(Scalar(kind))
        elif value is events.Unknown.UNKNOWN:
            return None
    found = questions.elementwise(facts) if facts else None
    if found is None or found.strides is None or found.shape is None or found.shape == shape:
        return None if found is None or found.shape != shape else found.strides
    # An axis has a size of its own where two unknown ones face each other: the strides go with it.
    for order in (tuple(range(len(shape))), (0, *range(2, len(shape)), 1)):
        if found.strides == generic.strides_in_order(found.shape, order):
            return generic.strides_in_order(shape, order)
    return None


def _like_input(bound: Bound, shape: Dims) -> Dims | None:
    """As of an elementwise operator of the input alone."""
    source = bound.get("input")
    return questions.elementwise([source.facts]).strides if isinstance(source, Operand) else None


def _dropout(bound: Bound, shape: Dims) -> Dims | None:
    """Elementwise in training, else the input itself: known where that makes no difference."""
    source = bound.get("input")
    strides = _like_input(bound, shape)
    return strides if isinstance(source, Operand) and source.facts.strides == strides else None


def _halves(bound: Bound, shape: Dims) -> Dims | None:
    """`glu`: elementwise over the halves of an axis."""
    source, axis = bound.get("input"), bound.get("dim", -1)
    if not isinstance(source, Operand) or source.facts.shape is None or not isinstance(axis, int):
        return None
    return questions.elementwise([source.facts.but(shape=shape)]).strides


def _joined_plainly(bound: Bound, shape: Dims) -> Dims | None:
    return _row_major(bound, shape) if len(shape) < 4 else None


def _column_major(shape: Dims) -> Dims | None:
    """As LAPACK leaves matrices: row-major but for the last two axes, which trade places."""
    rank = len(shape)
    return generic.strides_in_order(shape, (*range(rank - 2), rank - 1, rank - 2)) if rank >= 2 else None


def _conv(bound: Bound, shape: Dims) -> Dims | None:
    source, weight = bound.get("input"), bound.get("weight")
    groups = bound.get("groups", 1)
    if not isinstance(source, Operand) or not isinstance(weight, Operand) or not isinstance(groups, int):
        return None
    number_of_groups = groups
    # The numbers of a known weight fit a symbolic image in too many ways to try them all, and only its layout matters;
    # but one channel is not what an unknown number of channels stands for.
    filters = weight.facts.concrete_shape
    apart = filters is not None and weight.facts.concrete_strides is not None and (groups > 1 or 1 not in filters[:2])
    known = (weight.facts,) if apart else ()

    def compute(tensors: tuple[TensorFacts, ...], extra: generic.Numbers) -> tuple[int, ...] | None:
        geometries = [(tensor.concrete_shape, tensor.concrete_strides) for tensor in (*tensors, *known)]
        (a, b), (c, d) = geometries
        if a is None or b is None or c is None or d is None:
            return None
        return convolution.conv_strides((a, b), (c, d), extra[0], groups=number_of_groups, dtype=source.facts.dtype)

    tensors = [source.facts] if apart else [source.facts, weight.facts]
    about = ("convolution", groups, source.facts.dtype, *[(each.shape, each.strides) for each in known])
    return generic.lift_strides(compute, shape, tensors, shape, about=about)


def _spectrum(bound: Bound, shape: Dims) -> Dims | None:
    """Fourier transforms put the axes that they transform innermost: row-major where those are the last ones and the input is."""
    source, axes, rank = bound.get("input"), bound.get("dim"), len(shape)
    if (
        not isinstance(source, Operand)
        or questions.is_contiguous(source.facts, "contiguous_format").answer is not Answer.YES
    ):
        return None
    if isinstance(axes, int) and not isinstance(axes, bool):
        axes = (axes,)
    if axes is not None and not isinstance(axes, tuple):
        return None
    given = tuple(axis % rank if isinstance(axis, int) else None for axis in axes or ())
    return _row_major(bound, shape) if given == tuple(range(rank - len(given), rank)) else None


def _joined(join: Callable[[list[TensorFacts], int], TensorFacts]) -> Callable[[Bound, Dims], Dims | None]:
    def strides(bound: Bound, shape: Dims) -> Dims | None:
        tensors, axis = bound.get("tensors"), bound.get("dim", 0)
        if not isinstance(tensors, tuple) or not isinstance(axis, int):
            return None
        facts = [each.facts for each in tensors if isinstance(each, Operand)]
        return join(facts, axis).strides if len(facts) == len(tensors) else None

    return strides


def _row_major(bound: Bound, shape: Dims) -> Dims | None:
    return generic.strides_in_order(shape, range(len(shape)))


# Measured: row-major whatever goes in, though there is no 4-D result by which the table could tell.
_FRESH = frozenset(
    """max min std var norm linalg.norm median nanmedian repeat_interleave masked_select scatter all any count_nonzero unique
    unique_consecutive bincount histc searchsorted diag diag_embed trace dot baddbmm addmm addmv addbmm tensordot det logdet slogdet
    linalg.det linalg.slogdet linalg.multi_dot linalg.eigvalsh linalg.svdvals column_stack block_diag multinomial
    nn.functional.bilinear nn.functional.affine_grid nn.functional.unfold nn.functional.fold cosine_similarity
    nn.functional.cosine_similarity nn.functional.cross_entropy nn.functional.nll_loss take cov corrcoef aminmax index_copy index_add
    std_mean var_mean""".split()
)
# Results, by index, that are column-major.
_BY_COLUMNS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("linalg.inv", "inverse", "linalg.solve", "linalg.cholesky", "cholesky", "nonzero", "argwhere"), (0,)
    ),
    **dict.fromkeys(("linalg.qr", "qr"), (0, 1)),
    "linalg.svd": (0, 2),
    "linalg.eigh": (1,),
    "svd": (0,),
}
_BY_NAME: dict[str, Callable[[Bound, Dims], Dims | None]] = {
    **{
        f"{prefix}conv{kind}{axes}d": _conv
        for prefix in ("", "nn.functional.")
        for kind in ("", "_transpose")
        for axes in (1, 2, 3)
    },
    **dict.fromkeys(("cat", "concat", "concatenate"), _joined(questions.cat)),
    "stack": _joined(questions.stack),
    "nn.functional.prelu": _like_input,
    **dict.fromkeys(("nn.functional.dropout", "nn.functional.alpha_dropout"), _dropout),
    "nn.functional.glu": _halves,
    **dict.fromkeys(("hstack", "vstack", "dstack"), _joined_plainly),
    **{
        f"fft.{inverse}{kind}fft{axes}": _spectrum
        for kind, inverse in (("", ""), ("", "i"), ("r", ""), ("r", "i"), ("h", ""), ("h", "i"))
        for axes in ("", "2", "n")
        if kind != "h" or not axes
    },
    **dict.fromkeys(
        (
            "nn.functional.embedding",
            "nn.functional.one_hot",
            "matmul",
            "mm",
            "bmm",
            "mv",
            "outer",
            "nn.functional.linear",
        ),
        _row_major,
    ),
}
