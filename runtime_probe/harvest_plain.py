"""Plain sample calls: for functions without OpInfo, and those whose OpInfo samples miss an overload or a telling shape.

Square matrices let out= be an operand itself; four axes of different sizes let layouts be told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from stridelint.runtime_probe.harvest_calls import SEED

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


def plain_calls(name: str) -> list[Arguments]:
    """Arguments of the plain calls of a function; the same numbers every time."""
    torch.manual_seed(SEED)
    return [call() for call in _CALLS.get(name, [])]


def positive(*shape: int) -> torch.Tensor:
    """Numbers between 0.1 and 0.9."""
    return torch.rand(shape) * 0.8 + 0.1


def index_tensor(*shape: int, high: int = 3) -> torch.Tensor:
    """Integers from 0 to high - 1."""
    return torch.randint(0, high, shape)


def _c(make: Callable[[], tuple[Any, ...]], **kwargs: Any) -> Callable[[], Arguments]:
    return lambda: (make(), dict(kwargs))


def _unary(**kwargs: Any) -> list[Callable[[], Arguments]]:
    return [_c(lambda: (positive(4, 6),), **kwargs), _c(lambda: (positive(2, 4, 6, 8),), **kwargs)]


def _binary(**kwargs: Any) -> list[Callable[[], Arguments]]:
    return [
        _c(lambda: (positive(4, 6), positive(4, 6)), **kwargs),
        _c(lambda: (positive(2, 4, 6, 8), positive(2, 4, 6, 8)), **kwargs),
    ]


def _spd() -> torch.Tensor:
    matrix = positive(4, 4)
    return matrix @ matrix.mT + 4 * torch.eye(4)


_IMAGE = _c(lambda: (positive(2, 4, 6, 8), 2))

_CALLS: dict[str, list[Callable[[], Arguments]]] = {
    # Linear algebra on square operands.
    "mm": [_c(lambda: (positive(6, 6), positive(6, 6)))],
    "matmul": [
        _c(lambda: (positive(6, 6), positive(6, 6))),
        _c(lambda: (positive(6), positive(6, 5))),
        _c(lambda: (positive(3, 5, 5), positive(3, 5, 5))),
    ],
    "linalg.matmul": [_c(lambda: (positive(6, 6), positive(6, 6))), _c(lambda: (positive(6), positive(6, 5)))],
    "bmm": [_c(lambda: (positive(3, 6, 6), positive(3, 6, 6)))],
    "inner": [
        _c(lambda: (positive(3, 4), positive(3, 4))),
        _c(lambda: (positive(), positive(4))),
        _c(lambda: (positive(4, 4), positive(4, 4))),
    ],
    "mv": [_c(lambda: (positive(6, 6), positive(6)))],
    "addmm": [_c(lambda: (positive(6, 6), positive(6, 6), positive(6, 6)))],
    "addmv": [_c(lambda: (positive(6), positive(6, 6), positive(6)))],
    "addr": [_c(lambda: (positive(6, 6), positive(6), positive(6)))],
    "baddbmm": [_c(lambda: (positive(3, 6, 6), positive(3, 6, 6), positive(3, 6, 6)))],
    "addbmm": [_c(lambda: (positive(6, 6), positive(3, 6, 6), positive(3, 6, 6)))],
    "chain_matmul": [
        _c(lambda: (positive(5, 5), positive(5, 5), positive(5, 5))),
        _c(lambda: (positive(3, 4), positive(4, 5), positive(5, 6))),
    ],
    "linalg.multi_dot": [_c(lambda: ([positive(5, 5), positive(5, 5), positive(5, 5)],))],
    "nn.functional.linear": [
        _c(lambda: (positive(6, 6), positive(6, 6))),
        _c(lambda: (positive(6, 6), positive(6, 6), positive(6))),
    ],
    "linalg.solve": [_c(lambda: (_spd(), positive(4, 4)))],
    "linalg.lu_solve": [_c(lambda: (*torch.linalg.lu_factor(_spd()), positive(4, 4)))],
    "linalg.solve_triangular": [_c(lambda: (_spd().triu(), positive(4, 4)), upper=True)],
    "nuclear_norm": [_c(lambda: (positive(4, 6),)), _c(lambda: (positive(2, 4, 6), [0, 1]))],
    "frobenius_norm": [_c(lambda: (positive(4, 6), [0])), _c(lambda: (positive(2, 4, 6), [0, 1]))],
    "slogdet": [_c(lambda: (_spd(),))],
    "diff": [*_unary(), _c(lambda: (positive(4, 6),), dim=0)],
    "histogram": [_c(lambda: (positive(4, 6),))],
    "linalg.lstsq": _binary(),
    "linalg.pinv": _unary(),
    "linalg.qr": [_c(lambda: (positive(4, 4),)), _c(lambda: (positive(6, 4),))],
    "qr": [_c(lambda: (positive(4, 4),)), _c(lambda: (positive(6, 4),))],
    "cross": [_c(lambda: (positive(4, 3), positive(4, 3)), dim=1)],
    "linalg.cross": [_c(lambda: (positive(4, 3), positive(4, 3)))],
    # Several overloads of one name.
    "max": [*_unary(), _c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1, True)), *_binary()],
    "min": [*_unary(), _c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1, True)), *_binary()],
    "maximum": _binary(),
    "minimum": _binary(),
    "fmax": _binary(),
    "fmin": _binary(),
    "all": [
        _c(lambda: (positive(4, 6),)),
        _c(lambda: (positive(4, 6), 1)),
        _c(lambda: (positive(2, 4, 6, 8), 1, True)),
    ],
    "any": [
        _c(lambda: (positive(4, 6),)),
        _c(lambda: (positive(4, 6), 1)),
        _c(lambda: (positive(2, 4, 6, 8), 1, True)),
    ],
    "sum": [*_unary(), _c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1, True))],
    "mean": [*_unary(), _c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1, True))],
    "nansum": [_c(lambda: (positive(4, 6), 1))],
    "nanmean": [_c(lambda: (positive(4, 6), 1))],
    "prod": [*_unary(), _c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1, True))],
    "std": [
        _c(lambda: (positive(4, 6),)),
        _c(lambda: (positive(4, 6), True)),
        _c(lambda: (positive(4, 6), 1)),
        _c(lambda: (positive(4, 6), 1, True, True)),
        _c(lambda: (positive(4, 6), 1), correction=1),
    ],
    "var": [
        _c(lambda: (positive(4, 6),)),
        _c(lambda: (positive(4, 6), True)),
        _c(lambda: (positive(4, 6), 1)),
        _c(lambda: (positive(4, 6), 1, True, True)),
        _c(lambda: (positive(4, 6), 1), correction=1),
    ],
    "aminmax": [
        _c(lambda: (positive(4, 6),)),
        _c(lambda: (positive(4, 6),), dim=1),
        _c(lambda: (positive(2, 4, 6, 8),), dim=1, keepdim=True),
    ],
    "norm": [
        _c(lambda: (positive(4, 6),)),
        _c(lambda: (positive(4, 6), 2, 1)),
        _c(lambda: (positive(2, 4, 6, 8), 2, 1, True)),
    ],
    "sort": [_c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(4, 6),), stable=True, dim=1)],
    "topk": [_c(lambda: (positive(4, 6), 2, 1)), _c(lambda: (positive(2, 4, 6, 8), 2, 1))],
    "div": [
        *_binary(),
        *_binary(rounding_mode="floor"),
        *_binary(rounding_mode="trunc"),
        *_binary(rounding_mode=None),
        _c(lambda: (positive(4, 6), 2.0)),
    ],
    "divide": [
        *_binary(),
        *_binary(rounding_mode="floor"),
        *_binary(rounding_mode="trunc"),
        *_binary(rounding_mode=None),
        _c(lambda: (positive(4, 6), 2.0)),
    ],
    "clamp": [*_unary(min=0.2, max=0.7), _c(lambda: (positive(4, 6), positive(4, 6), positive(4, 6)))],
    "clip": [*_unary(min=0.2, max=0.7), _c(lambda: (positive(4, 6), positive(4, 6), positive(4, 6)))],
    "pow": [*_binary(), _c(lambda: (positive(4, 6), 2.0)), _c(lambda: (2.0, positive(4, 6)))],
    "float_power": [*_binary(), _c(lambda: (positive(4, 6), 2.0))],
    "where": [
        _c(lambda: (positive(4, 6) > 0.5, positive(4, 6), positive(4, 6))),
        _c(lambda: (positive(2, 4, 6, 8) > 0.5, positive(2, 4, 6, 8), positive(2, 4, 6, 8))),
        _c(lambda: (positive(4, 6) > 0.5, positive(4, 6), 0.5)),
    ],
    "add": [*_binary(), _c(lambda: (positive(4, 6), 2.0))],
    "mul": [*_binary(), _c(lambda: (positive(4, 6), 2.0))],
    "sub": [*_binary(), _c(lambda: (positive(4, 6), 2.0))],
    "lerp": [
        _c(lambda: (positive(4, 6), positive(4, 6), 0.3)),
        _c(lambda: (positive(4, 6), positive(4, 6), positive(4, 6))),
    ],
    "addcmul": [_c(lambda: (positive(4, 6), positive(4, 6), positive(4, 6)))],
    "addcdiv": [_c(lambda: (positive(4, 6), positive(4, 6), positive(4, 6)))],
    "cat": [
        _c(lambda: ([positive(4, 6)],)),
        _c(lambda: ([positive(4, 6), positive(4, 6)],)),
        _c(lambda: ([positive(2, 4, 6, 8), positive(2, 4, 6, 8)],), dim=1),
    ],
    "stack": [_c(lambda: ([positive(4, 6), positive(4, 6)],)), _c(lambda: ([positive(4, 6), positive(4, 6)],), dim=1)],
    "cumsum": [_c(lambda: (positive(4, 6), 1))],
    "cumprod": [_c(lambda: (positive(4, 6), 1))],
    "cummax": [_c(lambda: (positive(4, 6), 1))],
    "cummin": [_c(lambda: (positive(4, 6), 1))],
    "softmax": [_c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1))],
    "log_softmax": [_c(lambda: (positive(4, 6), 1)), _c(lambda: (positive(2, 4, 6, 8), 1))],
    "tril": [_c(lambda: (positive(6, 6),)), _c(lambda: (positive(2, 4, 6, 6),))],
    "triu": [_c(lambda: (positive(6, 6),)), _c(lambda: (positive(2, 4, 6, 6),))],
    "index_select": [
        _c(lambda: (positive(4, 6), 0, index_tensor(4))),
        _c(lambda: (positive(2, 4, 6, 8), 1, torch.tensor([0, 1, 2, 3]))),
    ],
    "gather": [
        _c(lambda: (positive(4, 6), 1, index_tensor(4, 6))),
        _c(lambda: (positive(2, 4, 6, 8), 1, index_tensor(2, 4, 6, 8))),
    ],
    "take": [_c(lambda: (positive(4, 6), index_tensor(4, 6)))],
    "normal": [
        _c(lambda: (positive(4, 6), 1.0)),
        _c(lambda: (0.5, positive(4, 6))),
        _c(lambda: (positive(4, 6), positive(4, 6))),
        _c(lambda: (0.0, 1.0, (4, 6))),
    ],
    # Factories.
    "zeros": [_c(lambda: (4, 6)), _c(lambda: ((4, 6),))],
    "ones": [_c(lambda: (4, 6)), _c(lambda: ((4, 6),))],
    "empty": [_c(lambda: (4, 6)), _c(lambda: ((4, 6),))],
    "rand": [_c(lambda: (4, 6)), _c(lambda: ((4, 6),))],
    "randn": [_c(lambda: (4, 6)), _c(lambda: ((4, 6),))],
    "full": [_c(lambda: ((4, 6), 0.5))],
    "randint": [_c(lambda: (9, (4, 6))), _c(lambda: (1, 9, (4, 6)))],
    "randperm": [_c(lambda: (12,))],
    "eye": [_c(lambda: (5,)), _c(lambda: (4, 6))],
    "range": [_c(lambda: (1, 12)), _c(lambda: (1, 12, 2))],
    "arange": [_c(lambda: (12,)), _c(lambda: (1, 12)), _c(lambda: (1, 24, 2))],
    "linspace": [_c(lambda: (0.0, 1.0, 12))],
    "logspace": [_c(lambda: (0.0, 1.0, 12))],
    "fft.fftfreq": [_c(lambda: (12,)), _c(lambda: (12, 0.5))],
    "fft.rfftfreq": [_c(lambda: (12,)), _c(lambda: (12, 0.5))],
    "bartlett_window": [_c(lambda: (12,))],
    "blackman_window": [_c(lambda: (12,))],
    "hamming_window": [_c(lambda: (12,))],
    "hann_window": [_c(lambda: (12,))],
    "kaiser_window": [_c(lambda: (12,))],
    # Functions without OpInfo.
    "special.gammainc": _binary(),
    "special.gammaincc": _binary(),
    "special.polygamma": [_c(lambda: (1, positive(4, 6)))],
    "polygamma": [_c(lambda: (1, positive(4, 6)))],
    "vander": [_c(lambda: (positive(6),))],
    "detach_copy": _unary(),
    "detach": _unary(),
    "select_copy": [_c(lambda: (positive(4, 6), 0, 1))],
    "slice_copy": [_c(lambda: (positive(4, 6), 0, 1, 3)), _c(lambda: (positive(2, 4, 6, 8), 1, 1, 3))],
    "view_as_real_copy": [_c(lambda: (torch.complex(positive(4, 6), positive(4, 6)),))],
    "view_as_complex_copy": [_c(lambda: (positive(4, 6, 2),))],
    "split_copy": [_c(lambda: (positive(4, 6), 2))],
    "unsafe_split_with_sizes": [_c(lambda: (positive(4, 6), [1, 3]))],
    "adaptive_avg_pool1d": [_c(lambda: (positive(2, 4, 6), 3))],
    "adaptive_max_pool1d": [_c(lambda: (positive(2, 4, 6), 3))],
    "avg_pool1d": [_c(lambda: (positive(2, 4, 6), 2))],
    "max_pool1d": [_c(lambda: (positive(2, 4, 6), 2))],
    "max_pool1d_with_indices": [_c(lambda: (positive(2, 4, 6), 2))],
    "max_pool2d": [_IMAGE],
    "max_pool3d": [_c(lambda: (positive(2, 3, 4, 6, 8), 2))],
    "affine_grid_generator": [_c(lambda: (positive(2, 2, 3), (2, 4, 6, 8), False))],
    "nn.functional.affine_grid": [_c(lambda: (positive(2, 2, 3), (2, 4, 6, 8), False))],
    "dropout": [_c(lambda: (positive(2, 4, 6, 8), 0.5, True))],
    "alpha_dropout": [_c(lambda: (positive(2, 4, 6, 8), 0.5, True))],
    "feature_alpha_dropout": [_c(lambda: (positive(2, 4, 6, 8), 0.5, True))],
    "feature_dropout": [_c(lambda: (positive(2, 4, 6, 8), 0.5, True))],
    "native_dropout": [_c(lambda: (positive(2, 4, 6, 8), 0.5, True))],
    "nn.functional.dropout1d": [_c(lambda: (positive(2, 4, 6),))],
    "batch_norm": [_c(lambda: (positive(2, 4, 6, 8), None, None, None, None, True, 0.1, 1e-5, False))],
    "instance_norm": [_c(lambda: (positive(2, 4, 6, 8), None, None, None, None, True, 0.1, 1e-5, False))],
    "bilinear": [_c(lambda: (positive(4, 3), positive(4, 5), positive(6, 3, 5), None))],
    "binary_cross_entropy_with_logits": _binary(),
    "celu": _unary(),
    "relu": _unary(),
    "selu": _unary(),
    "rrelu": _unary(),
    "hardshrink": _unary(),
    "poisson": _unary(),
    "threshold": [_c(lambda: (positive(4, 6), 0.5, 0.0)), _c(lambda: (positive(2, 4, 6, 8), 0.5, 0.0))],
    "prelu": [_c(lambda: (positive(2, 4, 6, 8), positive(4)))],
    "channel_shuffle": [_IMAGE],
    "native_channel_shuffle": [_IMAGE],
    "nn.functional.native_channel_shuffle": [_IMAGE],
    "pixel_shuffle": [_c(lambda: (positive(2, 8, 6, 8), 2))],
    "pixel_unshuffle": [_IMAGE],
    "nn.functional.pixel_shuffle": [_c(lambda: (positive(2, 8, 6, 8), 2))],
    "nn.functional.pixel_unshuffle": [_IMAGE],
    "nn.functional.max_pool1d_with_indices": [_c(lambda: (positive(2, 4, 6), 2))],
    "nn.functional.max_pool2d_with_indices": [_IMAGE],
    "nn.functional.max_pool3d_with_indices": [_c(lambda: (positive(2, 3, 4, 6, 8), 2))],
    "nn.functional.adaptive_max_pool1d_with_indices": [_c(lambda: (positive(2, 4, 6), 3))],
    "nn.functional.adaptive_max_pool2d_with_indices": [_c(lambda: (positive(2, 4, 6, 8), 3))],
    "nn.functional.adaptive_max_pool3d_with_indices": [_c(lambda: (positive(2, 3, 4, 6, 8), 2))],
    "nn.functional.fractional_max_pool2d_with_indices": [_c(lambda: (positive(2, 4, 6, 8), 2, 3))],
    "nn.functional.fractional_max_pool3d_with_indices": [_c(lambda: (positive(2, 3, 6, 6, 8), 2, 3))],
    "nn.functional.lp_pool1d": [_c(lambda: (positive(2, 4, 6), 2.0, 2))],
    "nn.functional.lp_pool2d": [_c(lambda: (positive(2, 4, 6, 8), 2.0, 2))],
    "nn.functional.lp_pool3d": [_c(lambda: (positive(2, 3, 4, 6, 8), 2.0, 2))],
    "nn.functional.fold": [_c(lambda: (positive(2, 12, 6), (4, 6), (2, 2), 1, 0, 2))],
    "nn.functional.gumbel_softmax": [_c(lambda: (positive(2, 4, 6, 8),), dim=1)],
    "nn.functional.avg_pool2d": [_IMAGE, _c(lambda: (positive(1, 4, 6, 6), 1))],
    "nn.functional.avg_pool3d": [_c(lambda: (positive(2, 3, 4, 6, 8), 2)), _c(lambda: (positive(1, 2, 4, 4, 4), 1))],
    "nn.functional.gelu": [*_unary(), *_unary(approximate="tanh")],
    "nn.functional.softplus": _unary(),
    "nn.functional.softshrink": _unary(),
    "nn.functional.normalize": [_c(lambda: (positive(4, 6),)), _c(lambda: (positive(2, 4, 6, 8),))],
    "nn.functional.interpolate": [
        _c(lambda: (positive(2, 4, 6, 8), (4, 6)), mode=mode)
        for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact")
    ],
    "nn.functional.pad": [
        _c(lambda: (positive(2, 4, 6, 8), (1, 2, 1, 2)), mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
    ],
    "nn.functional.one_hot": [_c(lambda: (index_tensor(4, 6), 3))],
    "nn.functional.embedding": [_c(lambda: (index_tensor(2, 4, 6), positive(5, 8)))],
    "embedding": [_c(lambda: (positive(5, 8), index_tensor(2, 4, 6)))],
    "grid_sampler": [_c(lambda: (positive(2, 4, 6, 8), positive(2, 3, 5, 2), 0, 0, False))],
    "norm_except_dim": [_c(lambda: (positive(2, 4, 6, 8), 2, 0))],
    "pairwise_distance": _binary(),
    "cosine_similarity": _binary(),
    "kl_div": _binary(),
    "poisson_nll_loss": [_c(lambda: (positive(4, 6), positive(4, 6), True, False, 1e-8, 1))],
    "pdist": [_c(lambda: (positive(4, 6),))],
    "margin_ranking_loss": [_c(lambda: (positive(4), positive(4), positive(4)))],
    "hinge_embedding_loss": _binary(),
    "triplet_margin_loss": [_c(lambda: (positive(4, 6), positive(4, 6), positive(4, 6)))],
    "cosine_embedding_loss": [_c(lambda: (positive(4, 6), positive(4, 6), positive(4)))],
    "as_tensor": _unary(),
    "to": [_c(lambda: (positive(2, 4, 6, 8), torch.float64)), _c(lambda: (positive(2, 4, 6, 8),), dtype=torch.float64)],
    "view": [_c(lambda: (positive(2, 4, 6, 8), 2, 4, 48))],
    "expand": [_c(lambda: (positive(2, 4, 6, 8), 2, 4, 6, 8))],
    "nonzero": [_c(lambda: (positive(4, 6) > 0.5,))],
    "broadcast_tensors": [_c(lambda: (positive(4, 6), positive(6)))],
    "nn.functional.max_pool1d": [_c(lambda: (positive(2, 4, 6), 2))],
    "nn.functional.max_pool2d": [_IMAGE],
    "nn.functional.max_pool3d": [_c(lambda: (positive(2, 3, 4, 6, 8), 2))],
    "nn.functional.adaptive_max_pool2d": [_IMAGE],
    "contiguous": [_c(lambda: (positive(2, 4, 6, 8).permute(0, 2, 3, 1),))],
    "roll": [_c(lambda: (positive(2, 4, 6, 8), 1, 1))],
    "masked_fill": [
        _c(lambda: (positive(4, 6), positive(4, 6) > 0.5, 0.5)),
        _c(lambda: (positive(2, 4, 6, 8), positive(2, 4, 6, 8) > 0.5, 0.5)),
    ],
    "nn.functional.grid_sample": [_c(lambda: (positive(2, 4, 6, 8), positive(2, 3, 5, 2), "bilinear", "zeros", False))],
    "nn.functional.conv2d": [_c(lambda: (positive(2, 4, 6, 8), positive(5, 4, 3, 3)))],
    "conv2d": [_c(lambda: (positive(2, 4, 6, 8), positive(5, 4, 3, 3)))],
}
