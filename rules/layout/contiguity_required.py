"""TLC110: a tensor that is not row-major gets where only row-major memory is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.events import Form, Operand, Site, TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.layout.screening import EXCHANGING, demands_contiguity
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

CONVOLUTIONS = frozenset({"nn.functional.conv2d", "conv2d"})


class ContiguityRequired(Rule):
    """
    What it does:
        Finds tensors that are not row-major where something demands that they are: an `assert x.is_contiguous()`, `torch._check` or
        `if not x.is_contiguous(): raise` of your own, safetensors, `torch.from_numpy` of an array with a negative stride,
        `send`, `recv` and the input of `all_to_all_single` of torch.distributed for tensors of the CPU, and the gradient buckets of
        DistributedDataParallel.

    Why is this bad?
        All but the last raise. DistributedDataParallel copies each gradient whose strides are not those of its bucket, and
        warns: so do weights converted after it was made, and 1x1 convolutions with row-major weights and channels_last input.

    Example:
        rgb = frame[..., ::-1]              # a view with a negative stride
        torch.from_numpy(rgb)

    Use instead:
        torch.from_numpy(rgb.copy())

    Fix:
        `.copy()` behind an array with a negative stride that is handed to torch (safe where the array gets that stride in the
        same function: there the call always raises).

    Confirmed by:
        Running the call. Of numpy arrays, and of modules before DistributedDataParallel is made, only the rule is asked again, which
        the verdict says.
    """

    code = "TLC110"
    name = "contiguity-required"
    severity = Severity.ERROR
    words = (
        *("is_contiguous(", "from_numpy(", "as_tensor(", "tensor(", "save_file(", "DistributedDataParallel"),
        *(f"{name}(" for name in sorted(EXCHANGING)),
    )
    ops = CONVOLUTIONS | {"from_numpy", "refused", "safetensors.save", "exchanged", "Module.to"}

    VALID = (
        """\
import numpy as np
import torch
import torch.distributed as dist

frame = np.zeros((6, 8, 3), dtype=np.uint8)
a = torch.from_numpy(frame[..., ::-1].copy())
b = torch.from_numpy(frame[::-1].astype(np.float32))
c = torch.from_numpy(np.ascontiguousarray(frame[:, ::-1]))
d = torch.from_numpy(np.rot90(frame, 4))
e = torch.from_numpy(np.flip(np.flip(frame, 0), 0))
f = torch.from_numpy(frame[::-1] * 2)

def pack(x):
    if not x.is_contiguous():
        x = x.contiguous()
    assert x.is_contiguous()
    return x.numpy().tobytes()

pack(torch.rand(3, 4).t())
dist.all_to_all_single(torch.empty(3, 4), torch.rand(4, 3).t().contiguous())
dist.all_to_all_single(torch.empty(4, 3).t(), torch.rand(3, 4))
dist.all_to_all_single(torch.empty(2, 3, 4, 5), torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last))
dist.all_reduce(torch.rand(4, 3).t())
dist.send(torch.rand(4, 3, device="cuda").t(), 1)

def rows(buffer, settings):
    heads = int(settings.heads) * int(settings.width)
    view = buffer.as_strided((4, int(settings.heads), int(settings.width)), (heads, int(settings.width), 1))
    return pack(view)
""",
    )
    INVALID = (
        Invalid(
            """\
import numpy as np
import torch

def load(frame):
    return torch.from_numpy(frame[:, :, ::-1])

def pack(x):
    assert x.is_contiguous(), "row-major only"
    return x.numpy().tobytes()

pack(torch.rand(3, 4).t())
""",
            (
                (
                    5,
                    12,
                    "'torch.from_numpy(frame[:, :, ::-1])' raises: the array 'frame[:, :, ::-1]' has a negative stride; use .copy()",
                ),
                (11, 1, "'pack(torch.rand(3, 4).t())' raises: 'x' is not contiguous, its strides are (1, 4)"),
            ),
            fixed="""\
import numpy as np
import torch

def load(frame):
    return torch.from_numpy(frame[:, :, ::-1].copy())

def pack(x):
    assert x.is_contiguous(), "row-major only"
    return x.numpy().tobytes()

pack(torch.rand(3, 4).t())
""",
        ),
        Invalid(
            """\
import torch

def checked(name, tensor):
    if not tensor.is_contiguous():
        raise ValueError(f"{name} must be contiguous")

def attention(q, k):
    for name, tensor in (("q", q), ("k", k)):
        checked(name, tensor)
    return q @ k.mT

def heads(qkv):
    q, k = qkv.unbind(1)
    return attention(q, k)

heads(torch.rand(4, 2, 8))
""",
            ((14, 12, "'attention(q, k)' raises: 'tensor' is not contiguous, its strides are (16, 1)"),),
        ),
        Invalid(
            """\
import torch
import torch.distributed as dist

def trade(tokens):
    heads = tokens.view(6, 4, 3).transpose(0, 1)
    dist.all_to_all_single(torch.empty(heads.shape), heads)
    dist.send(tokens[:, ::2], dst=1)

trade(torch.rand(6, 12))
""",
            (
                (
                    6,
                    5,
                    "'dist.all_to_all_single(torch.empty(heads.shape), heads)' raises: 'heads' is not contiguous, its strides are (3, 12, 1)",
                ),
                (
                    7,
                    5,
                    "'dist.send(tokens[:, ::2], dst=1)' raises: 'tokens[:, ::2]' is not contiguous, its strides are (12, 2)",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something demands row-major memory, and may get other."""
        return demands_contiguity(nodes)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """One kind of demand after the other."""
        if event.op == "from_numpy":
            yield from self._array(event)
        elif event.op == "Module.to":
            yield from self._converted_late(event)
        elif event.op in CONVOLUTIONS:
            yield from self._bucket(event)
        else:
            for tensor in event.tensors:
                judgement = questions.is_contiguous(tensor.facts, "contiguous_format")
                if judgement.answer is Answer.NO:
                    passed = event.argument_sites.get("passed")
                    text = event.arguments["call"] if passed is not None else event.text
                    what = f"'{text}' raises" if passed is not None or event.op != "refused" else "this fails"
                    message = f"{what}: {quoted(tensor)} is not contiguous, its strides are {tuple_text(tensor.facts.strides)}"
                    yield found(
                        self,
                        event,
                        message,
                        confidence=judgement.confidence,
                        about=(tensor,),
                        site=passed or event.site,
                        claim=_not_contiguous(tensor),
                    )
                    return

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """A copy of the array."""
        from stridelint.rules.forms import edits

        event = finding.event
        if not isinstance(event, TensorEvent) or event.op != "from_numpy":
            return None
        array = code.expression(event.tensors[0].site)
        if array is None:
            return None
        safe = code.together(array, event.tensors[:1])
        return edits.Fix("copy the array", (edits.called(code, array, "copy"),), safe)

    def _array(self, event: TensorEvent) -> Iterator[Finding]:
        array = event.tensors[0]
        strides = array.facts.strides or ()
        if event.arguments.get("backwards") is True or any(isinstance(each, int) and each < 0 for each in strides):
            message = f"'{event.text}' raises: the array {quoted(array, 'given')} has a negative stride; use .copy()"
            yield found(self, event, message, about=(array,))

    def _converted_late(self, event: TensorEvent) -> Iterator[Finding]:
        """Buckets have the strides that the weights had when they were made."""
        tensors = event.arguments.get("parameters")
        if event.arguments.get("wrapped") is not True or event.arguments.get("memory_format") != "channels_last":
            return
        for tensor in tensors if isinstance(tensors, tuple) else ():
            if (
                isinstance(tensor, Operand)
                and questions.is_contiguous(tensor.facts, "channels_last").answer is Answer.NO
            ):
                message = f"{quoted(tensor)} gets other strides than its gradient bucket: convert the module before DistributedDataParallel is made"
                yield found(self, event, message, about=(tensor,), severity=Severity.WARNING)
                return

    def _bucket(self, event: TensorEvent) -> Iterator[Finding]:
        """The gradient of a 1x1 weight takes the input's layout, the bucket the weight's."""
        if event.distributed is None or len(event.tensors) < 2:
            return
        source, weight = event.tensors[:2]
        shape, strides = weight.facts.concrete_shape, weight.facts.concrete_strides
        if shape is None or strides is None or len(shape) != 4 or shape[2:] != (1, 1) or shape[1] == 1:
            return
        last = questions.suggests(source.facts, "channels_last")
        plain = questions.is_contiguous(source.facts, "contiguous_format")
        if (
            strides == (shape[1], 1, 1, 1)
            and last.answer is Answer.YES
            and plain.answer is Answer.NO
            and weight.facts.requires_grad
        ):
            message = (
                f"the gradient of {quoted(weight, 'the weight')} gets other strides than its bucket, because the input of this 1x1 convolution is "
                "channels_last; convert the module to channels_last before it is wrapped"
            )
            yield found(
                self,
                event,
                message,
                site=event.distributed,
                confidence=last.confidence,
                about=(source,),
                severity=Severity.WARNING,
            )


def _not_contiguous(tensor: Operand) -> Claim:
    """What torch answers when it is asked about the tensor."""
    arguments = {"input": tensor, "memory_format": "contiguous_format"}
    asked = TensorEvent("is_contiguous", Form.METHOD, arguments, (tensor,), Site())
    return Claim(Kind.ANSWERS_FALSE, events=(asked,))
