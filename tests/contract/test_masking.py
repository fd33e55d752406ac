"""What is unknown never makes an answer wrong: facts are taken from complete cases, and the answers compared.

A CERTAIN answer about masked facts must be that of the complete case; a fact of a result must be its fact. Where a size
became a symbol, this holds for complete cases with sizes of 2 and more, as `Confidence.LIKELY` says.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings, strategies as st

from stridelint.rules.contract import overlap, questions, sizes, views
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import Operand, Scalar, kind_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import Judgement
from stridelint.rules.contract.sizes import Size

DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
FORMATS = ("contiguous_format", "channels_last", "channels_last_3d")


class Case:
    """Complete tensors with the same ones masked, and what the symbols stand for."""

    def __init__(self, seed: int, least: int) -> None:
        self.random = random.Random(seed)
        self.least = least
        self.values: dict[sizes.Atom, int] = {}
        self.symbolic = False

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """Sizes from `least` upwards; few elements."""
        rank = self.random.choice((0, 1, 2, 2, 3, 3, 4, 4, 4, 5)) if rank is None else rank
        return tuple(self.random.choice((self.least, 2, 2, 3, 4)) for _ in range(rank))

    def complete(self, shape: tuple[int, ...]) -> TensorFacts:
        """A tensor with any strides."""
        order = list(range(len(shape)))
        style = self.random.random()
        if style < 0.35 and len(shape) in (4, 5):
            order = [0, *range(2, len(shape)), 1]
        elif style < 0.65:
            self.random.shuffle(order)
        strides, running, gaps = [0] * len(shape), 1, self.random.random() < 0.3
        for axis in reversed(order):
            strides[axis] = running
            running *= shape[axis] + (self.random.choice((0, 1)) if gaps else 0) or 1
        if self.random.random() < 0.1:
            strides = [0 if self.random.random() < 0.3 else stride for stride in strides]
        if self.random.random() < 0.2:
            strides = [
                self.random.choice((0, 1, 2, 7, stride)) if size == 1 else stride
                for stride, size in zip(strides, shape)
            ]
        dtype = self.random.choice((*DTYPES, "float32", "float32", "float32"))
        return TensorFacts(
            shape=shape,
            strides=tuple(strides),
            storage_offset=self.random.choice((0, 0, 3)),
            dtype=dtype,
            kind=kind_of(dtype),
            device=self.random.choice(("cpu", "cpu", "cpu", "cuda")),
            requires_grad=False,
            storage=self.random.choice((1, 2)),
        )

    def masked(self, facts: TensorFacts, allow_symbols: bool = True) -> TensorFacts:
        """The facts with some of them unknown."""
        changes: dict[str, object] = {}
        for name in ("strides", "dtype", "kind", "device", "storage_offset", "storage", "requires_grad"):
            if self.random.random() < 0.12:
                changes[name] = None
        if self.random.random() < 0.06:
            changes["shape"] = None
        elif allow_symbols and facts.shape and self.random.random() < 0.5:
            shape: list[Any] = list(facts.shape)
            for axis, size in enumerate(shape):
                if self.random.random() < 0.4:
                    symbol = Size.fresh(f"s{axis}")
                    self.values[symbol.symbol] = size  # type: ignore[index]
                    shape[axis] = symbol
                    self.symbolic = True
            changes["shape"] = tuple(shape)
        return facts.but(**changes)

    def check(self, masked: Judgement, complete: Judgement) -> None:
        """An answer that is given is right."""
        if masked.answer is not Answer.UNKNOWN:
            assert masked.answer is complete.answer, (masked, complete)
            assert masked.confidence is Confidence.CERTAIN or self.symbolic

    def check_answer(self, masked: Answer, complete: Answer) -> None:
        """The same for a bare answer."""
        assert masked is Answer.UNKNOWN or masked is complete, (masked, complete)

    def check_facts(self, masked: TensorFacts | None, complete: TensorFacts | None) -> None:
        """Every fact that is given is that of the complete case's result (which a legal call has)."""
        if complete is None or complete.shape is None:
            return
        assert masked is not None
        for name in ("dtype", "kind", "device", "requires_grad", "storage"):
            given_, true = getattr(masked, name), getattr(complete, name)
            assert given_ is None or given_ == true, (name, masked, complete)
        for name in ("shape", "strides"):
            self._check_dims(getattr(masked, name), getattr(complete, name), name, masked, complete)
        if masked.storage_offset is not None:
            self._check_dims((masked.storage_offset,), (complete.storage_offset or 0,), "offset", masked, complete)

    def _check_dims(self, masked: Dims | None, complete: Dims | None, *context: object) -> None:
        if masked is None:
            return
        assert complete is not None
        try:
            numbers = tuple(sizes.evaluate(dim, self.values) for dim in masked)
        except KeyError:  # A fresh unknown size claims nothing.
            return
        assert numbers == complete, context


def cases(symbols: bool) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Run a property on many cases: with symbols on sizes from 2, else on any sizes, 0 included."""

    def decorate(test: Callable[[Case], None]) -> Callable[[], None]:
        @settings(max_examples=400, deadline=None)
        @given(st.integers(0, 2**40), st.sampled_from((2,) if symbols else (0, 1, 2)))
        def run(seed: int, least: int) -> None:
            case = Case(seed, least)
            if not symbols:
                whole = case.masked
                case.masked = lambda facts, allow_symbols=False: whole(facts, False)  # type: ignore[method-assign]
            test(case)

        run.__name__ = test.__name__
        return run

    return decorate


def predicates(case: Case) -> None:
    full = case.complete(case.shape())
    part = case.masked(full)
    name = case.random.choice(FORMATS)
    for question in (questions.is_contiguous, questions.is_only, questions.suggests, questions.format_raises):
        case.check(question(part, name), question(full, name))
    case.check(questions.is_dense(part), questions.is_dense(full))
    case.check_answer(overlap.self_overlap(part), overlap.self_overlap(full))


def copies(case: Case) -> None:
    full = case.complete(case.shape())
    part = case.masked(full)
    name = case.random.choice((*FORMATS, "preserve_format"))
    ranked = {"channels_last": 4, "channels_last_3d": 5}.get(name, full.rank)
    if ranked != full.rank:
        return
    case.check_facts(questions.cloned(part, name), questions.cloned(full, name))
    case.check_facts(questions.like(part, name), questions.like(full, name))
    requests: dict[str, Any] = {
        "dtype": case.random.choice((None, "float32", "int64")),
        "device": case.random.choice((None, "cpu", "cuda", "cuda:1")),
        "memory_format": case.random.choice((None, name)),
        "copy": case.random.random() < 0.2,
    }
    (made, aliases), (true, really) = questions.converted(part, **requests), questions.converted(full, **requests)
    case.check_answer(aliases, really)
    if really is not Answer.UNKNOWN:
        case.check_facts(made, true)
    if name != "preserve_format":
        (made, aliases), (true, really) = questions.made_contiguous(part, name), questions.made_contiguous(full, name)
        case.check_answer(aliases, really)
        case.check_facts(made, true)


def elementwise(case: Case) -> None:
    shape = case.shape()
    whole: list[Operand] = []
    parts: list[Operand] = []
    for _ in range(case.random.choice((1, 2, 2, 3))):
        if case.random.random() < 0.15:
            number = Scalar(case.random.choice(("bool", "integer", "float", "complex")))
            whole.append(number)
            parts.append(number)
            continue
        own = shape[case.random.randrange(len(shape) + 1) :] if case.random.random() < 0.3 else shape
        if case.random.random() < 0.3:
            own = tuple(1 if case.random.random() < 0.3 else size for size in own)
        full = case.complete(own)
        if whole and isinstance(whole[0], TensorFacts) and case.random.random() < 0.9:
            full = full.but(device=whole[0].device)
        whole.append(full)
        parts.append(case.masked(full, 1 not in own))
    devices = {operand.device for operand in whole if isinstance(operand, TensorFacts)}
    if len(devices) != 1:
        return
    options: dict[str, Any] = {"conditions": int(case.random.random() < 0.1 and len(whole) > 1)}
    case.check(questions.order_matters(parts, **options), questions.order_matters(whole, **options))
    options["to_float"] = case.random.random() < 0.2
    true = questions.elementwise(whole, **options)
    if true.dtype is not None and true.strides is not None:
        case.check_facts(questions.elementwise(parts, **options), true)


def reshaped(case: Case) -> None:
    full = case.complete(case.shape())
    assert full.shape is not None
    part = case.masked(full)
    start, end = sorted(case.random.choices(range(max(len(full.shape), 1)), k=2))
    new: list[Any] = [*full.shape[:start], sizes.product(full.shape[start : end + 1]), *full.shape[end + 1 :]]
    if case.random.random() < 0.3 and 0 not in full.shape:
        new[case.random.randrange(len(new))] = -1
    (made, raises), (true, really) = questions.view(part, tuple(new)), questions.view(full, tuple(new))
    case.check(raises, really)
    case.check_facts(made, true)
    (again, copied), (truly, real) = questions.reshape(part, tuple(new)), questions.reshape(full, tuple(new))
    case.check(copied, real)
    case.check_facts(again, truly)
    (again, copied), (truly, real) = questions.flatten(part, start, end), questions.flatten(full, start, end)
    case.check(copied, real)
    case.check_facts(again, truly)


def viewed(case: Case) -> None:
    full = case.complete(case.shape())
    part = case.masked(full)
    rank = len(full.shape or ())
    pick = case.random.randrange
    a, b, start, stop = pick(-rank - 1, rank + 1), pick(-rank - 1, rank + 1), pick(-3, 4), pick(-3, 5)
    order = case.random.sample(range(rank), rank)
    calls: tuple[tuple[Any, ...], ...] = (
        (views.permute, order),
        (views.transpose, a, b),
        (views.movedim, order[:1], [pick(rank) for _ in order[:1]]),
        (views.select, a, start),
        (views.slice_axis, a, start, stop, pick(1, 3)),
        (views.narrow, a, 0, 2),
        (views.squeeze,),
        (views.squeeze, [a]),
        (views.unsqueeze, a),
        (views.unfold, a, 2, pick(1, 3)),
        (views.diagonal, 0, a, b),
        (views.expand, (2, *(-1 for _ in range(rank)))),
        (views.expand, full.shape),
    )
    for operation, *arguments in calls:
        true = questions.viewed(full, operation, *arguments)
        if true is None or 0 in (true.shape or ()) or 1 in (true.shape or ()):
            continue
        case.check_facts(questions.viewed(part, operation, *arguments), true)


def joined(case: Case) -> None:
    shape = case.shape(case.random.choice((1, 2, 3, 4, 4, 5)))
    axis = case.random.randrange(-len(shape), len(shape))
    whole = [case.complete(shape) for _ in range(case.random.choice((1, 2, 3)))]
    if len({full.device for full in whole}) != 1:
        return
    parts = [case.masked(full) for full in whole]
    for join in (questions.cat, questions.stack):
        true = join(whole, axis)
        if true.dtype is not None:
            case.check_facts(join(parts, axis), true)


def overlaps(case: Case) -> None:
    shape = case.shape(case.random.choice((1, 2, 3)))
    first, second = case.complete(shape), case.complete(shape if case.random.random() < 0.7 else case.shape(2))
    parts = case.masked(first), case.masked(second)
    for question in (overlap.overlap, overlap.detected_overlap):
        found = question(*parts)
        assert found is overlap.Overlap.UNKNOWN or found is question(first, second)


def _both(prop: Callable[[Case], None]) -> tuple[Callable[[], None], Callable[[], None]]:
    return cases(symbols=False)(prop), cases(symbols=True)(prop)


test_predicates, test_predicates_of_symbols = _both(predicates)
test_copies, test_copies_of_symbols = _both(copies)
test_elementwise, test_elementwise_of_symbols = _both(elementwise)
test_reshaped, test_reshaped_of_symbols = _both(reshaped)
test_viewed, test_viewed_of_symbols = _both(viewed)
test_joined, test_joined_of_symbols = _both(joined)
test_overlaps, test_overlaps_of_symbols = _both(overlaps)
