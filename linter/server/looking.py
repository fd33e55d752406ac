"""Runs the interpreter to see what one expression of a document can be, and where the calls came from that made it so."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from stridelint.linter.inference import analyse, roots
from stridelint.linter.inference.observing import Looks, observed
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.values import TensorValue, Unknown, Value
from stridelint.linter.server.tree import Tree
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.forms.walking import names_in, walk

# Steps of the interpreter: for the function around the cursor, and for those that call it.
OWN_STEPS = 30_000
CALLERS_STEPS = 40_000
MAX_CALLERS = 12
MAX_SIGHTINGS = 2_000

Unit = tuple[cst.FunctionDef, "cst.ClassDef | None"]


@dataclass(frozen=True)
class Sighting:
    """A value at the moment it was seen.

    facts: of a tensor then; `value` may know more by now, even that it is one, or have changed since.
    caller: the call in another function that led here, and that function; None where this one is read on its own.
    assumed: rests on a parameter's default.
    """

    value: Value
    facts: TensorFacts
    caller: tuple[cst.CSTNode, cst.CSTNode] | None
    assumed: bool


class ReadingFailed(Exception):
    """The interpreter failed: by a mistake of ours, or because it asked for what a bare tree does not hold, such as comments."""


@dataclass
class _Seen:
    home: cst.CSTNode | None
    found: dict[int, list[Sighting]] = field(default_factory=dict)

    def __call__(self, path: Path, node: cst.CSTNode, value: Value) -> None:
        found = self.found.setdefault(id(node), [])
        if len(found) < MAX_SIGHTINGS:
            tensor = tensor_of(value)
            facts = TensorFacts() if tensor is None else path.facts(tensor)
            found.append(Sighting(value, facts, self._caller(path), path.confidence < Confidence.CERTAIN))

    def _caller(self, path: Path) -> tuple[cst.CSTNode, cst.CSTNode] | None:
        """The innermost call of the function in question that stands in another one of the file."""
        for number in range(len(path.frames) - 1, -1, -1):
            frame = path.frames[number]
            if frame.function.node is self.home and frame.call is not None:
                caller = path.frames[number - 1].function.node if number else path.program.module
                if caller is not self.home:
                    return frame.call, caller
        return None


def tensor_of(value: Value) -> TensorValue | None:
    """The tensor that a value is, or that it would be if it were one."""
    return value if isinstance(value, TensorValue) else value.tensor if isinstance(value, Unknown) else None


def sightings(
    tree: Tree, nodes: Sequence[cst.CSTNode], *, own: int = OWN_STEPS, callers: int = CALLERS_STEPS
) -> list[list[Sighting]]:
    """What expressions of one function, or names that are bound in it, are on all paths that are read, for each.

    First on those of the function itself, then of others that call it. own, callers: steps of the interpreter for each.

    Raises:
        ReadingFailed: some of it could not be read with a bare tree, or nothing at all was seen.
    """
    looks = functools.reduce(operator.add, (looks_at(tree, node) for node in nodes))
    units = _units(tree)
    numbers = {id(function): number for number, (function, _) in enumerate(units)}
    home = next((each for each in reversed(tree.above(nodes[0])) if id(each) in numbers), None)
    seen = _Seen(home)

    def read(wanted: Iterable[int], body: bool, budget: int) -> None:
        chosen = dict.fromkeys(wanted, True)
        if chosen or body:
            with observed(looks, seen):
                analysis = analyse(tree.module, (), wanted=chosen, body=body, budget=budget, source=tree.text)
            if analysis.exhausted and analysis.exhausted.startswith("internal error"):
                failures.append(analysis.exhausted)

    failures: list[str] = []
    if home is None:
        read((), True, own)
    else:
        number = numbers[id(home)]
        read([number], False, own)
        calling, body = _callers(tree, units, number)
        read(calling, body, callers)
    if failures and (tree.is_bare or not seen.found):
        raise ReadingFailed(failures[0])
    return [seen.found.get(id(node), []) for node in nodes]


def looks_at(tree: Tree, node: cst.CSTNode) -> Looks:
    """Where to look for what a node stands for."""
    line = tree.above(node)
    for below, above in itertools.pairwise(line):
        if isinstance(above, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
            if getattr(above, "target", None) is not below:
                break
            statement = tree.parent(above) if isinstance(above, cst.AssignTarget) else above
            return Looks(after={id(statement): (node,)})
        if isinstance(above, cst.For) and above.target is below:
            return Looks(before={id(_first(above.body)): (node,)})
        if isinstance(above, cst.AsName):
            around = next((each for each in line if isinstance(each, (cst.With, cst.ExceptHandler))), None)
            return Looks() if around is None else Looks(before={id(_first(around.body)): (node,)})
        if isinstance(above, cst.CompFor) and above.target is below:
            return Looks(before={id(each): (node,) for each in _elements(tree, above)})
        if isinstance(above, cst.Param) and above.name is below:
            function = next((each for each in line if isinstance(each, (cst.FunctionDef, cst.Lambda))), None)
            if function is None:
                return Looks()
            first = function.body if isinstance(function, cst.Lambda) else _first(function.body)
            return Looks(before={id(first): (node,)})
        if not isinstance(above, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
            break
    return Looks(values=frozenset([id(node)]))


def _first(body: cst.BaseSuite) -> cst.CSTNode:
    first = body.body[0]
    return first.body[0] if isinstance(first, cst.SimpleStatementLine) else first


def _elements(tree: Tree, clause: cst.CompFor) -> list[cst.CSTNode]:
    """What a comprehension evaluates for each item."""
    around = next(each for each in tree.above(clause) if isinstance(each, (cst.BaseComp)))
    return [around.key, around.value] if isinstance(around, cst.DictComp) else [around.elt]  # type: ignore[attr-defined]


def _callers(tree: Tree, units: list[Unit], number: int) -> tuple[list[int], bool]:
    """Functions that name a unit, or a class it belongs to, also by way of others; and whether the module's statements do."""
    said, loose = _mentions(tree)
    hot, found = _called(units[number]), [number]
    while len(found) <= MAX_CALLERS:
        new = [index for index, names in enumerate(said) if index not in found and not hot.isdisjoint(names)]
        if not new:
            break
        found += sorted(new, key=lambda index: abs(index - number))
        hot |= {name for index in new for name in _called(units[index])}
    return found[1 : MAX_CALLERS + 1], not hot.isdisjoint(loose)


@functools.lru_cache(maxsize=4)
def _mentions(tree: Tree) -> tuple[list[set[str]], set[str]]:
    """The names in each function, and those in the module's own statements."""
    units = _units(tree)
    said = [names_in(function) for function, _ in units]
    inside = {id(each) for function, _ in units for each in walk(function, cst.Name)}
    return said, {
        each.value for each in walk(tree.module, cst.Name) if id(each) not in inside and isinstance(each, cst.Name)
    }


def _units(tree: Tree) -> list[Unit]:
    return list(roots.functions_of(Program(tree.module, (), 0)))


_COMMON: frozenset[str] = frozenset("forward __init__ __call__ get update step".split())


def _called(unit: Unit) -> set[str]:
    """By which names a function is reached: its own, for a method its class's too."""
    function, owner = unit
    return {function.name.value} if owner is None else {owner.name.value, function.name.value} - _COMMON
