"""Calls: of the file's functions and classes, of torch, of anything else."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference import contexts, decorators, elements, outs, transforms
from stridelint.linter.inference.arguments import bind
from stridelint.linter.inference.attributes import class_scope, decorator_names, find_method
from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.dispatch import CALLS, evaluate, evaluate_discarded, execute
from stridelint.linter.inference.imports import tells
from stridelint.linter.inference.objects import (
    Arguments,
    BoundMethod,
    Class,
    Context,
    Function,
    GradMode,
    Instance,
    Partial,
    Super,
    Transformer,
    TypeOf,
)
from stridelint.linter.inference.path import MAX_CALL_DEPTH, Broke, Continued, Frame, Path, Returned
from stridelint.linter.inference.purity import is_pure
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.torch_api import raw_memory
from stridelint.linter.inference.torch_api.outside_calls import call_external, call_method, call_module, initialize_base
from stridelint.linter.inference.torch_api.python_objects import make_tuple
from stridelint.linter.inference.values import (
    NONE,
    Constant,
    Device,
    Dtype,
    External,
    MemoryFormat,
    Number,
    Sequence,
    SizeValue,
    Unknown,
    Value,
)

MAX_RECURSION = 2


def call(path: Path, node: cst.Call, callee: Value, args: Arguments) -> Value:
    """The result of calling `callee`."""
    if isinstance(callee, TypeOf):
        callee = callee.cls
    result = _result(path, node, callee, args)
    if path.numbers and isinstance(result, Unknown) and _may_write(callee, args):
        path.numbers.clear()
    return result


def _may_write(callee: Value, args: Arguments) -> bool:
    """Whether a call that is not followed may get at a tensor."""
    if isinstance(callee, External):
        if callee.dotted.startswith("builtins."):
            return False
    elif not isinstance(callee, BoundMethod) or isinstance(callee.receiver, (Instance, Unknown)):
        return True
    given = (*args.positional, *args.keywords.values())
    return args.unknown_star or not all(isinstance(each, _PLAIN) for each in given)


_PLAIN = (Constant, SizeValue, Number, Dtype, MemoryFormat, Device, External)


def _result(path: Path, node: cst.Call, callee: Value, args: Arguments) -> Value:
    outs.happens(path, node)
    wrapped = raw_memory.passed(path, node, callee, args)
    if wrapped is not None:
        return wrapped
    if isinstance(callee, Function):
        return call_function(path, node, callee, args)
    if isinstance(callee, BoundMethod):
        if callee.function is not None:
            return call_function(path, node, callee.function, args.with_first(callee.receiver))
        return call_method(path, node, callee, args)
    if isinstance(callee, External):
        return call_external(path, node, callee.dotted, args)
    if isinstance(callee, Class):
        return instantiate(path, node, callee, args)
    if isinstance(callee, Partial):
        merged = Arguments(
            [*callee.args, *args.positional], {**callee.kwargs, **args.keywords}, args.nodes, args.unknown_star
        )
        return call(path, node, callee.target, merged)
    if isinstance(callee, GradMode):
        return _decorate(args, callee)
    if isinstance(callee, Transformer):
        return transforms.transformed(args.get(0), callee.transform)
    if isinstance(callee, Instance):
        if callee.is_module:
            return call_module(path, node, callee, args)
        method = find_method(callee, "__call__")
        if method is not None:
            return call_function(path, node, method, args.with_first(callee))
        if callee.external == "collections.namedtuple":
            return make_tuple(callee, args)
    return Unknown("call")


def _decorate(args: Arguments, mode: GradMode) -> Value:
    target = args.get(0)
    if isinstance(target, Function):
        wrapped = target.copy()
        wrapped.grad_mode = mode
        return wrapped
    return target or Unknown()


def special_form(path: Path, scope: Scope, node: cst.Call) -> Value | None:
    """`super()`, whose meaning depends on where it stands; None for ordinary calls."""
    function = node.func
    if type(function) is cst.Name and function.value == "super":
        inner: Scope | None = scope
        while inner is not None and (inner.receiver is None or inner.owner is None):
            inner = inner.parent
        if inner is not None and inner.receiver is not None and inner.owner is not None:
            return Super(inner.receiver, inner.owner)
        return Unknown("super")
    return None


def call_function(path: Path, node: cst.CSTNode | None, function: Function, args: Arguments) -> Value:
    """Run a function of the file with these arguments."""
    if isinstance(function.node, cst.FunctionDef):
        replaced = decorated(path, function)
        if not isinstance(replaced, Function):
            return (
                call(path, node, replaced, args)
                if isinstance(node, cst.Call) and not isinstance(replaced, Unknown)
                else Unknown("decorated")
            )
        function = replaced
        if path.program.once(function.node, _makes_context, function.node):
            return Context(lambda body: _within(path, node, function, args, body))
    return _called(path, node, function, args)


def _makes_context(node: cst.FunctionDef | cst.Lambda) -> bool:
    return isinstance(node, cst.FunctionDef) and any(
        name.split(".")[-1] in ("contextmanager", "asynccontextmanager") for name in decorator_names(node)
    )


def _within(
    path: Path, node: cst.CSTNode | None, function: Function, args: Arguments, body: Callable[[Value], None]
) -> None:
    """Run a function under @contextmanager, and `body` at its `yield`, as a part of the code that enters the context."""
    count, left, ran = len(path.frames), [], []

    def run(value: Value) -> None:
        ran.append(value)
        inner = path.frames[count:]
        del path.frames[count:]
        try:
            body(value)
        except (Returned, Broke, Continued) as way:
            left.append(way)
        finally:
            path.frames += inner

    _called(path, node, function, args, run)
    if not ran:
        body(Unknown("context"))
    elif left:
        raise left[0]


def _called(
    path: Path,
    node: cst.CSTNode | None,
    function: Function,
    args: Arguments,
    at_yield: Callable[[Value], None] | None = None,
) -> Value:
    if path.program.is_foreign(function) and not tells(args):
        return Unknown("imported")
    depth = sum(1 for frame in path.frames if frame.function.node is function.node)
    if depth >= MAX_RECURSION or len(path.frames) >= MAX_CALL_DEPTH:
        return Unknown("recursion")
    scope = Scope(function.scope)
    scope.owner = function.owner or function.scope.owner
    if function.transforms:
        args = transforms.arguments(path, function, args)
    if not bind(path, scope, function, args):
        return Unknown("arguments")
    scope.defaulted = set(args.defaulted)
    discarded = (
        node
        if node is not None and node is path.discarded and path.program.once(function.node, is_pure, function.node)
        else None
    )
    frame = Frame(function, path.discard_site or discarded if discarded is not None else None, node, args)
    frame.at_yield = at_yield
    outs.enter(path, frame, scope)
    saved, path.discarded, claim = path.grad_mode, None, path.claim
    kinds = frozenset(each.kind for each in function.transforms)
    around, path.transforms = path.transforms, path.transforms | kinds
    mode = decorators.grad_mode_of(path, function) or (GradMode(True) if "grad" in kinds else None)
    path.frames.append(frame)
    try:
        if mode is not None:
            path.grad_mode = mode.enabled
        if claim is not None and (function.owner is not None or claim.nested):
            path.claim = None  # what a function asks for its own purposes is not asserted
            frame.claim = None if claim.nested or claim.compared else claim
        around_it = decorators.contexts_around(path, function)
        result = contexts.inside(path, around_it, lambda: _run(path, scope, function, frame))
        return transforms.result(path, kinds, result) if kinds else result
    finally:
        path.frames.pop()
        if mode is not None:
            path.grad_mode = saved
        path.transforms = around
        path.claim = claim


def _run(path: Path, scope: Scope, function: Function, frame: Frame) -> Value:
    if not isinstance(function.node, cst.FunctionDef):
        if frame.discarded_call is not None:
            return evaluate_discarded(path, scope, function.node.body, frame.discarded_call)
        return evaluate(path, scope, function.node.body)
    result: Value = NONE
    before = dict(path.numbers)
    try:
        execute(path, scope, function.node.body)
    except Returned as returned:
        result = returned.value
    if frame.yielded:
        path.forget_since(before)  # it happens in between what its caller does
    if frame.given_out is not None:
        outs.left(path, frame, result)
    if frame.yielded and not frame.repeats:
        return Sequence(list(frame.yielded), "list")
    if frame.yielded:
        return Sequence(None, "list", elements.like(path, frame.yielded))
    return result


def decorated(path: Path, function: Function) -> Value:
    """What the decorators of a `def` leave: the function itself where they are known to keep its meaning."""
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    if not node.decorators or function.decorated:
        return function
    kept = function.copy()
    kept.decorated = True
    value: Value = kept

    for decorator in reversed(node.decorators):
        name = dotted_name(
            decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
        )
        if name.split(".")[-1] in transforms.DECORATORS:
            with path.mute():
                made = transforms.decorated(path, decorator, evaluate(path, function.scope, decorator.decorator), value)
            if made is not None:
                value = made
                continue
        if name.split(".")[-1] in decorators.TRANSPARENT:
            continue
        with path.mute():
            wrapper = evaluate(path, function.scope, decorator.decorator)
        if contexts.grad_mode_of(path, wrapper) is not None or contexts.decorates(wrapper):
            continue
        changed = wrapped(path, wrapper, value)
        if changed is not None:
            value = changed
        elif isinstance(wrapper, External) and wrapper.dotted.startswith(
            ("builtins.", "functools.", "typing.", "abc.", "torch.", "pytest.", "unittest.")
        ):
            continue
        else:
            return Unknown("decorated")
    return value


def wrapped(path: Path, decorator: Value, value: Value) -> Value | None:
    """What a decorator of the file makes of a function or class; None for other decorators."""
    method = find_method(decorator, "__call__") if isinstance(decorator, Instance) else None
    if method is not None:
        return call_function(path, None, method, Arguments([decorator, value]))
    if isinstance(decorator, BoundMethod) and decorator.function is not None:
        return call_function(path, None, decorator.function, Arguments([decorator.receiver, value]))
    return call_function(path, None, decorator, Arguments([value])) if isinstance(decorator, Function) else None


def instantiate(path: Path, node: cst.CSTNode | None, cls: Class, args: Arguments) -> Value:
    """An object of a class of the file, its `__init__` run."""
    instance = Instance(cls)
    instance.complete = not cls.has_unknown_base()
    method = find_method(instance, "__init__")
    if method is not None:
        result = call_function(path, node, method, args.with_first(instance))
        instance.complete &= not (isinstance(result, Unknown) and result.why in ("recursion", "arguments", "decorated"))
        return instance
    fields = dataclass_fields(path, cls)
    if fields is not None:
        _fill_fields(path, instance, fields, args)
        return instance
    base = next((name for name in sorted(cls.externals()) if name not in ("builtins.object", "torch.nn.Module")), None)
    if base is not None:
        initialize_base(path, node, instance, base, args)
    return instance


def dataclass_fields(path: Path, cls: Class) -> list[tuple[str, cst.BaseExpression | None, Scope]] | None:
    """Names and defaults of a dataclass's fields, with where these stand; None if it is none."""
    named_tuple = any(name.split(".")[-1] in ("NamedTuple", "TypedDict") for name in cls.externals())
    decorators = [name for owner in cls.linearized() for name in decorator_names(owner.node)]
    if not named_tuple and not any(
        "dataclass" in name or name.split(".")[-1] in ("define", "frozen") for name in decorators
    ):
        return None
    found: dict[str, tuple[str, cst.BaseExpression | None, Scope]] = {}
    for owner in reversed(cls.linearized()):
        for statement in owner.node.body.body:
            for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                    found[small.target.value] = (small.target.value, small.value, class_scope(owner))
    return list(found.values())


def _fill_fields(
    path: Path, instance: Instance, fields: list[tuple[str, cst.BaseExpression | None, Scope]], args: Arguments
) -> None:

    for index, (name, default, scope) in enumerate(fields):
        value = args.get(index, name)
        if value is None and default is not None and not args.unknown_star:
            value = _field_default(path, scope, default, evaluate(path, scope, default))
        instance.attributes[name] = value if value is not None else Unknown(name)
    post = find_method(instance, "__post_init__")
    if post is not None:
        call_function(path, None, post, Arguments([instance]))


def _field_default(path: Path, scope: Scope, node: cst.BaseExpression, value: Value) -> Value:
    """`field(default=...)`, `field(default_factory=...)` of dataclasses."""
    if isinstance(node, cst.Call) and dotted_name(node.func).split(".")[-1] == "field":
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value == "default":
                return evaluate(path, scope, arg.value)
            if arg.keyword is not None and arg.keyword.value == "default_factory":
                return call(path, node, evaluate(path, scope, arg.value), Arguments())
        return Unknown("field")
    return value


CALLS.update(value=call, function=call_function)
