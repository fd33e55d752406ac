"""A module's nodes, sorted in one walk for all rules."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, TypeVar

from stridelint.rules.screening.expressions import FUNCTIONS, arguments_of, name_of, parameter_names

if TYPE_CHECKING:
    from stridelint.rules.rule import Rule
    from stridelint.rules.screening.definitions import Definitions
    from stridelint.rules.screening.flow import Flow

# Stands for `x += y` among a function's names.
IN_PLACE = "augmented assignment"
CHANNELS_LAST = frozenset({"channels_last", "channels_last_3d"})
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
        self._channels_last = 0  # how often it is named
        self.operations: list[tuple[ast.BinOp, str]] = []
        self.compared: list[tuple[ast.Compare, str]] = []
        self.globals: set[tuple[str, str]] = set()
        self._names: dict[str, set[str]] = {"": set()}
        self._variables: dict[str, set[str]] = {"": set()}
        self._units: dict[int, str] = {}
        self._flows: dict[type[Flow], Flow] = {}
        renamed: dict[str, str] = {}  # `from torch.nn.parallel import DistributedDataParallel as DDP`
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
                self._names[unit].update(parameter_names(node.args))
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
                if node.asname is not None and "." not in node.name:  # type: ignore[attr-defined]
                    renamed[node.asname] = last  # type: ignore[attr-defined]
            for child in ast.iter_child_nodes(node):
                waiting.append((child, unit, function))
        if renamed:
            self._call_by_own_names(renamed)
        for key, variables in self._variables.items():
            self._names[key] |= variables
        self.names = frozenset().union(*self._names.values())

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
        asked = [side for node, _ in self.compared for side in (node.left, *node.comparators)]
        asked += [
            value for call, _ in self.calls if name_of(call.func) == "is_contiguous" for value in arguments_of(call)
        ]
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
    def definitions(self) -> Definitions:
        """What may get into each name."""
        from stridelint.rules.screening.definitions import Definitions

        return Definitions(self)

    @staticmethod
    def names_below(node: ast.AST) -> frozenset[str]:
        """Identifiers in any part of the tree."""
        return frozenset(name_of(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


def _names_channels_last(node: ast.expr) -> bool:
    return (node.value if isinstance(node, ast.Constant) else name_of(node)) in CHANNELS_LAST


@functools.lru_cache(maxsize=1)
def nodes_of(tree: ast.Module) -> Nodes:
    """The nodes of a module; asked by several rules in a row."""
    return Nodes(tree)
