"""Sample calls of each operator: torch's own OpInfo samples, and plain calls for functions without OpInfo."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from stridelint.runtime_probe.harvest_calls import SEED, Call, attempt, bind
from stridelint.runtime_probe.harvest_images import image_calls
from stridelint.runtime_probe.harvest_plain import plain_calls
from stridelint.runtime_probe.harvest_targets import Target

_DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
_LIMIT = 40
_DONORS = 10


def op_infos() -> dict[str, list[Any]]:
    """torch's descriptions of operators by public name, aliases included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    found: dict[str, list[Any]] = {}
    for info in op_db:
        for name in [info.name, *(alias.name for alias in info.aliases)]:
            found.setdefault(name, []).append(info)
    return found


def samples(target: Target, infos: list[Any], device: str = "cpu") -> list[Call]:
    """Legal calls of the target that return tensors, in a fixed order; the first of them are the richest.

    Plain calls come first, then the samples of each OpInfo in the first dtype it supports among float32, int64, bool
    and complex64.
    """
    calls = []
    for args, kwargs in itertools.chain(plain_calls(target.name), _from_infos(infos, device), image_calls(target.name)):
        call = bind(target.function, target.signatures, args, kwargs)
        if call is None or any(t.layout is not torch.strided or t.is_quantized for t in call.tensors().values()):
            continue
        outcome = attempt(call.fresh())
        if outcome.results:
            calls.append(call)
    return calls + _with_numbers(target, calls)


def _with_numbers(target: Target, calls: list[Call]) -> list[Call]:
    """Calls of overloads without samples that take a number (`x > 2`) where another one takes a tensor (`x > y`)."""
    found = []
    for signature in target.signatures:
        if any(call.signature is signature for call in calls):
            continue
        for donor in calls[:_DONORS]:
            if [p.name for p in donor.signature] != [p.name for p in signature]:
                continue
            changes = {
                p.name: 2 for p in signature if "n" in p.kinds and isinstance(donor.bound.get(p.name), torch.Tensor)
            }
            made = donor.but(**changes)
            call = bind(target.function, [signature], made.args, made.kwargs)
            if changes and call is not None and call.tensors() and attempt(call.fresh()).results:
                found.append(call)
    return found


def _from_infos(infos: list[Any], device: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for info in infos:
        dtype = next((dtype for dtype in _DTYPES if dtype in info.dtypes), None)
        if dtype is None:
            continue
        torch.manual_seed(SEED)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = list(itertools.islice(info.sample_inputs(device, dtype, requires_grad=False), _LIMIT))
        except Exception:
            continue
        found.sort(key=_poverty)
        for sample in found:
            first = tuple(sample.input) if isinstance(sample.input, tuple) else sample.input
            yield (first, *sample.args), dict(sample.kwargs)


def _poverty(sample: Any) -> tuple[int, int]:
    """Sort key: samples whose tensors have several elements along several axes first, small before huge."""
    tensors = [t for t in [sample.input, *sample.args] if isinstance(t, torch.Tensor)]
    tensors += (
        [t for t in sample.input if isinstance(t, torch.Tensor)] if isinstance(sample.input, (list, tuple)) else []
    )
    if not tensors:
        return (0, 0)
    main = tensors[0]
    axes = sum(size > 1 for size in main.shape)
    poor = main.numel() < 4 or any(t.numel() == 0 or t.dim() == 0 for t in tensors)
    return (2 if poor else 0 if axes >= 2 else 1, main.numel() if main.numel() > 5000 else 0)
