"""Measuring the clauses of the out= contract: strides kept, resizing, autograd, device, number of outputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stridelint.runtime_probe.harvest_calls import Call, Outcome, attempt, same_values
from stridelint.runtime_probe.harvest_text import template

_SENTINEL = 7
_MARGIN = 2048


def given(outs: list[Tensor]) -> Any:
    """What is passed as out=: one tensor, or a tuple."""
    return outs[0] if len(outs) == 1 else tuple(outs)


def rested(results: list[Tensor]) -> list[Tensor]:
    """Fresh out tensors of the right shapes and dtypes."""
    return [torch.full(tuple(r.shape), _SENTINEL, dtype=r.dtype) for r in results]


def is_random(call: Call) -> bool:
    """Two calls from the same random state differ (uninitialised memory)."""
    first, second = attempt(call.fresh()), attempt(call.fresh())
    return not all(same_values(a, b) for a, b in zip(first.results, second.results, strict=False))


def arranged(result: Tensor, kind: str) -> tuple[Tensor, Tensor] | None:
    """An out of the result's shape with its own strides, and the memory it lies in; None where none differs.

    The memory has margins, because some kernels write a row-major result wherever the out begins.
    """
    shape = tuple(result.shape)
    step = 2 if kind == "sliced" else 1
    memory = torch.full((result.numel() * step + 2 * _MARGIN,), _SENTINEL, dtype=result.dtype)
    inner = memory[_MARGIN : _MARGIN + result.numel() * step]
    if kind == "sliced":
        if not shape:
            return None
        out = inner.view(*shape[:-1], shape[-1] * 2)[..., ::2]
    elif kind == "reversed":
        if len(shape) < 2:
            return None
        out = inner.view(shape[::-1]).permute(*range(len(shape) - 1, -1, -1))
    else:
        if len(shape) not in (4, 5):
            return None
        memory_format = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
        out = inner.as_strided(shape, torch.empty(shape, device="meta", memory_format=memory_format).stride())
    return (out, memory) if not out.is_contiguous() and out.numel() else None


def measure_out_strides(calls: list[Call]) -> dict[str, str]:
    """Kinds of right-shaped out tensors that torch does not fill properly, over several samples."""
    order = ("wrong", "restrided", "outside")
    found: dict[str, str] = {}
    for call in calls:
        functional = attempt(call.fresh())
        if not functional.results or is_random(call) or any(r.numel() > _MARGIN for r in functional.results):
            continue
        for kind in ("reversed", "sliced", "channels_last"):
            pairs = [arranged(result, kind) for result in functional.results]
            if all(pair is None for pair in pairs):
                continue
            outs = [pair[0] if pair else fresh for pair, fresh in zip(pairs, rested(functional.results), strict=False)]
            strides = [out.stride() for out in outs]
            shapes = [out.shape for out in outs]
            outcome = attempt(call.fresh(), out=given(outs))
            if outcome.error or [out.shape for out in outs] != shapes:
                continue
            verdict = _filled(pairs, outs, strides, functional.results)
            if verdict and (kind not in found or order.index(verdict) > order.index(found[kind])):
                found[kind] = verdict
    return found


def _filled(pairs: list[Any], outs: list[Tensor], strides: list[Any], wanted: list[Tensor]) -> str:
    for pair, out in zip(pairs, outs, strict=False):
        if pair is not None and _written_outside(pair[1], out):
            return "outside"
    if any(out.stride() != before for out, before in zip(outs, strides, strict=False)):
        return "restrided"
    return "" if all(same_values(out, result) for out, result in zip(outs, wanted, strict=False)) else "wrong"


def _written_outside(memory: Tensor, out: Tensor) -> bool:
    """Whether an element of the memory that does not belong to `out` was changed."""
    ours = torch.zeros(memory.shape, dtype=torch.bool)
    ours.as_strided(out.shape, out.stride(), _MARGIN).fill_(True)
    untouched = torch.full((), _SENTINEL, dtype=memory.dtype)
    return not bool((memory[~ours] == untouched).all())


def measure_resizing(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, str]:
    """What happens to an out that is empty, or has another shape."""
    record = {}
    right = attempt(call.fresh(), out=given(rested(results)))
    if any("was resized since it had shape" in text for text in right.warnings):
        record["right_shape"] = "warns"
    outcome = attempt(call.fresh(), out=given(outs := [torch.empty(0, dtype=r.dtype) for r in results]))
    if outcome.error:
        record["empty_out"] = "error"
        errors.setdefault("empty_out", template(outcome.error, op=op))
    else:
        alike = all(out.stride() == result.stride() for out, result in zip(outs, results, strict=False))
        record["empty_out"] = "resized" if alike else "restrided"
    verdicts = []
    for wrong in (_bigger, _one):
        outs = [wrong(result) for result in results]
        verdicts.append(_resized(attempt(call.fresh(), out=given(outs)), outs, results, errors, op))
    record["wrong_shape"] = next((v for v in ("error", "silent", "kept", "warns") if v in verdicts), "")
    outs = [torch.zeros(r.numel() if r.dim() != 1 else (1, r.numel()), dtype=r.dtype) for r in results]
    if all(r.numel() > 0 for r in results):
        record["same_numel"] = _resized(attempt(call.fresh(), out=given(outs)), outs, results, errors, op)
    return record


def _bigger(result: Tensor) -> Tensor:
    return torch.zeros([size + 1 for size in result.shape] or [2], dtype=result.dtype)


def _one(result: Tensor) -> Tensor:
    return torch.zeros([1] * (result.dim() + 1), dtype=result.dtype)


def _resized(outcome: Outcome, outs: list[Tensor], results: list[Tensor], errors: dict[str, str], op: str) -> str:
    if outcome.error:
        errors.setdefault("wrong_shape", template(outcome.error, op=op))
        return "error"
    if any(out.shape != result.shape for out, result in zip(outs, results, strict=False)):
        return "kept"
    return "warns" if any("was resized since it had shape" in text for text in outcome.warnings) else "silent"


def measure_grad(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, Any]:
    """An out, and each float input, that requires grad."""
    record: dict[str, Any] = {}
    floating = [r.dtype.is_floating_point or r.dtype.is_complex for r in results]
    dtypes = [r.dtype if f or len(results) > 1 else torch.float32 for r, f in zip(results, floating, strict=False)]
    zeros = [torch.zeros(r.shape, dtype=dtype) for r, dtype in zip(results, dtypes, strict=False)]
    if any(dtype.is_floating_point or dtype.is_complex for dtype in dtypes):
        for key, leaf, grad in (
            ("out_grad", True, True),
            ("out_grad_nonleaf", False, True),
            ("out_grad_off", True, False),
        ):
            outs = [_requiring(zero, leaf) for zero in zeros]
            outcome = attempt(call.fresh(), grad=grad, out=given(outs))
            # A float out for a result that is not float may be refused for that.
            if outcome.error and dtypes != [r.dtype for r in results] and attempt(call.fresh(), out=given(zeros)).error:
                break
            record[key] = "error" if outcome.error else "accepted"
            if outcome.error:
                errors.setdefault(key, template(outcome.error, op=op))
    record["input_grad_of"] = _input_grad(call, results, errors, op)
    return record


def _requiring(tensor: Tensor, leaf: bool) -> Tensor:
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return tensor.clone()
    made = tensor.clone().requires_grad_()
    return made if leaf else made * 1


def _input_grad(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, str]:
    """The verdict per parameter."""
    by_name: dict[str, str] = {}
    for name, tensor in call.tensors().items():
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            continue
        key = name.partition("[")[0]
        verdict = _one_input(call, name, results, errors, op)
        if verdict:
            by_name[key] = verdict if by_name.get(key, verdict) == verdict else ""
    return by_name


def _one_input(call: Call, name: str, results: list[Tensor], errors: dict[str, str], op: str) -> str:
    wanted_input = call.tensors()[name].detach().clone().requires_grad_()
    functional = attempt(call.replaced({name: wanted_input}), grad=True)
    if functional.error:
        return ""
    given_input = call.tensors()[name].detach().clone().requires_grad_()
    outs = [torch.zeros(r.shape, dtype=r.dtype) for r in results]
    outcome = attempt(call.replaced({name: given_input}), grad=True, out=given(outs))
    if outcome.error:
        errors.setdefault("input_grad", template(outcome.error, op=op))
        return "error"
    if not any(result.requires_grad for result in functional.results):
        return "fine"
    if not _differentiates(functional.results):
        return "fine"  # No derivative: without out= backward raises as well.
    if not any(out.requires_grad for out in outs):
        return "detached"
    wanted, found = wanted_input.grad, given_input.grad if _differentiates(outs) else None
    return "right" if wanted is not None and found is not None and same_values(wanted, found) else "broken"


def _differentiates(results: list[Tensor]) -> bool:
    """Run backward from the results; False where it raises."""
    try:
        total = sum((r.abs().sum() for r in results if r.requires_grad), torch.zeros(()))
        total.backward()
    except Exception:
        return False
    return True


def measure_device(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, str]:
    """An out on another device (the meta device stands in for it)."""
    outs = [torch.empty(r.shape, dtype=r.dtype, device="meta") for r in results]
    with torch._C.DisableTorchFunction():  # the default device would be handed to factories as an argument
        outcome = attempt(call.fresh(), out=given(outs))
    if outcome.error:
        errors.setdefault("device", template(outcome.error, op=op))
    return {"device": "error" if outcome.error else "accepted"}


def measure_arity(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, str]:
    """Tuples and lists of outputs, a lone tensor, and the same tensor for all of them."""
    record = {}

    def tried(key: str, out: Any) -> Outcome:
        outcome = attempt(call.fresh(), out=out)
        record[key] = "error" if outcome.error else "accepted"
        if outcome.error:
            errors.setdefault(key, template(outcome.error, op=op))
        return outcome

    if len(results) == 1:
        tried("tuple_of_one", (rested(results)[0],))
        return record
    tried("single", rested(results)[0])
    tried("too_few", tuple(rested(results)[:-1]) if len(results) > 2 else (rested(results)[0],))
    tried("sequence", rested(results))
    shared = rested(results)[0]
    outcome = tried("twice", (shared,) * len(results))
    if not outcome.error and not all(same_values(shared, result) for result in results):
        record["twice"] = "wrong"
    return record
