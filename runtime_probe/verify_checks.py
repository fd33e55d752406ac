"""The comparisons of `verify` on layouts: each function draws tensors, asks engine and torch, and records both answers."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from stridelint.rules.contract import copies, elementwise, joins, layout, questions, reshaping
from stridelint.rules.contract.dtypes import Scalar, can_cast, result_type
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.layout import Raises
from stridelint.runtime_probe.facts_of_tensor import facts_of
from stridelint.runtime_probe.verify_draw import DTYPES, Draw, Report, outcome

_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d")


def _geometry(tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(tensor.shape), tuple(tensor.stride())


def _strides(tensor: Any) -> tuple[int, ...] | None:
    return None if tensor is None else tuple(tensor.stride())


def _is_self(made: Any, base: Any) -> bool:
    return made is base or (
        made.data_ptr() == base.data_ptr() and _geometry(made) == _geometry(base) and made.numel() > 0
    )


def predicates(draw: Draw, report: Report) -> None:
    """Contiguity bits, density, channels-last strides and the suggested format."""
    torch, tensor = draw.torch, draw.tensor()
    shape, strides = _geometry(tensor)
    facts = facts_of(tensor)
    for name in _FORMATS:
        answer = tensor.is_contiguous(memory_format=getattr(torch, name))
        report.record(f"is_contiguous {name}", layout.is_contiguous(shape, strides, name), answer, shape, strides)
        report.record(
            "question is_contiguous",
            questions.is_contiguous(facts, name).answer.value == 2,
            answer,
            shape,
            strides,
            name,
        )
    dense = torch.ops.aten.is_non_overlapping_and_dense(tensor)
    report.record(
        "is_non_overlapping_and_dense", layout.is_non_overlapping_and_dense(shape, strides), dense, shape, strides
    )
    like = [torch.ops.aten.is_strides_like_format(tensor, getattr(torch, name)) for name in _FORMATS[1:]]
    report.record(
        "channels-last strides 2d", layout.is_channels_last_strides_2d(shape, strides), like[0], shape, strides
    )
    report.record(
        "channels-last strides 3d", layout.is_channels_last_strides_3d(shape, strides), like[1], shape, strides
    )
    suggested = "channels_last" if like[0] else "channels_last_3d" if like[1] else "contiguous_format"
    report.record("suggest_memory_format", layout.suggest_memory_format(shape, strides), suggested, shape, strides)
    report.record("question suggests", questions.suggests(facts, suggested).answer.value, 2, shape, strides)


def copied(draw: Draw, report: Report) -> None:
    """clone, empty_like, `.to`, `.contiguous`: strides, identity with the input, errors."""
    torch, tensor = draw.torch, draw.tensor()
    shape, strides = _geometry(tensor)
    facts = facts_of(tensor)
    kept = copies.preserved_strides(shape, strides)
    report.record("clone", kept, _strides(tensor.clone()), shape, strides)
    report.record("empty_like", kept, _strides(torch.empty_like(tensor)), shape, strides)
    report.record("zeros_like", kept, _strides(torch.zeros_like(tensor)), shape, strides)
    report.record("to(dtype)", kept, _strides(tensor.to(torch.float64)), shape, strides)
    report.record("to(copy=True)", kept, _strides(tensor.to(torch.float32, copy=True)), shape, strides)
    for name in _FORMATS:
        wanted = getattr(torch, name)
        calls = {
            "clone(memory_format)": (
                copies.copied_strides(shape, strides, name),
                partial(tensor.clone, memory_format=wanted),
            ),
            "empty_like(memory_format)": (
                copies.copied_strides(shape, strides, name),
                partial(torch.empty_like, tensor, memory_format=wanted),
            ),
            "to(dtype, memory_format)": (
                _only_strides(copies.to(shape, strides, name, changes=True)),
                partial(tensor.to, torch.float64, memory_format=wanted),
            ),
        }
        for kind, (predicted, call) in calls.items():
            made = outcome(call)
            report.record(
                kind, None if isinstance(predicted, Raises) else predicted, _strides(made), shape, strides, name
            )
        for kind, copy, call in (
            ("to(memory_format)", copies.to(shape, strides, name), partial(tensor.to, memory_format=wanted)),
            (
                "contiguous(memory_format)",
                copies.contiguous(shape, strides, name),
                partial(tensor.contiguous, memory_format=wanted),
            ),
        ):
            made = outcome(call)
            answer = None if made is None else (_strides(made), made is tensor or _is_self(made, tensor))
            expected: tuple[Any, ...] | None = None if isinstance(copy, Raises) else tuple(copy)
            if (
                made is not None and answer is not None and not made.numel()
            ):  # Empty tensors have no address to compare.
                report.record(kind, expected and expected[:1], answer[:1], shape, strides, name)
                continue
            report.record(kind, expected, answer, shape, strides, name)
            if made is not None:
                asked = (
                    questions.converted(facts, memory_format=name)
                    if kind[0] == "t"
                    else questions.made_contiguous(facts, name)
                )
                report.record(f"question {kind}", (asked[0].strides, asked[1].value == 2), answer, shape, strides, name)


def _only_strides(made: copies.Copy | Raises) -> tuple[int, ...] | Raises:
    return made if isinstance(made, Raises) else made.strides


def iterated(draw: Draw, report: Report) -> None:
    """Elementwise operators with one to three tensors of one dtype, numbers, and in-place and out= variants."""
    torch = draw.torch
    first = draw.tensor()
    shape = tuple(first.shape)
    second = draw.tensor(draw.broadcastable(shape))
    third = draw.tensor(draw.broadcastable(shape))
    a, b, c = facts_of(first), facts_of(second), facts_of(third)
    mask = second > 5 if draw.chance(0.5) else draw.tensor(tuple(second.shape), "bool")
    number = Scalar("float")
    calls: list[tuple[str, list[TensorFacts | Scalar], Any]] = [
        ("1 tensor neg", [a], torch.neg(first)),
        ("1 tensor exp", [a], torch.exp(first)),
        ("2 tensors add", [a, b], first + second),
        ("2 tensors swapped mul", [b, a], second * first),
        ("2 tensors eq", [a, b], first == second),
        ("2 tensors maximum", [a, b], torch.maximum(first, second)),
        ("tensor and number", [a, number], first * 2.0),
        ("number and tensor", [number, a], 2.0 - first),
        ("3 tensors addcmul", [a, b, c], torch.addcmul(first, second, third)),
        ("3 tensors lerp", [a, b, c], torch.lerp(first, second, third)),
        ("3 tensors clamp", [a, b, c], torch.clamp(first, second, third)),
        ("3 tensors where", [facts_of(mask), a, c], torch.where(mask, first, third)),
    ]
    for kind, operands, made in calls:
        conditions = int(kind == "3 tensors where")
        predicted = elementwise.elementwise_strides(operands, conditions=conditions)
        report.record(kind, predicted, _strides(made), *map(_brief, operands))
        asked = questions.elementwise(operands, conditions=conditions)
        report.record(
            "question elementwise", (asked.shape, asked.strides), _geometry(made), kind, *map(_brief, operands)
        )
    result = calls[2][2]
    if tuple(result.shape) == shape:
        made = outcome(lambda: first.clone().as_strided(shape, first.stride()).add_(second) if _fits(first) else None)
        if made is not None:
            report.record(
                "in-place add_", elementwise.elementwise_strides([a, b], out=a), _strides(made), _brief(a), _brief(b)
            )
    _with_out(draw, report, first, second, third)


def _fits(tensor: Any) -> bool:
    return bool(sum(stride * max(size - 1, 0) for stride, size in zip(tensor.stride(), tensor.shape)) < tensor.numel())


def _with_out(draw: Draw, report: Report, first: Any, second: Any, third: Any) -> None:
    torch = draw.torch
    kind = draw.random.choice(("right", "empty", "other"))
    shape = tuple((first + second + third).shape)
    target_shape = shape if kind == "right" else (0,) if kind == "empty" else draw.shape()
    strides = draw.strides(target_shape)
    room = 1 + sum(stride * max(size - 1, 0) for stride, size in zip(strides, target_shape))
    target = torch.empty(room, device=draw.device).as_strided(target_shape, strides)
    before = facts_of(target)
    operands: list[TensorFacts | Scalar] = [facts_of(one) for one in (first, second, third)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = outcome(lambda: torch.addcmul(first, second, third, out=target))
    if made is not None:
        predicted = elementwise.elementwise_strides(operands, out=before)
        report.record(
            f"3 tensors, out of {kind} shape", predicted, _strides(target), *map(_brief, operands), _brief(before)
        )


def mixed(draw: Draw, report: Report) -> None:
    """Operands of different dtypes: common dtype, and the strides after the copies that casting makes on CPU."""
    torch = draw.torch
    shape = draw.shape()
    dtypes = [draw.random.choice(DTYPES) for _ in range(3)]
    tensors = [
        draw.tensor(shape if place == 0 else draw.broadcastable(shape), dtype) for place, dtype in enumerate(dtypes)
    ]
    operands: list[Any] = list(tensors)
    facts: list[TensorFacts | Scalar] = [facts_of(one) for one in tensors]
    if draw.chance(0.3):
        number, kind = draw.random.choice(((True, "bool"), (2, "integer"), (2.5, "float"), (1j, "complex")))
        operands[1], facts[1] = number, Scalar(kind)
    examples = [*map(_brief, facts)]
    promoted = outcome(lambda: str(torch.result_type(operands[0], operands[1]))[6:])
    report.record("result_type", result_type(facts[:2]), promoted, *examples[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "ComplexHalf support is experimental"
        added = outcome(lambda: torch.add(operands[0], operands[1]))
    if added is not None:
        report.record("mixed add", elementwise.elementwise_strides(facts[:2]), _strides(added), *examples[:2])
        asked = questions.elementwise(facts[:2])
        answer = (*_geometry(added), str(added.dtype)[6:])
        report.record("question mixed elementwise", (asked.shape, asked.strides, asked.dtype), answer, *examples[:2])
    compared = outcome(lambda: torch.eq(operands[0], operands[1]))
    if compared is not None:
        report.record("mixed eq", elementwise.elementwise_strides(facts[:2]), _strides(compared), *examples[:2])
    lower = operands[0].clone()
    done = outcome(lambda: lower.add_(operands[1]) if promoted else None)
    if (
        promoted
        and tuple(added.shape if added is not None else ()) == shape
        and (done is not None or added is not None)
    ):
        report.record("in-place cast allowed", can_cast(promoted, dtypes[0]), done is not None, *examples[:2])
    if isinstance(facts[1], TensorFacts):
        fused = outcome(lambda: torch.addcmul(*operands))
        if fused is not None:
            report.record("mixed addcmul", elementwise.elementwise_strides(facts), _strides(fused), *examples)
            report.record("mixed addcmul dtype", result_type(facts), str(fused.dtype)[6:], *examples)


def joined(draw: Draw, report: Report) -> None:
    """cat and stack of one to three tensors."""
    torch = draw.torch
    shape = draw.shape(draw.random.choice((1, 2, 3, 4, 4, 4, 5, 5)))
    axis = draw.random.randrange(-len(shape), len(shape))
    tensors = []
    for _ in range(draw.random.choice((1, 2, 2, 3))):
        own = list(shape)
        own[axis] = draw.random.choice((0, 1, 2, 3))
        tensors.append(draw.tensor(tuple(own) if not draw.chance(0.03) else (0,)))
    pairs = [_geometry(one) for one in tensors]
    made = outcome(lambda: torch.cat(tensors, axis))
    report.record("cat", joins.cat_strides(pairs, axis), _strides(made), pairs, axis)
    facts = questions.cat([facts_of(one) for one in tensors], axis)
    if made is not None:
        report.record("question cat", (facts.shape, facts.strides), _geometry(made), pairs, axis)
    same = [draw.tensor(shape) for _ in tensors]
    pairs = [_geometry(one) for one in same]
    axis = draw.random.randrange(-len(shape) - 1, len(shape) + 1)
    made = outcome(lambda: torch.stack(same, axis))
    report.record("stack", joins.stack_strides(pairs, axis), _strides(made), pairs, axis)
    facts = questions.stack([facts_of(one) for one in same], axis)
    report.record("question stack", (facts.shape, facts.strides), made is not None and _geometry(made), pairs, axis)


def reshaped(draw: Draw, report: Report) -> None:
    """view, reshape, flatten and unflatten: strides, errors, and whether elements are copied."""
    tensor = draw.tensor()
    shape, strides = _geometry(tensor)
    for new in (_regrouped(draw, shape), draw.shape()):
        predicted = reshaping.view(shape, strides, new)
        made = outcome(partial(tensor.view, new))
        report.record("view", None if isinstance(predicted, Raises) else predicted, _strides(made), shape, strides, new)
        again = reshaping.reshape(shape, strides, new)
        made = outcome(partial(tensor.reshape, new))
        report.record(
            "reshape", None if isinstance(again, Raises) else again.strides, _strides(made), shape, strides, new
        )
        if made is not None and made.numel() and isinstance(again, reshaping.Reshaped):
            report.record("reshape copies", again.copies, made.data_ptr() != tensor.data_ptr(), shape, strides, new)
            asked, copied_ = questions.reshape(facts_of(tensor), new)
            report.record("question reshape", (asked.shape, asked.strides, copied_.answer.value == 2),
                          (*_geometry(made), again.copies), shape, strides, new)  # fmt: skip
    if shape:
        start, end = draw.random.randrange(-len(shape), len(shape)), draw.random.randrange(-len(shape), len(shape))
        made = outcome(lambda: tensor.flatten(start, end))
        asked, _ = questions.flatten(facts_of(tensor), start, end)
        answer = (None, None) if made is None else _geometry(made)
        report.record("flatten", (asked.shape, asked.strides), answer, shape, strides, start, end)
        parts = _regrouped(draw, (shape[start],))
        split = outcome(lambda: tensor.unflatten(start, parts))
        found = questions.unflatten(facts_of(tensor), start, parts)
        predicted_parts = None if found is None else (found.shape, found.strides)
        report.record(
            "unflatten", predicted_parts, None if split is None else _geometry(split), shape, strides, start, parts
        )


def _regrouped(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape of as many elements: neighbouring axes merged, axes split, ones inserted, perhaps a -1."""
    result: list[int] = []
    for size in shape:
        if result and draw.chance(0.4):
            result[-1] *= size
        elif size == 4 and draw.chance(0.3):
            result += [2, 2]
        else:
            result.append(size)
        if draw.chance(0.15):
            result.insert(draw.random.randrange(len(result) + 1), 1)
    if result and draw.chance(0.2):
        result[draw.random.randrange(len(result))] = -1
    return tuple(result)


def _brief(facts: TensorFacts | Scalar) -> str:
    return f"number:{facts.kind}" if isinstance(facts, Scalar) else f"{facts.dtype}{facts.shape}@{facts.strides}"
