"""Measuring one operator: its calls are sorted into variants, and each variant is measured clause by clause."""

from __future__ import annotations

from typing import Any

import torch

from stridelint.rules.contract import signatures
from stridelint.rules.contract.operator_records import OTHER
from stridelint.runtime_probe import (
    harvest_clauses as clauses,
    harvest_dtypes,
    harvest_layout,
    harvest_out_dtypes,
    harvest_overlap,
)
from stridelint.runtime_probe.harvest_calls import Call, attempt
from stridelint.runtime_probe.harvest_merge import (
    Described,
    agreed,
    merged_overloads,
    merged_values,
    usual_text,
    without_defaults,
)
from stridelint.runtime_probe.harvest_targets import Target

_SIDE_ARGUMENTS = ("dtype", "device", "layout", "memory_format", "generator", "requires_grad")
_SAMPLES = 8
_MANY = 10


def measure(target: Target, calls: list[Call]) -> dict[str, Any]:
    """The operator's row of the table."""
    row: dict[str, Any] = {}
    if not target.is_function:
        row["only_method"] = True
    if target.is_method:
        row["method"] = True
    if target.has_inplace:
        row["inplace"] = True
    found: list[Described] = []
    for signature in target.signatures:
        mine = [call for call in calls if call.signature is signature]
        shape = harvest_layout.measure_shape(mine)
        groups = _groups(target, mine)
        records = [
            Described(signature, when, {"shape": shape, **_measure_variant(target, group)}) for when, group in groups
        ]
        found += merged_values(records) or [Described(signature, {}, {"measured": False})]
    variants = merged_overloads(found)
    selectors = {name for variant in variants for name in variant.when}
    defaults = {name: target.defaults[name] for name in sorted(selectors) if target.defaults.get(name) is not None}
    if defaults:
        row["defaults"] = defaults
    row["variants"] = [
        {
            "signature": signatures.write(variant.signature),
            **({"when": variant.when} if variant.when else {}),
            **without_defaults(variant.record, variant.signature),
        }
        for variant in variants
    ]
    return row


def _groups(target: Target, calls: list[Call]) -> list[tuple[dict[str, Any], list[Call]]]:
    """Calls by the values of their string arguments ("none" or "tanh" of gelu's approximate)."""
    names = []
    for parameter in calls[0].signature if calls else ():
        values = {_text_value(target, call, parameter.name) for call in calls} if "s" in parameter.kinds else set()
        if len(values) > 1 and len(values) <= 8 and parameter.name != "equation":
            names.append(parameter.name)
    found: dict[tuple[Any, ...], list[Call]] = {}
    for call in calls:
        found.setdefault(tuple(_text_value(target, call, name) for name in names), []).append(call)
    if len(found) > 12:
        return [({}, calls)]
    return [({name: [value] for name, value in zip(names, key, strict=False)}, group) for key, group in found.items()]


def _text_value(target: Target, call: Call, name: str) -> Any:
    value = call.bound.get(name, target.defaults.get(name))
    return value if isinstance(value, str) or value is None else OTHER


def _measure_variant(target: Target, calls: list[Call]) -> dict[str, Any]:
    """One variant's record. Risky measurements come last."""
    usual = [call for call in calls if not any(call.bound.get(name) is not None for name in _SIDE_ARGUMENTS)] or calls
    base = usual[0]
    functional = attempt(base.fresh())
    count = len(functional.results)
    # A list of results, as of `split`, has any number of them: the first one is described.
    if isinstance(functional.value, list) or count > 6:
        count = 1
    patterns = _patterns(usual, 2)[:_SAMPLES]
    accepting = {_accepts(call) for call in patterns} - {None}
    accepts = next(iter(accepting)) if len(accepting) == 1 else None if accepting else False
    record: dict[str, Any] = {"accepts_out": accepts, **harvest_layout.measure_layout(usual)}
    record["outputs"] = harvest_dtypes.measure_outputs(patterns, len(functional.results) if accepts else count)
    _differentiable(base, record["outputs"])
    if isinstance(functional.value, (tuple, list)) and _any_number(target, usual, record["outputs"]):
        record["any_number"] = True
    elif len(record["outputs"]) > 1:
        for index in harvest_layout.measure_own_shapes(usual):
            record["outputs"][index]["own_shape"] = True
    if harvest_dtypes.takes_dtype(base, count):
        record["dtype_argument"] = True
    if accepts:
        _measure_out(target, usual, patterns, record)
    return record


def _any_number(target: Target, calls: list[Call], outputs: list[dict[str, Any]]) -> bool:
    """A list of any length, or results that are alike and whose number differs from call to call."""
    if target.lists_results:
        return True
    alike = all(output == outputs[0] for output in outputs)
    return alike and len({len(attempt(call.fresh()).results) for call in calls}) > 1


def _accepts(call: Call) -> bool | None:
    """Whether this call may have out=; None if it fails for another reason."""
    results = attempt(call.fresh()).results
    if not results:
        return None
    error = attempt(call.fresh(), out=clauses.given(clauses.rested(results))).error
    return not error or _refuses_these(call, error)


def _refuses_these(base: Call, error: str) -> bool:
    """An error that is not about the presence of out= (another dtype is tried, as for `all` on floats)."""
    if error.startswith("TypeError") or "unexpected keyword" in error or "NotImplementedError" in error:
        return False
    return not attempt(base.fresh(), out=torch.zeros(0)).error


def _measure_out(target: Target, usual: list[Call], patterns: list[Call], record: dict[str, Any]) -> None:
    errors: dict[str, str] = {}
    op = target.name
    harvest_out_dtypes.measure_out_dtypes(patterns, record["outputs"])
    if record.get("dtype_argument"):
        harvest_out_dtypes.measure_out_with_dtype(patterns[0], len(record["outputs"]), record["outputs"])
    found = []
    measured = [(call, attempt(call.fresh()).results) for call in patterns]
    measured = [(call, results) for call, results in measured if len(results) == len(record["outputs"])]
    filled = [(call, results) for call, results in measured if all(result.numel() for result in results)]
    for call, results in filled or measured:
        each: dict[str, Any] = clauses.measure_resizing(call, results, errors, op)
        each.update(clauses.measure_grad(call, results, errors, op))
        each.update(clauses.measure_device(call, results, errors, op))
        each.update(clauses.measure_arity(call, results, errors, op))
        found.append({**each, **harvest_overlap.measure_self_overlap(call, results, errors, op)})
    record.update(agreed(found))
    if not clauses.is_random(patterns[0]):
        record.update(harvest_overlap.measure_overlap(patterns, errors, op))
    record["out_strides"] = clauses.measure_out_strides(usual[:_MANY])
    record["errors"] = {key: text for key, text in errors.items() if usual_text(key, errors) != text and key != "twice"}


def _patterns(calls: list[Call], each: int) -> list[Call]:
    """The first calls of each combination of arguments, without empty and large tensors."""
    found: dict[tuple[str, ...], list[Call]] = {}
    for call in calls:
        group = found.setdefault(tuple(call.bound), [])
        if len(group) < each and all(0 < t.numel() < 5000 for t in call.tensors().values()):
            group.append(call)
    return [call for group in found.values() for call in group] or calls[:1]


def _differentiable(call: Call, outputs: list[dict[str, Any]]) -> None:
    for output in outputs:
        output["differentiable"] = False
    made = call.mapped(
        lambda _, t: (
            t.detach().clone().requires_grad_() if t.dtype.is_floating_point or t.dtype.is_complex else t.clone()
        )
    )
    if not any(t.requires_grad for t in made.tensors().values()):
        return
    outcome = attempt(made, grad=True)
    for output, result in zip(outputs, outcome.results, strict=False):
        output["differentiable"] = result.requires_grad
