"""Whether layouts come out, and tests see them, as a finding claims: one function for each kind of claim."""

from __future__ import annotations

import itertools
from typing import Any

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract.layout import CONTIGUOUS, RANK_OF
from stridelint.rules.events import Form
from stridelint.runtime_probe.facts_of_tensor import facts_of, storage_of
from stridelint.runtime_probe.replayed import Call, Tensors, copied, memory_of
from stridelint.runtime_probe.seen import Seen, described, numbers, refused, same_numbers


def order_decides(call: Call, claim: Claim) -> Seen:
    """Swapping two tensors changes the strides of the result."""
    tensors = call.made()
    form = Form.FUNCTION if call.form is Form.METHOD else None
    own = call.run(tensors, form=form)
    if own.error is not None or not own.results:
        return refused(own) if own.error else Seen(None, "the call returns no tensor")
    import torch

    names = [name for name, value in tensors.arguments.items() if isinstance(value, torch.Tensor)]
    strides = tuple(own.results[0].stride())
    for left, right in itertools.combinations(names, 2):
        one, other = tensors.arguments[left], tensors.arguments[right]
        how = "swapped"
        outcome = call.run(_with(tensors, left, other, right, one), out=False, form=form)
        if outcome.error is not None:
            # A condition cannot change places with a value, but their layouts can.
            how = "in each other's layout"
            outcome = call.run(_with(tensors, left, _like(other, one), right, _like(one, other)), out=False, form=form)
        if outcome.error is None and outcome.results and tuple(outcome.results[0].stride()) != strides:
            now = tuple(outcome.results[0].stride())
            return Seen(True, f"the result has strides {strides}, and with '{left}' and '{right}' {how} {now}")
    return Seen(False, f"the result has strides {strides} in any order")


def _with(tensors: Tensors, left: str, first: Any, right: str, second: Any) -> Tensors:
    return Tensors(tensors.every, {**tensors.arguments, left: first, right: second}, None)


def _like(layout: Any, tensor: Any) -> Any:
    """A tensor of the dtype of one and the layout of the other."""
    import torch

    made = torch.zeros(1, dtype=tensor.dtype, device=tensor.device)
    return torch.empty_strided(tuple(layout.shape), layout.stride(), dtype=tensor.dtype, device=tensor.device).copy_(
        made
    )


def returns_input(call: Call, claim: Claim) -> Seen:
    """The result is the input itself, or has its memory and strides."""
    tensors = call.made()
    source, outcome = tensors.arguments["input"], call.run(tensors)
    if outcome.error is not None or not outcome.results:
        return refused(outcome) if outcome.error else Seen(None, "the call returns no tensor")
    result = outcome.results[0]
    same = result is source or (
        result.data_ptr() == source.data_ptr() and facts_of(result).strides == facts_of(source).strides
    )
    return Seen(same, f"returns {'its input' if same else 'another tensor'}, strides {tuple(result.stride())}")


def copies(call: Call, claim: Claim) -> Seen:
    """The result has memory of its own."""
    tensors = call.made()
    source, outcome = tensors.arguments["input"], call.run(tensors)
    if outcome.error is not None or not outcome.results:
        return refused(outcome) if outcome.error else Seen(None, "the call returns no tensor")
    copies = storage_of(outcome.results[0]) != storage_of(source)
    return Seen(copies, "the result has memory of its own" if copies else "the result is a view")


def input_unchanged(call: Call, claim: Claim) -> Seen:
    """The call leaves its input as it was."""
    tensors = call.made()
    source = tensors.arguments["input"]
    facts, before = facts_of(source), copied(source)
    outcome = call.run(tensors)
    if outcome.error is not None:
        return refused(outcome)
    same = facts == facts_of(source) and (call.fake or same_numbers(before, source))
    what = (
        f"the tensor is still {facts.dtype} {facts.shape} strides {facts.strides}"
        if same
        else f"the tensor is changed: {facts_of(source)}"
    )
    return Seen(same, what + described(outcome))


def memory_order(call: Call, claim: Claim) -> Seen:
    """Read one by one in memory, the numbers of the first tensor come in another order than row-major."""
    tensor = call.made().every[0]
    count = min(tensor.numel(), memory_of(tensor).numel() - tensor.storage_offset())
    raw = memory_of(tensor)[tensor.storage_offset() :][:count]
    other = not same_numbers(raw, tensor.detach().flatten()[:count])
    return Seen(other, f"memory holds {numbers(raw)}, row-major order is {numbers(tensor.detach().flatten())}")


def moves_numbers(call: Call, claim: Claim) -> Seen:
    """`resize_` leaves other numbers at indices that there are before and after."""
    tensor, shape = call.made().every[0], call.document["result"].get("shape")
    if shape is None or len(shape) != tensor.dim():
        return Seen(True if shape is not None else None, f"from {tuple(tensor.shape)} to {shape} no index stays")
    part = tuple(slice(min(old, new)) for old, new in zip(tensor.shape, shape, strict=True))
    before = tensor[part].clone()
    after = tensor.resize_(shape)[part]
    return Seen(
        not same_numbers(before, after), f"numbers {numbers(before)} become {numbers(after)} at the same indices"
    )


def drops_layout(call: Call, claim: Claim) -> Seen:
    """An operand is channels_last, and the result is not."""
    import torch

    tensors = call.made()
    formats = {rank: getattr(torch, name) for name, rank in RANK_OF.items()}
    sources = [each for each in tensors.every if each.dim() in formats and _is_in_order(each)]
    outcome = call.run(tensors)
    stored = [tensors.arguments["input"]] if call.form is Form.INPLACE else outcome.results
    if outcome.error is not None or not stored:
        return refused(outcome) if outcome.error else Seen(None, "the call returns no tensor")
    result = stored[0]
    what = f"operands have strides {', '.join(str(tuple(each.stride())) for each in tensors.every[:3])}, the result {tuple(result.stride())}"
    if not sources:
        return Seen(False, "no operand is channels_last; " + what)
    wanted = formats.get(result.dim())
    return Seen(wanted is None or not result.is_contiguous(memory_format=wanted), what)


def batch_stride_decides(call: Call, claim: Claim) -> Seen:
    """The result is row-major, and channels_last once the first tensor's stride(0) is that of a whole image."""
    import torch

    tensors = call.made()
    first = tensors.every[0]
    if first.dim() not in RANK_OF.values():
        return Seen(None, f"a tensor of rank {first.dim()} has no memory format")
    wanted = next(getattr(torch, name) for name, rank in RANK_OF.items() if rank == first.dim())
    changed = call.bound([_whole(each, wanted) if each.dim() == first.dim() else each for each in tensors.every])
    own, other = call.run(tensors), call.run(changed)
    if own.error is not None or other.error is not None:
        return refused(own if own.error else other)
    if not own.results or not other.results:
        return Seen(None, "the call returns no tensor")
    one, two, whole = own.results[0], other.results[0], changed.every[0]
    what = f"strides {tuple(first.stride())} give {tuple(one.stride())}, strides {tuple(whole.stride())} give {tuple(two.stride())}"
    if not _is_only(first, wanted):
        return Seen(False, f"the tensor is not channels_last by its strides; {what}")
    return Seen(not _is_only(one, wanted) and _is_only(two, wanted), what)


def _whole(tensor: Any, memory_format: Any) -> Any:
    """A tensor that is channels_last but for its stride(0), as one that is so altogether; others as they are."""
    import torch

    if not _is_only(tensor, memory_format):
        return tensor
    made = torch.empty(tuple(tensor.shape), dtype=tensor.dtype, device=tensor.device, memory_format=memory_format)
    return made.copy_(tensor.detach())


def _is_in_order(tensor: Any) -> bool:
    """Channels_last and nothing else, or a slice of such a tensor: channels lie closest together, then pixels, then images."""
    order = (0, *range(2, tensor.dim()), 1)
    strides = [tensor.stride(axis) for axis in order if tensor.shape[axis] > 1]
    told = tensor.shape[1] > 1 and any(size > 1 for size in tensor.shape[2:])
    return told and strides[-1] > 0 and all(left > right for left, right in itertools.pairwise(strides))


def _is_only(tensor: Any, memory_format: Any) -> bool:
    return bool(tensor.is_contiguous(memory_format=memory_format) and not tensor.is_contiguous())


def answers(call: Call, claim: Claim) -> Seen:
    """The answer is the claimed one."""
    outcome = call.run(call.made())
    if outcome.error is not None:
        return refused(outcome)
    return Seen(outcome.value is (claim.kind is Kind.ANSWERS_TRUE), f"the answer is {outcome.value}")


def same_for_both(call: Call, claim: Claim) -> Seen:
    """A row-major and a channels-last tensor give one answer, and both pass a comparison."""
    import torch

    tensors = call.made()
    first = tensors.every[0]
    if first.dim() not in RANK_OF.values():
        return Seen(None, f"a tensor of rank {first.dim()} has no memory format")
    answers = []
    orders = {CONTIGUOUS: tuple(range(first.dim())), "channels_last": (0, *range(2, first.dim()), 1)}
    for order in orders.values():
        laid_out = _laid_out(first, order)
        others = [laid_out.clone() if each.shape == first.shape else each for each in tensors.every[1:]]
        arguments = call.bound([laid_out, *others]).arguments
        outcome = call.run(Tensors([laid_out, *others], arguments, None))
        passed = outcome.error is None and (outcome.value is not False)
        answers.append((tuple(laid_out.stride()), passed, outcome.text() if outcome.error else outcome.value))
    (one, passed, answer), (other, too, second) = answers
    what = f"strides {one} and {other} of shape {tuple(first.shape)} both give {answer}"
    if not (passed and too) or (not isinstance(answer, torch.Tensor) and answer != second):
        return Seen(False, f"strides {one} give {answer}, strides {other} give {second}")
    return Seen(True, what)


def differs_for_one_layout(call: Call, claim: Claim) -> Seen:
    """Two tensors with the same numbers in the same places, told apart by strides of size-1 axes, give two answers."""
    tensors = call.made()
    first = tensors.every[0]
    both = [_laid_out(first, order) for order in (tuple(range(first.dim())), (0, *range(2, first.dim()), 1))]
    answers = [call.run(call.bound([each, *tensors.every[1:]])) for each in both]
    if any(each.error is not None for each in answers):
        return refused(next(each for each in answers if each.error is not None))
    one, other = (each.value for each in answers)
    same_places = same_numbers(memory_of(both[0]), memory_of(both[1]))
    what = f"strides {tuple(both[0].stride())} give {one}, strides {tuple(both[1].stride())} give {other}, for the same memory"
    return Seen(same_places and one != other, what)


def _laid_out(tensor: Any, order: tuple[int, ...]) -> Any:
    """A copy whose axes lie in memory in this order, outermost first, size-1 axes included."""
    import torch

    strides, step = [0] * tensor.dim(), 1
    for axis in reversed(order):
        strides[axis], step = step, step * max(tensor.shape[axis], 1)
    return torch.empty_strided(tuple(tensor.shape), strides, dtype=tensor.dtype, device=tensor.device).copy_(
        tensor.detach()
    )


def ignores_batch_stride(call: Call, claim: Claim) -> Seen:
    """Another stride of the batch axis gives the same answer, or reads the same numbers."""
    import torch

    tensors = call.made()
    first = tensors.every[0]
    outcome = call.run(tensors)
    if outcome.error is not None:
        return refused(outcome)
    if call.op == "as_strided":
        steps = (first.stride(0), *tensors.arguments["stride"][1:])
        other = call.run(Tensors(tensors.every, {**tensors.arguments, "stride": steps}, None))
        same = other.error is None and torch.equal(outcome.value, other.value)
        return Seen(
            same, f"steps {tensors.arguments['stride']} and {steps} read {'the same' if same else 'other'} numbers"
        )
    changed = torch.empty_strided(
        tuple(first.shape), (first.stride(0) + 1, *first.stride()[1:]), dtype=first.dtype, device=first.device
    )
    other = call.run(call.bound([changed, *tensors.every[1:]]))
    same = other.error is None and other.value == outcome.value
    return Seen(
        same, f"stride(0) {first.stride(0)} gives {outcome.value}, stride(0) {changed.stride(0)} gives {other.value}"
    )
