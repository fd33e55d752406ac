"""A module's nodes, sorted in one walk for all rules."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any, TypeVar

from stridelint.rules.screening.expressions import arguments_of, fields_of, name_of, parameter_names, root_of
from stridelint.rules.screening.words import MAX_STRING, STORE, Words, said

if TYPE_CHECKING:
    from stridelint.rules.rule import Rule
    from stridelint.rules.screening.certain import Certain
    from stridelint.rules.screening.definitions import Definitions
    from stridelint.rules.screening.flow import Flow

# Stands for `x += y` among a function's names.
IN_PLACE = "augmented assignment"
CHANNELS_LAST = frozenset({"channels_last", "channels_last_3d"})
_BINDINGS = frozenset(
    {
        ast.Assign,
        ast.AnnAssign,
        ast.AugAssign,
        ast.NamedExpr,
        ast.For,
        ast.AsyncFor,
        ast.comprehension,
        ast.withitem,
    }
)
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/=", ast.FloorDiv: "//=", ast.Mod: "%=", ast.Pow: "**=", ast.MatMult: "@=",
    ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^=", ast.LShift: "<<=", ast.RShift: ">>=",
}  # fmt: skip


SomeFlow = TypeVar("SomeFlow", bound="Flow")


class Nodes:
    """A module's nodes by kind. Each comes with its unit: the outermost function it stands in, "" at module level.

    words: what the code says, in which comments and docstrings do not count. depth: how many levels of the tree there are.
    """

    def __init__(self, tree: ast.Module) -> None:
        """Without recursion: a deep tree must be measured before anything recurses into it."""
        self.tree = tree
        self.imported: frozenset[str] = frozenset()  # names whose functions are followed in other files
        self.makers: frozenset[str] = frozenset()  # those of them that may make an unusual tensor
        self.converting: frozenset[str] = frozenset()  # those of them that may make a channels_last tensor
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
        self.operations: list[tuple[ast.BinOp, str]] = []
        self.compared: list[tuple[ast.Compare, str]] = []
        self.matched: list[tuple[ast.Match, str]] = []
        self.globals: set[tuple[str, str]] = set()
        self.captured: set[str] = set()  # names that imports, patterns and exceptions bind
        self.generators: set[str] = set()
        self.depth = 0
        self._names: dict[str, set[str]] = {"": set()}
        self._variables: dict[str, set[str]] = {"": set()}
        self._units: dict[int, str] = {}
        self._flows: dict[type[Flow], Flow] = {}
        self._renamed: dict[str, str] = {}  # `from torch.nn.parallel import DistributedDataParallel as DDP`
        self._plain: set[str] = set()
        self._attributes: set[str] = set()
        self._keywords: set[str] = set()
        self._strings: set[str] = set()
        # The functions that are still to be looked into, with where they stand and how deep.
        self._waiting: list[tuple[list[Any], str, str, int]] = [([tree], "", "", 0)]
        while self._waiting:
            self._look(*self._waiting.pop())
        if self._renamed:
            self._call_by_own_names(self._renamed)
        for key, variables in self._variables.items():
            self._names[key] |= variables
        self.names = frozenset().union(*self._names.values())
        self.words = Words(self._said())

    def _look(self, level: list[Any], unit: str, function: str, depth: int) -> None:
        """Sort the nodes below some, level by level, up to the functions within. The most frequent kinds come first."""
        names, variables, strings = self._names[unit], self._variables[unit], self._strings
        while level:
            below: list[Any] = []
            for node in level:
                kind: type[ast.AST] = type(node)
                if kind is ast.Name:
                    variables.add(node.id)
                elif kind is ast.Attribute:
                    names.add(node.attr)
                    self._attributes.add(node.attr)
                    below.append(node.value)
                elif kind is ast.Constant:
                    value = node.value
                    if type(value) is str:
                        if len(value) <= MAX_STRING:
                            strings.add(value)
                    elif type(value) is complex:
                        self.has_complex_number = True
                elif kind is ast.Call:
                    self.calls.append((node, unit))
                    below.append(node.func)
                    below += node.args
                    below += node.keywords
                elif kind is ast.keyword:
                    if node.arg is not None:
                        names.add(node.arg)
                        self._keywords.add(node.arg)
                    below.append(node.value)
                elif kind is ast.Expr:
                    if type(node.value) is not ast.Constant:  # a docstring, or a string used as a comment
                        self.statements.append((node.value, unit))
                        below.append(node.value)
                elif kind is ast.BinOp:
                    self.operations.append((node, unit))
                    below += (node.left, node.right)
                elif kind is ast.Subscript:
                    if type(node.ctx) is not ast.Load:
                        self._plain.add(STORE)
                    below += (node.value, node.slice)
                elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
                    self._definition(node, unit, depth)
                elif node is not None:  # `**more` in a display has no key, a parameter perhaps no default
                    self._other(node, unit, function)
                    for field in fields_of(kind):
                        value = getattr(node, field, None)
                        if type(value) is list:
                            below += value
                        elif value is not None:
                            below.append(value)
            level = below
            depth += 1
        self.depth = max(self.depth, depth)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef, unit: str, depth: int) -> None:
        """A function: it is a unit of its own, unless it stands in one."""
        if not unit:
            unit = f"{node.name}#{len(self._units) + 1}"
            self._names[unit], self._variables[unit] = set(), set()
            self._units[id(node)] = unit
        self._names[unit].update(parameter_names(node.args))
        self._plain.add(node.name)
        self.functions.append((node, unit))
        below = [node.args, *node.body, *node.decorator_list, *([node.returns] if node.returns else ())]
        self._waiting.append(([*below, *getattr(node, "type_params", ())], unit, node.name, depth + 1))

    def _other(self, node: Any, unit: str, function: str) -> None:
        """What a node of a kind that is not frequent tells."""
        kind = type(node)
        if kind in _BINDINGS:
            self.bindings.append((node, unit))
            if kind is ast.AugAssign:
                self._names[unit].add(IN_PLACE)
                self._plain.add(_OPERATORS[type(node.op)])
        elif kind is ast.arg:
            self._keywords.add(node.arg)
        elif kind is ast.ClassDef:
            self.classes.append(node)
            self._plain.add(node.name)
        elif kind is ast.Return or kind is ast.Yield or kind is ast.YieldFrom:
            if kind is not ast.Return:
                self.generators.add(function)
            if node.value is not None:
                self.returned.append((function, node.value, unit))
        elif kind is ast.Slice:
            self.has_negative_step |= isinstance(node.step, ast.UnaryOp)
        elif kind is ast.Compare:
            self.compared.append((node, unit))
        elif kind is ast.Match:
            self.matched.append((node, unit))
        elif kind is ast.alias:
            self._alias(node, unit)
        elif kind is ast.ImportFrom:
            self._plain.add(f"import {node.module}")
        elif kind is ast.Global or kind is ast.Nonlocal:
            self._plain.update(node.names)
            if kind is ast.Global:
                self.globals.update((unit, name) for name in node.names)
        else:  # the name of a caught exception, those in a pattern
            told = (getattr(node, "name", None), getattr(node, "rest", None), *getattr(node, "kwd_attrs", ()))
            names = [name for name in told if isinstance(name, str)]
            self._plain.update(names)
            self.captured.update(names)

    def _alias(self, node: ast.alias, unit: str) -> None:
        """An import stands for the uses of what it brings in, under whatever name."""
        last = node.name.rpartition(".")[2]
        self._names[unit].add(last)
        self.captured.add(node.asname or node.name)
        self._plain.update((node.name, f".{last}(", f"import {node.name}"))
        if node.asname is not None:
            self._plain.add(node.asname)
            if "." not in node.name:
                self._renamed[node.asname] = last

    def _said(self) -> set[str]:
        called = [call.func for call, _ in self.calls]
        plain = self._plain.union(self._keywords, *self._variables.values())
        methods = {each.attr for each in called if type(each) is ast.Attribute}
        functions = {each.id for each in called if type(each) is ast.Name}
        return said(plain, self._attributes, self._strings, methods, functions, self._keywords)

    def _call_by_own_names(self, renamed: dict[str, str]) -> None:
        """Calls of what is imported under another name stand there a second time, under its own."""
        for call, unit in tuple(self.calls):
            name = renamed.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if name is not None:
                own = ast.Call(ast.Name(name), call.args, call.keywords)
                self.calls.append((own, unit))
                self._names[unit].add(name)

    @functools.cached_property
    def may_convert(self) -> bool:
        """Whether something may be brought into a channels-last format by name, here or by what is imported. Other formats,
        comparisons and questions (`is_contiguous`) bring nothing into one."""
        if self.imported and "memory_format" in self.names:
            return True
        if CHANNELS_LAST.isdisjoint(self.names) and CHANNELS_LAST.isdisjoint(self._strings):
            return False
        asked = [side for node, _ in self.compared for side in (node.left, *node.comparators)]
        asked += [
            value for call, _ in self.calls if name_of(call.func) == "is_contiguous" for value in arguments_of(call)
        ]
        return sum(map(_names_channels_last, ast.walk(self.tree))) > sum(map(_names_channels_last, asked))

    def unit_of(self, function: ast.AST | None) -> str:
        """The key of an outermost function; of the module's own code for None."""
        return "" if function is None else self._units.get(id(function), "")

    def names_in(self, function: ast.AST | None) -> set[str]:
        """Identifiers in an outermost function, or (None) outside of all."""
        return self._names[self.unit_of(function)]

    def variables_in(self, function: ast.AST | None) -> set[str]:
        """Those of them that stand alone, not behind a dot."""
        return self._variables[self.unit_of(function)]

    def variables_of(self, unit: str) -> set[str]:
        """The same by the key of a unit."""
        return self._variables[unit]

    def flow(self, kind: type[SomeFlow]) -> SomeFlow:
        """The flow of a kind through this module; one for all who ask."""
        if kind not in self._flows:
            self._flows[kind] = kind(self)
        found = self._flows[kind]
        assert isinstance(found, kind)
        return found

    @functools.cached_property
    def made_elsewhere(self) -> set[int]:
        """Calls (their identities) that may give an unusual tensor which a function of another file makes, of constants only."""
        return {
            id(call)
            for call, _ in self.calls
            if root_of(call.func) in self.makers
            and not name_of(call.func)[:1].isupper()  # objects of classes are no tensors
            and all(isinstance(each, ast.Constant) for each in arguments_of(call))
        }

    @functools.cached_property
    def definitions(self) -> Definitions:
        """What may get into each name."""
        from stridelint.rules.screening.definitions import Definitions

        return Definitions(self)

    @functools.cached_property
    def certain(self) -> Certain:
        """What is no tensor for certain."""
        from stridelint.rules.screening.certain import Certain

        return Certain(self)

    @staticmethod
    def names_below(node: ast.AST) -> frozenset[str]:
        """Identifiers in any part of the tree."""
        return frozenset(name_of(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


def _names_channels_last(node: ast.AST) -> bool:
    if isinstance(node, ast.alias):
        return node.name.rpartition(".")[2] in CHANNELS_LAST
    if isinstance(node, ast.Constant):
        return node.value in CHANNELS_LAST
    return isinstance(node, (ast.Name, ast.Attribute)) and name_of(node) in CHANNELS_LAST


@functools.lru_cache(maxsize=1)
def nodes_of(tree: ast.Module) -> Nodes:
    """The nodes of a module; asked by several rules in a row."""
    return Nodes(tree)
