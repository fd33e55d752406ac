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
    from stridelint.rules.forms.edits import Code, Fix
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
    **dict.fromkeys(("masked_fill", "index_fill"), "filled"),
    **dict.fromkeys(("clamp", "clip", "clamp_min", "clamp_max"), "limited"),
    **dict.fromkeys(("scatter", "scatter_add", "masked_scatter", "index_copy", "index_add"), "written to"),
}

LAYOUT_ONLY = frozenset({"to", "contiguous"})
# What is discarded there may have been meant for something else, or for nothing.
NEVER_ASSIGNED = frozenset({"detach"})


class DiscardedConversion(Rule):
    """
    What it does:
        Finds conversions of tensors whose result is not used: `x.to(...)`, `x.contiguous()`, `x.float()`, `x.transpose(0, 1)`,
        `x.masked_fill(...)`, `x.clamp(...)` as statements, also behind a helper that only returns the converted tensor.

    Why is this bad?
        These methods return a new tensor (or view) and leave theirs as it was. Only modules are converted in
        place, by `model.to(...)` as by `model.half()`.

    Example:
        def forward(self, x):
            x.contiguous(memory_format=torch.channels_last)
            return self.conv(x)

    Use instead:
        def forward(self, x):
            x = x.contiguous(memory_format=torch.channels_last)
            return self.conv(x)

    Fix:
        `x.to(...)` becomes `x = x.to(...)` where `x` is a name of the function, or of the module, that is read afterwards. Safe
        if only the layout is converted, so that all values stay the same, and nothing writes into `x` afterwards; unsafe for
        other conversions, and for helpers: what follows then works with other numbers or shapes. `detach()` is left to you.

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

def reorder(layers, order):
    for layer in layers.values():
        layer.permute(order)
""",
        """\
import pytest
import torch

def test_view_of_transposed():
    x = torch.rand(2, 3).t()
    with pytest.raises(RuntimeError):
        x.view(-1)
""",
        """\
import torch

def can_convert(dtype):
    x = torch.zeros(2)
    try:
        x.to(dtype)
    except RuntimeError:
        return False
    return True
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
            fixed="""\
import torch

x = torch.rand(2, 3, 4, 5)
x = x.contiguous(memory_format=torch.channels_last)
x.to(torch.float16)
""",
        ),
        Invalid(
            """\
import torch

def forward(conv, x):
    x.contiguous(memory_format=torch.channels_last)  # NHWC
    return conv(x)

forward(torch.nn.Conv2d(3, 8, 3), torch.rand(2, 3, 8, 8))
""",
            (
                (
                    4,
                    5,
                    "the result of 'x.contiguous(memory_format=torch.channels_last)' is thrown away: 'x' is not made contiguous in place",
                ),
            ),
            fixed="""\
import torch

def forward(conv, x):
    x = x.contiguous(memory_format=torch.channels_last)  # NHWC
    return conv(x)

forward(torch.nn.Conv2d(3, 8, 3), torch.rand(2, 3, 8, 8))
""",
        ),
        Invalid(
            """\
import torch

x = torch.rand(2, 3)
x.to(torch.float16); print(x)
""",
            ((4, 1, "the result of 'x.to(torch.float16)' is thrown away: 'x' is not converted in place"),),
            fixed="""\
import torch

x = torch.rand(2, 3)
x = x.to(torch.float16); print(x)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def nhwc(tensor):
    return tensor.contiguous(memory_format=torch.channels_last)

x = torch.rand(2, 3, 4, 5)
nhwc(x)
print(x.stride())
""",
            (
                (
                    7,
                    1,
                    "the result of 'tensor.contiguous(memory_format=torch.channels_last)' is thrown away: 'tensor' is not made contiguous in place",
                ),
            ),
            fixed="""\
import torch

def nhwc(tensor):
    return tensor.contiguous(memory_format=torch.channels_last)

x = torch.rand(2, 3, 4, 5)
x = nhwc(x)
print(x.stride())
""",
            safe=False,
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

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Assign the result to the name of the tensor, if that may be rebound and is read later on."""
        from stridelint.rules.forms import edits, names

        event, call = finding.event, code.call(finding.site)
        if not isinstance(event, TensorEvent) or call is None or event.op in NEVER_ASSIGNED:
            return None
        statement, use = edits.own_line(code, call), names.rebinding(code, call)
        if statement is None or use is None:
            return None
        layout = (
            call is event.site.node
            and event.op in LAYOUT_ONLY
            and all(each.keyword and each.keyword.value == "memory_format" for each in call.args)
        )
        leaf = event.tensors[0].facts.requires_grad is True
        edit = edits.Edit(statement, f"{use.name} = {code.text(call)}")
        return edits.Fix("assign the result", (edit,), layout and use.is_read_only and not leaf, cause=True)
