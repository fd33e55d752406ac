"""Measuring memory overlap between out= and the operands, and of an out with itself."""

from __future__ import annotations

from typing import Any

import torch

from stridelint.runtime_probe.harvest_calls import Call, attempt, copied, same_values
from stridelint.runtime_probe.harvest_clauses import given, rested
from stridelint.runtime_probe.harvest_text import template

Tensor = torch.Tensor
_SEVERITY = ("ok", "error", "wrong")


def measure_overlap(calls: list[Call], errors: dict[str, str], op: str) -> dict[str, Any]:
    """How each operand may overlap out; the worst over the samples."""
    full: dict[str, str] = {}
    partial: dict[str, str] = {}
    for call in calls:
        functional = attempt(call.fresh())
        if not functional.results or attempt(call.fresh(), out=given(rested(functional.results))).error:
            continue
        for name in call.tensors():
            key = name.partition("[")[0]
            for record, clause, places in ((full, "full_overlap", (None,)), (partial, "partial_overlap", (0, 1))):
                for place in places:
                    verdict = _aliased(call, name, functional.results, place, errors, clause, op)
                    if verdict and _SEVERITY.index(verdict) > _SEVERITY.index(record.get(key, "ok")):
                        record[key] = verdict
                    elif verdict:
                        record.setdefault(key, verdict)
    return {"full_overlap": full, "partial_overlap": partial}


def _aliased(call: Call, name: str, wanted: list[Tensor], place: int | None, errors: dict[str, str], clause: str, op: str) -> str:
    """The call with one of its outs in the memory of operand `name`: the operand itself, or `place` elements further."""
    operand = call.tensors()[name]
    worst = ""
    for index, result in enumerate(wanted):
        if result.dtype != operand.dtype or not result.numel() or not operand.numel() or result.dim() == 0:
            continue
        memory = torch.zeros(operand.numel() + result.numel() + 2, dtype=operand.dtype)
        source = memory[: operand.numel()].view(operand.shape)
        source.copy_(operand)
        if place is None:
            if operand.shape != result.shape:
                continue
            target = source
        else:
            if place == 0 and (operand.shape == result.shape or result.numel() > operand.numel()):
                continue
            target = memory[place : place + result.numel()].view(result.shape)
        outs = rested(wanted)
        outs[index] = target
        made = call.mapped(lambda key, tensor: source if key == name else copied(tensor))  # noqa: B023
        outcome = attempt(made, out=given(outs))
        if outcome.error:
            errors.setdefault(clause, template(outcome.error, op=op))
            verdict = "error"
        else:
            verdict = "ok" if all(same_values(out, want) for out, want in zip(outs, wanted)) else "wrong"
        worst = verdict if not worst or _SEVERITY.index(verdict) > _SEVERITY.index(worst) else worst
    return worst


def measure_self_overlap(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, str]:
    """An out expanded along an axis of more than one element."""
    outs = rested(results)
    for index, result in enumerate(results):
        axis = next((axis for axis, size in enumerate(result.shape) if size > 1), None)
        if axis is None:
            continue
        outs[index] = outs[index].narrow(axis, 0, 1).expand(result.shape)
        outcome = attempt(call.fresh(), out=given(outs))
        if outcome.error:
            errors["self_overlap"] = template(outcome.error, op=op)
        return {"self_overlap": "error" if outcome.error else "accepted"}
    return {}
