"""TLC311: an out of the result's kind that holds smaller numbers only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.narrowing import GROWING, SMALL, cannot_hold, is_whole_range, narrows
from stridelint.rules.contract.out_contract import dtype_clause
from stridelint.rules.contract.ranges import held, overflow
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.inplace.screening import changes_small
from stridelint.rules.out.clauses import OutCall, OutRule, call_name, out_call, passing_out
from stridelint.rules.rule import Finding, Invalid, Severity

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

CLAMPS = frozenset({"clamp", "clip", "clamp_min", "clamp_max"})


class OutNarrowing(OutRule):
    """
    What it does:
        Finds `out=` tensors of the result's kind with a smaller range: an int64 result in uint8, float32 in float16. Reported
        in every run where the numbers are known not to fit, or where the code expects so: it clamps a uint8 result to 0 and
        255, or an int16 one to full scale, after it has wrapped around. Where numbers are known not to fit an integer dtype of
        8 or 16 bits, so are results that are computed in one for a wider out, and changes in place; but not in code that
        seems to mean it: hashes, bits, what is reduced by `%` afterwards.

    Why is this bad?
        Within a kind torch casts in silence. Integers wrap around, floats become infinite; a `clamp_` of the out comes too
        late to change that.

    Example:
        torch.add(image, 60, out=image)     # uint8: 200 + 60 is 4
        image.clamp_(0, 255)

    Use instead:
        brighter = torch.add(image, 60, out=torch.empty_like(image, dtype=torch.int16))
        image.copy_(brighter.clamp_(0, 255))

    Confirmed by:
        Calling the function with large numbers and comparing with its result in a wider dtype.
    """

    code = "TLC311"
    name = "out-narrowing"
    severity = Severity.NOTE
    words = (*OutRule.words, "+=", "-=", "*=", *sorted(f"{op}_(" for op in GROWING))

    VALID = (
        """\
import torch

image = torch.zeros(4, dtype=torch.uint8)
torch.add(image, 60, out=image)
torch.add(image, -1, out=image)
image.clamp_(0, 200)
wide = torch.empty(4, dtype=torch.int16)
torch.add(image, 60, out=wide)
wide.clamp_(0, 255)
torch.cumsum(image, 0, dtype=torch.int32, out=torch.empty(4, dtype=torch.int32))
signed = torch.zeros(4, dtype=torch.int8)
torch.neg(signed, out=signed)
signed.clamp_(min=-127)
torch.add(signed, 3, out=signed)
signed.clamp_(-100, 100)
""",
        """\
import torch

def scale(x, factor, out):
    torch.mul(x, factor, out=out)
    return out.clamp_(0, 255)
""",
        """\
import torch

table = torch.empty(256, dtype=torch.uint8)
torch.mul(torch.arange(256), 2, out=torch.empty(256, dtype=torch.int16))
torch.sub(torch.tensor(255), torch.arange(256), out=table)
counts = torch.zeros(4, dtype=torch.uint8)
counts += 200
counts[counts < 56] += 200
counts.fill_(255).sub_(255)
none = torch.zeros(4, dtype=torch.uint8)
none -= 1
""",
        """\
import torch

def checksum(state):
    for byte in (200, 100):
        state += byte
    return state

def spin(angle):
    angle += 100
    return angle % 16

def widened(total):
    if int(total.max()) > 55:
        total = total.to(torch.int16)
    total += 200
    return total

for function in (checksum, spin, widened):
    function(torch.full((2,), 200, dtype=torch.uint8))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

def mix(bus, tracks, full_scale=2**15 - 1):
    for track in tracks:
        torch.add(bus, track, out=bus)
    return bus.clamp(-full_scale, full_scale)

mix(torch.zeros(4, dtype=torch.int16), [torch.randint(-20000, 20000, (4,), dtype=torch.int16) for _ in range(2)])
""",
            (
                (
                    5,
                    9,
                    "add() wraps around in int16, the dtype of 'bus', before 'bus.clamp(-full_scale, full_scale)' could limit it, "
                    "without an error; compute in a wider dtype, clamp, then convert",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def brighten(image, amount):
    result = torch.empty_like(image)
    torch.add(image, amount, out=result)
    return result.clamp_(0, 255)

brighten(torch.randint(0, 256, (2,), dtype=torch.uint8), 60)
""",
            (
                (
                    5,
                    5,
                    "add() wraps around in uint8, the dtype of 'result', before 'result.clamp_(0, 255)' could limit it, without an "
                    "error; compute in a wider dtype, clamp, then convert",
                ),
            ),
        ),
        Invalid(
            """\
import torch

small = torch.empty(3, dtype=torch.uint8)
torch.add(torch.tensor([1, 2, 3]), 300, out=small)
torch.mul((torch.rand(3) * 200).long(), 2, out=small)
torch.mul(torch.ones(3), 1e5, out=torch.empty(3, dtype=torch.half))
""",
            (
                (
                    4,
                    1,
                    "add() overflows in uint8, the dtype of 'small', because 300 does not fit, without an error; pass a wider out",
                ),
                (
                    5,
                    1,
                    "mul() converts its int64 result to uint8, the dtype of 'small': what does not fit overflows without an error; "
                    "pass an int64 out",
                ),
                (
                    6,
                    1,
                    "mul() overflows in float16, the dtype of 'torch.empty(3, dtype=torch.half)', because 100000.0 does not fit, "
                    "without an error; pass a wider out",
                ),
            ),
        ),
        Invalid(
            """\
import torch

rows = torch.tensor([1, 12, 15], dtype=torch.uint8)
torch.mul(rows, 20, out=torch.empty(3, dtype=torch.int64))
torch.mul(torch.arange(256), 3, out=torch.empty(256, dtype=torch.uint8))
rows -= 2
""",
            (
                (
                    4,
                    1,
                    "mul() wraps around in uint8, in which it computes what 'torch.empty(3, dtype=torch.int64)' gets as int64, without "
                    "an error: its results go up to 300; convert its operands to a wider dtype first",
                ),
                (
                    5,
                    1,
                    "mul() wraps around in uint8, the dtype of 'torch.empty(256, dtype=torch.uint8)', without an error: its results "
                    "go up to 765; pass an int64 out",
                ),
                (
                    6,
                    1,
                    "'rows -= 2' wraps around in uint8, the dtype of 'rows', without an error: its results go down to -1; compute in "
                    "a wider dtype",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Some call passes out=, or something is changed in place that may be of a small integer dtype."""
        return passing_out(nodes) | changes_small(nodes, frozenset(f"{op}_" for op in GROWING))

    @classmethod
    def wants(cls, op: str, *, in_place: bool, out: bool) -> bool:
        """Calls that pass out=, those that change a tensor in place, and what clamps."""
        return out or in_place or op in CLAMPS

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """A call with out=, a change in place, or the clamp of what one wrote."""
        if event.op in CLAMPS and event.out is None:
            yield from self._clamped(event)
            return
        if event.form is Form.INPLACE:
            yield from self._in_place(event)
            return
        call = out_call(event)
        if call is not None:
            yield from self.judge(call)

    def _in_place(self, event: TensorEvent) -> Iterator[Finding]:
        """A result that the changed tensor surely does not hold."""
        target = event.arguments.get("input")
        if event.numbers is None or not isinstance(target, Operand) or target.facts.dtype not in SMALL:
            return
        dtype = target.facts.dtype
        too_large = overflow(event.numbers, dtype)
        if too_large is not None and _has_numbers(target.facts):
            message = (
                f"'{event.text}' wraps around in {dtype}, the dtype of {quoted(target)}, without an error: its results "
                f"{too_large}; compute in a wider dtype"
            )
            yield self._lost(event, target, message)

    def _lost(self, event: TensorEvent, target: Operand, message: str) -> Finding:
        return found(
            self,
            event,
            message,
            confidence=Confidence.CERTAIN if target.facts.concrete_shape is not None else Confidence.LIKELY,
            about=(target,),
            severity=Severity.WARNING,
            claim=Claim(Kind.ACCEPTS),
        )

    def _clamped(self, event: TensorEvent) -> Iterator[Finding]:
        target = event.arguments.get("input")
        if not isinstance(target, Operand) or target.written_by is None or target.written_by.message not in GROWING:
            return
        dtype = target.facts.dtype or ""
        if not is_whole_range(event.arguments.get("min"), event.arguments.get("max"), dtype):
            return
        message = (
            f"{target.written_by.message}() wraps around in {dtype}, the dtype of {quoted(target)}, before '{event.text}' could "
            "limit it, without an error; compute in a wider dtype, clamp, then convert"
        )
        yield found(self, event, message, site=target.written_by.site, about=(target,), severity=Severity.WARNING)

    def judge(self, call: OutCall) -> Iterator[Finding]:
        """The result's dtype has a larger range than out's, or a number in the call does not fit."""
        for index, out in call.outs:
            dtype, result = out.facts.dtype, call.required(index).dtype
            if dtype is None or result is None:
                continue
            if dtype_clause(call.variant, index, call.arguments, out.facts).violated is not Answer.NO:
                continue  # Torch refuses it anyway.
            name = quoted(out, "out")
            large = _too_large(call, dtype)
            if large is not None and (narrows(result, dtype) or result == dtype):
                message = (
                    f"{call_name(call.event)} overflows in {dtype}, the dtype of {name}, because {large} does not fit, without an "
                    "error; pass a wider out"
                )
                claim = Claim(Kind.ACCEPTS)
                yield found(
                    self,
                    call.event,
                    message,
                    confidence=Confidence.LIKELY,
                    about=(out,),
                    severity=Severity.WARNING,
                    claim=claim,
                )
                continue
            wrapping = _wrapping(call, result, dtype, name)
            if wrapping and _has_numbers(out.facts):
                yield self._lost(call.event, out, wrapping)
            elif narrows(result, dtype) and held(call.event.numbers, dtype) is None:
                message = (
                    f"{call_name(call.event)} converts its {result} result to {dtype}, the dtype of {name}: what does not fit "
                    f"overflows without an error; pass {'an' if result[0] == 'i' else 'a'} {result} out"
                )
                yield found(self, call.event, message, about=(out,), claim=Claim(Kind.NARROWS))


def _has_numbers(facts: TensorFacts) -> bool:
    """Whether a tensor is not known to be empty."""
    return facts.shape is None or 0 not in facts.shape


def _wrapping(call: OutCall, result: str, dtype: str, name: str) -> str:
    """What is told of results that surely do not fit: in the dtype that they are computed in, or in out's; "" of others."""
    numbers = call.event.numbers
    computed = overflow(numbers, result) if result in SMALL else None
    stored = overflow(numbers, dtype) if dtype in SMALL or narrows(result, dtype) else None
    if computed is None and stored is None:
        return ""
    where = f"{dtype}, the dtype of {name}"
    if computed is not None and result != dtype:
        where = f"{result}, in which it computes what {name} gets as {dtype}"
    advice = "convert its operands to a wider dtype first" if computed is not None else f"pass an {result} out"
    return (
        f"{call_name(call.event)} wraps around in {where}, without an error: its results {computed or stored}; {advice}"
    )


def _too_large(call: OutCall, dtype: str) -> object:
    """A number in the call that out cannot hold, and neither what is computed with it."""
    if call.event.op not in GROWING:
        return None
    return next((value for value in call.arguments.values() if cannot_hold(value, dtype)), None)
