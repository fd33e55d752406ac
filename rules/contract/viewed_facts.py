"""Facts of views, reshaped tensors and joined ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stridelint.rules.contract import generic, joins, layout, reshaping, sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import kind_of, result_type_and_kind
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.contract.generic import UNKNOWN, Judgement, judge, lift_strides, substituted
from stridelint.rules.contract.layout import CONTIGUOUS, Ints
from stridelint.rules.contract.predicates import certainly, common_device, fresh, pair, suggests
from stridelint.rules.contract.views import Geometry, wrap


def _viewed(facts: TensorFacts, shape: Dims | None, strides: Dims | None, **changes: object) -> TensorFacts:
    return facts.but(shape=shape, strides=strides, is_leaf=None, **changes)


def viewed(facts: TensorFacts, operation: Callable[..., Geometry | None], *arguments: object) -> TensorFacts | None:
    """The view that a function of `views` makes (`viewed(x, views.transpose, 0, 1)`); None where torch refuses it.

    Without a known shape the view has unknown geometry.
    """
    if facts.shape is None:
        return _viewed(facts, None, None, storage_offset=None)
    made = operation(Geometry(facts.shape, facts.strides, facts.storage_offset), *arguments)
    return None if made is None else _viewed(facts, made.shape, made.strides, storage_offset=made.offset)


def view(facts: TensorFacts, shape: Dims) -> tuple[TensorFacts | None, Judgement]:
    """`x.view(shape)`; the judgement says whether it raises because of the strides.

    None for the facts where it raises for any reason (also where the numbers of elements differ).
    """
    resolved = _resolved(facts, shape)
    if resolved is None:
        return (None if facts.shape is not None else _viewed(facts, None, None)), UNKNOWN
    raises = _cannot_view(facts, resolved)
    if raises.answer is Answer.YES:
        return None, raises
    return _viewed(facts, resolved, _view_strides(facts, resolved)), raises


def _resolved(facts: TensorFacts, shape: Dims) -> Dims | None:
    if facts.shape is None:
        return None if -1 in shape else shape
    return reshaping.resolve_shape(facts.shape, shape)


def _cannot_view(facts: TensorFacts, shape: Dims) -> Judgement:
    if facts.shape is not None and (facts.shape == shape or 0 in facts.shape or _is_one_run(facts)):
        return certainly(False)

    def question(tensors: tuple[TensorFacts, ...], extra: generic.Numbers) -> bool | None:
        possible = reshaping.is_view_possible(*pair(tensors[0]), extra[0])
        return None if possible is None else not possible

    judgement = judge(question, [facts], shape, about="cannot view")
    # Where the numbers of elements are not one and the same expression, sizes that the instances take for different
    # ones may be equal after all: `x.view(n, -1, d)` gives back an axis of size d that was read from another tensor.
    same = facts.shape is not None and sizes.product(facts.shape) == sizes.product(shape)
    return judgement if same or judgement.answer is not Answer.YES else UNKNOWN


def _is_one_run(facts: TensorFacts) -> bool:
    """Its elements lie in memory one after the other, in order: whatever shape a view of it has, it is row-major."""
    shape = facts.shape
    return shape is not None and 0 not in shape and facts.strides == generic.strides_in_order(shape, range(len(shape)))


def _view_strides(facts: TensorFacts, shape: Dims) -> Dims | None:
    def compute(tensors: tuple[TensorFacts, ...], extra: generic.Numbers) -> Ints | None:
        own, strides = pair(tensors[0])
        if layout.product(own) != layout.product(extra[0]):
            return None
        return reshaping.view_strides(own, strides, extra[0])

    strides = lift_strides(compute, shape, [facts], shape, about="view")
    # Sizes of other names, none of whose instances fit: legal calls have equally many elements all the same.
    return generic.strides_in_order(shape, range(len(shape))) if strides is None and _is_one_run(facts) else strides


def reshape(facts: TensorFacts, shape: Dims) -> tuple[TensorFacts, Judgement]:
    """`x.reshape(shape)`; the judgement says whether it copies."""
    resolved = _resolved(facts, shape)
    if resolved is None:
        return fresh(facts, shape=None, strides=None, storage_offset=None), UNKNOWN
    copied = _cannot_view(facts, resolved)
    if copied.answer is Answer.NO:
        return _viewed(facts, resolved, _view_strides(facts, resolved)), copied
    made = fresh(facts, shape=resolved, strides=generic.strides_in_order(resolved, range(len(resolved))))
    if copied.answer is Answer.YES:
        return made, copied
    return made.but(strides=None, storage_offset=None), copied


def flatten(facts: TensorFacts, start: int = 0, end: int = -1) -> tuple[TensorFacts, Judgement]:
    """`x.flatten(start, end)`; the judgement says whether it copies."""
    shape = None if facts.shape is None else reshaping.flattened_shape(facts.shape, start, end)
    if shape is None:
        return fresh(facts, shape=None, strides=None, storage_offset=None), UNKNOWN
    if facts.shape == shape:
        return _viewed(facts, shape, facts.strides), certainly(False)
    return reshape(facts, shape)


def unflatten(facts: TensorFacts, axis: int, parts: Dims) -> TensorFacts | None:
    """`x.unflatten(axis, parts)`, always a view; None where torch refuses it."""
    if facts.shape is None:
        return _viewed(facts, None, None)
    shape = reshaping.unflattened_shape(facts.shape, axis, parts)
    return None if shape is None else view(facts, shape)[0]


def cat(tensors: Sequence[TensorFacts], dim: int = 0) -> TensorFacts:
    """`torch.cat(tensors, dim)`."""
    return _joined(tensors, joins.cat_shape, joins.cat_strides, dim)


def stack(tensors: Sequence[TensorFacts], dim: int = 0) -> TensorFacts:
    """`torch.stack(tensors, dim)`."""
    return _joined(tensors, joins.stack_shape, joins.stack_strides, dim)


def _joined(
    tensors: Sequence[TensorFacts],
    join_shapes: Callable[[Sequence[Dims], int], Dims | None],
    join_strides: Callable[[Sequence[tuple[Ints, Ints]], int], Ints | None],
    dim: int,
) -> TensorFacts:
    dtype, kind = result_type_and_kind(tensors)
    facts = TensorFacts(dtype=dtype, kind=kind_of(dtype) or kind, device=common_device(tensors), storage_offset=0)
    shapes = [tensor.shape for tensor in tensors if tensor.shape is not None]
    shape = join_shapes(shapes, dim) if len(shapes) == len(tensors) else None
    if shape is None:
        return facts

    def compute(filled: tuple[TensorFacts, ...], extra: generic.Numbers) -> Ints | None:
        return join_strides([pair(tensor) for tensor in filled], dim)

    at = wrap(dim, len(shape)) or 0
    if join_shapes is joins.cat_shape:
        fitted = [_fitted(tensor, (*shape[:at], None, *shape[at + 1 :])) for tensor in tensors]
    else:
        fitted = [_fitted(tensor, shape[:at] + shape[at + 1 :]) for tensor in tensors]
    strides = lift_strides(compute, shape, fitted, about=(join_strides, dim))
    if strides is None and join_shapes is joins.cat_shape and any(_is_row_major(tensor) for tensor in tensors):
        strides = generic.strides_in_order(shape, range(len(shape))) if 0 not in shape else None
    return facts.but(shape=shape, strides=strides)


def _fitted(facts: TensorFacts, expected: Sequence[Dim | None]) -> TensorFacts:
    """The facts with unknown sizes replaced by those that they must equal in a legal call."""
    values: dict[sizes.Atom, sizes.SizeLike] = {}
    if facts.shape is None or len(facts.shape) != len(expected):
        return facts
    for own, dim in zip(facts.shape, expected):
        symbol = own.symbol if isinstance(own, sizes.Size) else None
        if symbol is not None and dim is not None and symbol not in sizes.leaves(dim):
            values[symbol] = dim
    fitted = substituted(facts, values)
    return fitted.but(shape=tuple(_agreed(fitted, *pair) for pair in zip(fitted.shape or (), expected)))


def _agreed(facts: TensorFacts, own: Dim, expected: Dim | None) -> Dim:
    """A size as it must be; `min(8, n)` of a slice too, as long as the strides do not depend on n."""
    if expected is None or not isinstance(own, sizes.Size) or facts.strides is None:
        return own
    used = frozenset[sizes.Atom]().union(
        *(sizes.leaves(each) for each in facts.strides if isinstance(each, sizes.Size))
    )
    return own if own == expected or not used.isdisjoint(sizes.leaves(own)) else expected


def _is_row_major(facts: TensorFacts) -> bool:
    return suggests(facts, CONTIGUOUS).answer is Answer.YES
