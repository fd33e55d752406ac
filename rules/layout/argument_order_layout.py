"""TLC101: the order of the operands decides the result's memory format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.out_contract import scalar_kind
from stridelint.rules.events import Form, LayoutUse, Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.layout import screening
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

FORMATS = {4: "channels_last", 5: "channels_last_3d"}
# The same bits in either order; of maximum and its kind, 0.0 and -0.0 are not.
COMMUTATIVE = frozenset("add mul eq ne logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split())


class ArgumentOrderLayout(Rule):
    """
    What it does:
        Finds elementwise operators that get a row-major and a channels_last tensor, where the first one decides the memory
        format of the result. Where nothing sees that format, as the result ends in few numbers (`(y - x).abs().max()`, a loss) or in a
        comparison of values, and where an assertion states it, this is told in audits only (`--min-confidence possible`).

    Why is this bad?
        `a + b` and `b + a` are equal, but their strides are not: TensorIterator orders the axes of the result as in the
        first operand. One swapped sum, and the rest of the network runs in another layout, with a copy at every
        convolution.

    Example:
        mask = torch.ones(2, 3, 4, 5)
        x = images.to(memory_format=torch.channels_last)
        y = mask * x        # row-major

    Use instead:
        y = x * mask        # channels_last
        # or convert once: mask = mask.to(memory_format=torch.channels_last)

    Fix:
        The operands of `+`, `*`, `==`, `!=`, `&`, `|`, `^` and their functions are swapped: the values are the same bit for bit, the
        strides are not. It is safe only where just the values are used, in a way that no rounding depends on (`torch.equal`,
        `.max()`), both layouts are decided in the same function and the order of evaluation shows nowhere; what is returned, stored
        or given on may be asked for its strides (unsafe). For other operators the first operand is converted where it is used
        (unsafe: it costs a copy each time).

    Confirmed by:
        Running the operator both ways and comparing the strides.
    """

    code = "TLC101"
    name = "argument-order-layout"
    severity = Severity.WARNING
    words = ("channels_last", "permute(", "movedim(", "moveaxis(")
    ops = frozenset(
        """add sub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin max min where lerp addcmul addcdiv
        atan2 hypot logaddexp logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge""".split()
    )

    VALID = (
        """\
import torch

def scale(images):
    bias = torch.ones(1, 3, 1, 1)
    x = images.to(memory_format=torch.channels_last)
    return bias * x
""",
        """\
import torch

mask = torch.ones(2, 3, 4, 5)
x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
y = x * mask
x += mask
""",
        """\
import torch

images = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
back, alpha, gain = torch.rand(2, 3, 4, 5), torch.rand(2, 1, 4, 5), torch.rand(1, 3, 1, 1)
shown = torch.lerp(images, back, 1 - alpha)
shown = torch.where(alpha > 0.5, images, back)
shown = torch.addcmul(back, alpha, gain)
shown = torch.where(alpha > 0.5, torch.tensor(0.0), images)
""",
        """\
import torch
import torch.nn.functional as F

y = torch.rand(2, 3, 4, 5)
x = y.to(memory_format=torch.channels_last)
print((y - x).abs().max(), F.mse_loss(y * 2 - x, y), (y > x).float().mean().item())
error = (y - x) ** 2
print(error.mean(), error.amax(dim=(1, 2, 3)))
assert torch.equal(y + x, 2 * y) and (y * x).stride() == (60, 20, 5, 1)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

mask = torch.ones(2, 3, 4, 5)
x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
y = mask * x
""",
            (
                (
                    5,
                    5,
                    "result of 'mask * x' is row-major because 'mask' comes first; with 'x' first it is channels_last",
                ),
            ),
            fixed="""\
import torch

mask = torch.ones(2, 3, 4, 5)
x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
y = x * mask
""",
            safe=False,
        ),
        Invalid(
            """\
import torch
import torch.nn.functional as F

labels = torch.randint(0, 5, (2, 6, 8))
onehot = F.one_hot(labels, 5).permute(0, 3, 1, 2)
scores = onehot * torch.rand(2, 5, 6, 8)
""",
            (
                (
                    6,
                    10,
                    "result of 'onehot * torch.rand(2, 5, 6, 8)' is channels_last because 'onehot' comes first; "
                    "with 'torch.rand(2, 5, 6, 8)' first it is row-major",
                ),
            ),
        ),
        Invalid(
            """\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
mean = torch.ones(2, 3, 4, 5)
y = (mean - x) / 2
""",
            (
                (
                    5,
                    6,
                    "result of '(mean - x)' is row-major because 'mean' comes first; with 'x' first it is channels_last",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
mean = torch.ones(2, 3, 4, 5)
y = (mean.to(memory_format=torch.channels_last) - x) / 2
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

images = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
back, inside = torch.rand(2, 3, 4, 5), torch.rand(2, 1, 4, 5) > 0.5
shown = torch.where(inside, back, images)
""",
            (
                (
                    5,
                    9,
                    "result of 'torch.where(inside, back, images)' is row-major because 'back' comes first; "
                    "with 'images' first it is channels_last",
                ),
            ),
            fixed="""\
import torch

images = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
back, inside = torch.rand(2, 3, 4, 5), torch.rand(2, 1, 4, 5) > 0.5
shown = torch.where(inside, back.to(memory_format=torch.channels_last), images)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
inside, mask = torch.rand(2, 3, 4, 5) > 0.5, torch.rand(3, 4, 5) > 0.5
kept = torch.where(inside, x, 0.0)
rest = torch.where(mask, 0.0, x)
""",
            (
                (
                    5,
                    8,
                    "result of 'torch.where(inside, x, 0.0)' is row-major because 'inside' comes first; "
                    "with 'inside' in channels_last, too, it is channels_last",
                ),
                (
                    6,
                    8,
                    "result of 'torch.where(mask, 0.0, x)' is row-major because 'mask' comes first; "
                    "with the axes of 'mask' in the order of those of 'x' it is channels_last",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
inside, mask = torch.rand(2, 3, 4, 5) > 0.5, torch.rand(3, 4, 5) > 0.5
kept = torch.where(inside.to(memory_format=torch.channels_last), x, 0.0)
rest = torch.where(mask, 0.0, x)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

def keeps_values():
    mask = torch.ones(2, 3, 4, 5)
    x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    return torch.equal(mask * x, x)
""",
            (
                (
                    6,
                    24,
                    "result of 'mask * x' is row-major because 'mask' comes first; with 'x' first it is channels_last",
                ),
            ),
            fixed="""\
import torch

def keeps_values():
    mask = torch.ones(2, 3, 4, 5)
    x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    return torch.equal(x * mask, x)
""",
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something may be channels_last."""
        return screening.mixes_formats(nodes, cls.ops)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """Two operands in different formats, and swapping them changes the result's strides."""
        if event.form is Form.INPLACE or event.out is not None or len(event.tensors) < 2:
            return
        formats = [_format(operand.facts) for operand in event.tensors]
        pair = _differing(formats)
        if pair is None:
            return
        sure = _format_decided(event, formats, pair) if None in formats else _order_matters(event)
        first, other = (event.tensors[place] for place in pair)
        name = _name(formats[pair[0]])
        if sure is None or (name != "row-major" and not _accidental(first)):
            return
        confidence = min(sure, *(each[1] for each in formats if each is not None))
        if event.layout_use <= LayoutUse.STATED:
            confidence = Confidence.POSSIBLE
        message = (
            f"result of '{event.text}' is {name} because {quoted(first, 'its first operand')} comes first; "
            f"with {_otherwise(event, first, other, _name(formats[pair[1]]))} it is {_name(formats[pair[1]])}"
        )
        yield found(self, event, message, confidence=confidence, about=(first, other), claim=Claim(Kind.ORDER_DECIDES))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Swap, or convert the first operand, where that is row-major; nothing tells what a permuted one should be."""
        from stridelint.rules.forms import edits, tensor_edits

        event = finding.event
        if not isinstance(event, TensorEvent):
            return None
        node = code.expression(event.site)
        formats = [_format(operand.facts) for operand in event.tensors]
        places = _differing(formats)
        if node is None or places is None or _name(formats[places[0]]) != "row-major":
            return None
        if any(map(_accidental, event.tensors)):
            return None
        pair, swap = edits.operands(node), edits.swapped(code, node)
        if event.op in COMMUTATIVE and len(event.tensors) == 2 and pair is not None and swap is not None:
            unseen = event.layout_use is LayoutUse.EXACT
            safe = unseen and code.together(node, event.tensors) and edits.any_order(*pair)
            return edits.Fix("swap the operands", (swap,), safe)
        first = event.tensors[places[0]]
        convert = tensor_edits.to_format(code, first, _name(formats[places[1]]))
        if first.facts.rank not in FORMATS or convert is None:
            return None
        return edits.Fix("convert the first operand", (convert,))


def _otherwise(event: TensorEvent, first: Operand, other: Operand, wanted: str) -> str:
    """What makes the result come out in the other operand's format; a condition cannot change places with a value."""
    name = quoted(other, "the other operand")
    if first is not event.arguments.get("condition"):
        return f"{name} first"
    if first.facts.rank in FORMATS:
        return f"{quoted(first, 'the condition')} in {wanted}, too,"
    return f"the axes of {quoted(first, 'the condition')} in the order of those of {name}"


def _operands(event: TensorEvent) -> list[TensorFacts | Scalar]:
    """Tensors and numbers in the operator's order."""
    result: list[TensorFacts | Scalar] = []
    for value in event.arguments.values():
        kind = scalar_kind(value)
        if isinstance(value, Operand):
            result.append(value.facts)
        elif isinstance(value, Scalar):
            result.append(value)
        elif kind is not None and len(result) < 3:
            result.append(Scalar(kind))
    return result


def _format(facts: TensorFacts) -> tuple[str, Confidence] | None:
    """The format a tensor of rank 4 or 5 is in, where it is in one of them only; ("row-major" for lower ranks)."""
    if facts.rank is None or facts.strides is None:
        return None
    if facts.rank not in FORMATS:
        return ("row-major", Confidence.CERTAIN) if facts.rank < 4 else None
    wanted = questions.is_contiguous(facts, FORMATS[facts.rank])
    plain = questions.is_contiguous(facts, "contiguous_format")
    confidence = min(wanted.confidence, plain.confidence)
    if wanted.answer is Answer.YES and plain.answer is Answer.NO:
        return FORMATS[facts.rank], confidence
    if wanted.answer is Answer.NO and plain.answer is Answer.YES:
        return "row-major", confidence
    return None


def _name(format_: tuple[str, Confidence] | None) -> str:
    return "" if format_ is None else format_[0]


def _differing(formats: list[tuple[str, Confidence] | None]) -> tuple[int, int] | None:
    """Where the first tensor of one format stands, and the first of another one."""
    known = [place for place, each in enumerate(formats) if each is not None]
    other = next((place for place in known if _name(formats[place]) != _name(formats[known[0]])), None)
    return None if other is None else (known[0], other)


def _order_matters(event: TensorEvent) -> Confidence | None:
    judgement = questions.order_matters(_operands(event), conditions=1 if event.op == "where" else 0)
    return judgement.confidence if judgement.answer is Answer.YES else None


def _format_decided(
    event: TensorEvent, formats: list[tuple[str, Confidence] | None], pair: tuple[int, int]
) -> Confidence | None:
    """How surely two tensors decide the result's format, each if it comes first, next to others that are in both formats (a
    mask of one channel), or of which little is known."""
    operands = _operands(event)
    places = [place for place, each in enumerate(operands) if isinstance(each, TensorFacts)]
    left, right = (places[place] for place in pair)
    swapped = list(operands)
    swapped[left], swapped[right] = operands[right], operands[left]
    conditions = 1 if event.op == "where" else 0
    found = [_format(questions.elementwise(each, conditions=conditions)) for each in (operands, swapped)]
    if [_name(each) for each in found] != [_name(formats[place]) for place in pair]:
        return None
    return min(each[1] for each in found if each is not None)


def _accidental(operand: Operand) -> bool:
    """Nobody asked for this tensor's format: it comes from moving axes."""
    steps = [note.message for note in operand.story]
    return not any("channels_last" in step for step in steps) and any("permuted" in step for step in steps)
