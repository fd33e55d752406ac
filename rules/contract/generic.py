"""Questions about tensors whose sizes are partly unknown, answered on instances of them.

The engine's functions are exact on numbers. Where sizes are symbols, the same function is asked on several instances:
every unknown size becomes a small distinct number >= 2 (rich in divisors, so that `c // groups` stays exact). An answer
that all instances agree on holds except for sizes of 0 or 1, which is what `Confidence.LIKELY` means. Each instance is
also a witness: the probe can build it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dims, TensorFacts

Result = TypeVar("Result")

# Each row assigns the k-th unknown; distinct, so that no two axes agree by chance.
_INSTANCES = (
    (6, 12, 4, 8, 10, 14, 16, 18, 20, 22),
    (12, 24, 8, 36, 16, 20, 28, 32, 40, 44),
    (2, 3, 5, 7, 11, 13, 17, 19, 23, 29),
    (4, 16, 8, 32, 64, 2, 128, 256, 512, 1024),
    (3, 6, 9, 15, 21, 27, 33, 39, 45, 51),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """An answer, how sure it is, and an instance of the tensors on which it can be observed."""

    answer: Answer
    confidence: Confidence
    witness: tuple[TensorFacts, ...] = ()


def is_concrete(facts: TensorFacts) -> bool:
    """Shape and strides are all numbers."""
    return facts.concrete_shape is not None and facts.concrete_strides is not None


def instances(tensors: Sequence[TensorFacts], *extra: Dims, broadcast: bool = False) -> list[tuple[tuple[TensorFacts, ...], tuple[tuple[int, ...], ...]]]:
    """The tensors (and extra size tuples) with every unknown size replaced by a number, in up to five ways.

    Args:
        tensors: operands of one operator; shapes and strides must be known up to symbols.
        extra: further tuples of sizes, such as the shape asked of `view`.
        broadcast: the operands are broadcast together: a lone unknown size opposite a number > 1 takes that number.
    """
    bound = _unify(tensors) if broadcast else {}
    dims = [tuple(_substituted(dim, bound) for dim in group) for group in _groups(tensors, extra)]
    names: list[sizes.Atom] = []
    for group in dims:
        for dim in group:
            names += [atom for atom in sorted(sizes.leaves(dim), key=hash) if atom not in names]
    found = []
    for row in _INSTANCES if names else _INSTANCES[:1]:
        values = dict(zip(names, row))
        try:
            numbers = [tuple(sizes.evaluate(dim, values) for dim in group) for group in dims]
        except (ValueError, KeyError):
            continue
        if any(number < 0 for group in numbers for number in group):
            if not any(isinstance(n, int) and n < 0 for group in extra for n in group):
                continue
        pairs = iter(numbers)
        filled = tuple(
            tensor.but(shape=next(pairs) if tensor.shape is not None else None, strides=next(pairs) if tensor.strides is not None else None)
            for tensor in tensors
        )
        found.append((filled, tuple(pairs)))
    return found


def _groups(tensors: Sequence[TensorFacts], extra: Sequence[Dims]) -> list[Dims]:
    groups: list[Dims] = []
    for tensor in tensors:
        groups += [dims for dims in (tensor.shape, tensor.strides) if dims is not None]
    return groups + list(extra)


def _substituted(dim: sizes.SizeLike, bound: dict[sizes.Atom, sizes.SizeLike]) -> sizes.SizeLike:
    replaced = sizes.substitute(dim, bound) if bound else dim
    return dim if replaced is None else replaced


def _unify(tensors: Sequence[TensorFacts]) -> dict[sizes.Atom, sizes.SizeLike]:
    """Sizes that broadcasting makes equal (a lone symbol opposite a size that is not 1)."""
    bound: dict[sizes.Atom, sizes.SizeLike] = {}
    shapes = [tensor.shape for tensor in tensors if tensor.shape]
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        column = [_substituted(shape[-axis], bound) for shape in shapes if len(shape) >= axis]
        numbers = [dim for dim in column if isinstance(dim, int) and dim > 1]
        symbols = [dim.symbol for dim in column if isinstance(dim, sizes.Size) and dim.symbol is not None]
        target: sizes.SizeLike | None = numbers[0] if numbers else None
        if target is None and len(symbols) > 1:
            target = sizes.Size({(symbols[0],): 1})
        for symbol in symbols:
            if target is not None and target != sizes.Size({(symbol,): 1}):
                bound = {atom: _substituted(size, {symbol: target}) for atom, size in bound.items()}
                bound[symbol] = target
    return bound


def judge(
    question: Callable[[tuple[TensorFacts, ...], tuple[tuple[int, ...], ...]], bool | None],
    tensors: Sequence[TensorFacts],
    *extra: Dims,
    broadcast: bool = False,
) -> Judgement:
    """Ask a question that is exact on numbers about tensors whose sizes may be symbols.

    `question(tensors, extra)` gets concrete facts; it returns None where an instance is not a legal call (it is then
    ignored). Tensors without known shape and strides: UNKNOWN.
    """
    unknown = Judgement(Answer.UNKNOWN, Confidence.POSSIBLE)
    if any(tensor.shape is None or tensor.strides is None for tensor in tensors):
        return unknown
    certain = all(is_concrete(tensor) for tensor in tensors) and all(isinstance(dim, int) for group in extra for dim in group)
    answers = []
    witness: tuple[TensorFacts, ...] = ()
    for filled, numbers in instances(tensors, *extra, broadcast=broadcast):
        answer = question(filled, numbers)
        if answer is None:
            continue
        answers.append(answer)
        witness = witness or filled
    if not answers or len(set(answers)) > 1:
        return unknown
    return Judgement(Answer.of(answers[0]), Confidence.CERTAIN if certain else Confidence.LIKELY, witness)


def strides_in_order(shape: Dims, order: Sequence[int]) -> Dims:
    """Dense strides for a shape whose axes lie in memory in `order` (outermost first)."""
    strides: list[sizes.SizeLike] = [0] * len(shape)
    running: sizes.SizeLike = 1
    for axis in reversed(order):
        strides[axis] = running
        running = sizes.multiply(running, shape[axis])
    return tuple(strides)


def lift_strides(
    compute: Callable[[tuple[TensorFacts, ...], tuple[tuple[int, ...], ...]], tuple[int, ...] | None],
    shape: Dims,
    tensors: Sequence[TensorFacts],
    *extra: Dims,
    broadcast: bool = False,
) -> Dims | None:
    """Strides of a result of `shape`, computed exactly on numbers and carried over to symbolic sizes.

    `compute(tensors, extra)` returns the result's strides for concrete facts, or None where the call is not legal.
    Symbolic results are known where all instances are dense in one and the same order of axes; else None.
    """
    if any(tensor.shape is None or tensor.strides is None for tensor in tensors):
        return None
    symbolic = not all(is_concrete(tensor) for tensor in tensors) or any(not isinstance(d, int) for d in shape)
    order: tuple[int, ...] | None = None
    for filled, numbers in instances(tensors, shape, *extra, broadcast=broadcast):
        strides = compute(filled, numbers[1:])
        if strides is None or len(strides) != len(shape):
            continue
        if not symbolic:
            return strides
        this = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))  # noqa: B023
        if strides_in_order(numbers[0], this) != strides or (order is not None and order != this):
            return None
        order = this
    return None if order is None else strides_in_order(shape, order)
