"""From many measurements to few records: what samples agree on, variants that behave alike, defaults left out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from stridelint.rules.contract.dtypes import DTYPES
from stridelint.rules.contract.signatures import Parameter, Signature, tensor_parameters
from stridelint.runtime_probe.harvest_targets import order

# Fields of a variant that have these values are left out of the table.
DEFAULTS: dict[str, Any] = {
    "measured": True,
    "shape": "other",
    "accepts_out": True,
    "empty_out": "resized",
    "wrong_shape": "warns",
    "same_numel": "warns",
    "out_grad": "error",
    "out_grad_off": "accepted",
    "out_grad_nonleaf": "error",
    "input_grad": "error",
    "device": "error",
    "self_overlap": "error",
    "tuple_of_one": "error",
    "single": "error",
    "too_few": "error",
    "sequence": "accepted",
    "twice": "error",
    "errors": {
        "out_grad": "autograd",
        "out_grad_nonleaf": "autograd",
        "input_grad": "autograd",
        "device": "copy device",
        "partial_overlap": "memory shared",
        "full_overlap": "memory shared",
        "self_overlap": "self overlap",
        "tuple_of_one": "not a tuple",
        "single": "invalid combination",
        "too_few": "tuple length",
        "twice": "memory shared",
    },
}
_BY_PARAMETER = ("full_overlap", "partial_overlap", "input_grad_of")


@dataclass
class Described:
    """A variant while it is being made: its signature, the values that select it, its record."""

    signature: Signature
    when: dict[str, list[Any]]
    record: dict[str, Any]


def agreed(records: list[dict[str, Any]]) -> dict[str, Any]:
    """What all samples of a variant say; "" where they contradict, "either" where all are bad in different ways."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record[name] for record in records if name in record]
        if name == "right_shape":
            found[name] = "warns"
            continue
        if isinstance(values[0], dict):
            found[name] = agreed(values)
        elif len(set(values)) == 1:
            found[name] = values[0]
        elif set(values) == {"error", "wrong"} or (name == "self_overlap" and set(values) == {"error", "accepted"}):
            found[name] = "either"
        else:
            found[name] = ""
    return found


def merged_values(records: list[Described]) -> list[Described]:
    """Values of a string argument that behave alike become one variant; if all do, nothing selects among them."""
    if records and all(other.record == records[0].record for other in records):
        return [dataclasses.replace(records[0], when={})]
    found: list[Described] = []
    for each in records:
        twin = next((other for other in found if other.record == each.record and len(other.when) == 1), None)
        if twin is None:
            found.append(each)
        else:
            for name, values in each.when.items():
                twin.when[name] = twin.when[name] + values
    return found


def merged_overloads(variants: list[Described]) -> list[Described]:
    """Overloads with the same parameters (for a tensor and for a number) that behave alike become one."""
    found: list[Described] = []
    for each in variants:
        for index, other in enumerate(found):
            merged = _merged(other, each)
            if merged is not None:
                found[index] = merged
                break
        else:
            found.append(each)
    # Numbers first: a merged variant may also seem to fit what an overload for numbers alone describes.
    return sorted(found, key=lambda each: order(each.signature))


def _merged(left: Described, right: Described) -> Described | None:
    names = [[p.name for p in each.signature] for each in (left, right)]
    if names[0] != names[1] or left.when != right.when or left.record.get("measured") is False:
        return None
    record = dict(left.record)
    for name in {*left.record, *right.record} - {"errors", "order", "layout"}:
        a, b = left.record.get(name), right.record.get(name)
        if name in _BY_PARAMETER:
            union = {**(b or {}), **(a or {})}
            if union != {**(a or {}), **(b or {})}:
                return None
            record[name] = union
        elif a != b:
            return None
    layouts = {left.record.get("layout", ""), right.record.get("layout", "")} - {""}
    if len(layouts) > 1 and layouts != {"elementwise", "preserve"}:
        return None
    tensors = max(left, right, key=lambda each: sum(p.is_tensor for p in each.signature))
    record["layout"] = tensors.record.get("layout", "")
    record["order"] = tensors.record.get("order", "")
    record["errors"] = {**right.record.get("errors", {}), **left.record.get("errors", {})}
    return Described(_united(left.signature, right.signature), left.when, record)


def _united(left: Signature, right: Signature) -> Signature:
    return tuple(
        Parameter(
            a.name, "".join(dict.fromkeys(a.kinds + b.kinds)), a.required and b.required, a.keyword_only, a.spread
        )
        for a, b in zip(left, right, strict=True)
    )


def usual_text(clause: str, errors: dict[str, str]) -> str | None:
    """What the table's reader assumes of a clause's text."""
    usual: dict[str, str] = DEFAULTS["errors"]
    if clause in ("out_grad_nonleaf", "input_grad") and errors.get("out_grad", usual["out_grad"]) != usual["out_grad"]:
        return errors["out_grad"]
    return usual.get(clause)


def without_defaults(record: dict[str, Any], signature: Signature) -> dict[str, Any]:
    """The record as it stands in the table."""
    record = dict(record)
    if record.get("measured") is False:
        return record
    tensors = " ".join(tensor_parameters(signature))
    record["outputs"] = [_output(output, tensors) for output in record["outputs"]]
    by_name = record.pop("input_grad_of", None)
    if by_name:
        verdicts = list(by_name.values())
        usual = "error" if "error" in verdicts else next((v for v in verdicts if v), "")
        record["input_grad"] = usual
        record["input_grad_of"] = {name: verdict for name, verdict in by_name.items() if verdict != usual}
    if record["accepts_out"] and "input_grad" not in record:
        record["input_grad"] = "fine"
    for name in ("full_overlap", "partial_overlap"):
        record[name] = _collapsed(record.get(name, {}), signature)
    kept = {}
    for name, value in record.items():
        if name in DEFAULTS and value == DEFAULTS[name]:
            continue
        if value in ("", {}) and name not in DEFAULTS:
            continue
        if name == "errors" and not value:
            continue
        kept[name] = value
    return kept


def _collapsed(by_name: dict[str, str], signature: Signature) -> dict[str, str] | str:
    """One word where it is the same for all tensor parameters."""
    alike = tuple(by_name) == tensor_parameters(signature) and len(set(by_name.values())) == 1
    return next(iter(by_name.values())) if alike else by_name


def _output(record: dict[str, Any], tensors: str) -> dict[str, Any]:
    output = dict(record)
    if output["of"] == tensors or output["rule"] in DTYPES:
        del output["of"]
    if output["differentiable"]:
        del output["differentiable"]
    if output["rule"] == "promote":
        del output["rule"]
    if output.get("width_error") == output.get("error"):
        output.pop("width_error", None)
    for kind, error in (("out", "error"), ("with_dtype", "with_dtype_error")):
        if output.get(error) == {"kind": "cast", "exact": "expected dtype"}.get(output.get(kind, "")):
            output.pop(error, None)
    return output
