"""What may get into each name of a module."""

from __future__ import annotations

import ast
import functools
from typing import TypeAlias

from stridelint.rules.contract.operand_kinds import DEMANDS
from stridelint.rules.screening.callees import Callees, Function
from stridelint.rules.screening.certain import parts_of, targets_of
from stridelint.rules.screening.expressions import (
    FUNCTIONS,
    beginning_of,
    captured,
    is_of_axes,
    is_text,
    item_of,
    name_of,
    of_torch,
    operands_of,
    parameter_names,
    part_of,
)
from stridelint.rules.screening.nodes import Nodes

Key: TypeAlias = tuple[str, str]
_FILLING = frozenset({"append", "extend", "insert", "update", "setdefault", "add"})
_NAMESPACES = frozenset({"SimpleNamespace", "Namespace", "EasyDict", "_replace", "replace"})
_SETTERS = frozenset({"register_buffer", "register_parameter", "setattr"})
_PROPERTIES = frozenset({"property", "cached_property"})
# Functions that call an object they are given, or whose class they are looked up in.
_CALLING = frozenset(
    "apply __call__ forward module checkpoint checkpoint_sequential functional_call map starmap submit call vmap".split()
)
# What classes give that are looped over, entered or called.
PROTOCOL = ("__iter__()", "__next__()", "__getitem__()", "__call__()", "__enter__()")
_ALL = ast.Slice(None, None, None)
# Stands for attributes whose names are computed; and for those of `self`.
ANY_NAME = "*"
ANY_OF_SELF = "self.*"
# Functions that surely are torch's own: their arguments get into no function of the module.
_TORCH_NAMES = frozenset(
    "view reshape permute transpose contiguous to size dim len range print isinstance zip enumerate int float".split()
)


class Definitions:
    """What may get into each name of a module, regardless of order: expressions, with the unit they stand in.

    Keys are (unit, name) for local names and parameters; attributes, dict keys and results of functions (`name()`, and
    `name()[0]` for the parts of a tuple) are not kept apart by unit, and have "" instead of it. What a property returns is
    its attribute.

    of: by key. told: annotations, defaults, decorators and comparisons of dtypes, which tell what a name may be.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.of: dict[Key, list[tuple[ast.expr, str]]] = {}
        self.told: dict[Key, list[ast.expr]] = {}
        self._callees = Callees(nodes)
        self.functions, self.classes = self._callees.of, self._callees.classes
        self.tuples = {cls.name for cls in nodes.classes if any(name_of(base) == "NamedTuple" for base in cls.bases)}
        self._globals = nodes.globals
        self._variables = {
            name_of(each) for node, _ in nodes.bindings for target in targets_of(node) for each in parts_of(target)
        } | {text for call, _ in nodes.calls if (text := _first_text(call))}
        self._sets_any = "setattr" in nodes.names
        self.in_lists: dict[str, int] = {}  # functions, with how many arguments they have before what comes
        self.wrapped = set(self._callees.decorators)  # names of functions: decorators may hand out something else
        for function, unit in nodes.functions:
            self._variables.update(parameter_names(function.args))
            self._described(function, unit)
        for cls in nodes.classes:
            self._constructor(cls, nodes)
        properties = {
            function.name
            for function, _ in nodes.functions
            if any(name_of(each) in _PROPERTIES for each in function.decorator_list)
        }
        self._parts: dict[str, int] = {}  # functions that return tuples: of how many parts
        for function_name, value, unit in nodes.returned:
            self._add(("", function_name + "()"), value, unit)
            if function_name in properties:
                self._add(("", function_name), value, unit)
            if isinstance(value, ast.Tuple) and function_name not in nodes.generators:
                self._parts[function_name] = max(len(value.elts), self._parts.get(function_name, 0))
        for function_name, value, unit in nodes.returned:
            for index in range(self._parts.get(function_name, 0)):
                self._add(("", f"{function_name}()[{index}]"), part_of(value, index), unit)
        for node, unit in nodes.bindings:
            self._binding(node, unit)
        for match, unit in nodes.matched:
            for case in match.cases:
                for name, value in captured(case.pattern, match.subject):
                    self._add((unit, name), value, unit)
        for call, unit in nodes.calls:
            self._passed(call, unit)
        for compared, unit in nodes.compared:
            self._dtype_compared(compared, unit)
        if self.in_lists:
            self._called_from_lists(nodes)

    def _called_from_lists(self, nodes: Nodes) -> None:
        """`for step in steps: x = step(x)`: each function of a list gets what any variable is called with, or another gave."""
        called = [
            (value, unit)
            for call, unit in nodes.calls
            if isinstance(call.func, ast.Name)
            and call.func.id not in self.functions
            and (unit, call.func.id) in self.of
            for value in call.args
        ]
        for name, given in self.in_lists.items():
            for arguments, inner in self.functions[name]:
                for parameter in (*arguments.posonlyargs, *arguments.args)[: given + 1]:
                    for value, unit in called:
                        self._add((inner, parameter.arg), value, unit)
                    for other in self.in_lists:
                        for value, unit in self.of.get(("", other + "()"), ()):
                            self._add((inner, parameter.arg), value, unit)

    def _add(self, key: Key, value: ast.expr, unit: str) -> None:
        self.of.setdefault(("", key[1]) if key in self._globals else key, []).append((value, unit))

    def _tell(self, key: Key, value: ast.expr) -> None:
        self.told.setdefault(key, []).append(value)

    def _described(self, function: ast.FunctionDef | ast.AsyncFunctionDef, unit: str) -> None:
        """Defaults, annotations and decorators (which may parametrize) tell about parameters."""
        arguments = function.args
        positional = (*arguments.posonlyargs, *arguments.args)
        defaults: list[tuple[ast.arg, ast.expr | None]] = [
            *zip(reversed(positional), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        for parameter, default in defaults:
            if default is not None:
                self._tell((unit, parameter.arg), default)
        for parameter in (*positional, *arguments.kwonlyargs):
            for told in (parameter.annotation, *function.decorator_list):
                if told is not None:
                    self._tell((unit, parameter.arg), told)

    def _constructor(self, cls: ast.ClassDef, nodes: Nodes) -> None:
        inits = [each for each in cls.body if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        for init in inits:
            self.functions.setdefault(cls.name, []).append((init.args, nodes.unit_of(init)))
        if not inits:  # a dataclass: its fields are attributes
            fields = [ast.arg(name_of(each.target)) for each in cls.body if isinstance(each, ast.AnnAssign)]
            if fields:
                self.functions.setdefault(cls.name, []).append((ast.arguments([], fields, None, [], [], None, []), ""))

    def _bind(self, target: ast.expr, value: ast.expr | None, unit: str) -> None:
        if value is None:
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = (
                value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
            )
            spread = any(isinstance(each, ast.Starred) for each in target.elts)
            for index, each in enumerate(target.elts):
                one = parts[index] if parts is not None else value if spread else item_of(value, index)
                self._bind(each, one, unit)
            return
        if isinstance(target, ast.Subscript) and name_of(target.value) == "self":
            self._add(("", "__getitem__()"), value, unit)
        while isinstance(target, (ast.Subscript, ast.Starred)):
            if isinstance(target, ast.Subscript) and is_of_axes(target.slice):
                return
            target = target.value
        if isinstance(target, ast.Name):
            self._add((unit, target.id), value, unit)
        elif isinstance(target, ast.Attribute):
            self._add(("", target.attr), value, unit)

    def _binding(self, node: ast.AST, unit: str) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value, unit)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)):
            self._bind(node.target, node.value, unit)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            is_plain = not isinstance(node.target, (ast.Tuple, ast.List))
            # The parts of a target are those of any item, not the items.
            self._bind(node.target, node.iter if is_plain else ast.Subscript(node.iter, _ALL), unit)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, node.context_expr, unit)

    def _passed(self, call: ast.Call, unit: str) -> None:
        """Arguments get into the parameters of the module's functions of that name; of any `forward` where it is unclear."""
        name = name_of(call.func)
        known = self.functions.get(name)
        if name == "cls":
            known = [each for own in self.classes for each in self.functions.get(own, [])]
        if name == "_make":
            for own in self.tuples:
                for arguments, inner in self.functions.get(own, []):
                    for field in arguments.args:
                        self._add((inner, field.arg), call, unit)
        if isinstance(call.func, ast.Call) and known is not None:  # `make(3)(x)`: what it gave is called
            known = self._callees.made_by(name)
        if known is None and self.may_call_object(call.func):
            known = self._callees.of_objects()
        self._into(known or [], call, unit, ahead=self.functions.get(name) is not known)
        self._into(self._callees.beyond(call, unit), call, unit, ahead=True)
        self._handed_on(call, unit)
        demand = DEMANDS.get(name.rstrip("_"))
        if demand is not None:
            kind = ast.Name("BoolTensor" if demand.kind == "bool" else "LongTensor")
            for value in operands_of(call, demand):
                if isinstance(value, (ast.Name, ast.Attribute)):
                    self._tell((unit if isinstance(value, ast.Name) else "", name_of(value)), kind)
        if name == "DataLoader":
            self._loaded(call, unit)
        if name == "__setitem__" and call.args:
            self._add(("", "__getitem__()"), call.args[-1], unit)
        if name in _NAMESPACES:
            for keyword in call.keywords:
                self._add(("", keyword.arg or ""), keyword.value, unit)
        if name in _SETTERS:
            for value in () if any(is_text(each) for each in call.args[:2]) else call.args:
                self._add(("", ANY_NAME), value, unit)
                if "self" in (beginning_of(call.func), name_of(call.args[0])):
                    self._add(("", ANY_OF_SELF), value, unit)
        if text := _first_text(call):
            for value in call.args[1:]:  # register_buffer("votes", ...)
                self._add(("", text), value, unit)
        if isinstance(call.func, ast.Attribute) and name in _FILLING:
            for value in call.args:
                self._bind(call.func.value, value, unit)

    def _into(self, functions: list[Function], call: ast.Call, unit: str, *, ahead: bool) -> None:
        """Arguments get into the parameters of these functions; ahead: where they have no `self`, one may come first, such as the
        context of a `forward` of an autograd.Function, or the object that a decorator's function gets."""
        for arguments, inner in functions:
            names, first = [each.arg for each in (*arguments.posonlyargs, *arguments.args)], ahead
            if names[:1] in (["self"], ["cls"]):
                del names[0]
                first = False
            for index, value in enumerate(call.args):
                stop = len(names) if isinstance(value, ast.Starred) else index + 1 + first
                for each in names[index:stop]:
                    self._add((inner, each), value, unit)
            if arguments.vararg is not None:
                self._listed(call.args)
                for value in call.args:
                    self._add((inner, arguments.vararg.arg), value, unit)
            for keyword in call.keywords:
                self._add((inner, keyword.arg or ""), keyword.value, unit)
                if arguments.kwarg is not None:
                    self._add((inner, arguments.kwarg.arg), keyword.value, unit)

    def may_call_object(self, function: ast.expr) -> bool:
        """Whether what is called may be an object of a class of this module: a variable, an attribute that the module
        sets, or something computed; not an imported function, or a method of tensors."""
        if not isinstance(function, (ast.Name, ast.Attribute)):
            return True
        name = name_of(function)
        if name in _TORCH_NAMES or of_torch(function):
            return False
        known = name in self._variables or name in self.wrapped or name in _CALLING
        return known or (isinstance(function, ast.Attribute) and self._sets_any)

    def returns_itself(self, name: str) -> bool:
        """Whether it is a plain function of this module: what comes out of it is what it returns."""
        return name in self.functions and name not in self.classes | self.wrapped | self._variables

    def part_of_result(self, node: ast.Subscript) -> Key | None:
        """The key of `f(x)[0]` where every function of that name is the module's own, and one returns a tuple written out."""
        call, index = node.value, node.slice
        if not isinstance(call, ast.Call) or not isinstance(index, ast.Constant) or type(index.value) is not int:
            return None
        name = name_of(call.func)
        if not 0 <= index.value < self._parts.get(name, 0) or name in self.classes:
            return None
        return None if self.may_call_object(call.func) or of_torch(call.func) else ("", f"{name}()[{index.value}]")

    @functools.cached_property
    def _registered(self) -> set[str]:
        return {
            name
            for name, roots in self._callees.decorators.items()
            if any(root in self.functions or root in self._variables for root in roots)
        }

    def picked(self, function: ast.expr, unit: str) -> set[str]:
        """Functions of the module that a computed callee may be, as in `table["name"](x)`: those that decorators of the module may
        keep, and those that are values of its container."""
        if isinstance(function, ast.Name) and function.id not in self.functions:
            given = [
                value
                for value, _ in self.of.get((unit, function.id), ())
                if isinstance(value, (ast.Subscript, ast.Call))
            ]
            return {name for value in given for name in self.picked(value, unit)}
        if not isinstance(function, (ast.Subscript, ast.Call)):
            return set()
        root = beginning_of(function)
        within = self._callees.within(root) if isinstance(function, ast.Call) else ()
        held = [value for key in ((unit, root), ("", root)) for value, _ in self.of.get(key, ())]
        return (
            self._registered
            | set(within)
            | {
                each.id
                for value in held
                for each in ast.walk(value)
                if isinstance(each, ast.Name) and each.id in self.functions
            }
        )

    def _loaded(self, call: ast.Call, unit: str) -> None:
        """A loader gives what its data set holds, and its `collate_fn` makes of that."""
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        held = [*call.args[:1], *(given[name] for name in ("dataset",) if name in given)]
        held += [ast.Call(ast.Name(name), [], []) for name in ("__getitem__", "__iter__") if name in self.functions]
        collate = given.get("collate_fn")
        while isinstance(collate, ast.Call) and name_of(collate.func) == "partial" and collate.args:
            collate = collate.args[0]
        for value in held:
            self._add(("", "DataLoader()"), value, unit)
        if collate is None:
            return
        self._add(("", "DataLoader()"), ast.Call(collate, [], []), unit)
        name = name_of(collate)
        known = self.functions.get("__call__" if name in self.classes or name not in self.functions else name, [])
        if isinstance(collate, ast.Lambda):
            known = [(collate.args, unit)]
        for arguments, inner in known:
            names = [each.arg for each in (*arguments.posonlyargs, *arguments.args) if each.arg not in ("self", "cls")]
            for parameter in names:
                for value in held:
                    self._add((inner, parameter), value, unit)

    def _handed_on(self, call: ast.Call, unit: str) -> None:
        """A function that is an argument may get any of the others; one in a list, whatever the object is called with."""
        for each in call.args:
            if isinstance(each, (ast.List, ast.Tuple)):
                self._listed(each.elts)
            elif isinstance(each, ast.Name) and each.id in self.functions and each.id not in self.classes:
                for arguments, inner in self.functions[each.id]:
                    for parameter in (*arguments.posonlyargs, *arguments.args):
                        for value in call.args:
                            if value is not each:
                                self._add((inner, parameter.arg), value, unit)

    def _listed(self, values: list[ast.expr]) -> None:
        for each in values:
            given = 0
            if isinstance(each, ast.Call) and name_of(each.func) == "partial" and each.args:
                given, each = len(each.args) - 1, each.args[0]
            if isinstance(each, ast.Name) and each.id in self.functions:
                self.in_lists[each.id] = max(given, self.in_lists.get(each.id, 0))

    def _dtype_compared(self, node: ast.Compare, unit: str) -> None:
        """`x.dtype == torch.bool` tells what x may be."""
        sides = (node.left, *node.comparators)
        for side in sides:
            if isinstance(side, ast.Attribute) and side.attr == "dtype":
                for other in sides:
                    if other is not side:
                        self._tell((unit if isinstance(side.value, ast.Name) else "", name_of(side.value)), other)


def _first_text(call: ast.Call) -> str:
    """The name in `register_buffer("votes", votes)`."""
    first = call.args[0] if len(call.args) > 1 else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
