"""From values to the plain data of events."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass

import libcst as cst

from stridelint.linter.inference import copies, outs
from stridelint.linter.inference.followers import Follower
from stridelint.linter.inference.layout_uses import LayoutUser
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.values import (
    Constant,
    Device,
    Dtype,
    MemoryFormat,
    Number,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
)
from stridelint.rules import events
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.ranges import Range
from stridelint.rules.events import Copy, Form, Note, Operand, Site, TensorEvent, changes


@dataclass(frozen=True, eq=False)
class Written:
    """How a node is written, worked out when somebody asks."""

    program: Program
    node: cst.CSTNode

    def __call__(self) -> str:
        """On one line, shortened."""
        return self.program.text(self.node)


def operand(path: Path, tensor: TensorValue, node: cst.CSTNode | None = None, heard: bool = True) -> Operand:
    """A tensor as it takes part in an event; `node` is how the code refers to it there.

    Where no event is made (`heard` is false), only its facts matter.
    """
    path.reads(tensor)
    if not heard:
        return Operand(path.facts(tensor))
    written = None if tensor.written_by is None else Note(Site(tensor.written_by[1]), tensor.written_by[0])
    wording = (tensor.name or "") if node is None else Written(path.program, node)
    story = tuple(Note(Site(where), what) for what, where in tensor.story)
    fresh = tensor.name is None and not tensor.is_parameter
    return Operand(
        path.facts(tensor),
        wording,
        story,
        Site(node),
        fresh,
        unread_copy(path, tensor, node),
        tensor.whole,
        outs.parameter_of(path, tensor),
        written,
        tensor.batched,
        tensor.made_by,
    )


def unread_copy(path: Path, tensor: TensorValue, node: cst.CSTNode | None) -> Copy | None:
    """The copy that a tensor is (a part of), where the code only writes to it."""
    while tensor.copied is None:
        if tensor.base is None:
            return None
        tensor = tensor.base
    confidence = copies.unread(path, tensor, node)
    if confidence is None:
        return None
    made = tensor.copied
    expression = copies.copied_expression(made.node)
    if copies.is_only_here(made.source, expression):
        return None
    source = path.program.text(expression) or made.source.name or ""
    return Copy(path.program.text(made.node), source, Site(made.node), confidence)


def plain(path: Path, value: Value | None, node: cst.CSTNode | None = None, heard: bool = True) -> object:
    """A value as an event's argument; `heard` as for `operand`."""
    if value is None:
        return None
    if isinstance(value, TensorValue):
        return operand(path, value, node, heard)
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, SizeValue):
        return value.size
    if isinstance(value, (Dtype, MemoryFormat, Device)):
        return value.name
    if isinstance(value, Sequence) and value.items is not None:
        parts = (
            node.elements
            if isinstance(node, (cst.Tuple, cst.List)) and len(node.elements) == len(value.items)
            else None
        )
        return tuple(
            plain(path, each, None if parts is None else parts[index].value, heard)
            for index, each in enumerate(value.items)
        )
    if isinstance(value, Unknown) and value.tensor is not None and value.tensor.proven:
        return operand(path, value.tensor, node, heard)
    if isinstance(value, Number) and (value.fraction or value.kind != "float"):
        return Scalar(value.kind, value.is_settled)
    return events.Unknown.UNKNOWN


def emit(
    path: Path,
    op: str,
    form: Form,
    node: cst.CSTNode,
    arguments: Dict[str, object],
    tensors: tuple[Operand, ...],
    out: object = None,
    result: TensorFacts = TensorFacts(),
    sites: Dict[str, cst.CSTNode] | None = None,
    waits_for: TensorValue | None = None,
    numbers: Range | None = None,
) -> None:
    """Make the event and hand it to the rules that want it; at once, or once `waits_for` is proven to be a tensor."""
    if not path.hears(op, changes(form, arguments), out is not None):
        return
    thrown_away = node is path.discarded or isinstance(node, (cst.AugAssign, cst.Assign))
    discarded_at = Site(path.discard_site or node) if thrown_away else None
    wrapper = None if path.distributed is None else Site(path.distributed)
    confidence, grad, transforms = path.confidence, path.grad_answer, path.transforms

    def make() -> TensorEvent:
        argument_sites = {name: Site(each) for name, each in (sites or {}).items()}
        return TensorEvent(
            op,
            form,
            arguments,
            tensors,
            Site(node),
            out,
            result,
            grad,
            discarded_at,
            argument_sites,
            confidence,
            Written(path.program, node),
            Follower(path.program, node),
            transforms=transforms,
            distributed=wrapper,
            numbers=numbers,
            layout_using=LayoutUser(path.program, node),
        )

    if waits_for is not None and not waits_for.proven:
        path.awaited.append(waits_for)
        waits_for.pending.append(lambda: path.emit(make))
        return
    path.emit(make)
