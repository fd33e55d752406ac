"""Cheap questions about a module's stdlib tree: can a rule fire in it at all?

`Nodes` sorts the nodes of a module in one walk, shared by all rules. `Flow` follows, by name and regardless of order, to
which variables, attributes, parameters and results values of some property may get. It never misses one that the
interpreter would find: a rule's screen may be asked instead of reading the file.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

# Stands for `x += y` among a function's names.
IN_PLACE = "augmented assignment"
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


class Nodes:
    """A module's nodes by kind. Each comes with its unit: the outermost function it stands in, "" at module level."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.places: dict[object, frozenset[str] | None] = {}  # by rule: where it can fire
        self.calls: list[tuple[ast.Call, str]] = []
        self.bindings: list[tuple[ast.AST, str]] = []
        self.statements: list[tuple[ast.expr, str]] = []
        self.functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]] = []
        self.classes: list[ast.ClassDef] = []
        self.returned: list[tuple[str, ast.expr, str]] = []
        self.has_negative_step = False
        self.operations: list[tuple[ast.BinOp, str]] = []
        self.compared: list[tuple[ast.Compare, str]] = []
        self._names: dict[str, set[str]] = {"": set()}
        self._variables: dict[str, set[str]] = {"": set()}
        self._units: dict[int, str] = {}
        waiting: list[tuple[ast.AST, str, str]] = [(tree, "", "")]
        count = 0
        while waiting:
            node, unit, function = waiting.pop()
            kind = type(node)
            if kind is ast.Name:
                self._variables[unit].add(node.id)  # type: ignore[attr-defined]
                continue
            if kind is ast.Constant:
                continue
            if kind is ast.Attribute:
                self._names[unit].add(node.attr)  # type: ignore[attr-defined]
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
            elif kind in (ast.Return, ast.Yield) and node.value is not None:  # type: ignore[attr-defined]
                self.returned.append((function, node.value, unit))  # type: ignore[attr-defined]
            elif kind is ast.BinOp:
                self.operations.append((node, unit))  # type: ignore[arg-type]
            elif kind is ast.Slice:
                self.has_negative_step |= isinstance(node.step, ast.UnaryOp)  # type: ignore[attr-defined]
            elif kind is ast.Compare:
                self.compared.append((node, unit))  # type: ignore[arg-type]
            if kind is ast.AugAssign:
                self._names[unit].add(IN_PLACE)
            elif kind is ast.keyword and node.arg is not None:  # type: ignore[attr-defined]
                self._names[unit].add(node.arg)  # type: ignore[attr-defined]
            elif kind is ast.alias:
                self._names[unit].add(node.name.rpartition(".")[2])  # type: ignore[attr-defined]
            for child in ast.iter_child_nodes(node):
                waiting.append((child, unit, function))
        for key, variables in self._variables.items():
            self._names[key] |= variables
        self.names = frozenset().union(*self._names.values())

    def unit_of(self, function: ast.AST | None) -> str:
        """The key of an outermost function; of the module's own code for None."""
        return "" if function is None else self._units.get(id(function), "")

    def names_in(self, function: ast.AST | None) -> set[str]:
        """Identifiers in an outermost function, or (None) outside of all."""
        return self._names[self.unit_of(function)]

    def variables_in(self, function: ast.AST | None) -> set[str]:
        """Those of them that stand alone, not behind a dot."""
        return self._variables[self.unit_of(function)]

    @staticmethod
    def names_below(node: ast.AST) -> frozenset[str]:
        """Identifiers in any part of the tree."""
        return frozenset(name_of(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


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


class Flow:
    """To which names values with a property may get. Subclasses say what starts it, in `starts` and `stops`.

    Local names are kept apart by unit; attributes, dict keys and results of functions are not.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.found: set[tuple[str, str]] = set()
        self._values: list[tuple[tuple[str, str], ast.expr, str]] = []
        self._parameters: dict[str, list[tuple[ast.arguments, str]]] = {}
        self._collect()
        self._settle()

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Whether a value has the property by itself (True), surely has not (False), or as its parts have it (None)."""
        raise NotImplementedError

    def holds(self, node: ast.expr, unit: str) -> bool:
        """Whether an expression's value may have the property."""
        answer = self.starts(node, unit)
        if answer is not None:
            return answer
        if isinstance(node, ast.Name):
            return (unit, node.id) in self.found or ("", node.id) in self.found
        if isinstance(node, ast.Attribute):
            return ("", node.attr) in self.found or self.holds(node.value, unit)
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name and ("", name + "()") in self.found:
                return True
            receiver = isinstance(node.func, ast.Attribute) and self.holds(node.func.value, unit)
            return receiver or any(self.holds(each, unit) for each in arguments_of(node))
        if isinstance(node, ast.Lambda):
            return self.holds(node.body, unit)
        return any(self.holds(each, unit) for each in expressions_in(node))

    def _collect(self) -> None:
        for function, unit in self.nodes.functions:
            self._parameters.setdefault(function.name, []).append((function.args, unit))
        for cls in self.nodes.classes:
            for function, unit in self.nodes.functions:
                if function in cls.body and function.name == "__init__":
                    self._parameters.setdefault(cls.name, []).append((function.args, unit))
        for function_name, value, unit in self.nodes.returned:
            self._values.append((("", function_name + "()"), value, unit))
        for node, unit in self.nodes.bindings:
            self._binding(node, unit)
        for call, unit in self.nodes.calls:
            self._passed(call, unit)

    def _bind(self, target: ast.expr, value: ast.expr | None, unit: str) -> None:
        if value is None:
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = (
                value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
            )
            for index, each in enumerate(target.elts):
                self._bind(each, value if parts is None else parts[index], unit)
            return
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, ast.Name):
            self._values.append(((unit, target.id), value, unit))
        elif isinstance(target, ast.Attribute):
            self._values.append((("", target.attr), value, unit))

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
        known = self._parameters.get(name)
        if known is None and name not in _TORCH_NAMES:
            known = [each for kind in ("forward", "__call__") for each in self._parameters.get(kind, [])]
        for arguments, inner in known or []:
            names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
            if names[:1] in (["self"], ["cls"]):
                del names[0]
            for index, value in enumerate(call.args):
                for each in names[index:] if isinstance(value, ast.Starred) else names[index : index + 1]:
                    self._values.append(((inner, each), value, unit))
            if arguments.vararg is not None:
                self._values += [((inner, arguments.vararg.arg), value, unit) for value in call.args]
            for keyword in call.keywords:
                self._values.append(((inner, keyword.arg or ""), keyword.value, unit))
        if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            self._values += [(("", call.args[0].value), value, unit) for value in call.args[1:]]
        if isinstance(call.func, ast.Attribute) and name in (
            "append",
            "extend",
            "insert",
            "update",
            "setdefault",
            "add",
        ):
            for value in call.args:
                self._bind(call.func.value, value, unit)

    def _settle(self) -> None:
        rest = self._values
        while True:
            before, later = len(self.found), []
            for key, value, unit in rest:
                if key not in self.found:
                    if self.holds(value, unit):
                        self.found.add(key)
                    elif not isinstance(value, ast.Constant):
                        later.append((key, value, unit))
            if before == len(self.found):
                return
            rest = later


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
