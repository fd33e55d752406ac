"""`with` blocks: grad modes, autocast, default devices, and blocks that are meant to fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

import libcst as cst

from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.dispatch import call_function, evaluate
from stridelint.linter.inference.objects import Arguments, Context, Function, GradMode, Instance
from stridelint.linter.inference.path import Path, Raised
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.stores import assign
from stridelint.linter.inference.torch_api import hooks
from stridelint.linter.inference.values import NONE, Device, Dtype, External, Unknown, Value

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
GRAD_OFF_OR_ON = {**dict.fromkeys(GRAD_OFF, False), **dict.fromkeys(GRAD_ON, True)}
STACK = "contextlib.ExitStack"
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


def within(path: Path, scope: Scope, items: Sequence[cst.WithItem], body: Callable[[], None]) -> None:
    """Run the body of a `with` statement in its contexts."""
    if not items:
        body()
        return
    item, rest = items[0], items[1:]
    if is_meant_to_fail(path, scope, item.item):
        try:
            with path.mute():
                _bind(path, scope, item, Unknown("context"))
                within(path, scope, rest, body)
        except Raised:
            pass
        return

    before = _modes(path)
    value = evaluate(path, scope, item.item)
    if isinstance(value, Unknown) and _is_harmless(_called(path, scope, item.item)):
        value = NONE
    entered(path, value, lambda given: _bound(path, scope, items, given, body), before)


def _bound(path: Path, scope: Scope, items: Sequence[cst.WithItem], value: Value, body: Callable[[], None]) -> None:
    _bind(path, scope, items[0], value)
    within(path, scope, items[1:], body)


def _bind(path: Path, scope: Scope, item: cst.WithItem, value: Value) -> None:
    if item.asname is not None:
        assign(path, scope, item.asname.name, value, item)


_Modes: TypeAlias = tuple[bool | None, str, str | None]


def _modes(path: Path) -> _Modes:
    return path.grad_mode, path.autocast, path.default_device


def entered(path: Path, context: Value, body: Callable[[Value], None], before: _Modes | None = None) -> None:
    """Run `body` with what entering a context gives, and leave the context; `before`: the modes to go back to."""
    before = _modes(path) if before is None else before
    if isinstance(context, Context):
        context.within(body)
        return
    value = enter(path, context)
    changed = _modes(path) != before or _is_stack(context)
    try:
        body(value)
    finally:
        _leave(path, context)
        if changed:
            path.grad_mode, path.autocast, path.default_device = before


def _leave(path: Path, context: Value) -> None:
    method = _own_method(context, "__exit__")
    if method is not None:
        _call(path, method, [context, NONE, NONE, NONE])
    elif isinstance(context, Instance) and context.external == hooks.HANDLE:
        hooks.removed(context)


def enter(path: Path, value: Value) -> Value:
    """Enter a context for good; gives what `with ... as` would."""
    if isinstance(value, GradMode):
        path.grad_mode = value.enabled
        return value
    if isinstance(value, Context):
        return _left_open(path, value)
    if isinstance(value, Instance) and value.external in AUTOCAST:
        dtype, device = value.attributes.get("dtype"), value.attributes.get("device")
        known = isinstance(dtype, Dtype) and isinstance(device, Device)
        path.autocast = f"{device.name} {dtype.name}" if known else "unknown"  # type: ignore[union-attr]
    elif isinstance(value, Device):
        path.default_device = value.name
    elif isinstance(value, Unknown) and value.why == "device":
        path.default_device = None
    elif _is_stack(value):
        return value
    elif isinstance(value, Instance) and value.cls is not None:
        mode = next((GRAD_OFF_OR_ON[name] for name in value.cls.externals() if name in GRAD_OFF_OR_ON), None)
        if mode is not None:
            path.grad_mode = mode
        method = _own_method(value, "__enter__")
        return Unknown("context") if method is None else _call(path, method, [value])
    elif isinstance(value, Unknown):
        path.grad_mode = None if path.grad_mode else path.grad_mode  # it may turn gradients off
    return Unknown("context")


def decorates(value: Value) -> bool:
    """Whether it is a context that runs a function it decorates within itself, each time that is called."""
    if isinstance(value, Context):
        return True
    if _own_method(value, "__enter__") is None or _own_method(value, "__call__") is not None:
        return False
    assert isinstance(value, Instance) and value.cls is not None
    return not value.cls.externals().isdisjoint({"contextlib.ContextDecorator", *GRAD_OFF_OR_ON})


def inside(path: Path, around: Sequence[Value], run: Callable[[], Value]) -> Value:
    """What a function returns that runs within several contexts, the outermost first."""
    if not around:
        return run()
    results: list[Value] = []
    entered(path, around[0], lambda _: results.append(inside(path, around[1:], run)))
    return results[0] if results else Unknown("context")


def method_of(path: Path, context: Value, name: str, given: Value | None) -> Value:
    """A method of a context: entered and left by hand, or a stack of them."""
    if name == "__enter__":
        if isinstance(context, GradMode):
            context.previous = path.grad_mode
        return enter(path, context)
    if name == "enter_context" and given is not None:
        return enter(path, given)
    if name in ("__exit__", "close"):
        path.grad_mode = context.previous if isinstance(context, GradMode) else None
    return Unknown(name)


def _is_stack(value: Value) -> bool:
    return isinstance(value, Instance) and value.external == STACK


def _left_open(path: Path, context: Context) -> Value:
    """Enter a generator's context without leaving it: the modes stay what they are at its `yield`."""
    seen: list[tuple[Value, _Modes]] = []
    context.within(lambda value: seen.append((value, _modes(path))))
    if not seen:
        return Unknown("context")
    value, (path.grad_mode, path.autocast, path.default_device) = seen[0]
    return value


def _is_harmless(dotted: str) -> bool:
    """Something of torch or of the standard library, which leaves the grad mode alone."""
    top = dotted.partition(".")[0]
    return top == "torch" or top in sys.stdlib_module_names


def _own_method(value: Value, name: str) -> Function | None:
    return find_method(value, name) if isinstance(value, Instance) else None


def _call(path: Path, method: Function, arguments: list[Value]) -> Value:
    return call_function(path, None, method, Arguments(arguments))


def is_meant_to_fail(path: Path, scope: Scope, node: cst.BaseExpression) -> bool:
    """`pytest.raises(...)`, `self.assertRaises(...)` and their like."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in FAIL_METHODS:
        return True
    return _called(path, scope, node) in MEANT_TO_FAIL


def _called(path: Path, scope: Scope, node: cst.BaseExpression) -> str:
    """The dotted name of what a call calls, if that is imported."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, (cst.Name, cst.Attribute)):
        return ""
    callee = evaluate(path, scope, node.func)
    return callee.dotted if isinstance(callee, External) else ""


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


__all__ = ["enter", "entered", "grad_mode_of", "is_meant_to_fail", "method_of", "within"]
