"""The comparisons of `verify` on result shapes and on the layouts that convolutions, pools and the like give."""

from __future__ import annotations

from functools import partial
from typing import Any

from stridelint.rules.contract import convolution, shapes, spatial
from stridelint.rules.contract.elementwise import broadcast_shapes
from stridelint.runtime_probe.verify_draw import Draw, Report, outcome


def _shape(made: Any) -> tuple[int, ...] | None:
    return None if made is None else tuple(made.shape)


def _shapes(made: Any) -> list[tuple[int, ...]] | None:
    return None if made is None else [tuple(part.shape) for part in made]


def _record(report: Report, kind: str, predicted: object, answer: object, *example: object) -> None:
    """Shapes are compared where torch accepts the call: the functions do not promise to notice each error."""
    if answer is not None:
        report.record(kind, predicted, answer, *example)


def general_shapes(draw: Draw, report: Report) -> None:
    """Shapes of broadcasting, reductions, products, indexing, rearranging."""
    torch, pick = draw.torch, draw.random.randrange
    x = draw.tensor()
    own, rank = tuple(x.shape), x.dim()
    axis, keep = pick(-rank - 1, rank + 1), draw.chance(0.5)
    axes = [pick(-rank, rank) for _ in range(pick(1, 3))] if rank else []
    other = draw.tensor(draw.broadcastable(own) if draw.chance(0.8) else None)
    second = tuple(other.shape)
    index = torch.zeros(draw.shape(pick(0, 3), (0, 1, 2, 3)), dtype=torch.int64, device=draw.device)
    times = draw.shape(pick(0, 5), (0, 1, 2, 3))
    count, length = pick(0, 5), pick(0, 4)
    parts = tuple(pick(0, 3) for _ in range(pick(1, 4)))
    indices: list[Any] = [
        None if draw.chance(0.4) else torch.zeros(draw.shape(pick(0, 3), (1, 1, 2)), dtype=torch.int64) for _ in own
    ]
    wanted = [None if one is None else tuple(one.shape) for one in indices]
    picked = tuple(slice(None) if one is None else one for one in indices)
    gathered = torch.zeros(tuple(max(size - pick(0, 2), 0) for size in own), dtype=torch.int64)
    calls = (
        ("shape broadcast", broadcast_shapes(own, second), lambda: torch.broadcast_tensors(x, other)[0]),
        ("shape sum", shapes.reduced(own, axes, keep), lambda: x.sum(axes, keepdim=keep)),
        ("shape amax", shapes.reduced(own, axis, keep) if 0 not in own else None, lambda: x.amax(axis, keep) if x.numel() else None),
        ("shape topk", shapes.topk(own, length, axis), lambda: x.topk(length, axis)[0]),
        ("shape sort", shapes.sort(own, axis), lambda: x.sort(axis)[0]),
        ("shape index_select", shapes.index_select(own, axis, tuple(index.shape)) if 0 not in own else None,
         lambda: x.index_select(axis, index) if x.numel() else None),
        ("shape gather", shapes.gather(own, axis, tuple(gathered.shape)) if 0 not in own else None,
         lambda: x.gather(axis, gathered) if x.numel() else None),
        ("shape repeat", shapes.repeat(own, times), lambda: x.repeat(times)),
        ("shape tile", shapes.tile(own, times), lambda: x.tile(times)),
        ("shape repeat_interleave", shapes.repeat_interleave(own, count, axis) if rank else None,
         lambda: x.repeat_interleave(count, axis) if rank else None),
        ("shape index", shapes.advanced_index(own, wanted) if 0 not in own else None, lambda: x[picked] if x.numel() and rank else
         (x if x.numel() else None)),
        ("shape one_hot", shapes.one_hot(tuple(index.shape), 3), lambda: torch.nn.functional.one_hot(index, 3)),
        ("shape glu", spatial.glu(own, axis), lambda: torch.nn.functional.glu(x, axis)),
    )  # fmt: skip
    for kind, predicted, call in calls:
        _record(
            report, kind, predicted, _shape(outcome(call)), own, second, axis, axes, keep, count, length, times, wanted
        )
    for kind, many, divide in (
        ("shapes unbind", shapes.unbind(own, axis), lambda: x.unbind(axis)),
        ("shapes split", shapes.split(own, count, axis), lambda: x.split(count, axis)),
        ("shapes split(sizes)", shapes.split(own, parts, axis), lambda: x.split(parts, axis)),
        ("shapes chunk", shapes.chunk(own, count, axis), lambda: x.chunk(count, axis)),
    ):
        _record(report, kind, many, _shapes(outcome(divide)), own, axis, count, parts)
    products(draw, report)


def products(draw: Draw, report: Report) -> None:
    """Shapes of matrix products, linear, outer, embedding, einsum."""
    torch, pick = draw.torch, draw.random.randrange
    functional = torch.nn.functional
    inner = pick(1, 4)

    def matrix(rank: int, axis: int) -> Any:
        shape = list(draw.shape(rank, (1, 2, 3)))
        if shape and draw.chance(0.9):
            shape[max(axis, -len(shape))] = inner
        return draw.tensor(tuple(shape))

    a, b = matrix(pick(0, 5), -1), matrix(pick(0, 5), -2)
    left, right = matrix(2, -1), matrix(2, -2)
    batch, other, vector = matrix(3, -1), matrix(3, -2), matrix(1, -1)
    one, two, three = (tuple(tensor.shape) for tensor in (left, right, vector))
    index = torch.zeros(draw.shape(pick(0, 4), (0, 1, 2, 3)), dtype=torch.int64)
    equation = draw.random.choice(("ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk->", "ij,kl->ijkl", "ij,ij->i", "ii,jk->j"))
    for kind, predicted, call in (
        ("shape matmul", shapes.matmul(tuple(a.shape), tuple(b.shape)), lambda: a @ b),
        ("shape mm", shapes.mm(one, two), lambda: left.mm(right)),
        ("shape mv", shapes.mv(one, three), lambda: left.mv(vector)),
        ("shape bmm", shapes.bmm(tuple(batch.shape), tuple(other.shape)), lambda: batch.bmm(other)),
        ("shape dot", shapes.dot(three, tuple(a.shape)), lambda: vector.dot(a)),
        ("shape outer", shapes.outer(three, tuple(a.shape)), lambda: vector.outer(a)),
        ("shape linear", shapes.linear(tuple(a.shape), one), lambda: functional.linear(a, left)),
        ("shape embedding", shapes.embedding(tuple(index.shape), one), lambda: functional.embedding(index, left)),
        ("shape einsum", shapes.einsum(equation, [one, two]), lambda: torch.einsum(equation, left, right)),
    ):
        _record(
            report,
            kind,
            predicted,
            _shape(outcome(call)),
            a.shape,
            b.shape,
            one,
            two,
            batch.shape,
            other.shape,
            equation,
        )


def convolutions(draw: Draw, report: Report) -> None:
    """Shapes and layouts of convolutions of one to three axes."""
    pick, functional = draw.random.randrange, draw.torch.nn.functional
    axes, groups, transposed = draw.random.choice((1, 2, 2, 3)), draw.random.choice((1, 1, 2)), draw.chance(0.4)
    batch = () if draw.chance(0.1) else (draw.random.choice((0, 1, 2, 2)),)
    channels, features = pick(1, 3) * groups, pick(1, 3) * groups
    kernel = draw.shape(axes, (1, 2, 3))
    outer = (channels, features // groups) if transposed else (features, channels // groups)
    dtype = draw.random.choice(("float32", "float32", "float64"))
    x = draw.tensor((*batch, channels, *draw.shape(axes, (1, 2, 3, 4))), dtype)
    weight = draw.tensor((*outer, *kernel), dtype)
    own, size = tuple(x.shape), tuple(weight.shape)
    stride, pad, gap, extra = (tuple(pick(low, low + 2) for _ in range(axes)) for low in (1, 0, 1, 0))
    if transposed:
        call = getattr(functional, f"conv_transpose{axes}d")
        predicted = spatial.conv_transpose(own, size, stride, pad, extra, groups, gap)
        made = outcome(lambda: call(x, weight, None, stride, pad, extra, groups, gap))
        if any(more >= max(step, wide) for more, step, wide in zip(extra, stride, gap)):
            return
    else:
        call = getattr(functional, f"conv{axes}d")
        predicted = spatial.conv(own, size, stride, pad, gap, groups)
        made = outcome(lambda: call(x, weight, None, stride, pad, gap, groups))
    kind = f"conv{'_transpose' * transposed}{axes}d"
    if made is not None:
        report.record(f"shape {kind}", predicted, _shape(made), own, size, stride, pad, gap, extra, groups)
        layouts_ = (own, tuple(x.stride())), (size, tuple(weight.stride()))
        strides = convolution.conv_strides(*layouts_, tuple(made.shape), groups=groups, dtype=dtype)
        if strides is not None:
            report.record(f"layout {kind}", strides, tuple(made.stride()), *layouts_, made.shape, groups, dtype)


def spatial_shapes(draw: Draw, report: Report) -> None:
    """Shapes of pooling, interpolation, padding and pixel shuffling."""
    pick, functional = draw.random.randrange, draw.torch.nn.functional
    axes = draw.random.choice((1, 2, 2, 3))
    x = draw.tensor((*draw.shape(draw.random.choice((1, 2, 2)), (1, 2, 3)), *draw.shape(axes, (1, 2, 3, 4))))
    own = tuple(x.shape)
    kernel, stride, pad = (tuple(pick(low, low + high) for _ in range(axes)) for low, high in ((1, 3), (1, 3), (0, 2)))
    ceil, factor = draw.chance(0.3), draw.random.choice((1, 2, 3))
    padding = tuple(pick(-1, 3) for _ in range(2 * pick(0, 4)))
    scale = draw.random.choice((0.5, 1.5, 2, 2.0, 3))
    target = tuple(pick(1, 5) for _ in range(axes))
    image = draw.tensor(
        (*draw.shape(pick(0, 3), (1, 2)), draw.random.choice((1, 4, 9, 8)), *draw.shape(2, (1, 2, 3, 4)))
    )
    picture = tuple(image.shape)
    for kind, predicted, call in (
        (f"shape max_pool{axes}d", spatial.pool(own, kernel, stride, pad, 1, ceil, axes=axes),
         lambda: getattr(functional, f"max_pool{axes}d")(x, kernel, stride, pad, 1, ceil)),
        (f"shape avg_pool{axes}d", spatial.pool(own, kernel, stride, pad, 1, ceil, axes=axes),
         lambda: getattr(functional, f"avg_pool{axes}d")(x, kernel, stride, pad, ceil)),
        (f"shape adaptive_avg_pool{axes}d", spatial.adaptive_pool(own, target, axes=axes),
         lambda: getattr(functional, f"adaptive_avg_pool{axes}d")(x, target)),
        ("shape interpolate(size)", spatial.interpolate(own, target) if len(own) == axes + 2 else None,
         lambda: functional.interpolate(x, target) if len(own) == axes + 2 else None),
        ("shape interpolate(scale)", spatial.interpolate(own, None, scale), lambda: functional.interpolate(x, None, scale)),
        ("shape pad", spatial.pad(own, padding), lambda: functional.pad(x, padding)),
        ("shape pixel_shuffle", spatial.pixel_shuffle(picture, factor), lambda: functional.pixel_shuffle(image, factor)),
        ("shape pixel_unshuffle", spatial.pixel_unshuffle(picture, factor), lambda: functional.pixel_unshuffle(image, factor)),
    ):  # fmt: skip
        _record(
            report,
            kind,
            predicted,
            _shape(outcome(call)),
            own,
            kernel,
            stride,
            pad,
            ceil,
            target,
            scale,
            padding,
            picture,
            factor,
        )


def layouts(draw: Draw, report: Report) -> None:
    """Strides of operators that keep channels-last only, or drop every layout."""
    torch, functional = draw.torch, draw.torch.nn.functional
    x = draw.tensor((*draw.shape(2, (1, 2, 4)), *draw.shape(2, (1, 2, 3, 4))))
    own = (tuple(x.shape), tuple(x.stride()))
    keeps = {
        "max_pool2d": lambda: functional.max_pool2d(x, 1),
        "avg_pool2d": lambda: functional.avg_pool2d(x, 1),
        "adaptive_avg_pool2d": lambda: functional.adaptive_avg_pool2d(x, (2, 3)),
        "adaptive_max_pool2d": lambda: functional.adaptive_max_pool2d(x, (2, 3)),
        "interpolate nearest": lambda: functional.interpolate(x, scale_factor=2.0),
        "interpolate bilinear": lambda: functional.interpolate(x, size=(3, 5), mode="bilinear"),
        "interpolate bicubic": lambda: functional.interpolate(x, size=(3, 5), mode="bicubic"),
        "pad constant": lambda: functional.pad(x, (1, 1)),
        "pixel_shuffle": lambda: functional.pixel_shuffle(x, 2),
        "channel_shuffle": lambda: functional.channel_shuffle(x, 2),
    }
    drops = {
        "softmax": lambda: x.softmax(1),
        "log_softmax": lambda: x.log_softmax(1),
        "cumsum": lambda: x.cumsum(1),
        "topk": lambda: x.topk(1, 1)[0],
        "gather": lambda: x.gather(1, torch.zeros(x.shape, dtype=torch.int64)),
        "repeat": lambda: x.repeat(1, 2, 1, 1),
        "matmul": lambda: x @ torch.ones(x.shape[3], 3),
        "number ** tensor": lambda: 2.0**x,
        "tril": lambda: x.tril(),
    }
    video = draw.tensor((*draw.shape(2, (1, 2)), *draw.shape(draw.random.choice((0, 1, 2, 3)), (1, 2, 3))))
    for tensor in (x, video):
        place = tuple(tensor.shape), tuple(tensor.stride())
        training = draw.chance(0.5)
        normal = torch.zeros(tensor.shape[1])
        made = outcome(partial(functional.batch_norm, tensor, normal, normal + 1, training=training))
        if made is not None:
            report.record(
                "layout batch_norm", convolution.batch_norm_strides(place), tuple(made.stride()), *place, training
            )
    for layout_class, calls in (("channels_last", keeps), ("drops", drops)):
        for name, call in calls.items():
            made = outcome(call)
            if made is not None:
                predicted = convolution.result_strides(layout_class, [own], tuple(made.shape))
                report.record(f"layout {name}", predicted, tuple(made.stride()), *own)
