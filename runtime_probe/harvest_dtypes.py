"""Measuring dtypes: how the result's dtype follows from the inputs', and which dtypes an out tensor may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

from stridelint.rules.contract import dtypes as contract
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.result_rules import RULES, apply_rule
from stridelint.runtime_probe.harvest_calls import Call, Outcome, attempt, cast, dtype_name
from stridelint.runtime_probe.harvest_text import template

_INPUTS = tuple(
    getattr(torch, name)
    for name in [
        "bool",
        "uint8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
_OUTS = tuple(
    getattr(torch, name)
    for name in [
        "bool",
        "uint8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
_HIGHER = {
    torch.bool: torch.int64,
    torch.int64: torch.float64,
    torch.float32: torch.complex64,
    torch.complex64: torch.complex128,
}


_FEW_INPUTS = (torch.int64, torch.float16, torch.float64, torch.complex64)


def measure_outputs(calls: list[Call], count: int) -> list[dict[str, Any]]:
    """One record per output from the first call; a rule that does not hold for the others is dropped ("")."""
    records = measure_dtypes(calls[0], count)
    for call in calls[1:]:
        main = main_dtype(call)
        for dtype in _FEW_INPUTS if main is not None else ():
            made = _in(call, main, dtype)
            for record, result in zip(records, attempt(made).results, strict=False):
                if predicted(record["rule"], record["of"].split(), made) != dtype_name(result.dtype):
                    record["rule"] = ""
    return records


def main_dtype(call: Call) -> torch.dtype | None:
    """The dtype of the first tensor that computes (conditions and indices come later in every signature but where's)."""
    kinds = [tensor.dtype for tensor in call.tensors().values()]
    floating = [dtype for dtype in kinds if dtype.is_floating_point or dtype.is_complex]
    return floating[0] if floating else kinds[0] if kinds else None


def measure_dtypes(call: Call, count: int) -> list[dict[str, Any]]:
    """One record per output (see `Output` in the operator table), without what out= accepts."""
    main = main_dtype(call)
    if main is None:
        return _without_tensors(call, count)
    call = _whole_numbers(call)
    by_dtype: dict[str, list[str]] = {}
    has_numbers = any("n" in p.kinds and isinstance(call.bound.get(p.name), int) for p in call.signature)
    for dtype in _INPUTS:
        if dtype == torch.bool and has_numbers:
            continue  # It promotes with an integer to int64.
        outcome = attempt(_in(call, main, dtype))
        if len(outcome.results) == count:
            by_dtype[dtype_name(dtype)] = [dtype_name(result.dtype) for result in outcome.results]
    records = []
    for index in range(count):
        observed = {source: results[index] for source, results in by_dtype.items()}
        rule = _rule(observed)
        of = _deciding(call, main, index, rule)
        record: dict[str, Any] = {"rule": rule, "of": " ".join(of)}
        if len(of) > 1 and not _holds_mixed(call, main, index, rule, of):
            record["uniform"] = True
        records.append(record)
    return records


def _in(call: Call, main: torch.dtype, dtype: torch.dtype, but: Mapping[str, torch.dtype] | None = None) -> Call:
    """The call with tensors of the main dtype cast to another one; single ones (`but`) to one of their own."""

    def change(name: str, tensor: torch.Tensor) -> torch.Tensor:
        return cast(tensor, (but or {}).get(name, dtype) if tensor.dtype == main else tensor.dtype)

    return call.mapped(change)


def _whole_numbers(call: Call) -> Call:
    """The call with 2 for every fractional number, which would raise the result of integers."""
    fractions = {
        p.name: 2 for p in call.signature if "n" in p.kinds and isinstance(call.bound.get(p.name), (float, complex))
    }
    changed = call.but(**fractions)
    return changed if fractions and not attempt(changed).error else call


def _rule(observed: dict[str, str]) -> str:
    """The first rule that explains all observations; else they are spelled out as a map."""
    if len(observed) > 1 and len(set(observed.values())) == 1:
        return next(iter(observed.values()))
    for rule in RULES:
        if all(apply_rule(rule, source) == result for source, result in observed.items()):
            return rule
    return " ".join(f"{source}>{result}" for source, result in observed.items())


def _base(name: str) -> str:
    return name.partition("[")[0]


def _deciding(call: Call, main: torch.dtype, index: int, rule: str) -> list[str]:
    """The parameters whose dtypes are promoted: tensors of the main dtype, and numbers that change the result."""
    if rule in contract.DTYPES or rule == "default_float":
        return []
    tensors = [name for name, tensor in call.tensors().items() if tensor.dtype == main]
    found = []
    for name in tensors:
        if len({_base(other) for other in tensors}) > 1 and _ignored(call, main, name, index):
            continue
        found.append(_base(name))
    return list(dict.fromkeys([*found, *_numbers(call, main, index)]))


def _ignored(call: Call, main: torch.dtype, name: str, index: int) -> bool:
    """A tensor whose own dtype does not matter: others may differ from it in legal calls without changing the result."""
    decided = []
    for low, high in ((torch.int64, torch.float64), (torch.float32, torch.float64), (torch.float32, torch.complex64)):
        base = attempt(_in(call, main, low))
        changed = attempt(_in(call, main, low, {name: high}))
        if len(base.results) > index and len(changed.results) > index:
            decided.append(base.results[index].dtype == changed.results[index].dtype)
    return bool(decided) and all(decided)


def _numbers(call: Call, main: torch.dtype, index: int) -> list[str]:
    """Numeric arguments that take part in promotion: 2.5 turns an integer result into a float one."""
    found = []
    for parameter in call.signature:
        if "n" not in parameter.kinds or isinstance(call.bound.get(parameter.name), (torch.Tensor, str, type(None))):
            continue
        if parameter.name not in call.bound:
            continue
        for low, number in ((torch.int64, 2.5), (torch.float32, 2.5 + 1j)):
            base = attempt(_in(call, main, low).but(**{parameter.name: 2}))
            changed = attempt(_in(call, main, low).but(**{parameter.name: number}))
            if len(base.results) > index and len(changed.results) > index:
                if base.results[index].dtype != changed.results[index].dtype:
                    found.append(parameter.name)
                break
    return found


_MIXES = (
    (torch.int64, torch.float32),
    (torch.float32, torch.int64),
    (torch.float32, torch.float64),
    (torch.bool, torch.uint8),
    (torch.int32, torch.int64),
    (torch.complex64, torch.float64),
    (torch.float16, torch.bfloat16),
)


def _holds_mixed(call: Call, main: torch.dtype, index: int, rule: str, of: list[str]) -> bool:
    """Whether the rule explains every legal call with two dtypes among the deciding tensors, 0-d tensors included."""
    names = [name for name, tensor in call.tensors().items() if tensor.dtype == main and _base(name) in of]
    for mix in _MIXES:
        for scalar in (None, *names):

            def change(key: str, tensor: torch.Tensor) -> torch.Tensor:
                if key not in names:
                    return cast(tensor, tensor.dtype)
                made = cast(tensor, mix[names.index(key) % 2])  # noqa: B023
                return made.flatten()[0].clone() if key == scalar and made.numel() else made  # noqa: B023

            changed = call.mapped(change)
            outcome = attempt(changed)
            if len(outcome.results) <= index:
                continue
            if predicted(rule, of, changed) != dtype_name(outcome.results[index].dtype):
                return False
    return True


def predicted(rule: str, of: list[str] | tuple[str, ...], call: Call) -> str | None:
    """What the contract engine says about the result's dtype of a real call."""
    operands: list[contract.Operand] = [
        TensorFacts(shape=tuple(t.shape), dtype=dtype_name(t.dtype))
        for name, t in call.tensors().items()
        if _base(name) in of
    ]
    for name, value in call.bound.items():
        if name in of and isinstance(value, (bool, int, float, complex)):
            kind = {bool: "bool", int: "integer", float: "float", complex: "complex"}[type(value)]
            operands.append(contract.Scalar(kind))
    promoted = contract.result_type(operands) if operands else "float32"
    return None if promoted is None else apply_rule(rule, promoted)


def _without_tensors(call: Call, count: int) -> list[dict[str, Any]]:
    """Factories: the dtype follows from numbers (arange, full), or is the default one, or fixed."""
    outcome = attempt(call)
    records = []
    for result in outcome.results[:count]:
        numbers = []
        whole: set[str] = set()
        for parameter in call.signature:
            value = call.bound.get(parameter.name)
            if "n" in parameter.kinds and isinstance(value, (int, float)) and not isinstance(value, bool):
                kinds = set()
                for number in (True, 2, 2.5, 2.5 + 1j):
                    made = attempt(call.but(**{parameter.name: number}))
                    if made.results:
                        kinds.add(dtype_name(made.results[0].dtype))
                if len(kinds) > 1:
                    numbers.append(parameter.name)
                    whole.add("promote" if "bool" in kinds else "bool_to_int64" if "int64" in kinds else "int_to_float")
        name = dtype_name(result.dtype)
        rule = whole.pop() if len(whole) == 1 else "default_float" if name == "float32" else name
        records.append({"rule": rule, "of": " ".join(numbers)})
    return records


def takes_dtype(call: Call, count: int) -> bool:
    """Whether dtype=torch.float64 makes a float64 result (or int32 one where floats are refused)."""
    if not any(parameter.name == "dtype" for parameter in call.signature) or not count:
        return False
    for dtype in (torch.float64, torch.int32):
        outcome = attempt(call.fresh().but(dtype=dtype))
        if outcome.results:
            return bool(outcome.results[0].dtype == dtype)
    return False


def measure_out_dtypes(calls: list[Call], records: list[dict[str, Any]]) -> None:
    """Add to each output's record which out dtypes are accepted, and what torch says about the others.

    The first call is measured in full; a class that does not hold for the others is dropped.
    """
    rows, texts = _acceptance(calls[0], len(records), _INPUTS)
    for index, record in enumerate(records):
        _classify(record, rows[index])
        for which, key in (("lower", "error"), ("width", "width_error")):
            if texts[index][which]:
                record[key] = sorted(texts[index][which].items(), key=lambda item: (-item[1], item[0]))[0][0]
    _check_mixed(calls[0], records)
    for call in calls[1:]:
        for record, row in zip(records, _acceptance(call, len(records), _FEW_INPUTS)[0], strict=True):
            for source, (result, accepted) in row.items():
                usual = record.get("but", {}).get(source, " ".join(_expected(record["out"], result)))
                if " ".join(accepted) != usual:
                    record["out"] = ""


def _check_mixed(call: Call, records: list[dict[str, Any]]) -> None:
    """Drop a class that does not hold where the operands have different dtypes (the first operand's and another)."""
    main = main_dtype(call)
    names = [name for name, tensor in call.tensors().items() if tensor.dtype == main]
    if main is None or len(names) < 2 or len(records) > 1:
        return
    for low, high in ((torch.int64, torch.float16), (torch.float16, torch.int64), (torch.float32, torch.float64)):
        made = _in(call, main, high, {names[0]: low})
        functional = attempt(made.fresh()).results
        if not functional:
            continue
        for out in (torch.int32, torch.float32, torch.complex128):
            refused = attempt(made.fresh(), out=torch.zeros(functional[0].shape, dtype=out)).error
            if (dtype_name(out) in _expected(records[0]["out"], dtype_name(functional[0].dtype))) == bool(refused):
                records[0]["out"] = ""


def _acceptance(
    call: Call, count: int, inputs: tuple[torch.dtype, ...]
) -> tuple[list[dict[str, tuple[str, list[str]]]], list[dict[str, Counter[str]]]]:
    """Per output: input dtype -> (result dtype, out dtypes accepted); and the texts of errors with their counts."""
    main = main_dtype(call)
    rows: list[dict[str, tuple[str, list[str]]]] = [{} for _ in range(count)]
    texts: list[dict[str, Counter[str]]] = [{"lower": Counter(), "width": Counter()} for _ in range(count)]
    for dtype in inputs if main is not None else (None,):
        made = call if dtype is None or main is None else _in(call, main, dtype)
        functional = attempt(made.fresh())
        if len(functional.results) != count:
            continue
        for index, result in enumerate(functional.results):
            accepted = []
            for out_dtype in _OUTS:
                outs = [
                    torch.zeros(r.shape, dtype=out_dtype if k == index else r.dtype)
                    for k, r in enumerate(functional.results)
                ]
                outcome = attempt(made.fresh(), out=outs[0] if count == 1 else tuple(outs))
                name = dtype_name(out_dtype)
                if not outcome.error:
                    accepted.append(name)
                elif name != dtype_name(result.dtype):
                    which = "width" if contract.can_cast(dtype_name(result.dtype), name) else "lower"
                    weight = 20 if dtype == main else 1  # What the usual dtype says is what people read.
                    texts[index][which][template(outcome.error, result=result.dtype, out=out_dtype)] += weight
            source = dtype_name(dtype) if dtype is not None else dtype_name(result.dtype)
            rows[index][source] = (dtype_name(result.dtype), accepted)
    return rows, texts


def measure_out_with_dtype(call: Call, count: int, records: list[dict[str, Any]]) -> None:
    """Add which out dtypes are accepted where dtype=torch.float32 is given as well (int64 where floats are refused)."""
    for asked, others in ((torch.float32, (torch.float64, torch.int64)), (torch.int64, (torch.int32, torch.bool))):
        made = call.fresh().but(dtype=asked)
        functional = attempt(made)
        if len(functional.results) != count or functional.results[0].dtype != asked:
            continue
        for index, record in enumerate(records):
            errors = []
            for other in others:
                outs = [
                    torch.zeros(r.shape, dtype=other if k == index else r.dtype)
                    for k, r in enumerate(functional.results)
                ]
                errors.append(attempt(made.fresh(), out=outs[0] if count == 1 else tuple(outs)).error)
            record["with_dtype"] = "exact" if errors[0] else "kind" if errors[1] else "any"
            if errors[1]:
                record["with_dtype_error"] = template(errors[1], result=asked, out=others[1])
        return


def _expected(kind: str, result: str) -> list[str]:
    names = [dtype_name(dtype) for dtype in _OUTS]
    if kind == "any":
        return names
    if not kind:
        return []
    return [name for name in names if (contract.can_cast(result, name) if kind == "kind" else name == result)]


def _classify(record: dict[str, Any], rows: dict[str, tuple[str, list[str]]]) -> None:
    """Pick the class that leaves the fewest exceptions, and spell these out."""
    best: tuple[int, str, dict[str, str]] | None = None
    for kind in ("exact", "kind", "any"):
        but = {}
        for source, (result, accepted) in rows.items():
            expected = _expected(kind, result)
            if result not in _expected("any", result):
                expected = [] if kind == "exact" else expected
            if accepted != expected:
                but[source] = " ".join(accepted)
        if best is None or len(but) < best[0]:
            best = (len(but), kind, but)
    assert best is not None
    record["out"] = best[1]
    if best[2]:
        record["but"] = best[2]


__all__ = [
    "Outcome",
    "main_dtype",
    "measure_dtypes",
    "measure_out_dtypes",
    "measure_out_with_dtype",
    "measure_outputs",
    "predicted",
    "takes_dtype",
]
