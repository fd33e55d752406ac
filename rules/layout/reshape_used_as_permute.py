"""TLC111: a reshape that asks for the axes in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import axis_order
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.sizes import Size
from stridelint.rules.events import TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.layout.reordered_sizes import reorders
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

RESHAPES = frozenset({"view", "reshape", "view_as", "reshape_as"})


class ReshapeUsedAsPermute(Rule):
    """
    What it does:
        Finds `view` and `reshape` that ask for a tensor's sizes in another order, such as `x.view(n, h, w, c)` of a tensor
        of shape (n, c, h, w).

    Why is this bad?
        `view` and `reshape` regroup the numbers in the order in which they stand; they move none. The result has the shape
        of the permuted tensor, with channels and pixels mixed up.

    Example:
        n, c, h, w = maps.shape
        tokens = maps.reshape(n, h * w, c)

    Use instead:
        tokens = maps.flatten(2).transpose(1, 2)

    Confirmed by:
        Comparing the result with that of the permutation.
    """

    code = "TLC111"
    name = "reshape-used-as-permute"
    severity = Severity.ERROR
    words = tuple(f".{name}(" for name in sorted(RESHAPES))
    ops = RESHAPES | {"numpy.reshape"}

    VALID = (
        """\
import torch

def analytic(Q: torch.Tensor, taps: int):
    B, F, C, length, _, _ = Q.shape
    return Q.reshape(B, F, C * length, C * taps)
""",
        """\
import torch

def heads(x, count):
    b, n, c = x.shape
    split = x.view(b, n, count, c // count).transpose(1, 2)
    return split.transpose(1, 2).reshape(b, n, c)

def shuffle(x, groups):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)

def patches(x, p):
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1)
    return x.reshape(n, (h // p) * (w // p), p * p * c)

def add_axis(x):
    return x.view(x.size(0), -1, x.size(1))

add_axis(torch.rand(2, 3))
""",
        """\
import torch
import torch.nn.functional as F

def relative_shift(scores):
    n, heads, rows, columns = scores.shape
    scores = F.pad(scores, (1, 0)).view(n, heads, -1, rows)
    return scores[:, :, 1:].view(n, heads, rows, columns)

def shift_of_the_first_axes(scores: torch.Tensor):
    sizes = scores.shape
    scores = scores.reshape(sizes[1], sizes[0], sizes[2], sizes[3])[1:]
    return scores.reshape(sizes[0], sizes[1] - 1, sizes[2], sizes[3])
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

def to_nhwc(x):
    n, c, h, w = x.shape
    return x.view(n, h, w, c)

def tokens(x):
    x = x.flatten(2)
    return x.reshape(x.size(0), -1, x.size(1))

tokens(torch.rand(2, 3, 4, 5))
""",
            (
                (
                    5,
                    12,
                    "'x.view(n, h, w, c)' asks for the axes of 'x', of shape (n, c, h, w), in another order: its numbers stay in theirs; use permute",
                ),
                (
                    9,
                    12,
                    "'x.reshape(x.size(0), -1, x.size(1))' asks for the axes of 'x', of shape (2, 3, 20), in another order: its numbers "
                    "stay in theirs; use permute",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Sizes are given in another order than they were read in."""
        return reorders(nodes, frozenset(RESHAPES))

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The sizes asked for are those of the axes, in another order."""
        source = event.tensors[0] if event.tensors else None
        requested = event.arguments.get("shape")
        if source is None or source.facts.shape is None or not _is_dims(requested):
            return
        axes = event.arguments.get("axes")
        answer, confidence = axis_order.changes_order(
            source.facts.shape, requested, axes if isinstance(axes, tuple) else ()
        )
        if answer is not Answer.YES and axis_order.swaps_channels(source.facts.shape, requested):
            answer, confidence = Answer.YES, Confidence.LIKELY
        if _may_be_a_shift(source.facts.shape, requested) or _drops_axis(source.facts.shape, requested):
            confidence = confidence if confidence is Confidence.CERTAIN else Confidence.POSSIBLE
        if answer is Answer.YES:
            message = (
                f"'{event.text}' asks for the axes of {quoted(source)}, of shape {tuple_text(source.facts.shape)}, in another "
                "order: its numbers stay in theirs; use permute"
            )
            claim = Claim(Kind.NUMBERS_STAY)
            yield found(self, event, message, confidence=confidence, about=(source,), claim=claim)


def _may_be_a_shift(shape: Dims, requested: Dims) -> bool:
    """Two neighbours of several axes trade sizes, the last two or ones of which a slice has cut something off: the relative
    shift of attention scores does so on purpose, and back again. Grids of coordinates that get an axis of size 1 are flattened
    after it."""
    same = tuple(dim for dim in requested if dim != 1)
    grown = len(requested) > len(shape) == len(same) and shape[:-2] == same[:-2]
    return grown or (
        len(shape) == len(requested) >= 4
        and (shape[:-2] == requested[:-2] or any(_is_cut(shape[axis]) for axis in _traded(shape, requested)))
    )


def _drops_axis(shape: Dims, requested: Dims) -> bool:
    """`n, _, h, w = mask.shape`, then `mask.view(n, h * w, -1)`: an axis that the code gives no name may be known to be of size 1."""
    return -1 in requested and any(str(dim) == "_" for dim in shape)


def _traded(shape: Dims, requested: Dims) -> tuple[int, ...]:
    """Two neighbouring axes that trade sizes while all others keep theirs; () if there are no such."""
    moved = [axis for axis, (old, new) in enumerate(zip(shape, requested)) if old != new]
    if (
        len(moved) != 2
        or moved[1] != moved[0] + 1
        or shape[moved[0]] != requested[moved[1]]
        or shape[moved[1]] != requested[moved[0]]
    ):
        return ()
    return tuple(moved)


def _is_cut(dim: int | Size) -> bool:
    """Whether a size is another one with something added or taken off."""
    return isinstance(dim, Size) and len(dim.terms) > 1


def _is_dims(value: object) -> TypeGuard[Dims]:
    return isinstance(value, tuple) and all(isinstance(dim, (int, Size)) for dim in value)
