"""TLC105: a memory format inferred from strides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.events import Site
from stridelint.rules.guess_claims import CLAIMS
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening import name_of

if TYPE_CHECKING:
    import libcst

    from stridelint.rules.screening import Nodes

MESSAGES = {
    "channels_last": "'{}' does not tell the memory format: with one channel or one pixel it is True for row-major tensors, too; pass the format on",
    "row_major": "'{}' does not tell the memory format: it is False for every slice or transposed tensor, and with one channel True for "
    "channels_last ones; pass the format on",
    "stride": "'{}' does not tell the memory format: the stride of a size-1 axis is arbitrary, and with one pixel it is 1 for row-major tensors, too; "
    "pass the format on",
    "strides": "'{}' does not tell the memory format: strides of size-1 axes are arbitrary, so equal layouts may differ in them; "
    "pass the format on",
    "order": "'{}' does not tell the order of the axes: strides of size-1 axes are arbitrary, and equal ones leave it open; pass the order on",
    "weight": "'{}' does not tell the memory format: it is True for every 1x1 or depthwise weight; pass the format on",
}


class LayoutGuessedFromStrides(Rule):
    """
    What it does:
        Finds code that takes the answer to a question about strides for the memory format of a tensor:
        `channels_last if x.is_contiguous(memory_format=channels_last) else contiguous_format`, `x.stride(1) == 1`, exact
        comparison of all strides, axes sorted by stride, `not x.is_contiguous()` taken to mean channels_last.

    Why is this bad?
        A tensor has strides, not a memory format. With one channel, or with one pixel, both formats' questions are answered
        True; a slice is contiguous in neither; and the stride of an axis of size 1 may be any number. PyTorch's own header
        says not to build on such an inference.

    Example:
        fmt = torch.channels_last if x.is_contiguous(memory_format=torch.channels_last) else torch.contiguous_format
        return y.to(memory_format=fmt)

    Use instead:
        def run(x, memory_format):      # whoever converts the model knows it
            ...

    Confirmed by:
        Asking the question of a tensor on which it misleads: one channel in both formats, a 1x1 weight, a slice.
    """

    code = "TLC105"
    name = "layout-guessed-from-strides"
    severity = Severity.WARNING
    words = ("is_contiguous(", "stride(")

    VALID = (
        """\
import torch

def convert(x, memory_format=torch.contiguous_format):
    if not x.is_contiguous(memory_format=memory_format):
        x = x.contiguous(memory_format=memory_format)
    if x.stride(-1) != 1:
        x = x.contiguous()
    both = x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return x if x.is_contiguous() else x.contiguous(), both

def transposed(matrix):
    return matrix.stride(1) == 1 and matrix.stride(0) >= matrix.shape[1]

def scan(x, rows):
    batch, channels, length = x.shape  # no memory format has three axes
    is_channel_last = (x.stride(1) == 1) & (x.stride(2) > 1)
    dense = torch.contiguous_format
    return is_channel_last, rows.clone(memory_format=dense) if rows.dim() == 2 and rows.stride(1) != 1 else rows

def pack(x):
    if x.is_contiguous(memory_format=torch.channels_last):
        return fast(x)
    return fast(x.contiguous(memory_format=torch.channels_last))

def report(x):
    print(x.shape, "channels_last" if x.is_contiguous(memory_format=torch.channels_last) else "contiguous")
""",
        """\
import torch

def is_channels_last_dense(x):
    return x.ndim == 4 and x.stride(1) == 1 and x.permute(0, 2, 3, 1).is_contiguous()

def is_packed(q):
    return q.shape[2:] == (32, 128) and q.stride() == (q.shape[1] * 12288, 12288, 128, 1)

def test_pool():
    y = torch.nn.functional.max_pool2d(torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last), 2)
    assert y.stride() == (12, 1, 6, 3)
""",
        """\
import torch

def as_channels_last(x):
    if x.stride(1) == 1:
        return x
    return x.transpose(1, 2).contiguous().transpose(1, 2)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

def suggested(x):
    if x.is_contiguous(memory_format=torch.channels_last):
        return torch.channels_last
    return torch.contiguous_format
""",
            ((4, 8, MESSAGES["channels_last"].format("x.is_contiguous(memory_format=torch.channels_last)")),),
        ),
        Invalid(
            """\
import torch

def like(x, y):
    n, c, h, w = x.shape
    nhwc = x.stride() == (h * w * c, 1, w * c, c)
    fmt = torch.contiguous_format if y.is_contiguous() else torch.channels_last
    is_channels_last = y.stride(1) == 1
    order = sorted(range(x.dim()), key=lambda axis: -x.stride(axis))
    flag = conv.weight.is_contiguous(memory_format=torch.channels_last)
    rows_channels_last = (x.stride(0) == 1) & (x.stride(1) > 1)
    return nhwc, fmt, is_channels_last, order, flag, rows_channels_last
""",
            (
                (5, 12, MESSAGES["strides"].format("x.stride() == (h * w * c, 1, w * c, c)")),
                (6, 38, MESSAGES["row_major"].format("y.is_contiguous()")),
                (7, 24, MESSAGES["stride"].format("y.stride(1) == 1")),
                (8, 13, MESSAGES["order"].format("sorted(range(x.dim()), key=lambda axis: -x.stride(axis))")),
                (9, 12, MESSAGES["weight"].format("conv.weight.is_contiguous(memory_format=torch.channels_last)")),
                (10, 27, MESSAGES["stride"].format("(x.stride(0) == 1)")),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something is asked about strides."""
        return frozenset(
            unit for call, unit in nodes.calls if name_of(call.func) in ("is_contiguous", "stride") and _is_asked(call)
        )

    def check_module(self, module: libcst.Module) -> Iterator[Finding]:
        """The forms that such guesses have."""
        from stridelint.rules.forms.guessed_layouts import guesses

        for guess in guesses(module):
            yield Finding(
                type(self), Site(guess.node), MESSAGES[guess.kind].format(guess.text), claim=CLAIMS[guess.kind]
            )


def _is_asked(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and len(call.args) + len(call.keywords) <= 1
