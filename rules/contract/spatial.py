"""Result shapes of operators on images and volumes: convolution, pooling, interpolation, padding, pixel shuffling.

Shapes are (batch, channels, *space) or without the batch, sizes may be symbols; None where they do not fit or do not
decide the shape; not every error of torch is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims
from stridelint.rules.contract.views import wrap


def per_axis(value: Dim | Sequence[Dim], count: int) -> Dims | None:
    """One number for each of `count` axes, from one number for all or a sequence (a single one is repeated)."""
    values = (value,) if isinstance(value, (int, sizes.Size)) else tuple(value)
    if len(values) == 1:
        values *= count
    return values if len(values) == count else None


def _positive(space: Sequence[Dim | None]) -> Dims | None:
    known = tuple(dim for dim in space if dim is not None and not (isinstance(dim, int) and dim < 0))
    return known if len(known) == len(space) else None


def window_count(
    size: Dim, kernel: Dim, stride: Dim, padding: Dim = 0, dilation: Dim = 1, ceil: bool = False
) -> Dim | None:
    """How many positions a window has along an axis (`pooling_output_shape` in aten/src/ATen/native/Pool.h)."""
    reach = sizes.add(sizes.multiply(dilation, sizes.subtract(kernel, 1)), 1)
    room = sizes.subtract(sizes.add(size, sizes.multiply(2, padding)), reach)
    if isinstance(room, int) and room < 0 and not ceil:
        return None
    steps = sizes.floor_divide(sizes.add(room, sizes.subtract(stride, 1) if ceil else 0), stride)
    if steps is None:
        return None
    count = sizes.add(steps, 1)
    if ceil:
        if not all(isinstance(number, int) for number in (count, stride, size, padding)):
            return None
        start = sizes.multiply(sizes.subtract(count, 1), stride)
        limit = sizes.add(size, padding)
        if isinstance(start, int) and isinstance(limit, int) and start >= limit:
            count = sizes.subtract(count, 1)
    return None if isinstance(count, int) and count < 1 else count


def conv(
    shape: Dims,
    weight: Dims,
    stride: Dim | Sequence[Dim] = 1,
    padding: str | Dim | Sequence[Dim] = 0,
    dilation: Dim | Sequence[Dim] = 1,
    groups: Dim = 1,
) -> Dims | None:
    """Shape of conv1d, conv2d, conv3d, by the rank of `weight` (out, in // groups, *kernel); padding may be "same", "valid"."""
    count = len(weight) - 2
    if count < 1 or len(shape) not in (count + 1, count + 2):
        return None
    channels = shape[-count - 1]
    expected = sizes.multiply(weight[1], groups)
    if isinstance(channels, int) and isinstance(expected, int) and channels != expected:
        return None
    if padding == "same":
        return (*shape[: -count - 1], weight[0], *shape[-count:])
    steps, gaps = per_axis(stride, count), per_axis(dilation, count)
    pads = per_axis(0 if isinstance(padding, str) else padding, count)
    if steps is None or gaps is None or pads is None:
        return None
    space = _positive([window_count(*axis) for axis in zip(shape[-count:], weight[2:], steps, pads, gaps)])
    return None if space is None else (*shape[: -count - 1], weight[0], *space)


def conv_transpose(
    shape: Dims,
    weight: Dims,
    stride: Dim | Sequence[Dim] = 1,
    padding: Dim | Sequence[Dim] = 0,
    output_padding: Dim | Sequence[Dim] = 0,
    groups: Dim = 1,
    dilation: Dim | Sequence[Dim] = 1,
) -> Dims | None:
    """Shape of conv_transpose1d, 2d, 3d, by the rank of `weight` (in, out // groups, *kernel)."""
    count = len(weight) - 2
    if count < 1 or len(shape) not in (count + 1, count + 2):
        return None
    channels = shape[-count - 1]
    if isinstance(channels, int) and isinstance(weight[0], int) and channels != weight[0]:
        return None
    columns = [per_axis(value, count) for value in (stride, padding, output_padding, dilation)]
    steps, pads, extras, gaps = columns
    if steps is None or pads is None or extras is None or gaps is None:
        return None
    space: list[Dim] = []
    for size, kernel, step, pad, extra, gap in zip(shape[-count:], weight[2:], steps, pads, extras, gaps):
        span = sizes.multiply(sizes.subtract(size, 1), step)
        reach = sizes.multiply(gap, sizes.subtract(kernel, 1))
        space.append(sizes.add(sizes.add(sizes.add(sizes.subtract(span, sizes.multiply(2, pad)), reach), extra), 1))
    found = _positive(space)
    return None if found is None else (*shape[: -count - 1], sizes.multiply(weight[1], groups), *found)


def pool(
    shape: Dims,
    kernel: Dim | Sequence[Dim],
    stride: Dim | Sequence[Dim] | None = None,
    padding: Dim | Sequence[Dim] = 0,
    dilation: Dim | Sequence[Dim] = 1,
    ceil_mode: bool = False,
    *,
    axes: int,
) -> Dims | None:
    """Shape of max, average and lp pooling over the last `axes` axes; stride None is the kernel."""
    if len(shape) not in (axes + 1, axes + 2):
        return None
    windows, pads, gaps = (per_axis(value, axes) for value in (kernel, padding, dilation))
    steps = windows if stride is None or stride == () or stride == [] else per_axis(stride, axes)
    if windows is None or pads is None or gaps is None or steps is None:
        return None
    for window, pad in zip(windows, pads):
        if isinstance(window, int) and isinstance(pad, int) and pad > window // 2:
            return None
    space = _positive([window_count(*axis, ceil_mode) for axis in zip(shape[-axes:], windows, steps, pads, gaps)])
    return None if space is None else (*shape[:-axes], *space)


def adaptive_pool(shape: Dims, output_size: Dim | Sequence[Dim | None] | None, *, axes: int) -> Dims | None:
    """Shape of adaptive pooling; a None in `output_size` keeps the axis."""
    if len(shape) not in (axes + 1, axes + 2):
        return None
    if output_size is None or isinstance(output_size, (int, sizes.Size)):
        wanted: tuple[Dim | None, ...] = (output_size,) * axes
    else:
        wanted = tuple(output_size) * (axes if len(output_size) == 1 else 1)
    if len(wanted) != axes:
        return None
    return (*shape[:-axes], *(old if new is None else new for old, new in zip(shape[-axes:], wanted)))


def interpolate(
    shape: Dims,
    size: Dim | Sequence[Dim] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Dims | None:
    """Shape of `F.interpolate` of (batch, channels, *space): exactly one of size and scale_factor."""
    axes = len(shape) - 2
    if axes < 1 or (size is None) == (scale_factor is None):
        return None
    if size is not None:
        wanted = per_axis(size, axes)
        return None if wanted is None else (*shape[:2], *wanted)
    factors = [scale_factor] * axes if isinstance(scale_factor, (int, float)) else list(scale_factor or ())
    if len(factors) != axes:
        return None
    scaled = _positive([_scaled(old, factor) for old, factor in zip(shape[2:], factors) if factor is not None])
    return None if scaled is None else (*shape[:2], *scaled)


def _scaled(size: Dim, factor: float) -> Dim | None:
    if isinstance(size, int):
        return int(float(size) * factor)
    if factor == int(factor):
        return sizes.multiply(size, int(factor))
    inverse = 1 / factor if factor else 0.0
    return sizes.floor_divide(size, int(inverse)) if inverse and inverse == int(inverse) else None


def pad(shape: Dims, padding: Sequence[Dim]) -> Dims | None:
    """Shape of `F.pad`: pairs (before, after) from the last axis backwards, negative ones crop."""
    pairs = len(padding) // 2
    if len(padding) % 2 or pairs > len(shape):
        return None
    result = list(shape)
    for place in range(pairs):
        axis = len(shape) - 1 - place
        result[axis] = sizes.add(result[axis], sizes.add(padding[2 * place], padding[2 * place + 1]))
    return _positive(result)


def pixel_shuffle(shape: Dims, factor: int) -> Dims | None:
    """Shape of `F.pixel_shuffle`: (.., c*r*r, h, w) to (.., c, h*r, w*r)."""
    if len(shape) < 3 or factor <= 0:
        return None
    channels = shape[-3]
    if isinstance(channels, int) and channels % (factor * factor):
        return None
    fewer = sizes.floor_divide(channels, factor * factor)
    if fewer is None:
        return None
    return (*shape[:-3], fewer, sizes.multiply(shape[-2], factor), sizes.multiply(shape[-1], factor))


def pixel_unshuffle(shape: Dims, factor: int) -> Dims | None:
    """Shape of `F.pixel_unshuffle`, the inverse of `pixel_shuffle`."""
    if len(shape) < 3 or factor <= 0:
        return None
    if any(isinstance(dim, int) and dim % factor for dim in shape[-2:]):
        return None
    height, width = sizes.floor_divide(shape[-2], factor), sizes.floor_divide(shape[-1], factor)
    if height is None or width is None:
        return None
    return (*shape[:-3], sizes.multiply(shape[-3], factor * factor), height, width)


def glu(shape: Dims, axis: int = -1) -> Dims | None:
    """Shape of `F.glu`: half of the axis."""
    at = wrap(axis, len(shape))
    if at is None or not shape or isinstance(shape[at], int) and shape[at] % 2:  # type: ignore[operator]
        return None
    half = sizes.floor_divide(shape[at], 2)
    return None if half is None else (*shape[:at], half, *shape[at + 1 :])
