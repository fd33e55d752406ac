"""TLC310: out= where vmap or torch.compile refuses it."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.events import Operand
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.out.clauses import OutCall, OutRule, passing_out
from stridelint.rules.rule import Finding, Invalid, Severity
from stridelint.rules.screening import Nodes


class OutUnderTransform(OutRule):
    """
    What it does:
        Finds `out=` in functions that run under `vmap`, and outs that are not contiguous or must be resized in functions
        that `torch.compile` compiles with `fullgraph=True`.

    Why is this bad?
        `vmap` has no rule for functions with out=, for none of them: the call raises as soon as one of its tensors is mapped
        over. A compiled graph cannot change the shape or strides of its inputs: what eager torch accepts raises
        "Unsupported", or, without fullgraph, splits the graph there.

    Example:
        @torch.compile(fullgraph=True)
        def project(x, w, out):
            return torch.mm(x, w, out=out)

        project(x, w, board.t())

    Use instead:
        board.t().copy_(project(x, w))      # with a function that returns its result

    Confirmed by:
        Nothing: the probe runs no transform, so that the verdict is `inconclusive`.
    """

    code = "TLC310"
    name = "out-under-transform"
    severity = Severity.ERROR

    VALID = (
        """\
import torch

@torch.compile(fullgraph=True, backend="eager")
def project(x, w, out):
    return torch.mm(x, w, out=out)

project(torch.rand(2, 3), torch.rand(3, 4), torch.empty(2, 4))
project(torch.rand(2, 3), torch.rand(3, 4), torch.empty(5, 4)[:2])
torch.vmap(lambda x: x + torch.add(torch.ones(4), 1, out=torch.empty(4)))(torch.rand(3, 4))
""",
        """\
import torch

@torch.compile(backend="eager")
def project(x, w, out):
    return torch.mm(x, w, out=out)

project(torch.rand(2, 3), torch.rand(3, 4), torch.empty(4, 2).t())
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

@torch.compile(fullgraph=True, backend="eager")
def project(x, w, out):
    return torch.mm(x, w, out=out)

project(torch.rand(2, 3), torch.rand(3, 4), torch.empty(4, 2).t())
""",
            (
                (
                    5,
                    12,
                    "mm() raises in a compiled graph because 'out' is not contiguous: its strides are (1, 2) (Attempted to call op with "
                    "non-contiguous `out=` tensor); return the result and copy it outside",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def shifted(x, buffer):
    return torch.add(x, 1, out=buffer)

torch.vmap(shifted, in_dims=(0, None))(torch.rand(3, 4), torch.empty(4))
double = torch.compile(lambda x, out: torch.mul(x, 2, out=out), fullgraph=True, backend="eager")
double(torch.rand(3), torch.empty(0))
""",
            (
                (
                    4,
                    12,
                    "add() with out= raises under vmap, which maps over 'x' (Batching rule not implemented); return the result and copy "
                    "it outside",
                ),
                (
                    7,
                    39,
                    "mul() raises in a compiled graph because it would resize 'out' from (0,) to (3,) (Shape mismatch with out= tensor "
                    "variant); return the result and copy it outside",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Some call passes out=, and something is transformed."""
        return passing_out(nodes) if {"vmap", "compile"} & nodes.names else frozenset()

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """A tensor is mapped over, or out would have to change."""
        outs = tuple(out for _, out in call.outs)
        if "vmap" in call.event.transforms:
            mapped = next((each for each in (*call.event.tensors, *outs) if each.batched), None)
            if mapped is not None:
                message = (
                    f"{call.name} with out= raises under vmap, which maps over {quoted(mapped, 'an input')} (Batching rule not "
                    "implemented); return the result and copy it outside"
                )
                yield found(self, call.event, message, about=(mapped,))
            return
        if "compile" not in call.event.transforms:
            return
        for index, out in call.outs:
            why = _refused(call, index, out)
            if why is not None:
                message = (
                    f"{call.name} raises in a compiled graph because {why[0]}; return the result and copy it outside"
                )
                yield found(self, call.event, message, confidence=why[1], about=(out,))
                return


def _refused(call: OutCall, index: int, out: Operand) -> tuple[str, Confidence] | None:
    name, list_ = quoted(out, "out"), " list of tensors" if len(call.outs) > 1 else " tensor"
    contiguous = questions.is_contiguous(out.facts, "contiguous_format")
    if contiguous.answer is Answer.NO:
        strides = tuple_text(out.facts.strides)
        why = f"{name} is not contiguous: its strides are {strides} (Attempted to call op with non-contiguous `out=`{list_})"
        return why, contiguous.confidence
    required, shape = call.required(index), out.facts.concrete_shape
    wanted = required.concrete_shape
    if shape is None or wanted is None or shape == wanted:
        return None
    text = (
        "Shape mismatch with out= list of tensor variants"
        if len(call.outs) > 1
        else "Shape mismatch with out= tensor variant"
    )
    return f"it would resize {name} from {tuple_text(shape)} to {tuple_text(wanted)} ({text})", Confidence.CERTAIN
