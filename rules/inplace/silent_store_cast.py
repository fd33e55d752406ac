"""TLC403: a value of a higher kind stored into an integer or bool tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind, raises
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.dtypes import Scalar, kind_of
from stridelint.rules.contract.stored import (
    ALL_TRUE,
    FRACTION,
    IMAGINARY,
    INDEX_PUT,
    NONZERO,
    RAISES,
    SAME_DTYPE,
    clash,
    index_refused,
    kind_lost,
    number_lost,
    tensor_lost,
)
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.inplace.screening import SCATTERING, STORING, stores_into_low
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening.words import STORE

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

# Operator -> the argument with what is stored.
STORES = {
    "setitem": "value",
    "copy_": "src",
    "fill": "value",
    "masked_fill": "value",
    "index_fill": "value",
    "scatter": "value",
    "full": "fill_value",
    "full_like": "fill_value",
    "new_full": "fill_value",
}
# What torch says of a number that the dtype cannot hold, and of a tensor stored through an index.
REFUSED = ("value cannot be converted to type", INDEX_PUT)
_MAKING = frozenset({"full", "full_like", "new_full"})


class SilentStoreCast(Rule):
    """
    What it does:
        Finds values of a higher type kind stored into integer and bool tensors: `t[i] = 0.7`, `copy_`, `fill_`,
        `masked_fill`, `full_like`; and tensors of another dtype where torch casts none: assigned through a tensor or a list
        of indices, or a mask, `index_add_`, `scatter_`, `masked_scatter_`.

    Why is this bad?
        Unlike in-place operators, stores cast to the tensor's dtype whatever is lost, without an error: 0.7 becomes 0 in an
        integer tensor, and every number but 0 becomes True in a mask, so that filling it with -inf allows what it should
        forbid. The dtype is often an accident: `torch.full((n,), -1)` is int64.

    Example:
        best = torch.full((len(names),), -1)
        for i, score in enumerate(scores):
            best[i] = score

    Use instead:
        best = torch.full((len(names),), -1.0)
        for i, score in enumerate(scores):
            best[i] = score
        # or say that it is meant
        best[i] = score.round()

    Confirmed by:
        Storing the value and reading it back.
    """

    code = "TLC403"
    name = "silent-store-cast"
    severity = Severity.WARNING
    words = (
        ".copy_(", ".fill_(", ".masked_fill(", ".masked_fill_(", "index_fill", "full", "long", "int64", "int32", "int16",
        "int8", "bool", "arange", "randint", "argmax", "tensor(", "Tensor(", ".int(", "randperm", "zeros_like", "fft", "complex",
    )  # fmt: skip
    also = (STORE, *(f"{name}(" for name in sorted({*STORING, *SCATTERING})))
    ops = frozenset({*STORES, *SAME_DTYPE})

    VALID = (
        """\
import torch

counts = torch.zeros(4, dtype=torch.long)
counts[0] = 2.0
counts[1:].copy_(torch.rand(3).mul(255).round())
counts.fill_(-1e9)
counts[2] = torch.rand(3).argmax()
image = torch.zeros(2, 2, dtype=torch.uint8)
image[:] = torch.rand(2, 2).floor().clamp(0, 255)
image.copy_(torch.rand(2, 2).mul(255).to(torch.uint8))
mask = torch.zeros(4) > 1
mask.copy_(torch.Tensor([True, False, False, True]))
mask[0] = 1
mask.masked_fill_(counts > 1, 0.0)
half = torch.zeros(4).half()
half[:] = torch.rand(4)
""",
        """\
import torch

def fill(table, scores):
    for i, score in enumerate(scores):
        table[i] = score * 0.5
    table.copy_(scores)
    return table

def hot(labels, classes: int, smooth: float):
    off = smooth / classes
    table = torch.full((len(labels), classes), off, dtype=torch.long if smooth == 0 else None)
    return table.scatter_(1, labels, 1 - smooth + off)

def paddings(images):
    sizes = torch.Tensor([image.shape for image in images])
    table = torch.zeros(len(images), 4, dtype=torch.int)
    table[:, 1::2] = (sizes.amax(0) - sizes)[:, 2:]
    return table
""",
        """\
import torch

marks = torch.zeros(3, 3)
rows, one = torch.tensor([0, 1]), torch.tensor(1)
marks[0] = rows[1]
marks[:2, :2] = torch.eye(2, dtype=torch.bool)
marks[one] = torch.arange(3)
marks[marks > 0] = torch.tensor(5)
marks[[True, False, False]] = torch.tensor(5)
marks[rows] = 5
marks[rows] = torch.arange(3).to(marks.dtype)
marks.scatter_(0, rows[None], 1)
marks.select_scatter(torch.arange(3), 0, 0)

def vote(marks, rows, winners):
    marks[rows] = winners > 0
    marks.index_add_(0, rows, winners.long())
    return marks
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

table = torch.full((3,), -1)
table[0] = 0.7
table.copy_(torch.rand(3))
keep = torch.ones(3, dtype=torch.bool)
keep.masked_fill_(table < 1, float('-inf'))
""",
            (
                (
                    4,
                    1,
                    "'table[0] = 0.7' loses the fraction without an error because 'table[0]' is int64; make the tensor float, or "
                    "round the value explicitly",
                ),
                (
                    5,
                    1,
                    "'table.copy_(torch.rand(3))' loses fractions without an error because 'table' is int64; make the tensor float, "
                    "or round the value explicitly",
                ),
                (
                    7,
                    1,
                    "'keep.masked_fill_(table < 1, float('-inf'))' stores True, not -inf, without an error because 'keep' is bool; "
                    "store into a float tensor, or store True or False",
                ),
            ),
        ),
        Invalid(
            """\
import torch

ids = torch.arange(4)
ids[torch.tensor([0, 2])] = torch.rand(2)
ids.fill_(float('nan'))
weights = torch.full_like(ids, 0.5)
real = torch.rand(4)
real[:] = torch.fft.fft(real)
""",
            (
                (
                    4,
                    1,
                    "'ids[torch.tensor([0, 2])] = torch.rand(2)' raises because 'ids' is int64 and the value is float32 "
                    "(Index put requires the source and destination dtypes match); make the tensor float, or round the value explicitly",
                ),
                (
                    5,
                    1,
                    "'ids.fill_(float('nan'))' raises because 'ids' is int64 and cannot hold nan (value cannot be converted to type); "
                    "make the tensor float, or round the value explicitly",
                ),
                (
                    6,
                    11,
                    "'torch.full_like(ids, 0.5)' loses the fraction without an error because its result is int64; make the tensor float, "
                    "or round the value explicitly",
                ),
                (
                    8,
                    1,
                    "'real[:] = torch.fft.fft(real)' loses imaginary parts because 'real[:]' is float32; make the tensor complex, or take "
                    ".real explicitly",
                ),
            ),
        ),
        Invalid(
            """\
import torch

marks = torch.zeros(3, 3)
rows = torch.tensor([0, 1])
marks[rows] = torch.tensor(5)
marks[:, [0, 2]] = marks[:, rows] > 0
marks[marks > 0] = marks.double()[marks > 0]
marks.index_add_(0, rows, torch.arange(6).view(2, 3))
""",
            (
                (
                    5,
                    1,
                    "'marks[rows] = torch.tensor(5)' raises because 'marks' is float32 and the value is int64 (Index put requires the "
                    "source and destination dtypes match); convert the value to the tensor's dtype",
                ),
                (
                    6,
                    1,
                    "'marks[:, [0, 2]] = marks[:, rows] > 0' raises because 'marks[:, [0, 2]]' is float32 and the value is bool (Index "
                    "put requires the source and destination dtypes match); convert the value to the tensor's dtype",
                ),
                (
                    7,
                    1,
                    "'marks[marks > 0] = marks.double()[marks > 0]' raises because 'marks' is float32 and the value is float64 (Index "
                    "put requires the source and destination dtypes match); convert the value to the tensor's dtype",
                ),
                (
                    8,
                    1,
                    "'marks.index_add_(0, rows, torch.arange(6).view(2, 3))' raises because 'marks' is float32 and the value is "
                    "int64 (must have the same scalar type); convert the value to the tensor's dtype",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something may be stored into an integer, bool or real tensor."""
        return stores_into_low(nodes)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The kind of the target is known, and below that of the value; or torch wants the same dtype, and it is another."""
        refused = _refused(event)
        if refused is not None:
            yield _raising(self, event, *refused)
            return
        if event.op not in STORES:
            return
        made = event.op in _MAKING
        target = event.arguments.get("region", event.arguments.get("input"))
        if isinstance(target, Operand) and target.out_parameter is not None and not made:
            return  # TLC309 tells what a function should do with its out.
        facts = event.result if made else target.facts if isinstance(target, Operand) else None
        if facts is None or (event.op in ("setitem", "fill") and event.form is not Form.INPLACE):
            return
        kind = facts.kind or kind_of(facts.dtype)
        value = event.arguments.get(STORES[event.op])
        lost = None if kind is None else _lost(event, value, kind)
        if kind is None or lost is None:
            return
        name = "its result" if made or not isinstance(target, Operand) else quoted(target)
        dtype = facts.dtype or kind
        about = tuple(each for each in (target, value) if isinstance(each, Operand))
        sure = Confidence.LIKELY if isinstance(value, Scalar) else Confidence.CERTAIN
        severity = Severity.ERROR if lost == RAISES else None
        text = f"'{event.text}' {_does(lost, value, name, dtype)}; {_remedy(lost, kind, value)}"
        claim = raises(REFUSED[isinstance(value, Operand)]) if lost == RAISES else Claim(Kind.STORES_OTHER)
        yield found(self, event, text, confidence=sure, about=about, severity=severity, claim=claim)


def _refused(event: TensorEvent) -> tuple[Operand, Operand, str, Confidence] | None:
    """The tensor, the value of another dtype, what torch says of it, and how surely."""
    if event.form is not Form.INPLACE:
        return None
    name, says = SAME_DTYPE.get(event.op, ("value", INDEX_PUT))
    target, value = event.arguments.get("region", event.arguments.get("input")), event.arguments.get(name)
    if not (isinstance(target, Operand) and isinstance(value, Operand)) or target.out_parameter is not None:
        return None
    if says != INDEX_PUT:
        return (target, value, says, Confidence.CERTAIN) if clash(value.facts, target.facts) else None
    numbered, masked = (event.arguments.get(each) is True for each in ("numbered", "masked"))
    if event.op == "index_put":
        indices = event.arguments.get("indices")
        parts = [each.facts for each in indices if isinstance(each, Operand)] if isinstance(indices, tuple) else []
        numbered = any(each.kind == "integer" and each.dtype not in (None, "uint8") for each in parts)
        masked = bool(parts) and all(each.kind == "bool" for each in parts)
    sure = index_refused(value.facts, target.facts, numbered=numbered, masked=masked)
    return None if sure is None else (target, value, says, sure)


def _raising(rule: Rule, event: TensorEvent, target: Operand, value: Operand, says: str, sure: Confidence) -> Finding:
    ours, theirs = (each.facts.dtype or each.facts.kind for each in (target, value))
    kind = target.facts.kind or kind_of(target.facts.dtype) or ""
    lost = tensor_lost(value.facts, kind, indexed=False)
    remedy = _remedy(RAISES, kind, value) if lost and kind == "integer" else "convert the value to the tensor's dtype"
    text = f"'{event.text}' raises because {quoted(target)} is {ours} and the value is {theirs} ({says}); {remedy}"
    return found(rule, event, text, confidence=sure, about=(target, value), severity=Severity.ERROR, claim=raises(says))


def _lost(event: TensorEvent, value: object, kind: str) -> str | None:
    if isinstance(value, Operand):
        if value.whole:
            return None
        indexed, masked = (event.arguments.get(name) is True for name in ("indexed", "masked"))
        return tensor_lost(value.facts, kind, indexed=indexed, masked=masked)
    if isinstance(value, Scalar):
        return kind_lost("integer" if value.whole else value.kind, kind)
    lost = number_lost(value, kind)
    return lost if not isinstance(value, bool) else None


def _does(lost: str, value: object, name: str, dtype: str) -> str:
    several = isinstance(value, Operand) and value.facts.rank != 0
    if lost == RAISES and isinstance(value, Operand):
        of = value.facts.dtype or "of another dtype"
        return f"raises because {name} is {dtype} and the value is {of} (Index put requires the source and destination dtypes match)"
    if lost == RAISES:
        return f"raises because {name} is {dtype} and cannot hold {value} (value cannot be converted to type)"
    if lost == ALL_TRUE:
        return f"stores True, not {value}, without an error because {name} is {dtype}"
    if lost == NONZERO:
        return f"stores True for all values but 0, without an error because {name} is {dtype}"
    if lost == IMAGINARY:
        return f"loses imaginary parts because {name} is {dtype}"
    assert lost == FRACTION
    return f"loses {'fractions' if several else 'the fraction'} without an error because {name} is {dtype}"


def _remedy(lost: str, kind: str, value: object) -> str:
    if kind == "bool":
        return "store into a float tensor, or store True or False" if lost != RAISES else "compare it with a threshold"
    if lost == IMAGINARY or isinstance(value, complex):
        return "make the tensor complex, or take .real explicitly"
    return "make the tensor float, or round the value explicitly"
