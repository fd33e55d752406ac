"""TLC402: an in-place write to a tensor several elements of which are one place in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules import claims
from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.writes import (
    ALLOWED_ON_EXPANDED,
    DEPRECATED_ON_EXPANDED,
    shares_elements,
    windows_overlap,
)
from stridelint.rules.events import Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.inplace.expanded import EXPANDING, writes_to_expanded
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

# What torch says.
REFUSED = "more than one element of the written-to tensor refers to a single memory location"
DEPRECATED = Claim(Kind.WARNS, "UserWarning", "on expanded tensors is deprecated")


class InplaceOnExpanded(Rule):
    """
    What it does:
        Finds in-place operators and stores on a tensor that overlaps itself: an expanded one, the results of `meshgrid` and
        `broadcast_tensors`, overlapping windows.

    Why is this bad?
        Several elements of such a tensor are one place in memory. Torch raises "unsupported operation: more than one element
        of the written-to tensor refers to a single memory location" for expanded tensors, also if all values are the same;
        for masks and indices it only warns, and for overlapping windows it says nothing: the last write wins. `fill_` with
        a number and `zero_` are allowed.

    Example:
        mask = torch.zeros(1, 8).expand(batch, 8)
        mask[:, 0] = 1

    Use instead:
        mask = torch.zeros(1, 8).expand(batch, 8).clone()
        mask[:, 0] = 1

    Fix:
        `.clone()` behind the `expand` that the tensor comes from (unsafe: what shared its memory is not written to any more).

    Confirmed by:
        Writing to a tensor with these strides.
    """

    code = "TLC402"
    name = "inplace-on-expanded"
    severity = Severity.ERROR
    words = tuple(f"{name}(" for name in sorted(EXPANDING))

    VALID = (
        """\
import torch

mask = torch.zeros(1, 8).expand(4, 8)
mask.fill_(1)
mask.zero_()
mask[0] = 5
mask[1, 2:] += 3
own = mask.clone()
own[:, 0] = 1
windows = own.unfold(1, 2, 2)
windows += 1
single = torch.zeros(1, 8).expand(1, 8)
single += 1
""",
        """\
import torch

def shifted(bias, scores, inplace):
    bias = bias.expand(scores.shape)
    if inplace:
        scores += bias
    return scores * bias

def poses(images, count):
    padded = torch.eye(4).expand(count, 4, 4).to(images.device)  # on another device it is a copy
    padded[:, :2, :2] = 0
    return padded
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

def jacobian(points):
    rows = torch.eye(2).unsqueeze(0).expand(len(points), 2, 2)
    rows[:, 0] = points
    rows *= 2
    return rows

jacobian(torch.rand(5, 2))
""",
            (
                (
                    5,
                    5,
                    "'rows[:, 0] = points' raises because elements of 'rows[:, 0]' share memory (more than one element of the "
                    "written-to tensor refers to a single memory location); clone() the expanded tensor first",
                ),
                (
                    6,
                    5,
                    "'rows *= 2' raises because elements of 'rows' share memory (more than one element of the written-to tensor "
                    "refers to a single memory location); clone() the expanded tensor first",
                ),
            ),
            fixed="""\
import torch

def jacobian(points):
    rows = torch.eye(2).unsqueeze(0).expand(len(points), 2, 2).clone()
    rows[:, 0] = points
    rows *= 2
    return rows

jacobian(torch.rand(5, 2))
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

scores = torch.zeros(1, 5).expand(3, 5)
keep = torch.rand(3, 5) > 0.5
scores.masked_fill_(keep, -1.0)
scores[keep] = 0
signal = torch.zeros(10)
signal.unfold(0, 4, 2).add_(torch.rand(4, 4))
""",
            (
                (
                    5,
                    1,
                    "'scores.masked_fill_(keep, -1.0)' writes several values to one place because elements of 'scores' share "
                    "memory; torch only warns that this is deprecated; clone() the expanded tensor first",
                ),
                (
                    6,
                    1,
                    "'scores[keep] = 0' writes several values to one place because elements of 'scores' share memory; torch only "
                    "warns that this is deprecated; clone() the expanded tensor first",
                ),
                (
                    8,
                    1,
                    "'signal.unfold(0, 4, 2).add_(torch.rand(4, 4))' writes several values to one place because elements of "
                    "'signal.unfold(0, 4, 2)' share memory, without an error; clone() the windows first, or add them up with fold or index_add_",
                ),
            ),
            fixed="""\
import torch

scores = torch.zeros(1, 5).expand(3, 5).clone()
keep = torch.rand(3, 5) > 0.5
scores.masked_fill_(keep, -1.0)
scores[keep] = 0
signal = torch.zeros(10)
signal.unfold(0, 4, 2).add_(torch.rand(4, 4))
""",
            safe=False,
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something that may be expanded is written to."""
        return writes_to_expanded(nodes)

    @classmethod
    def wants(cls, op: str, *, in_place: bool, out: bool) -> bool:
        """Calls that change a tensor in place."""
        return in_place

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The written-to view has an axis of several elements with stride 0, or windows that overlap."""
        target = written_to(event)
        if target is None or event.op in ALLOWED_ON_EXPANDED:
            return
        deprecated = event.op in DEPRECATED_ON_EXPANDED or event.arguments.get("indexed") is True
        name, text = quoted(target), f"'{event.text}'"
        expanded, confidence = shares_elements(target.facts)
        if expanded is Answer.YES and event.op == "fill" and not isinstance(event.arguments.get("value"), Operand):
            return
        if expanded is Answer.YES and deprecated:
            message = (
                f"{text} writes several values to one place because elements of {name} share memory; torch only warns that "
                "this is deprecated; clone() the expanded tensor first"
            )
            yield found(
                self,
                event,
                message,
                confidence=confidence,
                about=(target,),
                severity=Severity.WARNING,
                claim=DEPRECATED,
            )
        elif expanded is Answer.YES:
            message = (
                f"{text} raises because elements of {name} share memory (more than one element of the written-to tensor "
                "refers to a single memory location); clone() the expanded tensor first"
            )
            yield found(self, event, message, confidence=confidence, about=(target,), claim=claims.raises(REFUSED))
        elif windows_overlap(target.facts) is Answer.YES and not _is_one_number(event):
            message = (
                f"{text} writes several values to one place because elements of {name} share memory, without an error; "
                "clone() the windows first, or add them up with fold or index_add_"
            )
            yield found(self, event, message, about=(target,), claim=Claim(Kind.WRONG_VALUES))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """A clone where the tensor is expanded."""
        from stridelint.rules.forms import edits

        target = written_to(finding.event) if isinstance(finding.event, TensorEvent) else None
        expanded = (
            [note.site for note in target.story if note.message == "is expanded here"] if target is not None else []
        )
        call = code.call(expanded[0]) if len(expanded) == 1 else None
        if call is None or edits.method(call) not in ("expand", "expand_as", "broadcast_to"):
            return None
        return edits.Fix("clone the expanded tensor", (edits.called(code, call, "clone"),), cause=True)


def written_to(event: TensorEvent) -> Operand | None:
    """The tensor, or the part of it, that an event changes in place."""
    target = event.arguments.get("region" if event.op == "setitem" else "input") if event.in_place else None
    return target if isinstance(target, Operand) else None


def _is_one_number(event: TensorEvent) -> bool:
    """All elements get the same value."""
    return event.op == "setitem" and not isinstance(event.arguments.get("value"), Operand)
