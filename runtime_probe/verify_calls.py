"""Random legal calls of operators that take out=, for the comparisons of `verify` with the operator table."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

from stridelint.rules.contract import operators
from stridelint.rules.contract.dtypes import MEASURED
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.contract.signatures import Signature
from stridelint.runtime_probe.facts_of_tensor import facts_of
from stridelint.runtime_probe.harvest_calls import Call, Outcome, attempt, bind, cast
from stridelint.runtime_probe.harvest_plain import plain_calls
from stridelint.runtime_probe.verify_draw import Draw

# Their result is random or uninitialised, or they need inputs that are not drawn here.
_SKIPPED = frozenset(
    ["empty", "empty_like", "bernoulli", "normal", "poisson", "multinomial", "rand", "randn", "randint", "randperm"]
)


@dataclass
class Case:
    """A legal call on row-major tensors, what it returns without out=, and what the table says about it."""

    operator: Operator
    variant: Variant
    call: Call
    functional: Outcome

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as the engine sees them."""
        return {name: _seen(value) for name, value in self.call.bound.items()}


def _seen(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return facts_of(value)
    if isinstance(value, (list, tuple)):
        return tuple(_seen(item) for item in value)
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return value


@functools.cache
def pool() -> tuple[tuple[str, Call], ...]:
    """Base calls in float32: the plain calls of the harvest, and calls made from the signatures of tensor-only operators."""
    found: list[tuple[str, Call]] = []
    for name in operators.table().names():
        operator = operators.lookup(name)
        assert operator is not None
        if not operator.accepts_out or not operator.is_function or name in _SKIPPED:
            continue
        function = functools.reduce(getattr, name.split("."), _torch())
        signatures = [variant.signature for variant in operator.variants]
        arguments = plain_calls(name) or [(args, {}) for args in _made(operator)]
        for args, kwargs in arguments:
            call = bind(function, signatures, args, kwargs)
            if call is not None and attempt(call.fresh()).results:
                found.append((name, call))
    return tuple(found)


def _torch() -> Any:
    import torch

    return torch


def _made(operator: Operator) -> list[tuple[Any, ...]]:
    """Arguments for signatures whose required parameters are all tensors, in two shapes."""
    torch = _torch()
    found = []
    for variant in operator.variants:
        required = [p for p in variant.signature if p.required]
        if variant.measured and required and all(p.is_tensor for p in required):
            for shape in ((3, 4), (2, 3, 2, 4)):
                found.append(tuple(torch.rand(shape) * 0.8 + 0.1 for _ in required))
    return found


def case(draw: Draw, *, dtypes: bool = False) -> Case | None:
    """A random legal call; with `dtypes` in random dtypes, 0-dim tensors and numbers mixed in."""
    torch = draw.torch
    name, call = draw.random.choice(pool())
    if dtypes:
        chosen = [getattr(torch, draw.random.choice(MEASURED)) for _ in range(2)]
        single = draw.chance(0.5)
        counter = itertools.count()

        def change(_: str, tensor: Any) -> Any:
            if not tensor.dtype.is_floating_point:
                return tensor.clone()
            dtype = chosen[0] if single or next(counter) == 0 else draw.random.choice(chosen)
            made = cast(tensor, dtype)
            return made.flatten()[0].clone() if not single and draw.chance(0.15) else made

        call = call.mapped(change)
        if not single:
            call = _with_numbers(draw, call)
    call = call.fresh()
    rebound = bind(call.function, _signatures(name), call.args, call.kwargs)
    if rebound is None:
        return None
    functional = attempt(rebound.fresh())
    operator = operators.lookup(name)
    if not functional.results or operator is None:
        return None
    found = Case(operator, operator.variants[0], rebound, functional)
    variant = operator.variant(found.arguments)
    if variant is None or not variant.accepts_out or len(variant.outputs) != len(functional.results):
        return None
    found.variant = variant
    return found


def _signatures(name: str) -> list[Signature]:
    operator = operators.lookup(name)
    return [] if operator is None else [variant.signature for variant in operator.variants]


def _with_numbers(draw: Draw, call: Call) -> Call:
    """The call with a tensor replaced by a number where the signature takes one."""
    for parameter, value in zip(call.signature, call.args, strict=False):
        if "n" in parameter.kinds and not parameter.keyword_only and not isinstance(value, bool) and draw.chance(0.3):
            return call.but(**{parameter.name: draw.random.choice((2, 2.5, True, 2.5 + 1j))})
    return call
