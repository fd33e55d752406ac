"""TLC102: a memory format asked of a tensor of another rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules import claims
from stridelint.rules.claims import Claim, Kind
from stridelint.rules.events import Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix

RANKS = {"channels_last": 4, "channels_last_3d": 5}
# What torch says.
REQUIRED = "required rank ... tensor to use channels_last"


class MemoryFormatRank(Rule):
    """
    What it does:
        Finds `channels_last` asked of a tensor whose rank is not 4 (`channels_last_3d`: not 5), and modules converted to
        one of them although they hold parameters of the other's rank.

    Why is this bad?
        Converting raises "required rank 4 tensor to use channels_last format"; `is_contiguous(memory_format=...)` is always
        False. `Module.to(memory_format=...)` converts every parameter and buffer of rank 4 or 5, so one `Conv3d` in the
        module makes `.to(memory_format=torch.channels_last)` raise.

    Example:
        features = torch.rand(8, 120, 80)
        features.contiguous(memory_format=torch.channels_last)

    Use instead:
        features.contiguous()

    Fix:
        Of a tensor of rank 5 `channels_last_3d` is asked, of one of rank 4 `channels_last`; for other ranks the memory format is
        left out of `contiguous`, `clone` and factories (unsafe: for a caller with another rank it was right).

    Confirmed by:
        Running the conversion and reading the error.
    """

    code = "TLC102"
    name = "memory-format-rank"
    severity = Severity.ERROR
    words = ("channels_last",)
    ops = frozenset(
        {
            "to",
            "contiguous",
            "clone",
            "is_contiguous",
            *("empty", "zeros", "ones", "full", "rand", "randn"),
            "empty_like",
            "zeros_like",
            "ones_like",
            "full_like",
            "rand_like",
            "randn_like",
            "Module.to",
        }
    )

    VALID = (
        """\
import torch
from torch import nn

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8, 2)).to(memory_format=torch.channels_last)

def prepare(x):
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x.contiguous()
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

features = torch.rand(8, 120, 80)
packed = features.transpose(1, 2).contiguous(memory_format=torch.channels_last)
if features.is_contiguous(memory_format=torch.channels_last):
    print("never")
""",
            (
                (4, 10, "channels_last needs a tensor of rank 4, 'features.transpose(1, 2)' has rank 3: this raises"),
                (5, 4, "channels_last needs a tensor of rank 4, 'features' has rank 3: the answer is always False"),
            ),
            fixed="""\
import torch

features = torch.rand(8, 120, 80)
packed = features.transpose(1, 2).contiguous()
if features.is_contiguous(memory_format=torch.channels_last):
    print("never")
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

x = torch.empty(2, 3, 8, memory_format=torch.channels_last)
y = torch.zeros_like(torch.rand(3, 4), memory_format=torch.channels_last)
""",
            (
                (
                    3,
                    5,
                    "channels_last needs a tensor of rank 4, 'torch.empty(2, 3, 8, memory_format=torch.channels_last)' asks "
                    "for rank 3: this raises",
                ),
                (4, 5, "channels_last needs a tensor of rank 4, 'torch.rand(3, 4)' has rank 2: this raises"),
            ),
            fixed="""\
import torch

x = torch.empty(2, 3, 8)
y = torch.zeros_like(torch.rand(3, 4))
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

clip = torch.rand(2, 3, 4, 8, 8).to(memory_format=torch.channels_last)
""",
            ((3, 8, "channels_last needs a tensor of rank 4, 'torch.rand(2, 3, 4, 8, 8)' has rank 5: this raises"),),
            fixed="""\
import torch

clip = torch.rand(2, 3, 4, 8, 8).to(memory_format=torch.channels_last_3d)
""",
            safe=False,
        ),
        Invalid(
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv3d(8, 8, 3))
net.to(memory_format=torch.channels_last)
""",
            ((5, 1, "converting a module to channels_last raises: its 'Conv3d.weight' has rank 5"),),
        ),
    )

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The rank is known and is not the format's."""
        wanted = event.arguments.get("memory_format")
        if not isinstance(wanted, str) or wanted not in RANKS:
            return
        if event.op == "Module.to":
            yield from self._module(event, wanted)
            return
        source = event.tensors[0] if event.tensors else None
        size = event.arguments.get("size")
        if source is None and isinstance(size, tuple) and len(size) != RANKS[wanted]:
            message = f"{wanted} needs a tensor of rank {RANKS[wanted]}, '{event.text}' asks for rank {len(size)}: this raises"
            yield found(self, event, message, claim=claims.raises(REQUIRED))
            return
        if source is None or source.facts.rank in (None, RANKS[wanted]):
            return
        asks = event.op == "is_contiguous"
        consequence = "the answer is always False" if asks else "this raises"
        message = f"{wanted} needs a tensor of rank {RANKS[wanted]}, {quoted(source)} has rank {source.facts.rank}: {consequence}"
        claim = Claim(Kind.ANSWERS_FALSE) if asks else claims.raises(REQUIRED)
        yield found(self, event, message, about=(source,), claim=claim)

    def _module(self, event: TensorEvent, wanted: str) -> Iterator[Finding]:
        """Module.to converts tensors of rank 4 and 5 alike."""
        tensors = event.arguments.get("parameters")
        for tensor in tensors if isinstance(tensors, tuple) else ():
            if isinstance(tensor, Operand) and tensor.facts.rank in (4, 5) and tensor.facts.rank != RANKS[wanted]:
                message = f"converting a module to {wanted} raises: its {quoted(tensor, 'parameter')} has rank {tensor.facts.rank}"
                yield found(self, event, message, about=(tensor,), claim=claims.raises(REQUIRED))
                return

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """The format of this rank, or none."""
        from stridelint.rules.forms import edits

        event, call = finding.event, code.call(finding.site)
        if not isinstance(event, TensorEvent) or call is None or event.op == "Module.to":
            return None
        given, size = edits.keyword(call, "memory_format"), event.arguments.get("size")
        rank = event.tensors[0].facts.rank if event.tensors else len(size) if isinstance(size, tuple) else None
        if given is None:
            return None
        right = next((name for name, each in RANKS.items() if each == rank), None)
        if right is not None:
            edit = edits.renamed(given.value, right)
            return None if edit is None else edits.Fix(f"ask for {right}", (edit,))
        if event.op == "is_contiguous" or (event.op == "to" and len(call.args) == 1):
            return None
        return edits.Fix("leave the memory format out", (edits.replaced(code, call, edits.without(call, given)),))
