"""TLC104: a view that the tensor's strides do not allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules import claims
from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import DTYPES
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.sizes import Size
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.layout import screening
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

# What torch says first.
NO_VIEW = "view size is not compatible with input tensor's size and stride"


class ViewOfIncompatibleStrides(Rule):
    """
    What it does:
        Finds `view` (also to another dtype, and `view_as_complex`) of tensors whose strides do not allow it: channels_last,
        transposed, permuted or sliced tensors, and copies that kept such strides. Also finds `flatten` and `reshape` that
        must copy a tensor which was made channels_last on purpose.

    Why is this bad?
        `view` never copies: merging axes that are not next to each other in memory raises "view size is not compatible with
        input tensor's size and stride". On a row-major tensor the same line works, so the error comes with the layout.

    Example:
        x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
        rows = x.view(2, -1)

    Use instead:
        rows = x.reshape(2, -1)

    Fix:
        `view(...)` becomes `reshape(...)`, `view_as` becomes `reshape_as`: the same where a view exists, a copy where it does
        not (safe). Of a tensor that was made channels_last on purpose the copy is spelt out instead, `.contiguous().view(...)`,
        so that it is seen (safe where the tensor is made in the same function). A view to another dtype is made of
        `.contiguous()` (unsafe: where the view exists it becomes a copy, and writes to it no longer reach the tensor).

    Confirmed by:
        Running the view on tensors with these strides.
    """

    code = "TLC104"
    name = "view-of-incompatible-strides"
    severity = Severity.ERROR
    words = (".view(", ".view_as(", "view_as_complex(", "channels_last")
    ops = frozenset({"view", "view_as", "view_as_complex", "flatten", "ravel", "reshape", "reshape_as"})

    VALID = (
        """\
import torch

x = torch.rand(2, 6, 4, 4).to(memory_format=torch.channels_last)
x.view(2, 6, 16), x.flatten(2), x.permute(0, 2, 3, 1).view(32, 6), x.view(2, 3, 2, 4, 4)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
rows = x.view(2, -1)
y = x.clone().view(6, 20)
z = x.view_as(torch.rand(6, 20))
""",
            (
                (
                    4,
                    8,
                    "'x.view(2, -1)' raises: 'x' has shape (2, 3, 4, 5) and strides (60, 1, 15, 3),"
                    " which do not allow this view; use .reshape(...)",
                ),
                (
                    5,
                    5,
                    "'x.clone().view(6, 20)' raises: 'x.clone()' has shape (2, 3, 4, 5) and strides (60, 1, 15, 3),"
                    " which do not allow this view; use .reshape(...)",
                ),
                (
                    6,
                    5,
                    "'x.view_as(torch.rand(6, 20))' raises: 'x' has shape (2, 3, 4, 5) and strides (60, 1, 15, 3),"
                    " which do not allow this view; use .reshape(...)",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
rows = x.contiguous().view(2, -1)
y = x.clone().contiguous().view(6, 20)
z = x.contiguous().view_as(torch.rand(6, 20))
""",
        ),
        Invalid(
            """\
import torch

x = torch.rand(3, 4).t()
y = (x + 1).view(-1)  # one row
""",
            (
                (
                    4,
                    5,
                    "'(x + 1).view(-1)' raises: '(x + 1)' has shape (4, 3) and strides (1, 4),"
                    " which do not allow this view; use .reshape(...)",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(3, 4).t()
y = (x + 1).reshape(-1)  # one row
""",
        ),
        Invalid(
            """\
import torch

codes = torch.rand(3, 4).t().view(torch.uint8)
waves = torch.view_as_complex(torch.rand(2, 4).t())
""",
            (
                (
                    3,
                    9,
                    "'torch.rand(3, 4).t().view(torch.uint8)' raises: a view as another dtype needs stride(-1) == 1, it is 4; call .contiguous() first",
                ),
                (
                    4,
                    9,
                    "'torch.view_as_complex(torch.rand(2, 4).t())' raises: view_as_complex needs stride(-1) == 1, it is 4; call .contiguous() first",
                ),
            ),
            fixed="""\
import torch

codes = torch.rand(3, 4).t().contiguous().view(torch.uint8)
waves = torch.view_as_complex(torch.rand(2, 4).t().contiguous())
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def rows(images):
    images = images.to(memory_format=torch.channels_last)
    return images.flatten(1), images.reshape(-1, images.shape[2], images.shape[3])
""",
            (
                (
                    5,
                    12,
                    "'images.flatten(1)' copies the whole tensor: it is channels_last, and the axes it merges are not neighbours in memory",
                ),
                (
                    5,
                    31,
                    "'images.reshape(-1, images.shape[2], images.shape[3])' copies the whole tensor: it is channels_last, and the axes "
                    "it merges are not neighbours in memory",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Some view is of a tensor that may not be row-major."""
        return screening.views_of_strided(nodes)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The strides are known, and the engine says no view exists."""
        source = event.tensors[0] if event.tensors else None
        if source is None:
            return
        if event.op in ("view", "view_as") and "dtype" not in event.arguments:
            yield from self._view(event, source)
        elif event.op in ("view", "view_as_complex"):
            yield from self._other_dtype(event, source)
        else:
            yield from self._copy(event, source)

    def _view(self, event: TensorEvent, source: Operand) -> Iterator[Finding]:
        shape = _dims(event.arguments.get("shape"))
        if shape is None or source.facts.shape is None or source.facts.strides is None:
            return
        _, raises = questions.view(source.facts, shape)
        if raises.answer is Answer.YES:
            message = (
                f"'{event.text}' raises: {quoted(source)} has shape {tuple_text(source.facts.shape)} and strides "
                f"{tuple_text(source.facts.strides)}, which do not allow this view; use .reshape(...)"
            )
            yield found(
                self, event, message, confidence=raises.confidence, about=(source,), claim=claims.raises(NO_VIEW)
            )

    def _other_dtype(self, event: TensorEvent, source: Operand) -> Iterator[Finding]:
        strides, dtype = source.facts.strides, event.arguments.get("dtype")
        if not strides or strides[-1] == 1 or source.facts.shape is None or source.facts.shape[-1] == 1:
            return
        if event.op == "view":
            known = source.facts.dtype in DTYPES and dtype in DTYPES
            if not known or DTYPES[str(source.facts.dtype)].bits == DTYPES[str(dtype)].bits:
                return
            need = "a view as another dtype needs stride(-1) == 1"
        else:
            need = "view_as_complex needs stride(-1) == 1"
        if isinstance(strides[-1], int):
            yield found(
                self,
                event,
                f"'{event.text}' raises: {need}, it is {strides[-1]}; call .contiguous() first",
                about=(source,),
                claim=claims.raises(),
            )
        elif strides[-1].symbol is not None or len(strides[-1].terms) == 1:
            message = f"'{event.text}' raises: {need}, it is {strides[-1]}; call .contiguous() first"
            yield found(self, event, message, confidence=Confidence.LIKELY, about=(source,), claim=claims.raises())

    def _copy(self, event: TensorEvent, source: Operand) -> Iterator[Finding]:
        """A reshape that copies is worth a word where the layout was asked for and is merged away."""
        shape = _dims(event.arguments.get("shape"))
        if shape is None or not _is_meant(source):
            return
        _, copies = questions.reshape(source.facts, shape)
        if copies.answer is Answer.YES:
            message = f"'{event.text}' copies the whole tensor: it is channels_last, and the axes it merges are not neighbours in memory"
            yield found(
                self,
                event,
                message,
                confidence=copies.confidence,
                about=(source,),
                severity=Severity.WARNING,
                claim=Claim(Kind.COPIES),
            )

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """`reshape` in place of `view`; a contiguous copy for views to another dtype."""
        from stridelint.rules.forms import edits

        event, call = finding.event, code.call(finding.site)
        if not isinstance(event, TensorEvent) or call is None or event.op not in ("view", "view_as", "view_as_complex"):
            return None
        name = edits.method(call)
        same_dtype = event.op != "view_as_complex" and "dtype" not in event.arguments
        if same_dtype and (name != event.op or event.form is not Form.METHOD):
            return None
        if same_dtype and not _is_meant(event.tensors[0]):
            edit = edits.renamed(call, name.replace("view", "reshape"))
            return None if edit is None else edits.Fix(f"use {edit.text}", (edit,), safe=True)
        source = code.expression(event.tensors[0].site)
        if source is None:
            return None
        safe = same_dtype and code.together(call, event.tensors[:1])
        return edits.Fix("call .contiguous() first", (edits.called(code, source, "contiguous"),), safe)


def _is_meant(source: Operand) -> bool:
    """The tensor is channels_last, and somebody asked for it."""
    if source.facts.rank != 4 or not any("becomes channels_last" in note.message for note in source.story):
        return False
    return questions.is_contiguous(source.facts, "channels_last").answer is Answer.YES


def _dims(value: object) -> Dims | None:
    if isinstance(value, tuple) and all(isinstance(dim, (int, Size)) for dim in value):
        return value
    return None
