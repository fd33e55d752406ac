"""The comparisons of `verify` on views that move or cut axes, on views as another dtype, and on shared memory."""

from __future__ import annotations

from typing import Any

from stridelint.rules.contract import overlap, reshaping, views
from stridelint.rules.contract.dtypes import itemsize
from stridelint.rules.contract.layout import Raises
from stridelint.runtime_probe.facts_of_tensor import facts_of
from stridelint.runtime_probe.verify_draw import Draw, Report, outcome


def _place(tensor: Any) -> tuple[Any, ...] | None:
    return None if tensor is None else (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())


def _tuple(geometry: views.Geometry | None) -> tuple[Any, ...] | None:
    return None if geometry is None else tuple(geometry)


def axes(draw: Draw, report: Report) -> None:
    """permute, transpose, movedim, expand, select, slice, narrow, squeeze, unsqueeze, unfold, diagonal."""
    tensor = draw.tensor()
    rank = tensor.dim()
    base = views.Geometry(*_place(tensor))  # type: ignore[misc]
    pick = draw.random.randrange
    a, b = pick(-rank - 1, rank + 1), pick(-rank - 1, rank + 1)
    order = draw.random.sample(range(rank), rank)
    signed = [axis - rank if draw.chance(0.2) else axis for axis in order]
    cut = pick(rank + 1)
    start, stop, step = pick(-6, 7), pick(-6, 7), pick(1, 4)
    size, every = pick(0, 5), pick(1, 4)
    wanted = tuple(
        -1 if draw.chance(0.1) else draw.random.choice((2, 3, size_)) if size_ == 1 else size_ for size_ in tensor.shape
    )
    wanted = draw.shape(pick(0, 3), (1, 2, 3)) + (wanted if draw.chance(0.95) else wanted[1:])
    index = (slice(None),) * (a if a >= 0 else rank + a) + (slice(start, stop, step),)
    calls = (
        ("permute", views.permute(base, signed), lambda: tensor.permute(signed)),
        ("transpose", views.transpose(base, a, b), lambda: tensor.transpose(a, b)),
        ("movedim", views.movedim(base, signed[:cut], order[:cut]), lambda: tensor.movedim(signed[:cut], order[:cut])),
        ("t", views.transposed_matrix(base), lambda: tensor.t()),
        ("expand", views.expand(base, wanted), lambda: tensor.expand(wanted)),
        ("select", views.select(base, a, start), lambda: tensor.select(a, start)),
        ("narrow", views.narrow(base, a, start, size), lambda: tensor.narrow(a, start, size)),
        ("squeeze", views.squeeze(base), lambda: tensor.squeeze()),
        ("squeeze(axis)", views.squeeze(base, [a]), lambda: tensor.squeeze(a)),
        ("squeeze(axes)", views.squeeze(base, signed[:cut]), lambda: tensor.squeeze(tuple(signed[:cut]))),
        ("unsqueeze", views.unsqueeze(base, a), lambda: tensor.unsqueeze(a)),
        ("unfold", views.unfold(base, a, size, every), lambda: tensor.unfold(a, size, every)),
        ("diagonal", views.diagonal(base, start, a, b), lambda: tensor.diagonal(start, a, b)),
    )
    for kind, predicted, call in calls:
        answer = _place(outcome(call))
        report.record(kind, _tuple(predicted), answer, base, a, b, signed, cut, start, size, every, wanted)
    if 0 <= (a if a >= 0 else rank + a) < rank:
        predicted = views.slice_axis(base, a, start, stop, step)
        report.record("slice", _tuple(predicted), _place(tensor[index]), base, a, start, stop, step)


def as_dtype(draw: Draw, report: Report) -> None:
    """view(dtype), view_as_complex, view_as_real."""
    torch = draw.torch
    old, new = (
        draw.random.choice(("uint8", "int16", "float32", "float64", "complex64", "complex128")) for _ in range(2)
    )
    tensor = draw.tensor(None, old)
    shape, strides, offset = _place(tensor) or ((), (), 0)
    predicted: Any = reshaping.view_as_dtype(shape, strides, offset, itemsize(old) or 1, itemsize(new) or 1)
    answer = _place(outcome(lambda: tensor.view(getattr(torch, new))))
    report.record(
        "view(dtype)", None if isinstance(predicted, Raises) else predicted, answer, shape, strides, offset, old, new
    )
    real = draw.tensor((*draw.shape(draw.random.randrange(4)), 2) if draw.chance(0.8) else None)
    shape, strides, offset = _place(real) or ((), (), 0)
    predicted = reshaping.view_as_complex(shape, strides, offset)
    answer = _place(outcome(lambda: torch.view_as_complex(real)))
    report.record(
        "view_as_complex", None if isinstance(predicted, Raises) else predicted, answer, shape, strides, offset
    )
    whole = draw.tensor(None, "complex64")
    shape, strides, offset = _place(whole) or ((), (), 0)
    report.record(
        "view_as_real",
        reshaping.view_as_real(shape, strides, offset),
        _place(torch.view_as_real(whole)),
        shape,
        strides,
    )


def overlaps(draw: Draw, report: Report) -> None:
    """Tensors that share memory with themselves or each other: what torch detects, and the truth by listing places."""
    torch = draw.torch
    base = torch.arange(160, device=draw.device).to(torch.float32)

    def cut(shape: tuple[int, ...]) -> Any:
        while True:
            strides, offset = draw.strides(shape), draw.random.randrange(12)
            if offset + sum(stride * max(size - 1, 0) for stride, size in zip(strides, shape)) < 160:
                return base.as_strided(shape, strides, offset)

    shape = draw.shape(draw.random.randrange(4), (0, 1, 2, 3))
    first, second = cut(shape), cut(shape)
    if draw.chance(0.2):
        second = base.as_strided(shape, first.stride(), first.storage_offset())
    elif shape and draw.chance(0.2):
        first = base.as_strided(shape, first.new_empty(shape).stride(), draw.random.randrange(12))
        second = base.as_strided(shape, first.stride(), first.storage_offset() + first.stride(0))
    one, two = facts_of(first), facts_of(second)
    strides = tuple(first.stride())
    places, others = first.flatten().tolist(), second.flatten().tolist()
    status = {0: 0, 1: 2, 2: 1}[torch._debug_has_internal_overlap(first)]
    report.record("detected self-overlap", overlap.detected_self_overlap(shape, strides).value, status, shape, strides)
    report.record("self-overlap", overlap.self_overlap(one).value == 2, len(set(places)) < len(places), shape, strides)
    truth = "no" if not set(places) & set(others) else "full" if places == others else "partial"
    report.record("overlap", overlap.overlap(one, two).value, truth, one, two)
    detected = overlap.detected_overlap(one, two)
    if overlap.is_moved_by_one(one, two):
        report.record("one row apart", detected.value, truth, one, two)
        report.record("overlap of rows", truth, "partial", one, two)
    if status != 2 and torch._debug_has_internal_overlap(second) == 0:
        partial = _refuses(lambda: torch.neg(first, out=second))
        report.record("detected partial overlap", detected is overlap.Overlap.PARTIAL, partial, one, two)
        if shape and 0 not in shape:
            index = torch.zeros(shape, dtype=torch.int64, device=draw.device)
            any_overlap = _refuses(lambda: torch.gather(first, 0, index, out=second))
            expected = detected in (overlap.Overlap.PARTIAL, overlap.Overlap.FULL)
            report.record("detected overlap", expected, any_overlap, one, two)


def _refuses(call: Any) -> bool:
    try:
        call()
    except RuntimeError as error:
        return "memory location" in str(error)
    return False
