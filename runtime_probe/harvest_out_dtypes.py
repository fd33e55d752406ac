"""Measuring which dtypes an out tensor may have, and what torch says about the others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from stridelint.rules.contract import dtypes as contract
from stridelint.runtime_probe.harvest_calls import Call, attempt, dtype_name
from stridelint.runtime_probe.harvest_dtypes import FEW_INPUTS, INPUTS, in_dtype, main_dtype
from stridelint.runtime_probe.harvest_text import COMMON, template

_OUTS = INPUTS


def measure_out_dtypes(calls: list[Call], records: list[dict[str, Any]]) -> None:
    """Add to each output's record which out dtypes are accepted, and what torch says about the others.

    The first call is measured in full; a class that does not hold for the others is dropped.
    """
    rows, texts = _acceptance(calls[0], len(records), INPUTS)
    for index, record in enumerate(records):
        _classify(record, rows[index])
        for which, key in (("lower", "error"), ("width", "width_error")):
            if texts[index][which]:
                record[key] = min(texts[index][which].items(), key=_text_rank)[0]
    _check_mixed(calls[0], records)
    for call in calls[1:]:
        for record, row in zip(records, _acceptance(call, len(records), FEW_INPUTS)[0], strict=True):
            for source, (result, accepted) in row.items():
                usual = record.get("but", {}).get(source, " ".join(_expected(record["out"], result)))
                if " ".join(accepted) != usual:
                    record["out"] = ""


def _text_rank(item: tuple[str, int]) -> tuple[int, bool, str]:
    """The text most often seen; of two readings that explain as much, the one with a field for the result's dtype."""
    text, count = item
    return -count, text not in COMMON and "{Result}" not in text and "{result}" not in text, text


def _check_mixed(call: Call, records: list[dict[str, Any]]) -> None:
    """Drop a class that does not hold where the operands have different dtypes (the first operand's and another)."""
    main = main_dtype(call)
    names = [name for name, tensor in call.tensors().items() if tensor.dtype == main]
    if main is None or len(names) < 2 or len(records) > 1:
        return
    for low, high in ((torch.int64, torch.float16), (torch.float16, torch.int64), (torch.float32, torch.float64)):
        made = in_dtype(call, main, high, {names[0]: low})
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
    if main is None:
        made_calls: list[tuple[torch.dtype | None, Call]] = [(None, call), (None, _with_fractions(call))]
    else:
        made_calls = [(dtype, in_dtype(call, main, dtype)) for dtype in inputs]
    for dtype, made in made_calls:
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
                    # Some operators always name the same dtype ("Float"): that reading competes.
                    readings = {template(outcome.error, result=dtype, out=out_dtype) for dtype in (result.dtype, None)}
                    for reading in readings:
                        texts[index][which][reading] += weight
            source = dtype_name(dtype) if dtype is not None else dtype_name(result.dtype)
            rows[index][source] = (dtype_name(result.dtype), accepted)
    return rows, texts


def _with_fractions(call: Call) -> Call:
    """A factory's call with fractional numbers where it takes them."""
    numbers = {p.name: call.bound.get(p.name) for p in call.signature if p.kinds.startswith("n")}
    return call.but(**{name: value + 0.5 for name, value in numbers.items() if isinstance(value, (int, float))})


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
