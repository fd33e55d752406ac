"""Cheap questions about a module's stdlib tree: can a rule fire in it at all?

`Nodes` sorts the nodes of a module in one walk, shared by all rules. `Flow` follows, by name and regardless of order,
from where the variables, attributes, parameters and results in an expression may come, in search of some property. It
never misses one that the interpreter would find: a rule's screen may be asked instead of reading the file.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from stridelint.rules.rule import Rule

# Stands for `x += y` among a function's names.
IN_PLACE = "augmented assignment"
CHANNELS_LAST = frozenset({"channels_last", "channels_last_3d"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BINDINGS = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.NamedExpr,
    ast.For,
    ast.AsyncFor,
    ast.comprehension,
    ast.withitem,
)


SomeFlow = TypeVar("SomeFlow", bound="Flow")


class Nodes:
    """A module's nodes by kind. Each comes with its unit: the outermost function it stands in, "" at module level."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.imported: frozenset[str] = frozenset()  # names whose functions are followed in other files
        self.makers: frozenset[str] = frozenset()  # those of them that may make an unusual tensor
        self.fed: set[str] = set()  # units that use what such functions make
        self.places: dict[type[Rule], frozenset[str] | None] = {}  # by rule: where it can fire
        self.failures: dict[type[Rule], Exception] = {}  # of rules that cannot tell
        self.calls: list[tuple[ast.Call, str]] = []
        self.bindings: list[tuple[ast.AST, str]] = []
        self.statements: list[tuple[ast.expr, str]] = []
        self.functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]] = []
        self.classes: list[ast.ClassDef] = []
        self.returned: list[tuple[str, ast.expr, str]] = []
        self.has_negative_step = False
        self.has_complex_number = False
        self._channels_last = 0  # how often it is named
        self.operations: list[tuple[ast.BinOp, str]] = []
        self.compared: list[tuple[ast.Compare, str]] = []
        self.globals: set[tuple[str, str]] = set()
        self._names: dict[str, set[str]] = {"": set()}
        self._variables: dict[str, set[str]] = {"": set()}
        self._units: dict[int, str] = {}
        self._flows: dict[type[Flow], Flow] = {}
        waiting: list[tuple[ast.AST, str, str]] = [(tree, "", "")]
        count = 0
        while waiting:
            node, unit, function = waiting.pop()
            kind = type(node)
            if kind is ast.Name:
                self._variables[unit].add(node.id)  # type: ignore[attr-defined]
                self._channels_last += node.id in CHANNELS_LAST  # type: ignore[attr-defined]
                continue
            if kind is ast.Constant:
                self.has_complex_number |= type(node.value) is complex  # type: ignore[attr-defined]
                self._channels_last += node.value in CHANNELS_LAST  # type: ignore[attr-defined]
                continue
            if kind is ast.Attribute:
                self._names[unit].add(node.attr)  # type: ignore[attr-defined]
                self._channels_last += node.attr in CHANNELS_LAST  # type: ignore[attr-defined]
            elif kind is ast.Call:
                self.calls.append((node, unit))  # type: ignore[arg-type]
            elif kind is ast.Expr:
                self.statements.append((node.value, unit))  # type: ignore[attr-defined]
            elif isinstance(node, FUNCTIONS):
                function = node.name
                if not unit:
                    count += 1
                    unit = f"{node.name}#{count}"
                    self._names[unit], self._variables[unit] = set(), set()
                    self._units[id(node)] = unit
                self._names[unit].update(_parameter_names(node.args))
                self.functions.append((node, unit))
            elif kind is ast.ClassDef:
                self.classes.append(node)  # type: ignore[arg-type]
            elif kind in _BINDINGS:
                self.bindings.append((node, unit))
            elif kind in (ast.Return, ast.Yield, ast.YieldFrom) and node.value is not None:  # type: ignore[attr-defined]
                self.returned.append((function, node.value, unit))  # type: ignore[attr-defined]
            elif kind is ast.BinOp:
                self.operations.append((node, unit))  # type: ignore[arg-type]
            elif kind is ast.Slice:
                self.has_negative_step |= isinstance(node.step, ast.UnaryOp)  # type: ignore[attr-defined]
            elif kind is ast.Compare:
                self.compared.append((node, unit))  # type: ignore[arg-type]
            elif kind is ast.Global:
                self.globals.update((unit, name) for name in node.names)  # type: ignore[attr-defined]
            if kind is ast.AugAssign:
                self._names[unit].add(IN_PLACE)
            elif kind is ast.keyword and node.arg is not None:  # type: ignore[attr-defined]
                self._names[unit].add(node.arg)  # type: ignore[attr-defined]
            elif kind is ast.alias:
                last = node.name.rpartition(".")[2]  # type: ignore[attr-defined]
                self._names[unit].add(last)
                self._channels_last += last in CHANNELS_LAST
            for child in ast.iter_child_nodes(node):
                waiting.append((child, unit, function))
        for key, variables in self._variables.items():
            self._names[key] |= variables
        self.names = frozenset().union(*self._names.values())

    @functools.cached_property
    def may_convert(self) -> bool:
        """Whether something may be brought into a channels-last format by name, here or by what is imported. Other formats,
        comparisons and questions (`is_contiguous`) bring nothing into one."""
        if self.imported and "memory_format" in self.names:
            return True
        asked = [side for node, _ in self.compared for side in (node.left, *node.comparators)]
        asked += [value for call, _ in self.calls if name_of(call.func) == "is_contiguous" for value in arguments_of(call)]
        return self._channels_last > sum(_names_channels_last(each) for each in asked)

    def unit_of(self, function: ast.AST | None) -> str:
        """The key of an outermost function; of the module's own code for None."""
        return "" if function is None else self._units.get(id(function), "")

    def names_in(self, function: ast.AST | None) -> set[str]:
        """Identifiers in an outermost function, or (None) outside of all."""
        return self._names[self.unit_of(function)]

    def variables_in(self, function: ast.AST | None) -> set[str]:
        """Those of them that stand alone, not behind a dot."""
        return self._variables[self.unit_of(function)]

    def flow(self, kind: type[SomeFlow]) -> SomeFlow:
        """The flow of a kind through this module; one for all who ask."""
        if kind not in self._flows:
            self._flows[kind] = kind(self)
        found = self._flows[kind]
        assert isinstance(found, kind)
        return found

    @functools.cached_property
    def definitions(self) -> Definitions:
        """What may get into each name."""
        return Definitions(self)

    @staticmethod
    def names_below(node: ast.AST) -> frozenset[str]:
        """Identifiers in any part of the tree."""
        return frozenset(name_of(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


def _names_channels_last(node: ast.expr) -> bool:
    return (node.value if isinstance(node, ast.Constant) else name_of(node)) in CHANNELS_LAST


def _parameter_names(arguments: ast.arguments) -> Iterator[str]:
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield each.arg


@functools.lru_cache(maxsize=1)
def nodes_of(tree: ast.Module) -> Nodes:
    """The nodes of a module; asked by several rules in a row."""
    return Nodes(tree)


def name_of(node: ast.AST) -> str:
    """The last identifier of a name, attribute or call ("" for anything else)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return name_of(node.func) if isinstance(node, ast.Call) else ""


Key: TypeAlias = tuple[str, str]


class Definitions:
    """What may get into each name of a module, regardless of order: expressions, with the unit they stand in.

    Keys are (unit, name) for local names and parameters; attributes, dict keys and results of functions (`name()`) are
    not kept apart by unit, and have "" instead of it.

    of: by key. told: annotations, defaults, decorators and comparisons of dtypes, which tell what a name may be.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.of: dict[Key, list[tuple[ast.expr, str]]] = {}
        self.told: dict[Key, list[ast.expr]] = {}
        self.functions: dict[str, list[tuple[ast.arguments, str]]] = {}
        self.classes = {cls.name for cls in nodes.classes}
        self._globals = nodes.globals
        self._variables = {
            name_of(each) for node, _ in nodes.bindings for target in _targets_of(node) for each in _parts_of(target)
        } | {text for call, _ in nodes.calls if (text := _first_text(call))}
        self._sets_any = "setattr" in nodes.names
        self.in_lists: set[str] = set()
        self.wrapped: set[str] = set()  # names of functions with decorators: these may hand out something else
        for function, unit in nodes.functions:
            self.functions.setdefault(function.name, []).append((function.args, unit))
            self._variables.update(_parameter_names(function.args))
            if function.decorator_list:
                self.wrapped.add(function.name)
            self._described(function, unit)
        for cls in nodes.classes:
            self._constructor(cls, nodes)
        for function_name, value, unit in nodes.returned:
            self._add(("", function_name + "()"), value, unit)
        for node, unit in nodes.bindings:
            self._binding(node, unit)
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
        for name in self.in_lists:
            for arguments, inner in self.functions[name]:
                for parameter in (*arguments.posonlyargs, *arguments.args)[:1]:
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
            for index, each in enumerate(target.elts):
                self._bind(each, _item(value, index) if parts is None else parts[index], unit)
            return
        while isinstance(target, (ast.Subscript, ast.Starred)):
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
            self._bind(node.target, node.iter, unit)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, node.context_expr, unit)

    def _passed(self, call: ast.Call, unit: str) -> None:
        """Arguments get into the parameters of the module's functions of that name; of any `forward` where it is unclear."""
        name = name_of(call.func)
        known = self.functions.get(name)
        if name == "cls":
            known = [each for own in self.classes for each in self.functions.get(own, [])]
        if known is None and self.may_call_object(call.func):
            known = [each for kind in ("forward", "__call__") for each in self.functions.get(kind, [])]
        for arguments, inner in known or []:
            names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
            if names[:1] in (["self"], ["cls"]):
                del names[0]
            for index, value in enumerate(call.args):
                for each in names[index:] if isinstance(value, ast.Starred) else names[index : index + 1]:
                    self._add((inner, each), value, unit)
            if arguments.vararg is not None:
                for value in call.args:
                    self._add((inner, arguments.vararg.arg), value, unit)
            for keyword in call.keywords:
                self._add((inner, keyword.arg or ""), keyword.value, unit)
                if arguments.kwarg is not None:
                    self._add((inner, arguments.kwarg.arg), keyword.value, unit)
        self._handed_on(call, unit)
        if name in _NAMESPACES:
            for keyword in call.keywords:
                self._add(("", keyword.arg or ""), keyword.value, unit)
        if name in _SETTERS:
            for value in () if any(is_text(each) for each in call.args[:2]) else call.args:
                self._add(("", ANY_NAME), value, unit)
        if text := _first_text(call):
            for value in call.args[1:]:  # register_buffer("votes", ...)
                self._add(("", text), value, unit)
        if isinstance(call.func, ast.Attribute) and name in _FILLING:
            for value in call.args:
                self._bind(call.func.value, value, unit)

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

    def _handed_on(self, call: ast.Call, unit: str) -> None:
        """A function that is an argument may get any of the others; one in a list, whatever the object is called with."""
        for each in call.args:
            if isinstance(each, (ast.List, ast.Tuple)):
                self.in_lists.update(
                    part.id for part in each.elts if isinstance(part, ast.Name) and part.id in self.functions
                )
            elif isinstance(each, ast.Name) and each.id in self.functions and each.id not in self.classes:
                for arguments, inner in self.functions[each.id]:
                    for parameter in (*arguments.posonlyargs, *arguments.args):
                        for value in call.args:
                            if value is not each:
                                self._add((inner, parameter.arg), value, unit)

    def _dtype_compared(self, node: ast.Compare, unit: str) -> None:
        """`x.dtype == torch.bool` tells what x may be."""
        sides = (node.left, *node.comparators)
        for side in sides:
            if isinstance(side, ast.Attribute) and side.attr == "dtype":
                for other in sides:
                    if other is not side:
                        self._tell((unit if isinstance(side.value, ast.Name) else "", name_of(side.value)), other)


def _item(value: ast.expr, index: int) -> ast.expr:
    """One of the things that a call gives: `values` in `values, indices = x.max(1)`."""
    return ast.Subscript(value, ast.Constant(index)) if isinstance(value, ast.Call) else value


def _targets_of(node: ast.AST) -> Iterator[ast.expr]:
    """What a binding gives a value to."""
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.withitem):
        if node.optional_vars is not None:
            yield node.optional_vars
    else:
        yield node.target  # type: ignore[attr-defined]


def _parts_of(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _parts_of(each)
    elif isinstance(target, ast.Starred):
        yield from _parts_of(target.value)
    else:
        yield target


Steps: TypeAlias = "bool | list[ast.expr | Key]"


class Flow:
    """Where values with some property may be. Subclasses say what starts it, in `starts`, or all of it, in `follow`.

    Asked for an expression, it searches backwards through what may have got into its names; nothing is searched twice.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.definitions = nodes.definitions.of
        self._defined = nodes.definitions
        self._nodes = nodes
        self._has: set[Key] = set()
        self._has_not: set[Key] = set()

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Whether a value has the property by itself (True), surely has not (False), or as its parts have it (None)."""
        raise NotImplementedError

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """Whether a value has the property; or the expressions and names any of which may bring it."""
        answer = self.starts(node, unit)
        if answer is not None:
            return answer
        if isinstance(node, ast.Name):
            return [(unit, node.id), ("", node.id)]
        if isinstance(node, ast.Attribute):
            return [("", node.attr), node.value]
        if isinstance(node, ast.Call):
            steps: list[ast.expr | Key] = [("", name_of(node.func) + "()")]
            if not (isinstance(node.func, ast.Name) and self._defined.returns_itself(node.func.id)):
                steps += arguments_of(node)
            if isinstance(node.func, ast.Attribute):
                steps.append(node.func.value)
            return steps
        return [node.body] if isinstance(node, ast.Lambda) else list(expressions_in(node))

    def holds(self, node: ast.expr, unit: str) -> bool:
        """Whether an expression's value may have the property."""
        reached_from: dict[Key, Key | None] = {}
        seen: set[tuple[int, str]] = set()  # a default (`n=n`) or an annotation may lead back to itself
        waiting: list[tuple[ast.expr, str, Key | None]] = [(node, unit, None)]
        while waiting:
            each, place, origin = waiting.pop()
            steps = self._is_made_elsewhere(each, place) or self.follow(each, place)
            found = steps is True
            for step in () if isinstance(steps, bool) else steps:
                if isinstance(step, ast.AST):
                    if (id(step), place) not in seen:
                        seen.add((id(step), place))
                        waiting.append((step, place, origin))
                elif step in self._has:
                    found = True
                    break
                elif step not in reached_from and step not in self._has_not:
                    reached_from[step] = origin
                    waiting += [(value, where, step) for value, where in self.definitions.get(step, ())]
            if found:
                while origin is not None:
                    self._has.add(origin)
                    origin = reached_from[origin]
                return True
        self._has_not.update(reached_from)
        return False

    def _is_made_elsewhere(self, node: ast.expr, unit: str) -> bool:
        """Whether a function of another file makes it, of nothing that this file gives it but constants."""
        makers = self._nodes.makers
        if not (makers and isinstance(node, ast.Call) and _root(node.func) in makers):
            return False
        if name_of(node.func)[:1].isupper() or any(not isinstance(each, ast.Constant) for each in arguments_of(node)):
            return False  # objects of classes are no tensors
        self._nodes.fed.add(unit)
        return True


class TensorFlow(Flow):
    """A flow of tensors: what only tells about one (`x.shape`) has no property of it."""

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """As in `Flow`, but for such attributes."""
        if isinstance(node, ast.Attribute) and node.attr in _ABOUT:
            return False
        return super().follow(node, unit)


_ABOUT = frozenset({"shape", "dtype", "device", "ndim"})


def of_torch(node: ast.expr) -> bool:
    """Whether it is looked up in a module of torch or numpy, by the usual names."""
    return _root(node) in _MODULES


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_MODULES = frozenset({"torch", "F", "np", "nn", "numpy", "math"})
_FILLING = frozenset({"append", "extend", "insert", "update", "setdefault", "add"})
_NAMESPACES = frozenset({"SimpleNamespace", "Namespace", "EasyDict"})
_SETTERS = frozenset({"register_buffer", "register_parameter", "setattr"})
# Functions that call an object they are given, or whose class they are looked up in.
_CALLING = frozenset(
    "apply __call__ forward module checkpoint checkpoint_sequential functional_call map starmap submit call vmap".split()
)
# Stands for attributes whose names are computed.
ANY_NAME = "*"


def _first_text(call: ast.Call) -> str:
    """The name in `register_buffer("votes", votes)`."""
    first = call.args[0] if len(call.args) > 1 else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def is_text(node: ast.expr) -> bool:
    """A string literal."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def arguments_of(call: ast.Call) -> Iterator[ast.expr]:
    """The values passed to a call."""
    for each in call.args:
        yield each.value if isinstance(each, ast.Starred) else each
    for keyword in call.keywords:
        yield keyword.value


def expressions_in(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions directly below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, (ast.comprehension, ast.keyword, ast.slice)):
            yield from expressions_in(child)


# Functions that surely are torch's own: their arguments get into no function of the module.
_TORCH_NAMES = frozenset(
    "view reshape permute transpose contiguous to size dim len range print isinstance zip enumerate int float".split()
)
