"""Whether torch raises, warns, resizes or computes wrong numbers as a finding claims: one function for each kind of claim."""

from __future__ import annotations

import re
from typing import Any

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.events import Form
from stridelint.runtime_probe.replayed import Call, memory_of
from stridelint.runtime_probe.seen import Seen, described, listed, numbers, refused, same_numbers

_GIVEN = ("value", "src", "fill_value", "source", "other")
_SEEDS = (0, 1, 2, 3)


def says(claim: Claim, message: str) -> bool:
    """Whether a message is what the claim says, "..." standing for any text."""
    pattern = ".*?".join(re.escape(" ".join(part.split())) for part in claim.text.split("..."))
    return re.search(pattern, " ".join(message.split())) is not None


def raises(call: Call, claim: Claim) -> Seen:
    """Torch refuses the call, in the claimed words."""
    outcome = call.run(call.made())
    if outcome.error is None:
        return Seen(False, "torch accepts the call" + described(outcome))
    right = says(claim, outcome.message) or call.fake
    return Seen(True if right and (call.fake or outcome.is_a(claim.exception)) else None, f"raises {outcome.text()}")


def accepts(call: Call, claim: Claim) -> Seen:
    """Torch makes the call without an error."""
    outcome = call.run(call.made())
    if outcome.error is not None:
        return Seen(False, f"raises {outcome.text()}")
    return Seen(True, "torch accepts the call" + described(outcome))


def warns(call: Call, claim: Claim) -> Seen:
    """Torch warns in the claimed words."""
    tensors = call.made()
    outcome = call.run(tensors)
    if outcome.error is not None:
        return refused(outcome)
    found = next((text for text in outcome.warnings if says(claim, text)), None)
    if found is None:
        return Seen(False, f"no such warning{described(outcome)}")
    return Seen(True, f"warns: {' '.join(found.split())[:200]}")


def resizes(call: Call, claim: Claim) -> Seen:
    """Out gets another shape without a warning of the resize."""
    tensors = call.made()
    before = [tuple(out.shape) for out in tensors.outs]
    outcome = call.run(tensors)
    if outcome.error is not None:
        return refused(outcome)
    after = [tuple(out.shape) for out in tensors.outs]
    warned = any("An output with one or more elements" in text for text in outcome.warnings)
    changed = before != after
    what = f"out has shape {listed(before)} before and {listed(after)} after, {'with' if warned else 'without'} a warning of the resize"
    return Seen(changed and not warned, what)


def keeps_shape(call: Call, claim: Claim) -> Seen:
    """Out keeps its shape although the result has another."""
    tensors = call.made()
    before = [tuple(out.shape) for out in tensors.outs]
    plain = call.run(call.separate(tensors), out=False)
    outcome = call.run(tensors)
    if outcome.error is not None or plain.error is not None:
        return refused(outcome if outcome.error else plain)
    after = [tuple(out.shape) for out in tensors.outs]
    return Seen(
        before == after != [tuple(each.shape) for each in plain.results],
        f"out keeps shape {listed(after)}, without out= the result has {listed([tuple(each.shape) for each in plain.results])}",
    )


def wrong_values(call: Call, claim: Claim) -> Seen:
    """The numbers are other than those of the call on separate tensors without out=, or torch writes outside out."""
    either = claim.kind is Kind.RAISES_OR_WRONG
    what = ""
    for seed in _SEEDS:
        tensors = call.made(seed)
        plain = call.run(call.separate(tensors), out=False, form=Form.METHOD if call.form is Form.INPLACE else None)
        if plain.error is not None:
            return Seen(None, f"torch refuses the call on separate tensors: {plain.text()}")
        before = [_outside(out) for out in tensors.outs]
        outcome = call.run(tensors)
        if outcome.error is not None:
            return Seen(either, f"raises {outcome.text()}")
        got = tensors.outs or ([tensors.arguments["input"]] if call.form is Form.INPLACE else outcome.results)
        for mine, right in zip(got, plain.results, strict=False):
            if not same_numbers(mine, right):
                return Seen(True, f"computes {numbers(mine)} where the call on separate tensors gives {numbers(right)}")
        for out, old in zip(tensors.outs, before, strict=True):
            if _changed(out, *old):
                return Seen(True, "writes memory outside the out tensor")
        what = f"computes the numbers of the call on separate tensors{described(outcome)}"
    return Seen(False, what)


def _outside(out: Any) -> tuple[Any, Any]:
    """The memory around a tensor: which of it does not belong to it, and what it holds."""
    import torch

    memory = memory_of(out).clone()
    mask = torch.ones(memory.shape, dtype=torch.bool, device=out.device)
    mask.as_strided(out.shape, out.stride(), out.storage_offset()).fill_(False)
    return mask, memory


def _changed(out: Any, mask: Any, before: Any) -> bool:
    """Something was written around a tensor, in memory that was not made anew."""
    after = memory_of(out)
    return after.shape == before.shape and not same_numbers(after[mask], before[mask])


def stores_other(call: Call, claim: Claim) -> Seen:
    """The tensor that is written to holds other numbers than those given."""
    import torch

    tensors = call.made()
    given = next((tensors.arguments[name] for name in _GIVEN if tensors.arguments.get(name) is not None), None)
    target = tensors.arguments.get("region", tensors.arguments.get("input"))
    outcome = call.run(tensors)
    if outcome.error is not None:
        return refused(outcome)
    held = target if call.form is Form.INPLACE else next(iter(outcome.results), None)
    if given is None or held is None:
        return Seen(None, "what is stored is not known")
    mask = tensors.arguments.get("mask")
    if isinstance(mask, torch.Tensor):
        held = held[mask.expand(held.shape)]
    wanted = torch.as_tensor(given, device=held.device)
    same = wanted.numel() in (1, held.numel()) and same_numbers(held, wanted.expand(held.shape))
    return Seen(not same, f"given {numbers(wanted)}, it holds {numbers(held)}")


def loses_gradient(call: Call, claim: Claim) -> Seen:
    """The result does not require grad although it should, or backward fails or gives another gradient."""
    tensors, reference = call.made(), call.made()
    plain = call.run(reference, out=False)
    if plain.error is not None:
        return refused(plain)
    if not any(each.requires_grad for each in plain.results):
        return Seen(None, "the result requires no grad without out= either")
    outcome = call.run(tensors)
    if outcome.error is not None:
        return Seen(False, f"raises {outcome.text()}")
    results = tensors.outs or outcome.results
    if not any(each.requires_grad for each in results):
        return Seen(True, "the result does not require grad; without out= it does")
    try:
        _backward(plain.results)
    except (RuntimeError, NotImplementedError) as error:
        return Seen(False, f"without out= backward raises as well: {' '.join(str(error).split())[:200]}")
    try:
        _backward(results)
    except (RuntimeError, NotImplementedError) as error:
        return Seen(True, f"backward raises {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    for mine, right in zip(tensors.every, reference.every, strict=True):
        if (
            mine.is_leaf
            and mine.requires_grad
            and right.grad is not None
            and (mine.grad is None or not same_numbers(mine.grad, right.grad))
        ):
            return Seen(
                True,
                f"the gradient is {'missing' if mine.grad is None else numbers(mine.grad)}; without out= it is {numbers(right.grad)}",
            )
    return Seen(False, "gradients are those of the call without out=")


def _backward(results: list[Any]) -> None:
    total = sum(each.sum() for each in results if each.requires_grad)
    assert not isinstance(total, int)
    total.abs().backward()


def keeps_out_strides(call: Call, claim: Claim) -> Seen:
    """Out keeps its strides, which are not those of the result without out=."""
    tensors = call.made()
    plain = call.run(call.separate(tensors), out=False)
    before = [tuple(out.stride()) for out in tensors.outs]
    outcome = call.run(tensors)
    if outcome.error is not None or plain.error is not None:
        return refused(outcome if outcome.error else plain)
    after, free = [tuple(out.stride()) for out in tensors.outs], [tuple(each.stride()) for each in plain.results]
    return Seen(
        before == after != free[: len(after)],
        f"out has strides {listed(after)}, without out= the result has {listed(free)}",
    )


def narrows(call: Call, claim: Claim) -> Seen:
    """Torch accepts an out whose dtype holds a smaller range of numbers than the result's own."""
    tensors = call.made()
    plain = call.run(call.separate(tensors), out=False)
    outcome = call.run(tensors)
    if plain.error is not None:
        return refused(plain)
    if outcome.error is not None:
        return Seen(False, f"raises {outcome.text()}")
    pairs = [(own.dtype, out.dtype) for own, out in zip(plain.results, tensors.outs, strict=False)]
    what = ", ".join(
        f"the result is {str(own)[6:]} and goes into {str(out)[6:]} without an error" for own, out in pairs
    )
    return Seen(any(_largest(out) < _largest(own) for own, out in pairs), what)


def _largest(dtype: Any) -> float:
    import torch

    if dtype == torch.bool:
        return 1.0
    info = torch.finfo(dtype) if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype)
    return float(info.max)
