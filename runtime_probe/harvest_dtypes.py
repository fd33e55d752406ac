"""Measuring dtypes: how the result's dtype follows from the inputs', and which dtypes an out tensor may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from stridelint.rules.contract import dtypes as contract
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.result_rules import RULES, apply_rule
from stridelint.runtime_probe.harvest_calls import Call, attempt, cast, dtype_name

INPUTS = tuple(getattr(torch, name) for name in contract.MEASURED)
_HIGHER = {
    torch.bool: torch.int64,
    torch.int64: torch.float64,
    torch.float32: torch.complex64,
    torch.complex64: torch.complex128,
}


FEW_INPUTS = (torch.int64, torch.float16, torch.float64, torch.complex64)


def measure_outputs(calls: list[Call], count: int) -> list[dict[str, Any]]:
    """One record per output from the first call; a rule that does not hold for the others is dropped ("")."""
    records = measure_dtypes(calls[0], count)
    for call in calls:
        fractional = _with_fraction(call)
        for record, result in zip(records, attempt(fractional.fresh()).results, strict=False):
            if predicted(record["rule"], record["of"].split(), fractional) != dtype_name(result.dtype):
                record["rule"] = ""
    for call in calls[1:]:
        main = main_dtype(call)
        for dtype in FEW_INPUTS if main is not None else ():
            made = in_dtype(call, main, dtype)
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
    for dtype in INPUTS:
        if dtype == torch.bool and has_numbers:
            continue  # It promotes with an integer to int64.
        outcome = attempt(in_dtype(call, main, dtype))
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


def in_dtype(call: Call, main: torch.dtype, dtype: torch.dtype, but: Mapping[str, torch.dtype] | None = None) -> Call:
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


def _with_fraction(call: Call) -> Call:
    """The call with fractional numbers for whole ones, where that is legal."""
    numbers = {
        p.name: 2.5
        for p in call.signature
        if "n" in p.kinds
        and isinstance(call.bound.get(p.name), (int, float))
        and not isinstance(call.bound[p.name], bool)
    }
    changed = call.but(**numbers)
    return changed if numbers and not attempt(changed.fresh()).error else call


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
        base = attempt(in_dtype(call, main, low))
        changed = attempt(in_dtype(call, main, low, {name: high}))
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
            base = attempt(in_dtype(call, main, low).but(**{parameter.name: 2}))
            changed = attempt(in_dtype(call, main, low).but(**{parameter.name: number}))
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
