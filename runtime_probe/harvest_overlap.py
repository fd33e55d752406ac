"""Measuring memory overlap between out= and the operands, and of an out with itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stridelint.runtime_probe.harvest_calls import Call, attempt, same_values
from stridelint.runtime_probe.harvest_clauses import given, rested
from stridelint.runtime_probe.harvest_text import template

_PLACES = (0, 1, 2)


def measure_overlap(calls: list[Call], errors: dict[str, str], op: str) -> dict[str, Any]:
    """How each operand may overlap out, by clause and parameter."""
    seen: dict[str, dict[str, set[str]]] = {"full_overlap": {}, "partial_overlap": {}}
    for call in calls:
        functional = attempt(call.fresh())
        if not functional.results or attempt(call.fresh(), out=given(rested(functional.results))).error:
            continue
        for name in call.tensors():
            key = name.partition("[")[0]
            for clause, places in (("full_overlap", (None,)), ("partial_overlap", _PLACES)):
                for place in places:
                    found = _aliased(call, name, functional.results, place, errors, clause, op)
                    if found:
                        seen[clause].setdefault(key, set()).update(found)
    return {clause: {name: combined(verdicts) for name, verdicts in by.items()} for clause, by in seen.items()}


def combined(verdicts: set[str]) -> str:
    """One verdict for several samples; numbers may be right by luck where others are wrong; "" where they contradict."""
    if len(verdicts) == 1:
        return next(iter(verdicts))
    return {frozenset(["ok", "wrong"]): "wrong", frozenset(["wrong", "error"]): "either"}.get(frozenset(verdicts), "")


def _aliased(
    call: Call, name: str, wanted: list[Tensor], place: int | None, errors: dict[str, str], clause: str, op: str
) -> set[str]:
    """The call with each of its outs in the memory of operand `name`: the operand itself, or `place` elements further."""
    operand = call.tensors()[name]
    found = set()
    for index, result in enumerate(wanted):
        if result.dtype != operand.dtype or not result.numel() or not operand.numel() or result.dim() == 0:
            continue
        if place is None and operand.shape != result.shape:
            continue
        if place is not None and place >= operand.numel():
            continue
        if place == 0 and (operand.shape == result.shape or result.numel() >= operand.numel()):
            continue
        memory = torch.zeros(operand.numel() + result.numel() + 2, dtype=operand.dtype)
        source = memory[: operand.numel()].view(operand.shape)
        source.copy_(operand)
        start = place or 0
        outs = rested(wanted)
        outs[index] = source if place is None else memory[start : start + result.numel()].view(result.shape)
        outcome = attempt(call.replaced({name: source}), out=given(outs))
        if outcome.error:
            errors.setdefault(clause, template(outcome.error, op=op))
            found.add("error")
        else:
            found.add("ok" if all(map(same_values, outs, wanted)) else "wrong")
    return found


def measure_self_overlap(call: Call, results: list[Tensor], errors: dict[str, str], op: str) -> dict[str, str]:
    """An out expanded along an axis of more than one element."""
    outs = rested(results)
    for index, result in enumerate(results):
        axis = next((axis for axis, size in enumerate(result.shape) if size > 1), None)
        if axis is None or not result.numel():
            continue
        outs[index] = outs[index].narrow(axis, 0, 1).expand(result.shape)
        outcome = attempt(call.fresh(), out=given(outs))
        if outcome.error:
            errors["self_overlap"] = template(outcome.error, op=op)
        return {"self_overlap": "error" if outcome.error else "accepted"}
    return {}
