"""What a test asserts: recorded as the assertion's expression is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Condition, TensorValue, Unknown, Value
from stridelint.rules.events import Assertion, Site


@contextmanager
def asserting(path: Path, node: cst.CSTNode, negated: bool = False) -> Iterator[None]:
    """What is asked of tensors in this block is asserted at `node`."""
    previous = path.assertion, path.negated
    path.assertion, path.negated = node, negated
    try:
        yield
    finally:
        path.assertion, path.negated = previous


def record(path: Path, kind: str, tensors: list[TensorValue], arguments: dict[str, object], node: cst.CSTNode | None = None) -> None:
    """Note a check of tensors, at the assertion under way or at `node` (an assertion by itself)."""
    from stridelint.linter.inference.torch_api.emit import operand

    site = path.assertion if path.assertion is not None else node
    if site is None or path.muted:
        return
    operands = tuple(operand(path, tensor) for tensor in tensors)
    path.assertions.append(Assertion(kind, operands, Site(site), arguments, not path.negated))


def assume(path: Path, value: Value) -> None:
    """Go on as if the condition held (it was asserted)."""
    known = path.known_truth(value)
    if known is not None:
        return
    if isinstance(value, Condition):
        path.assumptions.setdefault(value.key, not value.negated)
        if value.assume is not None:
            value.assume(True)
    elif isinstance(value, Unknown):
        value.none = False
        path.assumptions.setdefault(("truth", value.identity), True)
