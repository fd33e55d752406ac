"""The comparisons of `verify` on the operator table: each draws a legal call, breaks one clause of the out= contract or
keeps to it, and compares what the engine says with what torch does.
"""

from __future__ import annotations

from typing import Any

from stridelint.rules.contract import operators, out_contract
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import MEASURED
from stridelint.rules.contract.verdict import Verdict
from stridelint.runtime_probe.facts_of_tensor import facts_of
from stridelint.runtime_probe.harvest_calls import Outcome, attempt, same_values
from stridelint.runtime_probe.harvest_clauses import given
from stridelint.runtime_probe.verify_calls import Case, case
from stridelint.runtime_probe.verify_draw import Draw, Report


def _outs(made: Case) -> list[Any]:
    import torch

    return [torch.zeros(r.shape, dtype=r.dtype) for r in made.functional.results]


def _run(made: Case, outs: list[Any], **extra: Any) -> Outcome:
    return attempt(made.call.fresh(), out=given(outs), **extra)


def _describe(made: Case, *more: object) -> list[object]:
    return [made.operator.name, *(f"{k}={_short(v)}" for k, v in made.arguments.items()), *more]


def _short(value: object) -> object:
    dtype = getattr(value, "dtype", None)
    return value if dtype is None else f"{dtype}{list(getattr(value, 'shape', ()))}"


def _compare(report: Report, kind: str, verdict: Verdict, outcome: Outcome, made: Case, *more: object) -> None:
    """An answer YES with "raises" or NO against an error or none; the text too where it is fully known."""
    if verdict.violated is Answer.UNKNOWN or verdict.effect == "either":
        return
    raises = verdict.violated is Answer.YES and verdict.effect == "raises"
    report.record(kind, raises, bool(outcome.error), *_describe(made, *more, outcome.error))
    if raises and outcome.error and verdict.exception:
        exception = outcome.error.partition(": ")[0]
        report.record(f"{kind} exception", verdict.exception, exception, *_describe(made, *more, outcome.error))
        if _is_real(made) and verdict.message.startswith(
            ("result type", "Expected out tensor to have dtype", "Found dtype")
        ):
            report.record(f"{kind} text", f"{exception}: {verdict.message}", outcome.error, *_describe(made, *more))


def _is_real(made: Case) -> bool:
    """Without complex numbers, for which some texts name another dtype."""
    values = (*made.call.tensors().values(), *made.call.bound.values())
    return not any(getattr(v, "is_complex", bool)() or isinstance(v, complex) for v in values)


def result_dtypes(draw: Draw, report: Report) -> None:
    """The dtype of the result in random dtypes, with 0-dim tensors and Python numbers."""
    made = case(draw, dtypes=True)
    if made is None:
        return
    for index, result in enumerate(made.functional.results):
        predicted = out_contract.result_dtype(made.variant, index, made.arguments)
        if predicted is not None:
            report.record("result dtype", predicted, str(result.dtype)[6:], *_describe(made, index))


def out_dtypes(draw: Draw, report: Report) -> None:
    """Whether an out of a random dtype is accepted."""
    made = case(draw, dtypes=True)
    if made is None:
        return
    outs = _outs(made)
    index = draw.random.randrange(len(outs))
    outs[index] = outs[index].to(getattr(draw.torch, draw.random.choice(MEASURED)))
    verdict = out_contract.dtype_clause(made.variant, index, made.arguments, facts_of(outs[index]))
    _compare(report, "out dtype", verdict, _run(made, outs), made, index, outs[index].dtype)


def out_shapes(draw: Draw, report: Report) -> None:
    """What an out of another shape leads to: a warning, a silent resize, nothing."""
    made = case(draw)
    if made is None:
        return
    torch, outs = draw.torch, _outs(made)
    required = tuple(outs[0].shape)
    shape = draw.random.choice([draw.shape(sizes=(0, 1, 2, 3)), (outs[0].numel(),), (*required, 1), required, (0,)])
    outs = [torch.zeros(shape, dtype=outs[0].dtype), *outs[1:]]
    verdict = out_contract.shape_clause(made.variant, required, facts_of(outs[0]))
    if verdict.violated is Answer.UNKNOWN:
        return
    outcome = _run(made, outs)
    actual = "raises" if outcome.error else "kept" if tuple(outs[0].shape) != required else "silent"
    if not outcome.error and any("was resized since it had shape" in text for text in outcome.warnings):
        actual = "warns"
    if verdict.violated is Answer.NO and tuple(shape) != required and actual == "silent":
        actual = ""  # An empty out is resized by right.
    predicted = verdict.effect if verdict.violated is Answer.YES else ""
    report.record(
        "out shape",
        predicted,
        "" if tuple(shape) == required and actual == "silent" else actual,
        *_describe(made, shape),
    )


def out_grads(draw: Draw, report: Report) -> None:
    """Whether an out or inputs that require grad are accepted, in and outside grad mode."""
    made = case(draw)
    if made is None:
        return
    grad = draw.chance(0.7)
    with_out, with_inputs = draw.random.choice(((True, False), (False, True), (False, False)))
    outs = _outs(made)
    if with_out:
        outs = [out.requires_grad_() if out.dtype.is_floating_point else out for out in outs]
        if draw.chance(0.3):
            outs = [out * 1 if out.requires_grad else out for out in outs]
    chosen = draw.random.choice(list(made.call.tensors()) or [""]) if with_inputs else ""
    call = made.call.mapped(lambda name, t: t.clone().requires_grad_(name == chosen and t.dtype.is_floating_point))
    rebound = Case(made.operator, made.variant, call, made.functional)
    if attempt(call, grad=grad).error:
        return
    if with_inputs:
        verdict = out_contract.input_grad_clause(made.variant, made.operator.name, rebound.arguments, Answer.of(grad))
    else:
        verdict = out_contract.out_grad_clause(made.variant, made.operator.name, facts_of(outs[0]), Answer.of(grad))
    if len(outs) > 1 and with_out and not outs[0].requires_grad:
        return
    outcome = attempt(call, grad=grad, out=given(outs))
    if verdict.effect == "gradient":
        verdict = Verdict(Answer.NO)
    _compare(report, "out requires grad", verdict, outcome, rebound, with_out, chosen, "grad" if grad else "no_grad")


def out_memory(draw: Draw, report: Report) -> None:
    """What an out that is an operand, overlaps one, or overlaps itself leads to."""
    made = case(draw)
    if made is None or not made.call.tensors():
        return
    torch, outs, functional = draw.torch, _outs(made), made.functional.results
    name = draw.random.choice(list(made.call.tensors()))
    operand = made.call.tensors()[name]
    result = functional[0]
    if operand.dtype != result.dtype or result.numel() < 2:
        return
    memory = torch.zeros(operand.numel() + result.numel() + 8, dtype=operand.dtype)
    shift = draw.random.choice((0, 0, 1, 2, operand.numel()))
    source = memory[: operand.numel()].view(operand.shape).copy_(operand)
    outs[0] = memory[shift : shift + result.numel()].view(result.shape)
    call = made.call.mapped(lambda key, t: source if key == name else t.clone())
    placed = Case(made.operator, made.variant, call, made.functional)
    verdict = out_contract.overlap_clause(made.variant, placed.arguments, facts_of(outs[0]), facts_of(result))
    outcome = attempt(call, out=given(outs))
    actual = "raises" if outcome.error else "" if all(map(same_values, outs, functional)) else "wrong"
    lucky = verdict.effect == "wrong" and actual == ""
    if verdict.violated is not Answer.UNKNOWN and verdict.effect != "either" and not lucky:
        # Numbers may come out right by luck; they must never come out wrong where the engine says fine.
        report.record("out overlap", verdict.effect, actual, *_describe(made, name, shift))
    _self_overlap(draw, report, made)


def _self_overlap(draw: Draw, report: Report, made: Case) -> None:
    outs = _outs(made)
    axes = [axis for axis, size in enumerate(outs[0].shape) if size > 1]
    if not axes:
        return
    axis = draw.random.choice(axes)
    outs[0] = outs[0].narrow(axis, 0, 1).expand(outs[0].shape)
    verdict = out_contract.self_overlap_clause(made.variant, facts_of(outs[0]))
    _compare(report, "out self overlap", verdict, _run(made, outs), made, axis)


def out_tuples(draw: Draw, report: Report) -> None:
    """Right and wrong numbers of outputs, and the same tensor twice."""
    made = case(draw)
    if made is None:
        return
    outs = _outs(made)
    choices: list[Any] = [tuple(outs), list(outs), outs[0], tuple(outs[:-1]), (*outs, outs[0].clone())]
    if len(outs) == 2 and outs[0].shape == outs[1].shape:
        choices.append((outs[0], outs[0]))
    given = draw.random.choice(choices)
    facts = facts_of(given) if isinstance(given, draw.torch.Tensor) else tuple(facts_of(out) for out in given)
    verdict = out_contract.arity_clause(made.variant, made.operator.name, facts)
    outcome = attempt(made.call.fresh(), out=given)
    _compare(
        report,
        "out arity",
        verdict,
        outcome,
        made,
        type(given).__name__,
        "" if isinstance(given, draw.torch.Tensor) else len(given),
    )


_CHECKS = (result_dtypes, out_dtypes, out_shapes, out_grads, out_memory, out_tuples)


def table(draw: Draw, report: Report) -> None:
    """One of the comparisons above, on the device the table was measured on."""
    if draw.device == operators.table().device:
        draw.random.choice(_CHECKS)(draw, report)
