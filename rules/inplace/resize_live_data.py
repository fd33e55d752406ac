"""TLC404: `resize_` of a tensor whose numbers are still needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind, raises
from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.events import Operand, TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening import name_of

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes


class ResizeLiveData(Rule):
    """
    What it does:
        Finds `resize_` (and `resize_as_`) of a tensor with data that is read afterwards, where its elements do not stay at
        their indices: another axis than the first one changes its size, or the tensor was not row-major.

    Why is this bad?
        `resize_` changes shape and strides and leaves the memory as it is: it does not move rows to where they belong, nor
        does it keep a memory format. After growing the second axis of a cache, layer 0 goes on into what was layer 1. A new
        first size, or a tensor that is overwritten at once, is no problem.

    Example:
        cache = torch.zeros(layers, 16, width)
        cache.resize_(layers, 32, width)

    Use instead:
        grown = cache.new_zeros(layers, 32, width)
        grown[:, :16] = cache

    Confirmed by:
        Resizing a tensor of this shape and comparing what is at the old indices.
    """

    code = "TLC404"
    name = "resize-live-data"
    severity = Severity.WARNING
    words = (".resize_(", ".resize_as_(")
    ops = frozenset({"resized", "resize_", "resize_as_"})

    VALID = (
        """\
import torch

rows = torch.zeros(4, 3)
rows.resize_(8, 3)
print(rows[0])
scratch = torch.zeros(2, 3)
scratch.resize_(4, 5)
torch.mm(torch.rand(4, 2), torch.rand(2, 5), out=scratch)
scratch.resize_(2, 2).zero_()
empty = torch.empty(0)
empty.resize_(2, 3)
flat = torch.rand(6).resize_(2, 3)
print(scratch[0], empty[0], flat[0])
""",
        """\
import torch

def prepare(buffer, batch):
    buffer.resize_(batch.shape)
    buffer.copy_(batch)
    return buffer
""",
        """\
import torch

def longer(rows, wanted):
    table, scratch, open_size = torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 3)
    if len(wanted) > table.shape[0]:
        table.resize_(len(wanted), 3)
        scratch.resize_(len(wanted), len(wanted)).zero_()
    if len(rows) >= open_size.shape[1]:
        open_size.resize_(2, len(rows))
    return table + 1, scratch + 1, open_size + 1
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

cache = torch.ones(2, 4, 3)
cache.resize_(2, 8, 3)
print(cache[1, :4])
""",
            (
                (
                    4,
                    1,
                    "'cache.resize_(2, 8, 3)' moves the data of 'cache' to other indices: its shape (2, 4, 3) becomes (2, 8, 3) and its "
                    "memory stays as it is; copy it into a new tensor",
                ),
            ),
        ),
        Invalid(
            """\
import torch

class Table:
    def __init__(self):
        self.counts = torch.zeros(2, 2)

    @property
    def size(self):
        return self.counts.shape[0]

    def reserve(self, labels):
        needed = int(labels.max()) + 1
        if needed <= self.size:
            return
        self.counts.resize_(needed, needed)

table = Table()
table.reserve(torch.tensor([4, 1]))
print(table.counts[1])
""",
            (
                (
                    15,
                    9,
                    "'self.counts.resize_(needed, needed)' moves the data of 'self.counts' to other indices: its shape (2, 2) becomes "
                    "(int + 1, int + 1) and its memory stays as it is; copy it into a new tensor",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def grow(images, extra):
    images = images.to(memory_format=torch.channels_last)
    images.resize_(images.shape[0] + 1, *images.shape[1:])
    return images.mean()

grow(torch.rand(2, 3, 4, 4), 1)
weight = torch.nn.Parameter(torch.rand(2, 2))
weight.resize_(4, 4)
""",
            (
                (
                    5,
                    5,
                    "'images.resize_(images.shape[0] + 1, *images.shape[1:])' moves the data of 'images' to other indices: its strides "
                    "(48, 1, 12, 3) become row-major and its memory stays as it is; copy it into a new tensor",
                ),
                (
                    10,
                    1,
                    "'weight.resize_(4, 4)' raises because 'weight' requires grad (cannot resize variables that require grad); make a "
                    "new parameter",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """`resize_` is called."""
        return frozenset(unit for call, unit in nodes.calls if name_of(call.func) in ("resize_", "resize_as_"))

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The resized tensor is read, and its elements have moved."""
        target = event.arguments.get("input")
        if not isinstance(target, Operand) or target.out_parameter is not None:
            return
        name, text = quoted(target), f"'{event.text}'"
        if event.op != "resized":
            if (
                target.facts.requires_grad
                and event.result.shape is not None
                and target.facts.shape != event.result.shape
            ):
                message = f"{text} raises because {name} requires grad (cannot resize variables that require grad); make a new parameter"
                claim = raises("cannot resize variables that require grad")
                yield found(self, event, message, about=(target,), severity=Severity.ERROR, claim=claim)
            return
        if target.facts.requires_grad or event.result.shape is None:
            return
        how = _moved(target.facts, event.result.shape, event.arguments.get("other_sizes"))
        if how is None:
            return
        becomes, confidence = how
        message = f"{text} moves the data of {name} to other indices: its {becomes} and its memory stays as it is; copy it into a new tensor"
        claim = Claim(Kind.MOVES_NUMBERS)
        yield found(self, event, message, confidence=confidence, about=(target,), claim=claim)


def _moved(before: TensorFacts, new: Dims, others: object) -> tuple[str, Confidence] | None:
    """Why elements are at other indices afterwards; `others`: the axes that are known to get another size."""
    old, strides = before.shape, before.strides
    if old is None or strides is None or any(dim == 0 for dim in (*old, *new)) or old == new:
        return None
    if strides != strides_in_order(old, range(len(old))):
        if before.concrete_strides is None or before.concrete_shape is None or 1 in old:
            return None
        return f"strides {tuple_text(strides)} become row-major", Confidence.CERTAIN
    if len(old) != len(new) or sizes.subtract(sizes.product(old), sizes.product(new)) == 0:
        return None
    if old[0] == 1 or not isinstance(others, tuple) or not any(others):
        return None  # the first axis, of which alone `any` says no, may get any size
    return f"shape {tuple_text(old)} becomes {tuple_text(new)}", Confidence.CERTAIN
