"""What certainly is no tensor, judged by all that its name is bound to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stridelint.rules.screening.expressions import is_text, name_of, parameter_names, root_of
from stridelint.rules.screening.nodes import Nodes

_CONTAINERS = frozenset({"dict", "list", "set", "defaultdict", "OrderedDict", "Counter", "deque"})
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# These make arrays of numpy, whatever they are given.
_ARRAYS = frozenset("array asarray zeros ones empty full arange linspace eye".split())
_NUMPY = frozenset({"np", "numpy"})


class Certain:
    """What names of a module are bound to where every binding says so; one that does not leaves it open."""

    def __init__(self, nodes: Nodes) -> None:
        self._values: dict[tuple[str, str], list[ast.expr | None]] = {}  # None: anything
        self._own = {each.name for each, _ in nodes.functions} | {each.name for each in nodes.classes}
        self._open = self._own | nodes.captured
        for node, unit in nodes.bindings:
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) else None
            if value is None and isinstance(node, ast.AnnAssign):
                continue  # `cache: dict[str, Tensor]` binds nothing
            for target in targets_of(node):
                for each in parts_of(target):
                    if isinstance(each, ast.Name):
                        self._add(unit, each.id, value if each is target else None)
        for function, unit in nodes.functions:
            spread = (function.args.vararg, function.args.kwarg)
            for name in (*parameter_names(function.args), *(each.arg for each in spread if each is not None)):
                self._add(unit, name, None)
        for unit, name in nodes.globals:
            self._add(unit, name, None)
            self._add("", name, None)

    def _add(self, unit: str, name: str, value: ast.expr | None) -> None:
        self._values.setdefault((unit, name), []).append(value)

    def stores_elsewhere(self, target: ast.Subscript, unit: str) -> bool:
        """Whether `target = value` stores into a dict, a list or an array: its key is a text, or what has the item is one."""
        return self._all(target.slice, unit, self._is_text) or self.is_container(target.value, unit)

    def is_container(self, node: ast.expr, unit: str) -> bool:
        """Whether it is a dict, a list or the like, or an array of numpy."""
        return self._all(node, unit, self._holds)

    def _all(self, node: ast.expr, unit: str, is_so: Callable[[ast.expr], bool]) -> bool:
        if not isinstance(node, ast.Name):
            return is_so(node)
        if node.id in self._open:
            return False
        values = self._values.get((unit, node.id)) or self._values.get(("", node.id)) or [None]
        return all(value is not None and is_so(value) for value in values)

    def _is_text(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):  # `prefix + "weight"`, `"layer%d" % index`
            return isinstance(node.op, (ast.Add, ast.Mod)) and (self._is_text(node.left) or self._is_text(node.right))
        if isinstance(node, ast.Call):
            return (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in ("format", "join")
                and is_text(node.func.value)
            )
        return isinstance(node, ast.JoinedStr) or is_text(node)

    def _holds(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):  # `[None] * count`
            return isinstance(node.op, (ast.Add, ast.Mult)) and (_is_list(node.left) or _is_list(node.right))
        if not isinstance(node, ast.Call):
            return isinstance(node, _DISPLAYS)
        name = name_of(node.func)
        if name in self._own:
            return False
        if isinstance(node.func, ast.Attribute) and root_of(node.func) in _NUMPY:
            return name in _ARRAYS
        return name in _CONTAINERS or (name == "state_dict" and isinstance(node.func, ast.Attribute))


def _is_list(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Mult)) and (_is_list(node.left) or _is_list(node.right))
    return isinstance(node, (ast.List, ast.ListComp))


def targets_of(node: ast.AST) -> Iterator[ast.expr]:
    """What a binding gives a value to."""
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.withitem):
        if node.optional_vars is not None:
            yield node.optional_vars
    else:
        yield node.target  # type: ignore[attr-defined]


def parts_of(target: ast.expr) -> Iterator[ast.expr]:
    """The names, attributes and items that a target is made of."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from parts_of(each)
    elif isinstance(target, ast.Starred):
        yield from parts_of(target.value)
    else:
        yield target
