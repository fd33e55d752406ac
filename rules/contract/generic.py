"""Questions about tensors whose sizes are partly unknown, answered on instances of them.

The engine's functions are exact on numbers. Where sizes are symbols, the same function is asked on several instances:
every unknown size becomes a small number >= 2 (distinct, and rich in divisors, so that `c // groups` stays exact). An
answer that all instances agree on holds except for sizes of 0 or 1, which is what `Confidence.LIKELY` means. Numbers that
stand next to the symbols get instances of their own, since an axis may turn out to have just that size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.alike import answered_alike, once_alike
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.records import record

# Each row assigns the k-th unknown; distinct, so that no two axes agree by chance.
_ROWS = (
    (6, 12, 4, 8, 10, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34),
    (12, 24, 8, 36, 16, 20, 28, 32, 40, 44, 48, 52, 56, 60, 64, 68),
    (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53),
    (4, 16, 8, 32, 64, 2, 128, 256, 512, 1024, 6, 10, 12, 14, 18, 20),
    (3, 6, 9, 15, 21, 27, 33, 39, 45, 51, 57, 63, 69, 75, 81, 87),
)
_MOST_SPECIAL = 160
_LARGEST_SCALE = 4096


@record(frozen=True, slots=True)
class Judgement:
    """An answer, and how sure it is."""

    answer: Answer
    confidence: Confidence


UNKNOWN = Judgement(Answer.UNKNOWN, Confidence.POSSIBLE)

Numbers = tuple[tuple[int, ...], ...]


@record(frozen=True, slots=True)
class _Instance:
    values: Mapping[sizes.Atom, int]
    tensors: tuple[TensorFacts, ...]
    extra: Numbers


def is_concrete(facts: TensorFacts) -> bool:
    """Shape and strides are all numbers."""
    return facts.concrete_shape is not None and facts.concrete_strides is not None


def instances(
    tensors: Sequence[TensorFacts], *extra: Dims, broadcast: bool = False
) -> list[tuple[tuple[TensorFacts, ...], Numbers]]:
    """The tensors (and extra size tuples) with every unknown size replaced by a number, in several ways.

    Args:
        tensors: operands of one operator; shapes and strides must be known up to symbols.
        extra: further tuples of sizes, such as the shape asked of `view`.
        broadcast: the operands are broadcast together: a lone unknown size opposite a number > 1 takes that number.
    """
    return [(one.tensors, one.extra) for one in _instances(tensors, extra, broadcast)]


def fillings(
    tensors: Sequence[TensorFacts], *extra: Dims, broadcast: bool = False
) -> list[tuple[Mapping[sizes.Atom, int], tuple[TensorFacts, ...]]]:
    """As `instances`, with the number that each unknown size got, smallest tensors first."""
    found = [(one.values, one.tensors) for one in _instances(tensors, extra, broadcast)]
    return sorted(found, key=lambda one: sum(math.prod(facts.concrete_shape or ()) for facts in one[1]))


def _instances(
    tensors: Sequence[TensorFacts], extra: Sequence[Dims], broadcast: bool, result: Sequence[Dims] = ()
) -> Iterator[_Instance]:
    bound = _unify(tensors) if broadcast else {}
    shapes, strides, made, asked = (
        [tuple(_substituted(dim, bound) for dim in group) for group in groups if group is not None]
        for groups in ([tensor.shape for tensor in tensors], [tensor.strides for tensor in tensors], result, extra)
    )
    groups = [*shapes, *strides, *made, *asked]
    unknown = [dim for group in groups for dim in group if isinstance(dim, sizes.Size)]
    names = list(dict.fromkeys(atom for dim in unknown for atom in dim.leaves))
    special = _special_numbers(shapes, strides, asked) if names else []
    if (1 + len(special)) ** len(names) > _MOST_SPECIAL and any(
        isinstance(d, int) and d > 1 for group in strides for d in group
    ):
        return  # Unknown sizes behind known strides: too many ways in which they may fit together.
    for values in _assignments(names, groups, special):
        try:
            drawn = [sizes.evaluate(dim, values) for dim in unknown]
        except ValueError:
            continue
        if drawn and min(drawn) < 2:
            continue  # `LIKELY` leaves sizes below 2 out (negative sizes are not sizes at all).
        draw = iter(drawn)
        numbers = [tuple([dim if isinstance(dim, int) else next(draw) for dim in group]) for group in groups]
        rest, steps = iter(numbers), iter(numbers[len(shapes) :])
        filled = [
            tensor.but(
                shape=None if tensor.shape is None else next(rest),
                strides=None if tensor.strides is None else next(steps),
            )
            for tensor in tensors
        ]
        rest = iter(numbers[len(shapes) + len(strides) :])
        everything = dict(values)
        for atom, size in bound.items():
            everything[atom] = sizes.evaluate(size, values)
        yield _Instance(everything, tuple(filled), tuple(rest))


def _assignments(
    names: Sequence[sizes.Atom], groups: Sequence[Dims], special: Sequence[int]
) -> Iterator[dict[sizes.Atom, int]]:
    """Values of the unknowns: typical rows, rows large enough for every quotient, and rows of special numbers."""
    if not names:
        yield {}
        return
    if len(names) > len(_ROWS[0]):
        return
    for row in _ROWS:
        yield dict(zip(names, row))
    scale = 1
    for divisor in sorted(frozenset().union(*(sizes.divisors(dim) for group in groups for dim in group))):
        scale = math.lcm(scale, abs(divisor) or 1)
    if 1 < scale <= _LARGEST_SCALE:
        for row in _ROWS:
            yield {name: scale * number for name, number in zip(names, row)}
    if special:
        choices = [(row, *special) for row in _ROWS[2][: len(names)]]
        if math.prod(map(len, choices)) <= _MOST_SPECIAL:
            yield from (dict(zip(names, combination)) for combination in itertools.product(*choices))
        else:
            for number, row in itertools.product(special, _ROWS[:2]):
                for index, name in enumerate(names):
                    yield {**dict(zip(names, row)), name: number}
                    if index == 0:
                        yield {**dict(zip(names, row)), **dict.fromkeys(names, number)}


def _special_numbers(shapes: Sequence[Dims], strides: Sequence[Dims], extra: Sequence[Dims]) -> list[int]:
    """Sizes that would make axes fit together: known sizes, quotients of known strides, and what makes `extra` fit."""
    found = {dim for group in (*shapes, *extra) for dim in group if isinstance(dim, int)}
    steps = {dim for group in strides for dim in group if isinstance(dim, int) and dim > 0}
    if extra:
        steps |= found | {math.prod(dim for dim in group if isinstance(dim, int)) for group in (*shapes, *extra)}
        asked = {dim for group in extra for dim in group if isinstance(dim, int) and dim <= _LARGEST_SCALE}
        found |= {part for dim in asked for part in range(2, dim + 1) if dim % part == 0}
    found |= {larger // smaller for larger in steps for smaller in steps if smaller > 0 and larger % smaller == 0}
    return sorted(number for number in found if number >= 2)


def _substituted(dim: sizes.SizeLike, bound: dict[sizes.Atom, sizes.SizeLike]) -> sizes.SizeLike:
    replaced = sizes.substitute(dim, bound) if bound else dim
    return dim if replaced is None else replaced


def substituted(facts: TensorFacts, values: dict[sizes.Atom, sizes.SizeLike]) -> TensorFacts:
    """The facts with unknown sizes replaced by others, in shape and strides."""

    def replace(dims: Dims | None) -> Dims | None:
        return None if dims is None else tuple(_substituted(dim, values) for dim in dims)

    return facts.but(shape=replace(facts.shape), strides=replace(facts.strides))


def _unify(tensors: Sequence[TensorFacts]) -> dict[sizes.Atom, sizes.SizeLike]:
    """Sizes that broadcasting makes equal (a lone symbol opposite a size that is not 1)."""
    bound: dict[sizes.Atom, sizes.SizeLike] = {}
    shapes = [tensor.shape for tensor in tensors if tensor.shape]
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        column = [_substituted(shape[-axis], bound) for shape in shapes if len(shape) >= axis]
        numbers = [dim for dim in column if isinstance(dim, int) and dim > 1]
        unknown = [dim for dim in column if isinstance(dim, sizes.Size)]
        compound = [dim for dim in unknown if dim.symbol is None]
        symbols = [dim.symbol for dim in unknown if dim.symbol is not None]
        target: sizes.SizeLike | None = numbers[0] if numbers else compound[0] if compound else None
        if target is None and len(symbols) > 1:
            target = sizes.Size({(symbols[0],): 1})
        for symbol in symbols:
            if target is None or symbol in sizes.leaves(target):
                continue
            bound = {atom: _substituted(size, {symbol: target}) for atom, size in bound.items()}
            bound[symbol] = target
    return bound


def judge(
    question: Callable[[tuple[TensorFacts, ...], Numbers], bool | None],
    tensors: Sequence[TensorFacts],
    *extra: Dims,
    broadcast: bool = False,
    about: Hashable = None,
) -> Judgement:
    """Ask a question that is exact on numbers about tensors whose sizes may be symbols.

    `question(tensors, extra)` gets concrete facts; it returns None where an instance is not a legal call (it is then
    ignored). Tensors without known shape and strides: UNKNOWN.

    Args:
        about: names the question, where shapes and strides are all that decides it: it is then asked once of sizes that are alike.
    """
    if any(tensor.shape is None or tensor.strides is None for tensor in tensors):
        return UNKNOWN
    if about is None:
        return _judged(question, tensors, extra, broadcast)
    groups = [*_geometry(tensors), *extra]
    return answered_alike((about, len(tensors)), groups, lambda: _judged(question, tensors, extra, broadcast))


def _geometry(tensors: Sequence[TensorFacts]) -> list[Dims | None]:
    return [dims for tensor in tensors for dims in (tensor.shape, tensor.strides)]


def _judged(
    question: Callable[[tuple[TensorFacts, ...], Numbers], bool | None],
    tensors: Sequence[TensorFacts],
    extra: Sequence[Dims],
    broadcast: bool,
) -> Judgement:
    certain = all(is_concrete(tensor) for tensor in tensors) and all(
        isinstance(dim, int) for group in extra for dim in group
    )
    answers: set[bool] = set()
    for one in _instances(tensors, extra, broadcast):
        answer = question(one.tensors, one.extra)
        if answer is None:
            continue
        answers.add(answer)
        if len(answers) > 1:
            return UNKNOWN
    if not answers:
        return UNKNOWN
    return Judgement(Answer.of(answers.pop()), Confidence.CERTAIN if certain else Confidence.LIKELY)


def strides_in_order(shape: Dims, order: Sequence[int]) -> Dims:
    """Dense strides for a shape whose axes lie in memory in `order` (outermost first)."""
    strides: list[sizes.SizeLike] = [0] * len(shape)
    running: sizes.SizeLike = 1
    for axis in reversed(order):
        strides[axis] = running
        running = sizes.multiply(running, shape[axis])
    return tuple(strides)


def lift_strides(
    compute: Callable[[tuple[TensorFacts, ...], Numbers], tuple[int, ...] | None],
    shape: Dims,
    tensors: Sequence[TensorFacts],
    *extra: Dims,
    broadcast: bool = False,
    about: Hashable = None,
) -> Dims | None:
    """Strides of a result of `shape`, computed exactly on numbers and carried over to symbolic sizes.

    `compute(tensors, extra)` returns the result's strides for concrete facts, or None where the call is not legal.
    A symbolic stride is known where one formula (a product of sizes, or a stride of an operand) fits all instances.

    Args:
        about: names the computation, where sizes and strides are all that decides it (see `judge`).
    """
    if any(tensor.shape is None or tensor.strides is None for tensor in tensors):
        return None
    if about is None:
        return _lifted(compute, shape, tensors, extra, broadcast)
    groups = [shape, *_geometry(tensors), *extra]
    return once_alike((about, len(tensors)), groups, lambda: _lifted(compute, shape, tensors, extra, broadcast))


def _lifted(
    compute: Callable[[tuple[TensorFacts, ...], Numbers], tuple[int, ...] | None],
    shape: Dims,
    tensors: Sequence[TensorFacts],
    extra: Sequence[Dims],
    broadcast: bool,
) -> Dims | None:
    measured: list[tuple[_Instance, tuple[int, ...]]] = []
    for one in _instances(tensors, extra, broadcast, [shape]):
        strides = compute(one.tensors, one.extra[1:])
        if strides is not None and len(strides) == len(shape):
            measured.append((one, strides))
    if not measured:
        return None
    if all(is_concrete(tensor) for tensor in tensors) and not any(map(sizes.leaves, shape)):
        return measured[0][1]
    lifted: list[sizes.SizeLike] = []
    for axis in range(len(shape)):
        formula = next((c for c in _formulas(axis, shape, tensors) if _fits(c, axis, measured)), None)
        if formula is None:
            return None
        lifted.append(formula)
    bound = _unify(tensors) if broadcast else {}
    return tuple(_substituted(stride, bound) for stride in lifted)


def _fits(formula: sizes.SizeLike, axis: int, measured: Sequence[tuple[_Instance, tuple[int, ...]]]) -> bool:
    return all(sizes.evaluate(formula, one.values) == strides[axis] for one, strides in measured)


def _formulas(axis: int, shape: Dims, tensors: Sequence[TensorFacts]) -> Iterator[sizes.SizeLike]:
    """What the stride of an axis may be: 1, 0, a product of other axes' sizes, or a stride that an operand has."""
    yield 1
    yield 0
    own = [
        tensor.strides[axis] for tensor in tensors if tensor.strides is not None and len(tensor.strides) == len(shape)
    ]
    yield from own
    others = [dim for place, dim in enumerate(shape) if place != axis and dim != 1]
    for count in range(1, len(others) + 1):
        yield from (sizes.product(chosen) for chosen in itertools.combinations(others, count))
    for tensor in tensors:
        yield from (stride for stride in tensor.strides or () if not isinstance(stride, int))
