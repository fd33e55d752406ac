"""Measuring one operator: its calls are sorted into variants, and each variant is measured clause by clause."""

from __future__ import annotations

from typing import Any

import torch

from stridelint.rules.contract import signatures
from stridelint.rules.contract.dtypes import DTYPES
from stridelint.rules.contract.operators import tensor_parameters
from stridelint.rules.contract.signatures import Signature
from stridelint.runtime_probe import harvest_clauses as clauses
from stridelint.runtime_probe import harvest_dtypes, harvest_layout, harvest_overlap
from stridelint.runtime_probe.harvest_calls import Call, attempt
from stridelint.runtime_probe.harvest_targets import Target

# Fields of a variant that have these values are left out of the table.
DEFAULTS: dict[str, Any] = {
    "measured": True, "accepts_out": True, "empty_out": "resized", "wrong_shape": "warns", "same_numel": "warns",
    "out_grad": "error", "out_grad_off": "accepted", "out_grad_nonleaf": "error", "input_grad": "error", "device": "error",
    "self_overlap": "error", "tuple_of_one": "error", "single": "error", "too_few": "error", "sequence": "accepted",
    "twice": "error", "errors": {
        "out_grad": "autograd", "out_grad_nonleaf": "autograd", "input_grad": "autograd", "device": "copy device",
        "partial_overlap": "memory shared", "full_overlap": "memory shared", "self_overlap": "self overlap",
        "tuple_of_one": "not a tuple", "single": "invalid combination", "too_few": "tuple length",
        "twice": "memory shared",
    },
}
_SIDE_ARGUMENTS = ("dtype", "device", "layout", "memory_format", "generator", "requires_grad")
_SAMPLES = 8


def measure(target: Target, calls: list[Call]) -> dict[str, Any]:
    """The operator's row of the table."""
    row: dict[str, Any] = {}
    if not target.is_function:
        row["only_method"] = True
    if target.is_method:
        row["method"] = True
    if target.has_inplace:
        row["inplace"] = True
    variants = []
    selectors: set[str] = set()
    for signature in target.signatures:
        mine = [call for call in calls if call.signature is signature]
        groups = _groups(target, mine)
        records = [(when, _measure_variant(target, group)) for when, group in groups]
        for when, record in _merged(records):
            selectors |= set(when)
            variant = {"signature": signatures.write(signature), **({"when": when} if when else {}), **record}
            variants.append(variant)
        if not records:
            variants.append({"signature": signatures.write(signature), "measured": False})
    defaults = {name: target.defaults.get(name) for name in sorted(selectors) if target.defaults.get(name) is not None}
    if defaults:
        row["defaults"] = defaults
    row["variants"] = variants
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
    return [({name: [value] for name, value in zip(names, key)}, group) for key, group in found.items()]


def _text_value(target: Target, call: Call, name: str) -> Any:
    value = call.bound.get(name, target.defaults.get(name))
    return value if isinstance(value, str) or value is None else "<other>"


def _merged(records: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Groups that behave alike become one; if all do, nothing selects among them."""
    if records and all(record == records[0][1] for _, record in records):
        return [({}, records[0][1])]
    if not records:
        return []
    merged: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for when, record in records:
        twin = next((other for other, known in merged if known == record and len(other) == 1 == len(when)), None)
        if twin is not None:
            for name, values in when.items():
                twin[name] = twin[name] + values
        else:
            merged.append((when, record))
    return merged


def _measure_variant(target: Target, calls: list[Call]) -> dict[str, Any]:
    """One variant's record, default values left out. Risky measurements come last."""
    usual = [call for call in calls if not any(call.bound.get(name) is not None for name in _SIDE_ARGUMENTS)] or calls
    base = usual[0]
    functional = attempt(base.fresh())
    results = functional.results
    count = len(results)
    single_list = isinstance(functional.value, list) or count > 6
    outs = [torch.zeros(r.shape, dtype=r.dtype) for r in results]
    refused = attempt(base.fresh(), out=clauses.given(outs)).error if outs else "no result"
    accepts = not refused or _refuses_these(target, base, refused)
    record: dict[str, Any] = {"shape": harvest_layout.measure_shape(usual)}
    record.update(harvest_layout.measure_layout(usual))
    outputs = _outputs(usual, 1 if single_list and not accepts else count)
    _differentiable(base, outputs)
    record["outputs"] = outputs
    if harvest_dtypes.takes_dtype(base, count):
        record["dtype_argument"] = True
    if accepts:
        _measure_out(target, usual, base, results, record)
    else:
        record["accepts_out"] = False
        if count > 1 and all(output == outputs[0] for output in outputs):
            record["outputs"] = outputs[:1] if single_list else outputs
    return _without_defaults(record, base.signature)


def _refuses_these(target: Target, base: Call, error: str) -> bool:
    """An error that is not about the presence of out= (another dtype is tried, as for `all` on floats)."""
    if error.startswith("TypeError") or "unexpected keyword" in error or "NotImplementedError" in error:
        return False
    return not attempt(base.fresh(), out=torch.zeros(0)).error


def _measure_out(target: Target, usual: list[Call], base: Call, results: list[torch.Tensor], record: dict[str, Any]) -> None:
    errors: dict[str, str] = {}
    harvest_dtypes.measure_out_dtypes(base, len(results), record["outputs"])
    if record.get("dtype_argument"):
        harvest_dtypes.measure_out_with_dtype(base, len(results), record["outputs"])
    record.update(clauses.measure_resizing(base, results, errors, target.name))
    record.update(clauses.measure_grad(base, results, errors, target.name))
    record.update(clauses.measure_device(base, results, errors, target.name))
    record.update(clauses.measure_arity(base, results, errors, target.name))
    if not clauses.is_random(base):
        record.update({k: v for k, v in harvest_overlap.measure_overlap(_patterns(usual, 3), errors, target.name).items() if v})
    record.update(harvest_overlap.measure_self_overlap(base, results, errors, target.name))
    strides = clauses.measure_out_strides(usual[:_SAMPLES])
    if strides:
        record["out_strides"] = strides
    record["errors"] = {key: text for key, text in errors.items() if _usual_text(key, errors) != text and key != "twice"}


def _usual_text(clause: str, errors: dict[str, str]) -> str | None:
    """What the table's reader assumes of a clause's text."""
    usual = DEFAULTS["errors"]
    if clause in ("out_grad_nonleaf", "input_grad") and errors.get("out_grad", usual["out_grad"]) != usual["out_grad"]:
        return errors["out_grad"]
    return usual.get(clause)


def _patterns(calls: list[Call], each: int) -> list[Call]:
    """The first calls of each combination of tensor arguments."""
    found: dict[tuple[str, ...], list[Call]] = {}
    for call in calls:
        group = found.setdefault(tuple(name.partition("[")[0] for name in call.tensors()), [])
        if len(group) < each and not any(t.numel() > 5000 for t in call.tensors().values()):
            group.append(call)
    return [call for group in found.values() for call in group]


def _outputs(calls: list[Call], count: int) -> list[dict[str, Any]]:
    """Dtype records; parameters that count are united over calls with tensors and with numbers in the same place."""
    records: list[dict[str, Any]] = []
    for call in _patterns(calls, 1)[:4]:
        found = harvest_dtypes.measure_dtypes(call, count)
        if not records:
            records = found
            continue
        for record, other in zip(records, found):
            if record["rule"] == other["rule"]:
                names = set(record["of"].split()) | set(other["of"].split())
                record["of"] = " ".join(p.name for p in call.signature if p.name in names)
                if other.get("uniform"):
                    record["uniform"] = True
    return records


def _differentiable(call: Call, outputs: list[dict[str, Any]]) -> None:
    for output in outputs:
        output["differentiable"] = False
    made = call.mapped(lambda _, t: t.detach().clone().requires_grad_() if t.dtype.is_floating_point or t.dtype.is_complex else t.clone())
    if not any(t.requires_grad for t in made.tensors().values()):
        return
    outcome = attempt(made, grad=True)
    for output, result in zip(outputs, outcome.results):
        output["differentiable"] = result.requires_grad


def _without_defaults(record: dict[str, Any], signature: Signature) -> dict[str, Any]:
    tensors = " ".join(tensor_parameters(signature))
    for output in record["outputs"]:
        if output["of"] == tensors or output["rule"] in DTYPES:
            del output["of"]
        if output["differentiable"]:
            del output["differentiable"]
        if output.get("width_error") == output.get("error"):
            output.pop("width_error", None)
        for kind, error in (("out", "error"), ("with_dtype", "with_dtype_error")):
            if output.get(error) == {"kind": "cast", "exact": "expected dtype"}.get(output.get(kind, "")):
                output.pop(error, None)
    kept = {}
    for name, value in record.items():
        if name in DEFAULTS and value == DEFAULTS[name]:
            continue
        if value in ("", {}, None) and name not in DEFAULTS or name == "errors" and not value:
            continue
        kept[name] = value
    return kept
