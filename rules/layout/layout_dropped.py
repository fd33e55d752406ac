"""TLC107: channels_last goes in, row-major comes out, and nothing asked for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.events import Form, LayoutUse, Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.layout.asked_formats import FORMATS, is_part, was_made
from stridelint.rules.layout.screening import kernels
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening import name_of

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

# Measured: row-major results whatever goes in (`pad` in some of its modes).
DROPPERS = frozenset(
    """masked_fill cumsum cumprod index_select gather take_along_dim repeat repeat_interleave tile tril triu scatter scatter_add
    index_add index_copy instance_norm nn.functional.instance_norm nn.functional.grid_sample bernoulli topk softmax log_softmax
    nn.functional.softmax nn.functional.log_softmax nn.functional.pad nn.functional.layer_norm""".split()
)
# They normalize over classes: at the end of a network's forward nobody minds the layout.
ENDS = frozenset({"softmax", "log_softmax", "nn.functional.softmax", "nn.functional.log_softmax"})
# Layers that a network goes on with.
LAYERS = frozenset(
    f"nn.functional.{name}" for name in "conv2d conv3d batch_norm max_pool2d avg_pool2d interpolate".split()
)
FACTORIES = frozenset({"new_zeros", "new_ones", "new_empty", "new_full"})
STORES = frozenset({"setitem", "copy_"})
_WORDS = (
    {name.rpartition(".")[2] for name in DROPPERS}
    | FACTORIES
    | {"cat", "concat", "contiguous", "InstanceNorm2d", "Softmax", "Softmax2d", "copy_"}
)


class LayoutDropped(Rule):
    """
    What it does:
        Finds places where a tensor that was made channels_last comes out row-major: operators that drop the layout
        (`masked_fill`, `index_select`, `repeat`, `cumsum`, `softmax`, `grid_sample` ...), `x.new_zeros(shape)`, `.contiguous()`
        right after the axes were permuted back or between two layers, `cat` with one row-major part, buffers made from the
        shape only, and custom operators whose fake kernel promises other strides than the real one. What is
        converted to a memory format at once is left out. A softmax that a module's `forward` returns, alone or with others, and
        what ends in few numbers, a loss, an argmax or a comparison of values, also behind a name, is told in audits only
        (`--min-confidence possible`): nothing goes on in its layout.

    Why is this bad?
        From there on every convolution converts its input again, or the rest of the network runs in the slower layout.
        Nothing fails; only the time goes up. A fake kernel with other strides makes compiled code read memory wrongly.

    Example:
        x = x.to(memory_format=torch.channels_last)
        mask = torch.rand(n, 1, h, w) > 0.5
        x = x.masked_fill(mask, 0.0)        # row-major

    Use instead:
        # channels_last, as the mask has one channel; one of x's shape has to be channels_last, too, since it comes first
        x = torch.where(mask, 0.0, x)

    Fix:
        `x.new_zeros(x.shape)` becomes `torch.zeros_like(x)`, likewise ones and empty; `.contiguous()` after the axes were permuted
        back gets `memory_format=torch.channels_last`; so does a buffer that a function of torch makes (all unsafe: what is computed
        from the result has another layout then). A fake kernel gets `torch.empty_like` (safe: it only tells what the real one does).

    Confirmed by:
        Running the operator on a channels_last tensor and reading the strides of the result. Of fake kernels, and of buffers
        of which the code does not tell that the sizes fit, only the rule is asked again, which the verdict says.
    """

    code = "TLC107"
    name = "layout-dropped"
    severity = Severity.WARNING
    words = ("channels_last", "register_fake", "impl_abstract", "impl(")
    ops = DROPPERS | FACTORIES | STORES | LAYERS | {"contiguous", "cat", "concat", "getitem", "fake_kernel"}

    VALID = (
        """\
import torch

x = torch.rand(2, 4, 5, 6).to(memory_format=torch.channels_last)
both = torch.cat([x, x * 2], dim=1)
canvas = torch.zeros_like(x)
reference = x.contiguous()
flat = x.permute(0, 2, 3, 1).contiguous().view(-1, 4)
gray = x.mean(1, keepdim=True).masked_fill(x[:, :1] > 0.5, 0.0)
""",
        """\
import torch
import torch.nn.functional as F

class Head(torch.nn.Module):
    def forward(self, images, labels):
        logits = images.to(memory_format=torch.channels_last)
        probs = logits.softmax(dim=1)
        sure, best = probs.max(dim=1)
        loss = F.nll_loss(F.log_softmax(logits, dim=1), labels)
        total = logits.masked_fill(logits < 0, 0.0).sum()
        places = logits.topk(2, dim=1).indices
        return {"probs": probs, "best": (sure, best), "all": (loss, total, places)}
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

x = torch.rand(2, 4, 5, 6).to(memory_format=torch.channels_last)
a = x.masked_fill(torch.rand(5, 6) > 0.5, 0.0)
b = x.new_zeros(2, 4, 10, 12)
c = torch.cat([x, torch.rand(2, 1, 5, 6)], dim=1)
d = x.relu().transpose(1, 2).transpose(1, 2).contiguous()
""",
            (
                (4, 5, "'x.masked_fill(torch.rand(5, 6) > 0.5, 0.0)' is row-major although 'x' is channels_last"),
                (5, 5, "'x.new_zeros(2, 4, 10, 12)' is row-major although 'x' is channels_last"),
                (6, 5, "'torch.cat([x, torch.rand(2, 1, 5, 6)], dim=1)' is row-major although 'x' is channels_last"),
                (
                    7,
                    5,
                    "'x.relu().transpose(1, 2).transpose(1, 2).contiguous()' is row-major although "
                    "'x.relu().transpose(1, 2).transpose(1, 2)' is channels_last",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(2, 4, 5, 6).to(memory_format=torch.channels_last)
a = x.masked_fill(torch.rand(5, 6) > 0.5, 0.0)
b = x.new_zeros(2, 4, 10, 12)
c = torch.cat([x, torch.rand(2, 1, 5, 6)], dim=1)
d = x.relu().transpose(1, 2).transpose(1, 2).contiguous(memory_format=torch.channels_last)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

@torch.library.custom_op("lib::halve", mutates_args=())
def halve(x: torch.Tensor) -> torch.Tensor:
    return x.abs() / 2

@halve.register_fake
def _(x):
    return x.new_empty(x.shape)
""",
            (
                (
                    9,
                    12,
                    "the fake kernel's 'x.new_empty(x.shape)' is row-major, but 'halve' returns the strides of 'x'; use torch.empty_like(x)",
                ),
            ),
            fixed="""\
import torch

@torch.library.custom_op("lib::halve", mutates_args=())
def halve(x: torch.Tensor) -> torch.Tensor:
    return x.abs() / 2

@halve.register_fake
def _(x):
    return torch.empty_like(x)
""",
        ),
        Invalid(
            """\
import torch

x = torch.rand(2, 4, 5, 6).to(memory_format=torch.channels_last)
a = x.new_zeros(x.shape)
b = x.relu().transpose(1, 2).transpose(1, 2).contiguous()
c = torch.empty(2, 4, 5, 6)
c.copy_(x)
""",
            (
                (4, 5, "'x.new_zeros(x.shape)' is row-major although 'x' is channels_last"),
                (
                    5,
                    5,
                    "'x.relu().transpose(1, 2).transpose(1, 2).contiguous()' is row-major although "
                    "'x.relu().transpose(1, 2).transpose(1, 2)' is channels_last",
                ),
                (6, 5, "'c' is row-major although 'x', which is stored into it, is channels_last"),
            ),
            fixed="""\
import torch

x = torch.rand(2, 4, 5, 6).to(memory_format=torch.channels_last)
a = torch.zeros_like(x)
b = x.relu().transpose(1, 2).transpose(1, 2).contiguous(memory_format=torch.channels_last)
c = torch.empty(2, 4, 5, 6, memory_format=torch.channels_last)
c.copy_(x)
""",
            safe=False,
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something is channels_last, and an operator may drop it; or there is a fake kernel."""
        found = kernels(nodes)
        if "memory_format" in nodes.names:
            found |= {
                unit
                for call, unit in nodes.calls
                if name_of(call.func) in _WORDS or any(each.arg == "memory_format" for each in call.keywords)
            }
            found |= {
                unit
                for node, unit in nodes.bindings
                if isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Subscript)
                and not nodes.certain.stores_elsewhere(node.targets[0], unit)
            }
        return frozenset(found)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """A tensor was made channels_last, and the result has another layout."""
        if event.op == "fake_kernel":
            yield from self._promised(event)
            return
        if event.op in STORES:
            yield from self._stored(event)
            return
        if event.op in LAYERS:
            yield from self._undone(event)
            return
        if event.form is Form.INPLACE or event.out is not None or not event.tensors:
            return
        if event.op == "contiguous" and not (
            _is_permuted_back(event) and event.then in ("", "return", "to", "relu", "add", "mul")
        ):
            return
        parts = event.tensors if event.op in ("cat", "concat") else event.tensors[:1]
        kept = next((each for each in parts if was_made(each)), None)
        if kept is None or event.result.rank != kept.facts.rank or event.result.shape is None:
            return
        wanted = FORMATS[kept.facts.rank or 4]
        dropped = questions.is_only(event.result, "contiguous_format", wanted)
        if dropped.answer is not Answer.YES or event.then == "memory_format":
            return
        is_end = event.op in ENDS and event.then not in ("", "mul", "add", "to", "float", "half")
        is_end |= event.layout_use <= (LayoutUse.RETURNED if event.op in ENDS else LayoutUse.STATED)
        message = f"'{event.text}' is row-major although {quoted(kept)} is {wanted}"
        yield found(
            self,
            event,
            message,
            confidence=Confidence.POSSIBLE if is_end else dropped.confidence,
            about=(kept,),
            claim=Claim(Kind.DROPS_LAYOUT),
        )

    def _undone(self, event: TensorEvent) -> Iterator[Finding]:
        """A layer gets what another one computed channels_last and `.contiguous()` made row-major in between."""
        story = event.tensors[0].story if event.tensors else ()
        if (
            len(story) < 2
            or story[-1].message != "becomes row-major here"
            or "becomes channels_last" not in story[-2].message
        ):
            return
        copied = getattr(getattr(story[-1].site.node, "func", None), "value", None)
        if type(copied).__name__ == "Call" and event.tensors[0].made_by == "":
            yield found(
                self,
                event,
                "'.contiguous()' makes a channels_last tensor row-major between two layers; drop it",
                confidence=Confidence.LIKELY,
                site=story[-1].site,
                about=(event.tensors[0],),
            )

    def _stored(self, event: TensorEvent) -> Iterator[Finding]:
        """A buffer that was made from the shape only gets a channels_last tensor."""
        value = event.arguments.get("value" if event.op == "setitem" else "src")
        target = event.tensors[0]
        if not isinstance(value, Operand) or not is_part(value) or target.facts.rank != value.facts.rank:
            return
        made = target.story[-1] if len(target.story) == 1 and target.story[0].message == "is made here" else None
        wanted = FORMATS[value.facts.rank or 4]
        row_major = questions.is_only(target.facts, "contiguous_format", wanted)
        if made is not None and row_major.answer is Answer.YES and target.facts.requires_grad is False:
            message = f"{quoted(target)} is row-major although {quoted(value)}, which is stored into it, is {wanted}"
            yield found(
                self,
                event,
                message,
                confidence=min(row_major.confidence, Confidence.LIKELY),
                site=made.site,
                about=(value,),
                # Where the code does not tell that the sizes fit, no call can be made.
                claim=Claim(Kind.DROPS_LAYOUT) if _fits(event, value) else None,
            )

    def _promised(self, event: TensorEvent) -> Iterator[Finding]:
        """A fake kernel promises other strides than the real one returns."""
        promised, returned, given = event.tensors[0], event.arguments["returned"], event.arguments["input"]
        assert isinstance(returned, Operand) and isinstance(given, Operand)
        row_major = [questions.is_contiguous(each.facts, "contiguous_format") for each in (promised, returned)]
        answers = [each.answer for each in row_major]
        fake, real, own = f"the fake kernel's '{event.text}'", event.arguments["kernel"], event.arguments["own"]
        for_rows = questions.is_contiguous(given.facts, "contiguous_format").answer is Answer.YES
        if answers == [Answer.YES, Answer.NO] and for_rows:
            message = f"{fake} is row-major for a row-major '{own}', but '{real}' returns other strides"
        elif answers == [Answer.YES, Answer.NO]:
            is_like = (returned.facts.shape, returned.facts.strides) == (given.facts.shape, given.facts.strides)
            kept = f"returns the strides of {quoted(given)}; use torch.empty_like({own})"
            message = f"{fake} is row-major, but '{real}' {kept if is_like else 'returns other strides'}"
        elif answers == [Answer.NO, Answer.YES]:
            message = f"{fake} has the strides of '{own}', but '{real}' returns a row-major tensor"
        else:
            return
        yield found(self, event, message, confidence=min(each.confidence for each in row_major))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """The same with the layout kept, where that is one edit."""
        from stridelint.rules.forms import edits, tensor_edits

        event, call, torch = finding.event, code.call(finding.site), code.torch()
        if call is None or torch is None:
            return None
        like = tensor_edits.made_like(code, call, torch)
        if like is not None:
            is_promise = isinstance(event, TensorEvent) and event.op == "fake_kernel"
            return edits.Fix("make it like the tensor", (like,), safe=is_promise)
        wanted = (
            FORMATS.get(event.tensors[0].facts.rank or 0) if isinstance(event, TensorEvent) and event.tensors else None
        )
        if wanted is None:
            return None
        edit = tensor_edits.made_in_format(code, call, torch, wanted)
        if edits.method(call) == "contiguous" and not call.args:
            asked = edits.with_keyword(call, "memory_format", tensor_edits.memory_format(torch, wanted).value)
            edit = edits.replaced(code, call, asked)
        return None if edit is None else edits.Fix(f"ask for {wanted}", (edit,))


def _fits(event: TensorEvent, value: Operand) -> bool:
    """What is stored has the shape of the part that it is stored into."""
    region = event.arguments.get("region", event.tensors[0])
    return isinstance(region, Operand) and region.facts.shape is not None and region.facts.shape == value.facts.shape


def _is_permuted_back(event: TensorEvent) -> bool:
    """`.permute(0, 3, 1, 2).contiguous()`: the copy is made out of habit, the tensor is dense."""
    source, asked = event.tensors[0], event.arguments.get("memory_format")
    return asked == "contiguous_format" and any(
        word in source.text.rpartition(".")[2] for word in ("permute(", "transpose(", "movedim(")
    )
