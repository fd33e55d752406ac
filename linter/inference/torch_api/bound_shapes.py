"""How shape functions are tied to an operator's bound arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from stridelint.rules import events
from stridelint.rules.contract import shapes
from stridelint.rules.contract.facts import Dims
from stridelint.rules.events import Operand

Bound: TypeAlias = Mapping[str, object]
Compute: TypeAlias = Callable[[Bound], Any]
UNKNOWN = events.Unknown.UNKNOWN


def shape(bound: Bound, name: str = "input") -> Dims | None:
    """The shape of a tensor argument."""
    value = bound.get(name)
    return value.facts.shape if isinstance(value, Operand) else None


def reduction(bound: Bound) -> Dims | None:
    """The shape of a reduction over `dim` with `keepdim`."""
    base = shape(bound)
    dim: Any = bound.get("dim")
    keepdim = bound.get("keepdim", False)
    if base is None or dim is UNKNOWN or keepdim is UNKNOWN:
        return None
    if not (
        dim is None or isinstance(dim, int) or (isinstance(dim, tuple) and all(isinstance(each, int) for each in dim))
    ):
        return None
    return shapes.reduced(base, dim, bool(keepdim))


def known(*values: Any) -> bool:
    """All shapes and numbers are there and known."""
    for value in values:
        if value is None or value is UNKNOWN:
            return False
        if isinstance(value, tuple) and UNKNOWN in value:
            return False
    return True


def binary(compute: Callable[[Dims, Dims], Dims | None], first: str, second: str) -> Callable[[Bound], Dims | None]:
    """A shape function of two tensors."""

    def run(bound: Bound) -> Dims | None:
        left, right = shape(bound, first), shape(bound, second)
        return None if left is None or right is None else compute(left, right)

    return run


def list_of_shapes(bound: Bound) -> list[Dims] | None:
    """The shapes of the tensors of a list, all of which must be known."""
    tensors = bound.get("tensors")
    if not isinstance(tensors, tuple):
        return None
    found = [each.facts.shape if isinstance(each, Operand) else None for each in tensors]
    return [each for each in found if each is not None] if None not in found else None


def joined(compute: Callable[[list[Dims], int], Dims | None]) -> Callable[[Bound], Dims | None]:
    """A shape function of a list of tensors and an axis."""

    def run(bound: Bound) -> Dims | None:
        all_shapes, axis = list_of_shapes(bound), bound.get("dim", 0)
        return compute(all_shapes, axis) if all_shapes and isinstance(axis, int) else None

    return run


def along(
    compute: Callable[..., Any], *names: str, defaults: Mapping[str, Any] | None = None, source: str = "input"
) -> Compute:
    """A shape function of a tensor's shape (`source`, by default the input's) and the named arguments."""

    def run(bound: Bound) -> Any:
        base = shape(bound, source)
        values = [bound.get(name, (defaults or {}).get(name)) for name in names]
        if base is None or any(value is UNKNOWN or (isinstance(value, tuple) and UNKNOWN in value) for value in values):
            return None
        return compute(base, *[value.facts.shape if isinstance(value, Operand) else value for value in values])

    return run
