"""Arguments for a function that is read on its own."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import assumptions, own_dicts
from stridelint.linter.inference.attributes import class_scope, decorator_names, find_method
from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.calls import instantiate
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.objects import Arguments, Class, Function, Instance
from stridelint.linter.inference.own_attributes import changed_later
from stridelint.linter.inference.path import BudgetExhausted, Path, Raised
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.torch_api.copying import duplicate
from stridelint.linter.inference.values import (
    Constant,
    Dtype,
    External,
    MemoryFormat,
    Number,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    forget_items,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import TensorFacts

CONSTRUCTOR_STEPS = 8_000
TENSOR_ANNOTATIONS = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.LongTensor"})


def function(path: Path, scope: Scope, node: cst.FunctionDef) -> tuple[Function, Arguments]:
    """A top-level function and arguments for it."""
    args = arguments(path, scope, node, skip=0)
    if path.program.assume and assumptions.applies(path, node, None):
        args = assumptions.assumed(path, node, args, skip=0)
    return Function(node, scope), args


def method(path: Path, scope: Scope, node: cst.FunctionDef, cls: Class) -> tuple[Function, Arguments]:
    """A method and arguments for it, the object first."""
    inner = class_scope(cls)
    bound = Function(node, inner, cls)
    names = decorator_names(node)
    if "staticmethod" in names:
        return bound, arguments(path, scope, node, skip=0)
    args = arguments(path, scope, node, skip=1)
    _indexed(node, cls, args)
    assumes = bool(path.program.assume) and assumptions.applies(path, node, cls)
    if assumes:
        args = assumptions.assumed(path, node, args, skip=1)
    receiver: Value = (
        cls
        if "classmethod" in names
        else Instance(cls)
        if node.name.value == "__init__"
        else ordinary_instance(path, cls)
    )
    if assumes and isinstance(receiver, Instance):
        assumptions.converted(path, receiver)
    return bound, args.with_first(receiver)


def _indexed(node: cst.FunctionDef, cls: Class, args: Arguments) -> None:
    """Samplers mostly give integers to the `__getitem__` of a data set, and `DataLoader` hands them on one by one."""
    if node.name.value != "__getitem__" or len(args.positional) != 1 or not isinstance(args.positional[0], Unknown):
        return
    param = [*node.params.posonly_params, *node.params.params][-1]
    if param.annotation is None and any(_is_data_set(name) for name in cls.externals()):
        args.positional[0] = SizeValue(sizes.Size.fresh(param.name.value))
        args.defaulted.add(param.name.value)


def _is_data_set(base: str) -> bool:
    """A class whose objects are indexed, not only run over."""
    if base.startswith("torch.utils.data."):
        return base.endswith("Dataset") and not base.endswith("IterableDataset")
    return base.startswith("torchvision.datasets.")


def ordinary_instance(path: Path, cls: Class) -> Instance:
    """An object as its constructor leaves it; attributes that other methods assign are not known."""
    template = path.program.templates.get(id(cls.node))
    if template is None:
        # On a path of its own: the constructor's decisions are none of the caller's.
        template = _constructed_apart(path.program, cls)
        path.program.templates[id(cls.node)] = template
    copy = duplicate(path, template, {})
    assert isinstance(copy, Instance)
    copy.cls = cls
    return copy


def _constructed_apart(program: Program, cls: Class) -> Instance:
    """An object built on its own steps, so that a large constructor leaves some for the method."""
    left, program.root_steps = program.root_steps, CONSTRUCTOR_STEPS
    try:
        return _constructed(Path(program), cls)
    except BudgetExhausted:
        if program.steps < 0:
            raise
        unfinished = Instance(cls)
        unfinished.complete = False
        return unfinished
    finally:
        program.root_steps = left


def _constructed(path: Path, cls: Class) -> Instance:
    instance = Instance(cls)
    init = find_method(instance, "__init__")
    if init is not None and isinstance(init.node, cst.FunctionDef):
        with path.mute(), path.grad(True):
            args = arguments(path, init.scope, init.node, skip=1)
            try:
                made = instantiate(path, None, cls, args)
                instance = made if isinstance(made, Instance) else instance
            except Raised:
                instance = Instance(cls)
    elif init is None:
        with path.mute():
            made = instantiate(path, None, cls, Arguments(unknown_star=True))
            instance = made if isinstance(made, Instance) else instance
    own_dicts.opened(instance)
    later = changed_later(path.program, cls)
    instance.hazy = set(later.assigned & instance.attributes.keys()) if init is not None else set()
    for name in later.filled & instance.attributes.keys():
        forget_items(instance.attributes[name])
    return instance


def arguments(path: Path, scope: Scope, node: cst.FunctionDef, skip: int) -> Arguments:
    """A value for each parameter: unknown, or what its annotation or default says."""
    args = Arguments()
    params = [*node.params.posonly_params, *node.params.params]
    for param in params[skip:]:
        value = argument(path, scope, param, args.defaulted)
        args.positional.append(value)
    for param in node.params.kwonly_params:
        args.keywords[param.name.value] = argument(path, scope, param, args.defaulted)
    args.unknown_star = isinstance(node.params.star_arg, cst.Param) or node.params.star_kwarg is not None
    return args


def argument(path: Path, scope: Scope, param: cst.Param, defaulted: set[str]) -> Value:
    """A parameter's value when only the function is read."""
    name = param.name.value
    if param.default is not None:
        with path.mute():
            default = evaluate(path, scope, param.default)
        if _is_telling(default):
            defaulted.add(name)
            return default
    if param.annotation is not None:
        annotated = from_annotation(path, scope, param.annotation.annotation, name)
        if annotated is not None:
            return annotated
    return Unknown(name)


def _is_telling(default: Value) -> bool:
    """Numbers, texts, dtypes and shapes are taken as the usual value; None and flags may well be given otherwise."""
    if isinstance(default, Constant):
        return default.value is not None and not isinstance(default.value, bool)
    if isinstance(default, Sequence):
        return default.items is not None and all(_is_telling(each) for each in default.items)
    return isinstance(default, (Dtype, MemoryFormat))


def from_annotation(path: Path, scope: Scope, node: cst.BaseExpression, name: str) -> Value | None:
    """A value of the annotated type; None where the type tells nothing."""
    if isinstance(node, cst.SimpleString):
        text = str(node.evaluated_value)
        if text.split(".")[-1] == "Tensor":
            return _tensor(path, name)
        return None
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    with path.mute():
        kind = evaluate(path, scope, node)
    dotted = kind.dotted if isinstance(kind, External) else dotted_name(node)
    if dotted in TENSOR_ANNOTATIONS:
        return _tensor(path, name)
    if dotted == "builtins.int":
        return SizeValue(sizes.Size.fresh(name))
    if dotted == "builtins.float":
        return Number("float")
    if isinstance(kind, Class) and kind.is_module:
        return ordinary_instance(path, kind) if len(path.frames) < 2 else None
    return None


def _tensor(path: Path, name: str) -> TensorValue:
    tensor = path.tensor(TensorFacts())
    tensor.name = name
    return tensor
