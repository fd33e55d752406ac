"""TLC103: the result of a conversion is thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.events import Form, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.layout import screening
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

CONVERSIONS = {
    **dict.fromkeys(
        (
            "to",
            "type",
            "type_as",
            "cuda",
            "float",
            "double",
            "half",
            "bfloat16",
            "int",
            "long",
            "short",
            "char",
            "byte",
            "bool",
        ),
        "converted",
    ),
    **dict.fromkeys(("contiguous",), "made contiguous"),
    **dict.fromkeys(("permute", "transpose", "t", "movedim", "swapaxes", "moveaxis"), "permuted"),
    **dict.fromkeys(
        ("view", "view_as", "reshape", "flatten", "squeeze", "unsqueeze", "expand", "expand_as"), "reshaped"
    ),
    "detach": "detached",
    "masked_fill": "filled",
}


class DiscardedConversion(Rule):
    """
    What it does:
        Finds conversions of tensors whose result is not used: `x.to(...)`, `x.contiguous()`, `x.float()`, `x.transpose(0, 1)`
        as statements, also behind a helper that only returns the converted tensor.

    Why is this bad?
        These methods return a new tensor (or view) and leave theirs as it was. Only `nn.Module.to` works in place.

    Example:
        def forward(self, x):
            x.contiguous(memory_format=torch.channels_last)
            return self.conv(x)

    Use instead:
        def forward(self, x):
            x = x.contiguous(memory_format=torch.channels_last)
            return self.conv(x)

    Confirmed by:
        Comparing strides, dtype and device of the tensor before and after the statement.
    """

    code = "TLC103"
    name = "discarded-conversion"
    severity = Severity.ERROR
    words = tuple(f".{name}(" for name in CONVERSIONS)
    ops = frozenset(CONVERSIONS)

    VALID = (
        """\
import torch
from torch import nn

net = nn.Linear(2, 2)
net.to(torch.float64)
labels = torch.tensor([1, -100])
labels.masked_fill_(labels == -100, 0)

def convert(batch, device):
    batch.to(device)
    return batch["pixels"]
""",
        """\
import pytest
import torch

def test_view_of_transposed():
    x = torch.rand(2, 3).t()
    with pytest.raises(RuntimeError):
        x.view(-1)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

x = torch.rand(2, 3, 4, 5)
x.contiguous(memory_format=torch.channels_last)
x.to(torch.float16)
""",
            (
                (
                    4,
                    1,
                    "the result of 'x.contiguous(memory_format=torch.channels_last)' is thrown away: 'x' is not made contiguous in place",
                ),
                (5, 1, "the result of 'x.to(torch.float16)' is thrown away: 'x' is not converted in place"),
            ),
        ),
        Invalid(
            """\
import torch

def nhwc(tensor):
    return tensor.contiguous(memory_format=torch.channels_last)

x = torch.rand(2, 3, 4, 5)
nhwc(x)
""",
            (
                (
                    7,
                    1,
                    "the result of 'tensor.contiguous(memory_format=torch.channels_last)' is thrown away: 'tensor' is not made contiguous in place",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Some conversion stands as a statement."""
        return screening.discards(nodes, cls.ops)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """A conversion of a tensor stands as a statement."""
        if event.discarded_at is None or event.out is not None or not event.tensors or event.form is Form.INPLACE:
            return
        source = event.tensors[0]
        message = (
            f"the result of '{event.text}' is thrown away: {quoted(source)} is not {CONVERSIONS[event.op]} in place"
        )
        yield found(self, event, message, site=event.discarded_at, claim=Claim(Kind.INPUT_UNCHANGED))
