"""Plain calls on 4-D images, for the layout of operators whose other samples have fewer axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stridelint.runtime_probe.harvest_calls import SEED
from stridelint.runtime_probe.harvest_plain import Arguments, index_tensor, positive

_SHAPE = (2, 4, 6, 8)


def image_calls(name: str) -> list[Arguments]:
    """Arguments after the image; the same numbers every time."""
    make = _CALLS.get(name)
    if make is None:
        return []
    torch.default_generator.manual_seed(SEED)
    return [((positive(*_SHAPE), *args), {}) for args in make()]


def _axis() -> torch.Tensor:
    return torch.arange(4)


def _same(*more: Any) -> Callable[[], list[tuple[Any, ...]]]:
    return lambda: [more]


def _indexed(*more: Any) -> Callable[[], list[tuple[Any, ...]]]:
    return lambda: [(1, index_tensor(*_SHAPE), positive(*_SHAPE), *more)]


def _along_axis(*more: Any) -> Callable[[], list[tuple[Any, ...]]]:
    return lambda: [(1, _axis(), positive(*_SHAPE), *more)]


_CALLS: dict[str, Callable[[], list[tuple[Any, ...]]]] = {
    "group_norm": _same(2),
    "nn.functional.group_norm": _same(2),
    "layer_norm": _same([4, 6, 8]),
    "nn.functional.layer_norm": _same([4, 6, 8]),
    "rms_norm": _same([4, 6, 8]),
    "nn.functional.rms_norm": _same([4, 6, 8]),
    "nn.functional.prelu": lambda: [(positive(4),)],
    "nn.functional.linear": lambda: [(positive(5, 8),), (positive(5, 8), positive(5))],
    "std": _same(0, True, True),
    "var": _same(0, True, True),
    "prod": _same(0, True),
    "logsumexp": _same(0, True),
    "special.logsumexp": _same(0, True),
    "norm": _same(2, 0, True),
    "linalg.norm": _same(2, 0, True),
    "linalg.vector_norm": _same(2, 0, True),
    "kthvalue": _same(1, 0, True),
    "mode": _same(0, True),
    "repeat": _same(1, 2, 1, 1),
    "repeat_interleave": _same(2, 1),
    "scatter_add": _indexed(),
    "scatter_reduce": _indexed("sum"),
    "index_add": _along_axis(),
    "index_copy": _along_axis(),
    "index_reduce": _along_axis("prod"),
    "index_fill": lambda: [(1, _axis(), 0.5)],
    "select_scatter": lambda: [(positive(2, 6, 8), 1, 0)],
    "new_empty": _same(_SHAPE),
    "new_zeros": _same(_SHAPE),
    "new_ones": _same(_SHAPE),
    "new_full": _same(_SHAPE, 0.5),
    "broadcast_to": _same(_SHAPE),
    "matmul": lambda: [(positive(2, 4, 8, 3),)],
    "nn.functional.adaptive_avg_pool2d": _same((3, 4)),
    "nn.functional.local_response_norm": _same(2),
}
