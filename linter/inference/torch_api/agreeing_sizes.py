"""What a call that torch accepts tells about the sizes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping

from stridelint.linter.inference.comparisons import learn_equal
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.bound_shapes import shape
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim

_AXES = {"1d": 1, "2d": 2, "3d": 3}


def learn(path: Path, name: str, bound: Mapping[str, object]) -> None:
    """After a convolution, a linear layer or a normalization, an unknown number of channels is what the weights ask for."""
    if "weight" not in bound:
        return
    operator = name.rpartition(".")[2]
    base, weight = shape(bound, "input"), shape(bound, "weight")
    if not base or not weight:
        return
    if operator == "linear":
        _agree(path, base[-1], weight[-1])
    elif operator == "batch_norm" and len(base) > 1 and len(weight) == 1:
        _agree(path, base[1], weight[0])
    elif operator in ("conv1d", "conv2d", "conv3d") and len(base) == len(weight) == _AXES[operator[-2:]] + 2:
        groups = bound.get("groups", 1)
        if isinstance(groups, (int, sizes.Size)):
            _agree(path, base[1], sizes.multiply(weight[1], groups))


def _agree(path: Path, size: Dim, wanted: Dim) -> None:
    if size != wanted and isinstance(size, sizes.Size) and size.symbol is not None:
        learn_equal(path, size, wanted)
