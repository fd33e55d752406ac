"""TLC309: a user's own function whose parameter `out` does not work like torch's `out=`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.stored import tensor_lost
from stridelint.rules.events import Operand, OutParameter, Site, TensorEvent, Unknown
from stridelint.rules.findings import found, tuple_text
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes


class CustomOutContract(Rule):
    """
    What it does:
        Finds functions of your own with a parameter `out` that do not keep the contract of torch's `out=`: they cast the
        result to a lower kind, broadcast it, hide the write from autograd, resize an out that is not empty, write into
        another tensor, or return one.

    Why is this bad?
        Who passes `out=` expects what torch does: the result in that very tensor, returned, and an error where it does not
        fit. `copy_` and `out[...] = result` cast and broadcast without a word, `out.data` leaves a wrong gradient behind,
        and after `out = result` the caller's tensor holds what it held before.

    Example:
        def vote(votes, weights, *, out=None):
            result = (votes * weights).sum(-1)
            if out is None:
                return result
            out.copy_(result)
            return out

    Use instead:
        def vote(votes, weights, *, out=None):
            return torch.sum(votes * weights, -1, out=out)
        # or, where there is no function with out=, check first
            if out.shape != result.shape or not torch.can_cast(result.dtype, out.dtype):
                raise ValueError(...)

    Confirmed by:
        Making the store or the resize of the function's body on real tensors: torch accepts it without an error, and where it casts, out
        holds other numbers than it was given. The function is not called: what it returns, or binds to `out`, is `inconclusive`.
    """

    code = "TLC309"
    name = "custom-out-contract"
    severity = Severity.WARNING
    words = ("out=",)
    ops = frozenset({"copy_", "setitem", "resize_", "resize_as_", "return"})

    VALID = (
        """\
import torch

def scaled(x, factor, out=None):
    result = x * factor
    if out is None:
        return result
    if out.shape != result.shape or not torch.can_cast(result.dtype, out.dtype):
        raise ValueError("out does not fit")
    out.copy_(result)
    return out

def added(a, b, *, out=None):
    return torch.add(a, b, out=out)

def summed(a, out=None):
    if out is None:
        out = torch.zeros(a.shape[1])
    out[...] = a.sum(0)
    return out

scaled(torch.rand(3), 2.0, out=torch.empty(3))
added(torch.rand(3), torch.rand(3), out=torch.empty(3))
summed(torch.rand(2, 3), out=torch.empty(3))
""",
        """\
import sys

import torch

def residual(x, out):
    out = torch.relu(out)
    return x + out

def report(values, out=None):
    out = out or sys.stdout
    out.write(str(values))

def hook(module, inputs, out):
    return out.float()

def gathered(parts, scale, out=None):
    if out is None:
        out = torch.zeros(3)
    for part in parts:
        out += part
    out *= scale
    return out

def added_to(parts, out=None):
    if out is None:
        out = torch.zeros(3)
    for part in parts:
        out = out + part
    return out

def cleared(x, out=None):
    if out is not None:
        out.zero_()
    out = forward(x, out)
    return out

residual(torch.rand(3), torch.rand(3))
""",
        """\
import torch

def rectified(x, out=None):
    if out is x:
        return x.relu_()
    if out is None:
        return x.relu()
    out.copy_(x).relu_()
    return out

def reused(x, out=None):
    if out is None or out.shape != x.shape or out.dtype != x.dtype:
        out = torch.empty_like(x)
    torch.exp(x, out=out)
    return out

def without_grad(x, out=None):
    fits = out is not None and not out.requires_grad
    if fits:
        torch.exp(x, out=out)
    else:
        out = torch.exp(x)
    return out

def where_it_fits(x, out=None):
    y = x.exp()
    if out is not None and out.shape == y.shape:
        out.copy_(y)
        return out
    return y

rectified(torch.rand(3), out=torch.empty(3))
reused(torch.rand(3), out=torch.empty(4))
without_grad(torch.rand(3), out=torch.empty(3))
where_it_fits(torch.rand(3), out=torch.empty(4))
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

def vote(votes, weights, *, out=None):
    result = (votes * weights).sum(-1)
    if out is None:
        return result
    out.copy_(result)
    return out

vote(torch.ones(2, 3), torch.rand(3), out=torch.zeros(2, dtype=torch.int64))
vote(torch.ones(2, 3), torch.rand(3), out=torch.zeros(4, 2))
""",
            (
                (
                    7,
                    5,
                    "'out.copy_(result)' casts the result from float32 to int64 without an error, where torch's out= raises; check "
                    "torch.can_cast(result.dtype, out.dtype) first",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def means(images, out=None):
    result = images.mean(dim=(0, 2, 3))
    if out is not None:
        out[...] = result
        return out
    return result

def half(x, out=None):
    if out is None:
        return x / 2
    out = x / 2
    return out

def double(x, out=None):
    result = x * 2
    if out is not None:
        out.resize_(result.shape)
        out.copy_(result)
    return result

means(torch.rand(4, 3, 2, 2), out=torch.zeros(4, 3))
double(torch.rand(2, 2), out=torch.zeros(5))
""",
            (
                (
                    6,
                    9,
                    "'out[...] = result' broadcasts the result from (3,) to (4, 3) without an error, where torch's out= must have the "
                    "result's shape; compare the shapes first",
                ),
                (
                    13,
                    5,
                    "'half' binds 'out' to another tensor here, so that the one it was given is not written; write into it, as "
                    "torch's out= does",
                ),
                (
                    19,
                    9,
                    "'out.resize_(result.shape)' resizes 'out' from (5,) to (2, 2), which torch's out= does for empty tensors only; "
                    "compare the shapes first",
                ),
                (
                    21,
                    5,
                    "'double' returns another tensor when it is given 'out', where torch returns out itself; return out",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def bumps(centres, points, out=None):
    if out is None:
        out = torch.zeros(len(points))
    else:
        out.zero_()
    for centre in centres:
        out = out + torch.exp(-(points - centre) ** 2)
    return out
""",
            (
                (
                    9,
                    9,
                    "'bumps' binds 'out' to another tensor here and returns that, so that the one it was given keeps what was written "
                    "before; write into it, as torch's out= does",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def decoded(codes, out=None):
    if out is None:
        out = torch.empty(codes.shape)
    elif out.shape != codes.shape:
        raise ValueError("out does not fit")
    out = codes.float() * 0.1
    return out

decoded(torch.zeros(3, dtype=torch.uint8), out=torch.empty(3))
""",
            (
                (
                    8,
                    5,
                    "'decoded' binds 'out' to another tensor here, so that the one it was given is not written; write into it, as "
                    "torch's out= does",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def whiten(x, out=None):
    centred = x - x.mean(0)
    if out is None:
        return centred
    out.data.copy_(centred)
    return out

table = torch.nn.Parameter(torch.rand(5, 2))
whiten(torch.rand(5, 2), out=table)
""",
            (
                (
                    7,
                    5,
                    "'out.data.copy_(centred)' hides the write from autograd although 'out' requires grad, where torch's out= raises; "
                    "check out.requires_grad first",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Some function has a parameter `out`."""
        return frozenset(unit for function, unit in nodes.functions if _has_out(function.args))

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """Something is done to a tensor that was passed as `out`, or a function that has one returns."""
        if event.op == "return":
            yield from self._returned(event)
            return
        target = event.arguments.get("region", event.arguments.get("input"))
        if not isinstance(target, Operand) or target.out_parameter is None:
            return
        value = event.arguments.get("src", event.arguments.get("value"))
        message = None
        if event.op in ("resize_", "resize_as_"):
            message = _resized(event, target, event.arguments.get("size"))
        elif isinstance(value, Operand):
            message = _written(event, target, target.out_parameter, value)
        if message is not None:
            about = (target, value) if isinstance(value, Operand) else (target,)
            claim = Claim(Kind.STORES_OTHER) if message.startswith("casts") else Claim(Kind.ACCEPTS)
            yield found(self, event, f"'{event.text}' {message}", about=about, claim=claim)

    def _returned(self, event: TensorEvent) -> Iterator[Finding]:
        parameter, called, value = (event.arguments[name] for name in ("function", "called", "value"))
        if not isinstance(parameter, OutParameter) or event.arguments["is_out"] or event.arguments["handed"]:
            return
        if event.arguments["is_out"] is None and parameter.aliased:
            return
        name, rebound = parameter.function, event.arguments["rebound"]
        if isinstance(rebound, Site):
            lost = ""
            if not parameter.writes:
                lost = "binds 'out' to another tensor here, so that the one it was given is not written"
            elif event.arguments["named"] and event.arguments["is_out"] is False:
                lost = "binds 'out' to another tensor here and returns that, so that the one it was given keeps what was written before"
            if lost and event.arguments["given"]:
                message = f"'{name}' {lost}; write into it, as torch's out= does"
                yield found(self, event, message, site=rebound, confidence=_sure(called))
            if lost:
                return
        if parameter.rereads:
            return  # a place for results in between
        nothing = value is None
        if not nothing and not isinstance(value, (Operand, Unknown)):
            return
        if (
            (nothing and (not parameter.returns_values or parameter.handed))
            or not event.arguments["given"]
            or not (parameter.writes or called)
        ):
            return
        what = "None" if nothing else "another tensor"
        if not parameter.writes:
            message = f"'{name}' ignores the 'out' it is given; write into it and return it, as torch's out= does"
        else:
            message = f"'{name}' returns {what} when it is given 'out', where torch returns out itself; return out"
        yield found(self, event, message, confidence=_sure(called))


def _sure(called: object) -> Confidence:
    return Confidence.CERTAIN if called else Confidence.LIKELY


def _written(event: TensorEvent, target: Operand, parameter: OutParameter, value: Operand) -> str | None:
    kind = target.facts.kind or kind_of(target.facts.dtype)
    if (
        kind is not None
        and not value.whole
        and tensor_lost(
            value.facts,
            kind,
            indexed=event.arguments.get("indexed") is True,
            masked=event.arguments.get("masked") is True,
        )
    ):
        before, after = value.facts.dtype or f"a {value.facts.kind} dtype", target.facts.dtype or kind
        return (
            f"casts the result from {before} to {after} without an error, where torch's out= raises; check "
            "torch.can_cast(result.dtype, out.dtype) first"
        )
    if parameter.facts.requires_grad and event.grad_mode is Answer.YES and ".data" in target.text:
        return "hides the write from autograd although 'out' requires grad, where torch's out= raises; check out.requires_grad first"
    if target.facts.shape != parameter.facts.shape or event.arguments.get("indexed") is True:
        return None  # Only a part of out is written.
    before_shape, after_shape = value.facts.shape, target.facts.shape
    if not before_shape or after_shape is None or not _differ(before_shape, after_shape):
        return None
    if all(event.site.node is not site.node for site in parameter.last_writes):
        return None
    return (
        f"broadcasts the result from {tuple_text(before_shape)} to {tuple_text(after_shape)} without an error, where torch's "
        "out= must have the result's shape; compare the shapes first"
    )


def _resized(event: TensorEvent, target: Operand, size: object) -> str | None:
    old, new = target.facts.shape, event.result.shape
    if old is None or new is None or not _differ(old, new) or any(dim == 0 for dim in old):
        return None
    return (
        f"resizes 'out' from {tuple_text(old)} to {tuple_text(new)}, which torch's out= does for empty tensors only; compare the "
        "shapes first"
    )


def _differ(left: Dims, right: Dims) -> bool:
    if len(left) != len(right):
        return True
    differences = [sizes.subtract(a, b) for a, b in zip(left, right)]
    return any(isinstance(difference, int) and difference != 0 for difference in differences)


def _has_out(arguments: ast.arguments) -> bool:
    return any(each.arg == "out" for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
