"""What came of a claim, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stridelint.runtime_probe.operate import Outcome


@dataclass(frozen=True)
class Seen:
    """What came of a claim: true, false, or None where the call does not show it; and what torch did."""

    holds: bool | None
    what: str


def refused(outcome: Outcome) -> Seen:
    """Torch refuses a call that should run: it shows nothing."""
    return Seen(None, f"torch refuses the call: {outcome.text()}")


def described(outcome: Outcome) -> str:
    """The result of a call, to append to what torch did."""
    results = outcome.results
    if not results:
        return ""
    return "; result " + ", ".join(
        f"{str(each.dtype)[6:]} {tuple(each.shape)} strides {tuple(each.stride())}" for each in results[:2]
    )


def listed(shapes: list[tuple[int, ...]]) -> str:
    """Shapes or strides, with commas."""
    return ", ".join(map(str, shapes))


def numbers(tensor: Any) -> str:
    """The first numbers of a tensor."""
    return str(
        [round(each, 4) if isinstance(each, float) else each for each in tensor.detach().flatten()[:4].tolist()]
    )[:-1] + (", ...]" if tensor.numel() > 4 else "]")


def same_numbers(left: Any, right: Any) -> bool:
    """Equal shapes and (almost) equal numbers, in the dtype of the right one."""
    import torch

    if left.shape != right.shape:
        return False
    one, other = left.detach(), right.detach()
    if one.dtype != other.dtype:
        wide = torch.promote_types(one.dtype, other.dtype)
        one, other = one.to(wide), other.to(wide)
    if not (one.dtype.is_floating_point or one.dtype.is_complex):
        return bool(torch.equal(one, other))
    coarse = 1e-2 if torch.finfo(one.dtype).bits <= 16 or left.dtype != right.dtype else 1e-4
    return bool(torch.allclose(one, other, rtol=coarse, atol=coarse / 10, equal_nan=True))
