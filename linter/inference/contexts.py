"""`with` blocks: grad modes, autocast, default devices, and blocks that are meant to fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.stores import assign
from stridelint.linter.inference.values import (
    Device,
    Dtype,
    External,
    GradMode,
    Instance,
    Sequence as Sequence_,
    Unknown,
    Value,
)

GRAD_OFF = frozenset(
    {
        "torch.no_grad",
        "torch.inference_mode",
        "torch.autograd.no_grad",
        "torch.autograd.inference_mode",
        "torch.autograd.grad_mode.no_grad",
    }
)
GRAD_ON = frozenset({"torch.enable_grad", "torch.autograd.enable_grad"})
AUTOCAST = frozenset(
    {
        "torch.autocast",
        "torch.amp.autocast",
        "torch.cuda.amp.autocast",
        "torch.cpu.amp.autocast",
        "torch.amp.autocast_mode.autocast",
    }
)
MEANT_TO_FAIL = frozenset({"pytest.raises", "pytest.warns", "contextlib.suppress", "pytest.deprecated_call"})
FAIL_METHODS = frozenset({"assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "assertRaisesRegexp"})


@contextmanager
def entered(path: Path, scope: Scope, items: Sequence[cst.WithItem]) -> Iterator[bool]:
    """Enter the contexts of a `with` statement; yields whether exceptions end inside it."""
    from stridelint.linter.inference.expressions import evaluate

    saved = (path.grad_mode, path.autocast, path.default_device, path.muted)
    swallow = False
    try:
        for item in items:
            if is_meant_to_fail(path, scope, item.item):
                path.muted += 1
                swallow = True
                value: Value = Unknown("context")
            else:
                value = evaluate(path, scope, item.item)
                value = _enter(path, value)
            if item.asname is not None:
                assign(path, scope, item.asname.name, value, item)
        yield swallow
    finally:
        path.grad_mode, path.autocast, path.default_device, path.muted = saved


def _enter(path: Path, value: Value) -> Value:
    if isinstance(value, External):  # `with torch.no_grad:` is not legal, `torch.no_grad()` is called
        return Unknown("context")
    if isinstance(value, GradMode):
        path.grad_mode = value.enabled
        return value
    if isinstance(value, Sequence_) and value.sample is not None:
        return value.sample  # a generator under @contextmanager
    if isinstance(value, Instance) and value.external in AUTOCAST:
        dtype, device = value.attributes.get("dtype"), value.attributes.get("device")
        known = isinstance(dtype, Dtype) and isinstance(device, Device)
        path.autocast = f"{device.name} {dtype.name}" if known else "unknown"  # type: ignore[union-attr]
    elif isinstance(value, Device):
        path.default_device = value.name
    elif isinstance(value, Unknown) and value.why == "device":
        path.default_device = None
    elif isinstance(value, Instance) and value.cls is not None:
        from stridelint.linter.inference.attributes import find_method
        from stridelint.linter.inference.calls import call_function
        from stridelint.linter.inference.values import Arguments

        method = find_method(value, "__enter__")
        return call_function(path, None, method, Arguments([value])) if method is not None else Unknown("context")
    return Unknown("context")


def is_meant_to_fail(path: Path, scope: Scope, node: cst.BaseExpression) -> bool:
    """`pytest.raises(...)`, `self.assertRaises(...)` and their like."""
    from stridelint.linter.inference.expressions import evaluate

    if not isinstance(node, cst.Call):
        return False
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in FAIL_METHODS:
        return True
    if not isinstance(node.func, (cst.Name, cst.Attribute)):
        return False
    callee = evaluate(path, scope, node.func)
    return isinstance(callee, External) and callee.dotted in MEANT_TO_FAIL


def grad_mode_of(path: Path, value: Value) -> GradMode | None:
    """The grad mode that a decorator sets: `@torch.no_grad()` or `@torch.no_grad`."""
    if isinstance(value, GradMode):
        return value
    if isinstance(value, External):
        if value.dotted in GRAD_OFF:
            return GradMode(False)
        if value.dotted in GRAD_ON:
            return GradMode(True)
    return None


__all__ = ["entered", "grad_mode_of", "is_meant_to_fail"]
