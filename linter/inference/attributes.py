"""`value.name`."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import named_tuples, refilled
from stridelint.linter.inference.bindings import bound_names, dotted_name
from stridelint.linter.inference.dispatch import call_function, evaluate
from stridelint.linter.inference.objects import Arguments, BoundMethod, Class, Function, Instance, Super, TypeOf
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope, make_class, resolve_external
from stridelint.linter.inference.torch_api.tensor_attributes import tensor_attribute
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Dtype,
    External,
    Mapping,
    Sequence,
    ShapeOf,
    TensorValue,
    Unknown,
    Value,
    forget_items,
)
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.forms.walking import walk

_TENSOR_LIKE = frozenset(
    {"T", "mT", "H", "mH", "data", "grad", "real", "imag", "dtype", "device", "ndim", "requires_grad", "shape"}
)


def attribute(path: Path, value: Value, name: str, node: cst.CSTNode | None = None) -> Value:
    """The value of an attribute; Unknown where it is not known."""
    if isinstance(value, External):
        return resolve_external(path, f"{value.dotted}.{name}", path.program.index)
    if isinstance(value, TensorValue):
        return tensor_attribute(path, value, name, node)
    if isinstance(value, Instance):
        return instance_attribute(path, value, name)
    if isinstance(value, ArrayValue):
        from stridelint.linter.inference.torch_api.numpy_arrays import array_attribute

        return array_attribute(value, name, node)
    if name == "__name__" and isinstance(value, (Class, Function)):
        return (
            Constant(value.node.name.value)
            if isinstance(value.node, (cst.ClassDef, cst.FunctionDef))
            else Unknown(name)
        )
    if isinstance(value, Class):
        return _of_class(path, value, name)
    if isinstance(value, TypeOf):
        return _of_type(path, value.cls, name)
    if isinstance(value, Super):
        return _super_attribute(path, value, name)
    if isinstance(value, Unknown):
        return _unknown_attribute(path, value, name, node)
    if isinstance(value, Sequence) and value.fields and name in value.fields and value.items is not None:
        return value.items[value.fields.index(name)]
    if isinstance(value, Sequence) and value.fields and name == "_fields":
        return named_tuples.names_value(value.fields)
    if isinstance(value, ShapeOf) and name == "numel":
        return BoundMethod(value.tensor, "numel")
    if isinstance(value, Dtype) and name in ("is_floating_point", "is_complex"):
        return Constant(kind_of(value.name) == ("float" if name == "is_floating_point" else "complex"))
    return BoundMethod(value, name)


def _of_class(path: Path, cls: Class, name: str) -> Value:
    from stridelint.linter.inference.torch_api.python_objects import enum_member, is_autograd_function

    found = class_attribute(path, cls, name)
    if found is not None:
        return enum_member(cls, name, found) if cls.bases else found
    if name == "_make" and named_tuples.is_one(cls):
        return BoundMethod(cls, name)
    return BoundMethod(cls, name) if name == "apply" and is_autograd_function(cls) else Unknown(name)


def _of_type(path: Path, cls: Class, name: str) -> Value:
    """What the class holds under a name, unless methods change that."""
    changed = any(name in path.program.once(owner.node, _set_on_types, owner.node) for owner in cls.linearized())
    found = None if changed else class_attribute(path, cls, name)
    return Unknown(name) if found is None else found


def _set_on_types(cls: cst.ClassDef) -> frozenset[str]:
    """The attributes that code in a class assigns on anything but `self`."""
    targets: list[cst.CSTNode] = []
    for node in walk(cls, cst.Assign, cst.AnnAssign, cst.AugAssign):
        if isinstance(node, cst.Assign):
            targets += [each.target for each in node.targets]
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
            targets.append(node.target)
    return frozenset(
        target.attr.value
        for target in targets
        if isinstance(target, cst.Attribute)
        and not (isinstance(target.value, cst.Name) and target.value.value == "self")
    )


def _unknown_attribute(path: Path, value: Unknown, name: str, node: cst.CSTNode | None) -> Value:
    if name in value.attributes:
        return value.attributes[name]
    like_tensor = name in _TENSOR_LIKE
    value.attributes[name] = (
        tensor_attribute(path, as_tensor(path, value), name, node) if like_tensor else BoundMethod(value, name)
    )
    return value.attributes[name]


def as_tensor(path: Path, value: Unknown) -> TensorValue:
    """The tensor that an unknown value is, if it is one."""
    if value.tensor is None:
        value.tensor = path.tensor(TensorFacts())
        value.tensor.proven = False
        value.tensor.name = value.why or None
    return value.tensor


def instance_attribute(path: Path, instance: Instance, name: str) -> Value:
    """An attribute of an object: its own, a method, a class attribute, or what torch.nn.Module provides."""
    from stridelint.linter.inference.torch_api.modules import module_attribute

    if name in instance.hazy:
        return instance.attributes.setdefault(f"?{name}", Unknown(name))
    if name in instance.attributes:
        if name in instance.defaulted:
            path.weaken(Confidence.LIKELY)
        return instance.attributes[name]
    if instance.cls is not None:
        if name == "__class__":
            return TypeOf(instance.cls)
        found = class_attribute(path, instance.cls, name, instance)
        if found is not None:
            return found
    if instance.is_module:
        provided = module_attribute(path, instance, name)
        if provided is not None:
            return provided
    kept = dict_method(instance, name)
    if kept is not None:
        return kept
    if instance.cls is None or (name in named_tuples.METHODS and named_tuples.is_one(instance.cls)):
        return BoundMethod(instance, name)
    return instance.attributes.setdefault(
        name, BoundMethod(instance, name) if instance.complete and name in _OBJECT_METHODS else Unknown(name)
    )


def dict_method(instance: Instance, name: str) -> BoundMethod | None:
    """A method of the dict that an object is, such as `get`; None for other objects."""
    from stridelint.linter.inference import own_dicts

    kept = own_dicts.entries(instance) if name in own_dicts.METHODS else None
    return None if kept is None else BoundMethod(kept, name)


_OBJECT_METHODS = frozenset(
    {
        "parameters",
        "named_parameters",
        "buffers",
        "modules",
        "children",
        "state_dict",
        "register_buffer",
        "register_parameter",
    }
)


def class_attribute(path: Path, cls: Class, name: str, instance: Instance | None = None) -> Value | None:
    """A method or class-level assignment of a class or its bases in the file; None if there is none."""
    for owner in cls.linearized():
        if name in owner.attributes:
            return owner.attributes[name]
        for statement in path.program.once(owner.node, _by_name, owner.node).get(name, ()):
            if isinstance(statement, cst.FunctionDef):
                return _method(path, owner, statement, instance, cls)
            if isinstance(statement, cst.ClassDef):
                owner.attributes[name] = make_class(path, ClassBody(owner), statement)
                return owner.attributes[name]
            if isinstance(statement, cst.SimpleStatementLine):
                found = _class_value(path, owner, statement, name)
                if found is not None:
                    return found
    return (
        named_tuples.names_value(named_tuples.fields_of(cls))
        if name == "_fields" and named_tuples.is_one(cls)
        else None
    )


def _by_name(cls: cst.ClassDef) -> dict[str, list[cst.CSTNode]]:
    """The statements of a class's body that bind each name, in their order."""
    found: dict[str, list[cst.CSTNode]] = {}
    for statement in cls.body.body:
        parts = statement.body if type(statement) is cst.SimpleStatementLine else [statement]
        for name in {name for part in parts for name in bound_names(part)}:
            found.setdefault(name, []).append(statement)
    return found


def _class_value(path: Path, owner: Class, statement: cst.SimpleStatementLine, name: str) -> Value | None:
    if name in owner.attributes:
        return owner.attributes[name]
    scope = ClassBody(owner)
    for small in statement.body:
        if isinstance(small, cst.Assign):
            targets: list[cst.BaseExpression] = [target.target for target in small.targets]
        elif isinstance(small, cst.AnnAssign) and small.value is not None:
            targets = [small.target]
        else:
            continue
        if any(isinstance(target, cst.Name) and target.value == name for target in targets) and small.value is not None:
            with path.mute():
                value = evaluate(path, scope, small.value)
            if isinstance(value, (Mapping, Sequence)) and name in path.program.once(
                owner.node, refilled.attributes_of, owner.node
            ):
                forget_items(value)
                for each in value.entries.values() if isinstance(value, Mapping) else ():
                    forget_items(each)
            owner.attributes[name] = value
            return value
    return None


class ClassBody(Scope):
    """The names that statements of a class's body see: those bound there, which methods do not see, and those around it."""

    def __init__(self, cls: Class) -> None:
        super().__init__(cls.scope)
        self.values, self.owner, self.cls = cls.attributes, cls, cls

    def get(self, path: Path, name: str) -> Value | None:
        """The value of a name bound in the body, evaluated if it was not yet."""
        if name in self.values or name in self.cls.pending:
            return self.values.get(name)
        self.cls.pending.add(name)
        try:
            for statement in self.cls.node.body.body:
                if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                    return Function(statement, class_scope(self.cls), self.cls)
                if isinstance(statement, cst.ClassDef) and statement.name.value == name:
                    return class_attribute(path, self.cls, name)
                found = (
                    _class_value(path, self.cls, statement, name)
                    if isinstance(statement, cst.SimpleStatementLine)
                    else None
                )
                if found is not None:
                    return found
            return None
        finally:
            self.cls.pending.discard(name)


def class_scope(owner: Class) -> Scope:
    """The scope that a class's methods and class-level expressions see."""
    scope = Scope(owner.scope)
    scope.owner = owner
    return scope


def decorator_names(node: cst.FunctionDef | cst.ClassDef) -> list[str]:
    """Dotted names of decorators, called or not."""
    return [
        dotted_name(each.decorator.func if isinstance(each.decorator, cst.Call) else each.decorator)
        for each in node.decorators
    ]


def _method(path: Path, owner: Class, node: cst.FunctionDef, instance: Instance | None, cls: Class) -> Value:
    function = Function(node, class_scope(owner), owner)
    names = decorator_names(node)
    if "staticmethod" in names:
        return function
    if "classmethod" in names:
        return BoundMethod(cls, node.name.value, function)
    if instance is None:
        return function
    if any(name.split(".")[-1] in ("property", "cached_property") for name in names):
        return call_function(path, None, function, Arguments([instance]))
    return BoundMethod(instance, node.name.value, function)


def find_method(instance: Instance, name: str) -> Function | None:
    """The function that a method name of an object of the file's classes refers to."""
    if instance.cls is None:
        return None
    for owner in instance.cls.linearized():
        for statement in owner.node.body.body:
            if type(statement) is cst.FunctionDef and statement.name.value == name:
                return Function(statement, class_scope(owner), owner)
    return None


def set_attribute(path: Path, instance: Instance, name: str, value: Value) -> None:
    """Assign to an attribute of an object, through the setter of a property if there is one."""
    cls = instance.cls
    setter = path.program.once(cls.node, _setters, cls).get(name) if cls is not None else None
    if setter is not None:
        call_function(path, None, setter, Arguments([instance, value]))
        return
    hold(path, instance, name, value)
    if isinstance(value, TensorValue) and value.name is None:
        value.name = f"self.{name}"


def hold(path: Path, instance: Instance, name: str, value: Value) -> None:
    """Keep a value as an attribute, with whether it rests on the default of a parameter."""
    instance.attributes[name] = value
    instance.hazy.discard(name)
    if path.confidence < Confidence.CERTAIN:
        instance.defaulted.add(name)
    else:
        instance.defaulted.discard(name)


def _setters(cls: Class) -> dict[str, Function]:
    found = {}
    for owner in reversed(cls.linearized()):
        for statement in owner.node.body.body:
            if isinstance(statement, cst.FunctionDef) and f"{statement.name.value}.setter" in decorator_names(
                statement
            ):
                found[statement.name.value] = Function(statement, class_scope(owner), owner)
    return found


def _super_attribute(path: Path, value: Super, name: str) -> Value:
    instance = value.instance
    cls = instance.cls if isinstance(instance, Instance) else None
    order = cls.linearized() if cls is not None else value.cls.linearized()
    after = order[order.index(value.cls) + 1 :] if value.cls in order else []
    for owner in after:
        for statement in owner.node.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                return BoundMethod(instance, name, Function(statement, class_scope(owner), owner))
    method = (dict_method(instance, name) if isinstance(instance, Instance) else None) or BoundMethod(instance, name)
    if isinstance(method.receiver, Mapping):
        return method
    method.beyond = next(
        (base.dotted for owner in order for base in owner.bases if isinstance(base, External)), "builtins.object"
    )
    return method
